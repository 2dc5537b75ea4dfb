//! Requirements of a release on the programs: their version, completions for shells, man pages.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::program;
use std::fs;
use std::process::Command;

const PROGRAMS: [&str; 2] = ["compass-master", "compass-worker"];

fn output(name: &str, arguments: &[&str]) -> String {
    let output = Command::new(program(name)).args(arguments).output().unwrap();
    assert!(output.status.success(), "{name} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn both_programs_print_one_version() {
    let of = |name| output(name, &["--version"]).trim_end().strip_prefix(&format!("{name} ")).unwrap().to_owned();
    let [master, worker] = PROGRAMS.map(of);
    assert_eq!(master, worker);
    let commit = master.strip_prefix(env!("CARGO_PKG_VERSION")).unwrap();
    // Of a build that was told its commit; others have none.
    assert!(commit.is_empty() || (commit.starts_with(" (") && commit.ends_with(')')), "{master}");
}

#[test]
#[ignore = "nightly"]
fn completions_and_man_pages_are_of_both_programs() {
    let folder = tempfile::tempdir().unwrap();
    for (name, word) in PROGRAMS.into_iter().zip(["max-num-workers", "master-lost-timeout"]) {
        for shell in ["bash", "zsh", "fish"] {
            let text = output(name, &["completions", shell]);
            assert!(text.contains(name) && text.contains(word), "{name} {shell}");
            assert!(!text.contains("plain-loopback"), "{name} {shell} shows what is hidden");
        }
        output(name, &["man-pages", folder.path().to_str().unwrap()]);
        let page = fs::read_to_string(folder.path().join(format!("{name}.1"))).unwrap();
        assert!(page.contains(&word.replace('-', "\\-")) && page.contains("\n.SH NOTES\n.nf\n"), "{page}");
    }
    for page in [
        "compass-master-submit.1",
        "compass-worker-gpu-check.1",
        "compass-master-token-create.1",
        "compass-worker-sandbox.1",
    ] {
        assert!(folder.path().join(page).exists(), "{page}");
    }
    let pages = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let hidden: Vec<_> = pages.filter(|page| page.contains("engine") || page.contains("completions")).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}
