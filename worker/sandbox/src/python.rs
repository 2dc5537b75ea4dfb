//! The interpreter for programs, and the directories that it needs.

use crate::policy::Policy;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::Command;

#[derive(Clone, Debug)]
pub(crate) struct Python {
    pub executable: PathBuf,
    /// For example `3.11.2`.
    pub version: String,
    /// The interpreter's directories outside `/usr`.
    pub directories: Vec<PathBuf>,
}

/// Prints one line each: the version, the interpreter behind any launching script or link, and its directories.
const PROBE: &str = "import os, sys\n\
    if sys.version_info < (3, 7): sys.exit('older than Python 3.7')\n\
    paths = [sys.executable, os.path.realpath(sys.executable), sys.prefix, sys.base_prefix, sys.exec_prefix]\n\
    print('\\n'.join([sys.version.split()[0]] + paths))";

/// Returns the usable interpreters, and why others are not usable.
pub(crate) async fn interpreters(policy: &Policy) -> (Vec<Python>, Vec<String>) {
    let (mut found, mut refused): (Vec<Python>, Vec<String>) = (Vec::new(), Vec::new());
    for candidate in candidates(policy) {
        match probe(&candidate).await {
            Ok(python) if found.iter().any(|known| known.executable == python.executable) => {}
            Ok(python) => found.push(python),
            Err(reason) => refused.push(format!("{}: {reason}", candidate.display())),
        }
    }
    (found, refused)
}

fn candidates(policy: &Policy) -> Vec<PathBuf> {
    if let Some(python) = &policy.python {
        return vec![python.clone()];
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/bin", "/usr/local/bin"].map(PathBuf::from);
    let mut candidates: Vec<PathBuf> = Vec::new();
    for directory in usual.into_iter().chain(std::env::split_paths(&search)) {
        // `/bin` is often a link to `/usr/bin`.
        let Ok(directory) = directory.canonicalize() else { continue };
        let candidate = directory.join("python3");
        if candidate.is_file() && !candidates.contains(&candidate) {
            candidates.push(candidate);
        }
    }
    candidates
}

async fn probe(candidate: &Path) -> Result<Python, String> {
    let mut command = Command::new(candidate);
    command.args(["-I", "-B", "-c", PROBE]).stdin(Stdio::null()).kill_on_drop(true);
    let answer = tokio::time::timeout(std::time::Duration::from_secs(30), command.output()).await;
    let output = answer.map_err(|_| "no answer within 30 s".to_owned())?.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines();
    let version = lines.next().unwrap_or_default().to_owned();
    let mut lines = lines.map(PathBuf::from);
    let (true, Some(executable)) = (output.status.success(), lines.next()) else {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    };
    let mut directories: Vec<PathBuf> = Vec::new();
    // The first path is the interpreter's file, the others are directories.
    for path in
        lines.enumerate().filter_map(|(at, path)| if at == 0 { path.parent().map(Into::into) } else { Some(path) })
    {
        let shown = path.starts_with("/usr") || directories.iter().any(|known| path.starts_with(known));
        if !shown && path.is_dir() && path != Path::new("/") {
            directories.push(path);
        }
    }
    Ok(Python { executable, version, directories })
}
