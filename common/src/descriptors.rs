//! File descriptors of this process: the number of open ones, the limit, and the errors when none is left.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// Descriptors that must stay free for what a master does beside its jobs: the store, the ledger, a command.
const RESERVE: u64 = 16;

/// Open descriptors against their limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptors {
    pub open: u64,
    pub limit: u64,
}

impl Descriptors {
    /// Counts the descriptors of this process; `None` where the system does not list them.
    pub fn count() -> Option<Self> {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        match std::fs::read_dir("/proc/self/fd") {
            // One of them lists the others.
            Ok(entries) => Some(Self { open: (entries.count() as u64).saturating_sub(1), limit }),
            Err(error) if is_exhaustion(&error) => Some(Self { open: limit, limit }),
            Err(_) => None,
        }
    }

    /// Returns whether nine tenths of the limit, or all but a few, are open.
    pub fn are_scarce(self) -> bool {
        let left = self.limit.saturating_sub(self.open);
        left < RESERVE || left < self.limit / 10
    }
}

/// Raises the soft limit of open files to the hard one. A server holds descriptors for each job and each worker.
pub fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
    {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}

/// Returns whether the process (EMFILE) or the system (ENFILE) has no file descriptor left: trouble of the host, never of a file.
pub fn is_exhaustion(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let code = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| code == Some(errno.raw_os_error()))
}

/// As [`is_exhaustion`], of an error or of anything that caused it.
pub fn is_caused_by_exhaustion(error: &(dyn std::error::Error + 'static)) -> bool {
    let chain = std::iter::successors(Some(error), |error| error.source());
    chain.filter_map(|error| error.downcast_ref::<io::Error>()).any(is_exhaustion)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("open x")]
    struct Wrapped(#[source] io::Error);

    #[test]
    fn descriptors_are_scarce_before_there_are_none() {
        let of = |open, limit| Descriptors { open, limit }.are_scarce();
        assert!(!of(20, 1024) && !of(900, 1024) && of(930, 1024) && of(1024, 1024) && of(2000, 1024));
        assert!(!of(20, 64) && of(50, 64));
        assert!(!of(1_000_000, u64::MAX));
    }

    #[test]
    fn an_open_file_is_counted() {
        let before = Descriptors::count().unwrap();
        let files: Vec<_> = (0..8).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        // Other tests of this process open and close files meanwhile, but never this many.
        assert!(Descriptors::count().unwrap().open + 4 > before.open + files.len() as u64);
    }

    #[test]
    fn only_a_lack_of_descriptors_is_exhaustion() {
        let of = |code| is_exhaustion(&io::Error::from_raw_os_error(code));
        assert!(of(24) && of(23) && !of(2) && !of(13) && !of(28));
        let wrapped = Wrapped(io::Error::from_raw_os_error(24));
        assert!(is_caused_by_exhaustion(&wrapped));
    }
}
