//! The command line of `bwrap` (bubblewrap 0.8 or newer): the room that a program sees.

use crate::limits::Limits;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The unprivileged user of the room, and the one that a worker run by root becomes.
pub(crate) const NOBODY: u32 = 65534;

/// Arguments up to the program's own. `seccomp` and `info` are the numbers of inherited descriptors.
pub(crate) fn arguments(limits: &Limits, readable: &[PathBuf], seccomp: i32, info: i32) -> Vec<OsString> {
    let mut room = Room::default();
    let nobody = NOBODY.to_string();
    room.say(&["--unshare-user", "--disable-userns", "--uid", &nobody, "--gid", &nobody]);
    room.say(&["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
    room.say(&["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"]);
    room.say(&["--seccomp", &seccomp.to_string(), "--info-fd", &info.to_string()]);
    room.say(&["--ro-bind", "/usr", "/usr"]);
    for place in ["/bin", "/sbin", "/lib", "/lib32", "/lib64"] {
        room.as_on_the_host(Path::new(place));
    }
    room.say(&["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]);
    // No `/proc`: through it a program could write the memory of the room's first process, which no filter holds. It also
    // is what containers most often do not allow to be mounted.
    // Devices one by one: `zero` maps memory that nobody counts, and terminals are few on a machine.
    room.say(&["--tmpfs", "/dev", "--dir", "/dev/shm"]);
    for device in ["/dev/null", "/dev/full", "/dev/random", "/dev/urandom"] {
        room.say(&["--dev-bind", device, device]);
    }
    let scratch = limits.scratch.to_string();
    for place in ["/dev/shm", "/tmp"] {
        room.say(&["--size", &scratch, "--tmpfs", place]);
    }
    // After `/tmp`, for an interpreter or packages that lie beneath it.
    for directory in readable {
        room.mount(directory, directory);
    }
    // Both are file systems in memory without a size of their own.
    room.say(&["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--"]);
    room.0
}

#[derive(Default)]
struct Room(Vec<OsString>);

impl Room {
    fn say(&mut self, arguments: &[&str]) {
        self.0.extend(arguments.iter().map(OsString::from));
    }

    fn mount(&mut self, from: &Path, to: &Path) {
        self.0.extend(["--ro-bind".into(), from.into(), to.into()]);
    }

    /// A link where the host has a link (`/bin -> usr/bin`), a directory where it has one.
    fn as_on_the_host(&mut self, place: &Path) {
        if let Ok(target) = std::fs::read_link(place) {
            self.0.extend(["--symlink".into(), target.into(), place.into()]);
        } else if place.is_dir() {
            self.mount(place, place);
        }
    }
}
