//! OpenCompass itself beside Compass, over every file of its data sets that is served.
//!
//! `COMPASS_OPENCOMPASS` names the folder that holds the package `opencompass` (0.5.4), `COMPASS_OPENCOMPASS_PYTHON` an interpreter
//! with its dependencies. Everything that differs is printed by `oc-corpus`, whose exit status this asks for.

use std::path::PathBuf;
use std::process::Command;

/// Returns the path in an environment variable; without one it reports that the test is skipped.
fn named(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    if path.is_none() {
        eprintln!("skipped: {variable} names nothing");
    }
    path
}

#[test]
#[ignore = "nightly"]
fn files_that_are_served_ask_and_score_as_opencompass_does() {
    let Some(tree) = named("COMPASS_OPENCOMPASS") else { return };
    let Some(python) = named("COMPASS_OPENCOMPASS_PYTHON") else { return };
    let folder = tempfile::tempdir().unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_oc-corpus"))
        .arg(tree)
        .args(["--entries", "2", "--keep"])
        .arg(folder.path())
        .arg("--peer")
        .arg(python)
        .status();
    assert!(status.unwrap().success());
}
