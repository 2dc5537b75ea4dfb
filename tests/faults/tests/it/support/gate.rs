//! The gate of an agent's engines: samples begin as far as the test allows.

use std::path::PathBuf;

/// A gate in a folder of its own; shut from the beginning.
pub(crate) struct Gate {
    folder: tempfile::TempDir,
    variable: (&'static str, String),
}

impl Gate {
    /// Lets `samples` begin.
    pub(crate) fn after(samples: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let variable = ("COMPASS_FAULT_GATE", folder.path().join("gate").display().to_string());
        let gate = Self { folder, variable };
        gate.admit(samples);
        gate
    }

    /// Variables that tell an agent of it.
    pub(crate) fn environment(&self) -> [(&str, &str); 1] {
        [(self.variable.0, &self.variable.1)]
    }

    /// Lets `samples` begin in all, those that have begun before included.
    pub(crate) fn admit(&self, samples: u64) {
        // Renamed into place: an engine never reads half a number.
        let new = self.folder.path().join("new");
        std::fs::write(&new, samples.to_string()).unwrap();
        std::fs::rename(new, self.path()).unwrap();
    }

    /// Lets every sample begin.
    pub(crate) fn open(&self) {
        std::fs::remove_file(self.path()).unwrap();
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("gate")
    }
}
