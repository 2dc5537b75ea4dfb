//! Control groups, of both versions: any group above the process's own may have a limit, as set by Slurm, containers
//! and systemd.

use std::path::{Component, Path, PathBuf};

/// Names in a version of control groups.
struct CgroupFiles {
    limit: &'static str,
    taken: &'static str,
    /// Lines of `memory.stat` with the part of the usage that is page cache: it is reclaimed when memory is short.
    of_files: [&'static str; 2],
}

const VERSION_1: CgroupFiles = CgroupFiles {
    limit: "memory.limit_in_bytes",
    taken: "memory.usage_in_bytes",
    of_files: ["total_inactive_file", "total_active_file"],
};

const VERSION_2: CgroupFiles =
    CgroupFiles { limit: "memory.max", taken: "memory.current", of_files: ["inactive_file", "active_file"] };

/// Returns the bytes left by the tightest limit of a process's groups; `None` if no group has a limit. `root` is the
/// mount point of control groups, `groups` the text of the process's `/proc/PID/cgroup`.
pub(super) fn free_bytes(root: &Path, groups: &str) -> Option<usize> {
    let memory = groups.lines().filter_map(|line| {
        // hierarchy:controllers:path; version 2 has hierarchy 0 and names no controllers.
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        match controllers {
            "" if number == "0" => Some((root.to_owned(), path, &VERSION_2)),
            _ if controllers.split(',').any(|name| name == "memory") => {
                Some((root.join(controllers), path, &VERSION_1))
            }
            _ => None,
        }
    });
    memory.flat_map(|(mount, path, names)| upwards(mount, path).filter_map(move |group| names.left(&group))).min()
}

/// Returns a group and those above it. Inside a container the first ones may be missing; missing groups have no effect.
fn upwards(mount: PathBuf, path: &str) -> impl Iterator<Item = PathBuf> {
    let below: PathBuf = Path::new(path).components().filter(|part| matches!(part, Component::Normal(_))).collect();
    let groups: Vec<PathBuf> = below.ancestors().map(|group| mount.join(group)).collect();
    groups.into_iter()
}

impl CgroupFiles {
    /// Returns the bytes left by a group's limit, if it has one.
    fn left(&self, group: &Path) -> Option<usize> {
        let number = |name: &str| std::fs::read_to_string(group.join(name)).ok()?.trim().parse::<usize>().ok();
        let (limit, taken) = (number(self.limit)?, number(self.taken)?);
        let stat = std::fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let of_files = stat.lines().filter_map(|line| {
            let (name, bytes) = line.split_once(' ')?;
            if self.of_files.contains(&name) { bytes.trim().parse::<usize>().ok() } else { None }
        });
        Some(limit.saturating_sub(taken.saturating_sub(of_files.sum())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(root: &Path, path: &str, files: &[(&str, &str)]) {
        let folder = root.join(path);
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }

    #[test]
    fn the_tightest_group_above_counts() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        assert_eq!(free_bytes(root, "0::/\n"), None);
        group(root, "job", &[("memory.max", "1000\n"), ("memory.current", "300\n")]);
        group(root, "job/step", &[("memory.max", "max\n"), ("memory.current", "200\n")]);
        assert_eq!(free_bytes(root, "0::/job/step\n"), Some(700));
        // The page cache, such as mapped weights, is reclaimed when needed.
        group(root, "job", &[("memory.stat", "anon 50\ninactive_file 100\nactive_file 150\n")]);
        assert_eq!(free_bytes(root, "0::/job/step\n"), Some(950));
        group(root, "job/step", &[("memory.max", "400\n")]);
        assert_eq!(free_bytes(root, "0::/job/step\n"), Some(200));
        // Beyond its limit nothing is left, not a negative number.
        group(root, "job/step", &[("memory.max", "100\n")]);
        assert_eq!(free_bytes(root, "0::/job/step\n"), Some(0));
        // A path that this container does not see leaves its own root.
        assert_eq!(free_bytes(&root.join("job"), "0::/elsewhere/deep\n"), Some(950));
    }

    #[test]
    fn version_1_has_a_hierarchy_for_memory() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let limit = [("memory.limit_in_bytes", "1000\n"), ("memory.usage_in_bytes", "600\n")];
        group(root, "memory/job", &limit);
        group(root, "memory/job", &[("memory.stat", "active_file 9\ntotal_active_file 50\ntotal_inactive_file 1\n")]);
        // Without a limit its value exceeds the machine's memory.
        group(root, "memory", &[("memory.limit_in_bytes", "9223372036854771712\n"), ("memory.usage_in_bytes", "0\n")]);
        let groups = "9:name=systemd:/job\n4:memory:/job\n1:cpu:/job\n0::/\n";
        assert_eq!(free_bytes(root, groups), Some(451));
    }
}
