//! The command line of `bwrap` (bubblewrap 0.8 or newer): the namespaces that a program runs in.

use crate::limits::Limits;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The unprivileged user inside the namespaces, and the user that a worker run by root switches to.
pub(crate) const UNPRIVILEGED_UID: u32 = 65534;

/// Arguments up to the program's own. `seccomp` and `info` are inherited descriptors.
pub(crate) fn arguments(limits: &Limits, readable: &[PathBuf], seccomp: i32, info: i32) -> Vec<OsString> {
    let mut arguments = Arguments::default();
    let uid = UNPRIVILEGED_UID.to_string();
    arguments.add(&["--unshare-user", "--disable-userns", "--uid", &uid, "--gid", &uid]);
    arguments.add(&["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
    arguments.add(&["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"]);
    arguments.add(&["--seccomp", &seccomp.to_string(), "--info-fd", &info.to_string()]);
    arguments.add(&["--ro-bind", "/usr", "/usr"]);
    for place in ["/bin", "/sbin", "/lib", "/lib32", "/lib64"] {
        arguments.as_on_the_host(Path::new(place));
    }
    arguments.add(&["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]);
    // No `/proc`: through it a program could write the memory of the namespaces' first process, which has no seccomp
    // filter. Also, containers often forbid mounting it. Devices one by one: memory mapped from `zero` is not counted,
    // and terminals are few on a machine.
    arguments.add(&["--tmpfs", "/dev", "--dir", "/dev/shm"]);
    for device in ["/dev/null", "/dev/full", "/dev/random", "/dev/urandom"] {
        arguments.add(&["--dev-bind", device, device]);
    }
    let scratch = limits.scratch.to_string();
    for place in ["/dev/shm", "/tmp"] {
        arguments.add(&["--size", &scratch, "--tmpfs", place]);
    }
    // After `/tmp`, for an interpreter or packages below it.
    for directory in readable {
        arguments.mount(directory, directory);
    }
    // Both are in-memory file systems without a size limit.
    arguments.add(&["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--"]);
    arguments.0
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn add(&mut self, arguments: &[&str]) {
        self.0.extend(arguments.iter().map(OsString::from));
    }

    fn mount(&mut self, from: &Path, to: &Path) {
        self.0.extend(["--ro-bind".into(), from.into(), to.into()]);
    }

    /// Binds a path as on the host: as a symbolic link (`/bin -> usr/bin`) or as a directory.
    fn as_on_the_host(&mut self, place: &Path) {
        if let Ok(target) = std::fs::read_link(place) {
            self.0.extend(["--symlink".into(), target.into(), place.into()]);
        } else if place.is_dir() {
            self.mount(place, place);
        }
    }
}
