//! The gate that engines of `worker-with-faults` pass one sample at a time: a test stops a job at a sample, not at a time.
//!
//! It counts samples that have begun, over all engines that know the gate's file, whatever became of them.

use crate::processes::wait_until;
use std::fs;
use std::path::{Path, PathBuf};

/// Variable that tells engines of a gate.
pub const GATE_VARIABLE: &str = "COMPASS_FAULT_GATE";

/// A gate, by its file. Open as long as the file is missing.
#[derive(Clone, Debug)]
pub struct Gate {
    path: PathBuf,
}

impl Gate {
    /// The gate of the file `path`; changes nothing.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// File to be named in [`GATE_VARIABLE`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets `samples` begin in all, those that have begun before included.
    pub fn admit(&self, samples: u64) {
        // Renamed into place: an engine never reads half a number.
        let new = self.path.with_extension("new");
        let written = fs::write(&new, samples.to_string()).and_then(|()| fs::rename(&new, &self.path));
        assert!(written.is_ok(), "cannot write {}: {written:?}", self.path.display());
    }

    /// Lets `samples` more begin.
    pub fn admit_more(&self, samples: u64) {
        self.admit(self.admitted().unwrap_or(0) + samples);
    }

    /// Number of samples that may begin in all; `None` where the gate is open.
    pub fn admitted(&self) -> Option<u64> {
        fs::read_to_string(&self.path).ok()?.trim().parse().ok()
    }

    /// Lets every sample begin.
    pub fn open(&self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Samples that have begun.
    pub fn begun(&self) -> u64 {
        let mut counted = self.path.clone().into_os_string();
        counted.push(".begun");
        fs::metadata(counted).map_or(0, |file| file.len())
    }

    /// Waits until all that may begin has begun.
    pub fn wait_until_reached(&self) {
        let admitted = self.admitted().unwrap_or(0);
        wait_until("as many samples have begun as may", || (self.begun() >= admitted).then_some(()));
    }
}
