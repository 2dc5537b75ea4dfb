//! Control groups (version 2): a hard limit on the memory and the processes of each program, if one with these
//! controllers is delegated to the worker. The kernel counts continuously; `memory` only samples.

use crate::limits::Limits;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Reason why programs run without control groups.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoGroups {
    #[error("control groups of version 2 are not mounted")]
    Unmounted,
    #[error("the worker's control group {} does not offer memory and pids", .0.display())]
    WithoutControllers(PathBuf),
    #[error(
        "the worker's control group {} cannot be divided ({source}): start the worker alone in a delegated one, as \
         `systemd-run --user --scope -p Delegate=yes` does",
        folder.display()
    )]
    Foreign { folder: PathBuf, source: io::Error },
    /// The control group exists, but no program ran in it.
    #[error("no program ran in a new control group: {0}")]
    Unusable(String),
}

/// The control group under which the programs' groups are made.
#[derive(Debug)]
pub(crate) struct Groups {
    home: PathBuf,
}

/// A group that delegates its controllers has no processes of its own: the worker moves into this child.
const LEAF: &str = "compass-worker";
const PROGRAM: &str = "compass-program-";
const CONTROLLERS: [&str; 2] = ["memory", "pids"];

impl Groups {
    /// # Errors
    /// The worker has no control group that it can divide.
    pub(crate) fn find() -> Result<Self, NoGroups> {
        let mount = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
        let mount = mount.into_iter().find(|mount| mount.join("cgroup.controllers").is_file());
        let listed = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = listed.lines().find_map(|line| line.strip_prefix("0::/"));
        let own = mount.zip(own).map(|(mount, own)| mount.join(own)).ok_or(NoGroups::Unmounted)?;
        Self::within(&own, std::process::id())
    }

