//! Reasons why an interpreter gave nothing, and remedies.

use compass_settings::NoRows;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Fault that ends an export as a whole.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("`{program}` cannot be run: {reason}")]
    Program { program: PathBuf, reason: String },
    #[error("the folder `{folder}` for its rows cannot be written: {reason}")]
    Folder { folder: PathBuf, reason: String },
    #[error("no space is left on the disk of `{folder}`, where its rows are written")]
    Full { folder: PathBuf },
    #[error("`{program}` cannot import `{module}`: {class}: {line}")]
    Module { program: PathBuf, module: String, class: String, line: String },
    #[error("`{program}` {ended}{during}{tail}")]
    Ended { program: PathBuf, ended: String, during: String, tail: String },
    #[error("`{program}` was stopped after {} s without a result{during}{tail}", idle_timeout.as_secs())]
    TimedOut { program: PathBuf, idle_timeout: Duration, during: String, tail: String },
    #[error("`{program}` was stopped: it wrote more than {} MB{during}", most >> 20)]
    Output { program: PathBuf, most: u64, during: String },
}

impl Fault {
    /// An error of the system on `folder`.
    pub(crate) fn of_folder(folder: PathBuf, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { folder },
            _ => Self::Folder { folder, reason: error.to_string() },
        }
    }

    /// The remedy.
    fn help(&self) -> String {
        match self {
            Self::Program { .. } => {
                "name the Python in whose environment OpenCompass is installed: --python ENV/bin/python".to_owned()
            }
            Self::Folder { .. } => "make it writable, or set HOME to a folder that is".to_owned(),
            Self::Full { .. } => "make room there, then start again".to_owned(),
            Self::Module { module, .. } => format!(
                "name the Python in whose environment `{module}` is installed, or install it there: \
                 pip install opencompass"
            ),
            Self::Ended { .. } => {
                "run OpenCompass's own `run.py` with this Python to see it fail, or leave the data set out".to_owned()
            }
            Self::TimedOut { .. } => "leave that data set out, or write its rows as TOML".to_owned(),
            Self::Output { .. } => "leave that data set out, or read less of it: its `path` or `name`".to_owned(),
        }
    }

    /// As the reason of every class that it keeps from being read.
    pub(crate) fn no_rows(&self) -> NoRows {
        NoRows { reason: self.to_string(), help: Some(self.help()) }
    }
}

/// `raised KeyError: 'x' (loader.py:17)`.
fn raised(class: &str, line: &str, place: Option<&str>) -> String {
    let at = place.map_or(String::new(), |place| format!(" ({place})"));
    // What the script itself refuses.
    if class == "NotRows" {
        return format!("gives no rows that can be read: {line}");
    }
    let colon = if line.is_empty() { "" } else { ": " };
    format!("raised {class}{colon}{line}{at}")
}

/// Explains why a configuration cannot be evaluated: its exception.
pub(crate) fn no_configuration(class: &str, line: &str, place: Option<&str>) -> NoRows {
    let help = "correct the file: OpenCompass does not start with it either".to_owned();
    NoRows { reason: format!("mmengine {}", raised(class, line, place)), help: Some(help) }
}

/// Explains why one class gives no rows: its exception. `is_offline` is set if it had no network.
pub(crate) fn no_rows(class: &str, line: &str, place: Option<&str>, is_offline: bool) -> NoRows {
    let reason = format!("its own loader {}", raised(class, line, place));
    let wants = |words: &[&str]| words.iter().any(|word| class.contains(word) || line.contains(word));
    let help = if wants(&["No space left on device"]) {
        "make room on the disk of the state folder".to_owned()
    } else if wants(&["ModuleNotFoundError"]) {
        "install what is missing in the environment of that Python".to_owned()
    } else if is_offline && wants(&["URLError", "Connection", "Offline", "offline", "MaxRetry", "Name or service"]) {
        "its data is not on this host and it ran without a network: download it and name its folder with --data-dir, or \
         let it have a network with --python-network"
            .to_owned()
    } else if wants(&["FileNotFound", "Please make sure", "No such file", "doesn't exist"]) {
        "its data is not where OpenCompass looks for it: name the folder that holds it with --data-dir".to_owned()
    } else if wants(&["Read-only file system", "PermissionError"]) {
        "it may write nothing but temporary files, so it downloads nothing: name the folder that holds its data with --data-dir"
            .to_owned()
    } else {
        "leave these data sets out, or make the loader work with that Python: it is OpenCompass's own".to_owned()
    };
    NoRows { reason, help: Some(help) }
}
