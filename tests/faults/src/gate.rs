//! A gate that the engines of a test pass one sample at a time, as far as the test allows.
//!
//! The test holds a file with a number: this many samples may begin, over all engines that know the file. Engines count in a
//! second file, `NAME.begun`, one byte for each sample, under its lock. Without the first file the gate is open.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Interval at which a waiting sample looks whether it may begin.
const INTERVAL: Duration = Duration::from_millis(5);

/// A gate, by the file of its test.
#[derive(Clone, Debug)]
pub(crate) struct Gate(pub(crate) PathBuf);

impl Gate {
    /// Waits until one more sample may begin, and counts it.
    pub(crate) fn pass(&self) {
        while !self.admits() {
            #[expect(clippy::disallowed_methods, reason = "polls a file; what it waits for is the test's decision")]
            std::thread::sleep(INTERVAL);
        }
    }

    /// Returns true, and counts the sample, if one may begin now. A file that cannot be used is an open gate.
    fn admits(&self) -> bool {
        let mut begun = self.0.clone().into_os_string();
        begun.push(".begun");
        let Ok(mut begun) = File::options().create(true).append(true).open(begun) else { return true };
        if begun.lock().is_err() {
            return true;
        }
        let limit = fs::read_to_string(&self.0).ok().and_then(|text| text.trim().parse::<u64>().ok());
        let count = begun.metadata().map_or(0, |file| file.len());
        // The lock ends with the file.
        limit.is_none_or(|limit| count < limit) && begun.write_all(b".").is_ok()
    }
}
