//! The script that the interpreter runs, its request, and its events.

use compass_common::regular_file;
use serde::{Deserialize, Serialize};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The files of the script, by name; the first is the one that is run.
pub(crate) const FILES: [(&str, &str); 2] =
    [("export.py", include_str!("../script/export.py")), ("packages.py", include_str!("../script/packages.py"))];
/// Files of the script's request and of its events, a line of JSON for every event.
const REQUEST: &str = "request.json";
pub(crate) const EVENTS: &str = "events.jsonl";
/// More events than any job has.
const MOST_EVENT_BYTES: u64 = 256 << 20;

/// Request to the script.
#[derive(Debug, Serialize)]
pub(crate) struct Request<'r> {
    /// The package `opencompass`; if absent, the interpreter's own.
    pub(crate) tree: Option<&'r Path>,
    /// A configuration to be resolved.
    pub(crate) configuration: Option<&'r Path>,
    /// The folder of the configuration, for modules of the user's own.
    pub(crate) folder: Option<&'r Path>,
    pub(crate) caches: Caches,
    pub(crate) calls: Vec<Call<'r>>,
}

/// Caches of the library `datasets`, which writes locks where it reads.
#[derive(Debug, Serialize)]
pub(crate) struct Caches {
    pub(crate) datasets: Option<PathBuf>,
    pub(crate) modules: Option<PathBuf>,
}

/// One class with its parameters.
#[derive(Debug, Serialize)]
pub(crate) struct Call<'r> {
    pub(crate) class: &'r str,
    pub(crate) parameters: &'r serde_json::Map<String, serde_json::Value>,
    pub(crate) splits: &'r [String],
}

/// Events that the script reports, in the order in which they happen.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event {
    Python {
        version: String,
    },
    /// A module without which nothing can be read.
    Unusable {
        module: String,
        class: String,
        line: String,
    },
    Opencompass {
        version: Option<String>,
    },
    Configuration {
        file: String,
        files: Vec<PathBuf>,
        folders: Vec<PathBuf>,
    },
    Loading {
        call: usize,
    },
    Rows {
        call: usize,
        splits: Vec<Split>,
        files: Vec<PathBuf>,
        folders: Vec<PathBuf>,
        modules: Vec<PathBuf>,
    },
    /// A class, or the configuration, raised an exception.
    Refused {
        call: usize,
        class: String,
        line: String,
        place: Option<String>,
    },
    End {
        variables: Vec<String>,
    },
}

/// The rows of a split in a file beside the events.
#[derive(Debug, Deserialize)]
pub(crate) struct Split {
    pub(crate) split: String,
    pub(crate) file: String,
    pub(crate) rows: u64,
    pub(crate) columns: Vec<String>,
}

/// Puts script and request into `folder`; returns the script's path.
///
/// # Errors
/// Errors of the system.
pub(crate) fn prepare(folder: &Path, request: &Request<'_>) -> io::Result<PathBuf> {
    for (name, text) in FILES {
        std::fs::write(folder.join(name), text)?;
    }
    std::fs::write(folder.join(REQUEST), serde_json::to_vec(request)?)?;
    Ok(folder.join(FILES[0].0))
}

/// Reads the events so far; an incomplete line, and all after it, is left out.
pub(crate) fn events(folder: &Path) -> Vec<Event> {
    let mut bytes = Vec::new();
    let read =
        regular_file::open(&folder.join(EVENTS)).and_then(|file| file.take(MOST_EVENT_BYTES).read_to_end(&mut bytes));
    if read.is_err() {
        return Vec::new();
    }
    bytes.split_inclusive(|byte| *byte == b'\n').map_while(|line| serde_json::from_slice(line).ok()).collect()
}