    /// Uses the group `own` of the process `worker`, or its parent if an earlier worker moved into its leaf.
    fn within(own: &Path, worker: u32) -> Result<Self, NoGroups> {
        let home = own.parent().filter(|_| own.ends_with(LEAF)).unwrap_or(own);
        if !offers(&home.join("cgroup.controllers")) {
            return Err(NoGroups::WithoutControllers(home.into()));
        }
        let refused = |source| NoGroups::Foreign { folder: home.into(), source };
        if !offers(&home.join("cgroup.subtree_control")) {
            enable_controllers(home, worker).map_err(refused)?;
        }
        sweep(home);
        let groups = Self { home: home.into() };
        groups.make(&Limits::default()).map_err(refused)?;
        Ok(groups)
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Makes a group for one program.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub(crate) fn make(&self, limits: &Limits) -> io::Result<Group> {
        // Counted per process: several sandboxes may make groups under one parent.
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = self.home.join(format!("{PROGRAM}{}-{number}", std::process::id()));
        fs::create_dir(&folder)?;
        let group = Group { folder };
        // Files in memory have their own limit and count here as well.
        group.set("memory.max", &(limits.memory + 2 * limits.scratch).to_string())?;
        match group.set("memory.swap.max", "0") {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        group.set("memory.oom.group", "1")?;
        // The isolation has processes of its own.
        group.set("pids.max", &(limits.processes + 8).to_string())?;
        Ok(group)
    }
}

fn offers(file: &Path) -> bool {
    let listed = fs::read_to_string(file).unwrap_or_default();
    CONTROLLERS.iter().all(|wanted| listed.split_whitespace().any(|offered| offered == *wanted))
}

/// Enables the controllers for groups below `home`; moves the worker into a leaf if needed.
fn enable_controllers(home: &Path, worker: u32) -> io::Result<()> {
    let enable = || fs::write(home.join("cgroup.subtree_control"), "+memory +pids");
    let Err(error) = enable() else { return Ok(()) };
    if error.kind() != ErrorKind::ResourceBusy {
        return Err(error);
    }
    let (leaf, worker) = (home.join(LEAF), worker.to_string());
    fs::create_dir(&leaf).or_else(|error| if leaf.is_dir() { Ok(()) } else { Err(error) })?;
    fs::write(leaf.join("cgroup.procs"), &worker)?;
    enable().inspect_err(|_| {
        // The group has other processes: undo the move.
        let _ = fs::write(home.join("cgroup.procs"), &worker).and_then(|()| fs::remove_dir(&leaf));
    })
}

/// Removes the empty groups of dead workers.
fn sweep(home: &Path) {
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let worker = name.strip_prefix(PROGRAM).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if worker.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Control group of one program. Dropping it kills its processes.
#[derive(Debug)]
pub(crate) struct Group {
    folder: PathBuf,
}

impl Group {
    fn set(&self, name: &str, value: &str) -> io::Result<()> {
        fs::write(self.folder.join(name), value)
    }

    /// Opens `cgroup.procs`, where a process writes `0` to enter.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn procs_file(&self) -> io::Result<OwnedFd> {
        Ok(File::options().write(true).open(self.folder.join("cgroup.procs"))?.into())
    }

    /// Returns whether the kernel OOM killer killed a process of the group.
    pub(crate) fn oom_killed(&self) -> bool {
        let events = fs::read_to_string(self.folder.join("memory.events")).unwrap_or_default();
        events.lines().filter_map(|line| line.strip_prefix("oom_kill ")).any(|count| count != "0")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        const TRIES: u32 = 50;
        let _ = self.set("cgroup.kill", "1"); // Linux 5.14; before that, ending the namespaces kills them
        for _ in 0..TRIES {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
        tracing::debug!(folder = %self.folder.display(), "cannot remove a control group");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, ExitStatus};

    /// Runs a shell command in `group`.
    fn within(group: &Group, line: &str) -> ExitStatus {
        let line = format!("echo $$ > {}/cgroup.procs || exit 99; {line}", group.folder.display());
        Command::new("sh").args(["-c", &line]).status().unwrap()
    }

    #[test]
    fn a_group_ends_what_holds_more_than_it_may() {
        let groups = match Groups::find() {
            Ok(groups) => groups,
            Err(why) => return eprintln!("skipped: no control group to divide: {why}"),
        };
        let small = Limits { memory: 64 << 20, scratch: 1 << 20, processes: 2, ..Limits::default() };
        let group = groups.make(&small).unwrap();
        assert!(within(&group, "true").success() && !group.oom_killed());
        assert!(!within(&group, "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1 & done; wait").success());
        assert!(!group.oom_killed(), "processes are not memory");
        // Another group: the first still has sleeping processes.
        let group = groups.make(&small).unwrap();
        let status = within(&group, "exec head -c 200M /dev/zero | tail -n 1 > /dev/null");
        assert!(group.oom_killed(), "{status}");
        let forever = within(&group, "(sleep 3600 & sleep 3600 &) > /dev/null 2>&1");
        assert!(forever.success() || forever.signal().is_some());
        let folder = group.folder.clone();
        drop(group);
        assert!(!folder.exists(), "with all its processes");
    }

    #[test]
    fn a_group_that_cannot_be_divided_is_named_with_the_remedy() {
        let place = tempfile::tempdir().unwrap();
        let offered = |what: &str| fs::write(place.path().join("cgroup.controllers"), what).unwrap();
        offered("cpu hugetlb");
        let none = Groups::within(place.path(), 1).unwrap_err();
        assert!(none.to_string().ends_with("does not offer memory and pids"), "{none}");
        offered("cpu memory pids");
        // As in a group of another user: nothing can be written.
        fs::create_dir(place.path().join("cgroup.subtree_control")).unwrap();
        let foreign = Groups::within(place.path(), 1).unwrap_err();
        assert!(foreign.to_string().contains("Delegate=yes"), "{foreign}");
        // A worker in the leaf of an earlier one uses the leaf's parent.
        let leaf = Groups::within(&place.path().join(LEAF), 1).unwrap_err();
        assert_eq!(leaf.to_string(), foreign.to_string());
    }
}
