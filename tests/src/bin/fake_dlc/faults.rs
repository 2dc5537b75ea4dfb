//! Faults of the service, by the file `faults` of the state folder: a line `name=number` for each.
//!
//! | name | as often as the number says, from the first time on |
//! |---|---|
//! | `submit_400` | a submission is refused |
//! | `no_table` | a submission fails, and answers without a table |
//! | `lost_table` | a submission succeeds, and answers without a table |
//! | `get_fails` | the state of a job cannot be read |
//! | `garbage`, `bash_warning` | a line precedes the state's JSON |
//! | `preempt` | a job is stopped by preemption when it runs |
//! | `fail` | a job fails before its command is run |
//! | `silent` | a job's command is replaced by one that does nothing |
//!
//! `slow_ms` delays every answer by its number of milliseconds, `queue` leaves every job in its queue.

use std::path::{Path, PathBuf};

/// Faults that the file `faults` of the state folder asks for.
#[derive(Debug)]
pub(super) struct Faults {
    state: PathBuf,
}

impl Faults {
    /// The faults of a state folder; the file is read again each time.
    pub(super) fn new(state: &Path) -> Self {
        Self { state: state.to_owned() }
    }

    /// The number of the fault, if it is there.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let text = std::fs::read_to_string(self.state.join("faults")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?;
        line.trim().parse().ok()
    }

    /// Returns whether the fault strikes this time.
    pub(super) fn strikes(&self, name: &str) -> bool {
        let times = self.number(name).unwrap_or(0);
        (0..times).any(|time| std::fs::File::create_new(self.state.join(format!("struck.{name}.{time}"))).is_ok())
    }

    /// Keeps the arguments of a call, for tests of the requests.
    pub(super) fn note_call(&self, words: &[&str]) {
        let line = serde_json::json!(words).to_string() + "\n";
        let file = std::fs::File::options().create(true).append(true).open(self.state.join("calls"));
        if let Ok(mut file) = file {
            let _ = std::io::Write::write_all(&mut file, line.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_strikes_so_many_times() {
        let state = tempfile::tempdir().unwrap();
        std::fs::write(state.path().join("faults"), "no_table=2\nqueue=1\n").unwrap();
        let faults = Faults::new(state.path());
        let struck: Vec<bool> = (0..4).map(|_| faults.strikes("no_table")).collect();
        assert_eq!(struck, [true, true, false, false]);
        assert!(!faults.strikes("no"), "the beginning of a name is not the name");
        assert_eq!(faults.number("queue"), Some(1));
    }
}
