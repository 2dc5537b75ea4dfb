//! The other side: a Python that has transformers, and the script that it runs.

use crate::options::Options;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// The script, found when this was built: the program is run from a checkout.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin/parity_hf/reference.py");

/// Path at which the script finds the cases of the committed goldens.
const GOLDENS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../worker/engine/tests/goldens");

/// Versions to which the numbers belong: the libtorch linked here, and the transformers whose order of operations is followed.
const TORCH: &str = "2.11.";
const TRANSFORMERS: &str = "4.57.";

/// A Python that will do.
pub(crate) struct Python {
    pub(crate) program: String,
    /// In words.
    pub(crate) versions: String,
}

/// Looks for it.
///
/// # Errors
/// The reason why no Python can be used.
pub(crate) fn find() -> Result<Python, String> {
    let program = std::env::var("COMPASS_PYTHON").unwrap_or_else(|_| "python3".into());
    let wanted =
        format!("needs a Python with torch {TORCH}x and transformers {TRANSFORMERS}x (COMPASS_PYTHON or python3)");
    let asked = Command::new(&program)
        .args(["-c", "import torch, transformers; print(torch.__version__, transformers.__version__)"])
        .output()
        .map_err(|error| format!("{wanted}; {program}: {error}"))?;
    let said = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    match said.split_once(' ') {
        Some((torch, transformers)) if torch.starts_with(TORCH) && transformers.starts_with(TRANSFORMERS) => {
            Ok(Python { program, versions: format!("torch {torch}, transformers {transformers}") })
        }
        Some((torch, transformers)) => {
            Err(format!("{wanted}; {program} has torch {torch} and transformers {transformers}"))
        }
        None => Err(format!("{wanted}; {program} has not both")),
    }
}

impl Python {
    /// Computes every case into `folder`, and calls `done` with the name of each as soon as it is complete.
    ///
    /// # Errors
    /// What went wrong there, or in `done`.
    pub(crate) fn compute(
        &self,
        folder: &Path,
        options: &Options,
        mut done: impl FnMut(&str) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut child = Command::new(&self.program)
            .arg(SCRIPT)
            .arg(folder)
            .args([options.threads.to_string(), options.seed.to_string()])
            .args(&options.names)
            .env("PYTHONPATH", GOLDENS)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            // The mode that the engine computes in; without it MKL's bits depend on the alignment of its operands.
            .env("MKL_CBWR", "AUTO,STRICT")
            // On a busy machine threads that spin while they wait take their own time away.
            .env("OMP_WAIT_POLICY", "passive")
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", self.program))?;
        let lines = child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).lines());
        let mut fault = None;
        for line in lines {
            let handled = line.map_err(|error| error.to_string()).and_then(|name| done(&name));
            if let Err(what) = handled {
                fault = Some(what);
                // Already ended is as good.
                let _ = child.kill();
                break;
            }
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        match fault {
            Some(what) => Err(what),
            None if status.success() => Ok(()),
            None => Err(format!("{SCRIPT} failed: {status}")),
        }
    }
}
