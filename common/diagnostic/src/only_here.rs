//! No other package writes a severity or a remedy into a text by hand: a test that reads the source of all that is shipped.

use std::fs;
use std::path::{Path, PathBuf};

/// Fragments of texts that are put together by hand.
const BY_HAND: [&str; 5] = ["\"error: ", "\"warning: ", "\"note: ", "= help:", "= note:"];

/// Lines that read what another program wrote.
const OF_OTHERS: [&str; 1] = ["line.strip_prefix(\"error: \")"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !["tests", "target", "benches", "diagnostic"].contains(&name.as_str()) {
            sources(&path, found);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The file without its tests, which are at its end.
fn shipped(text: &str) -> &str {
    text.find("\n#[cfg(test)]\nmod tests {").map_or(text, |at| &text[..at])
}

#[test]
fn severities_and_remedies_are_never_written_by_hand() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    ["common", "master", "worker", "proto"].iter().for_each(|folder| sources(&root.join(folder), &mut files));
    assert!(files.len() > 500, "{} files", files.len());
    let mut by_hand = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        for (at, line) in shipped(&text).lines().enumerate() {
            let is_code = !line.trim_start().starts_with("//");
            let is_ours = !OF_OTHERS.iter().any(|allowed| line.contains(allowed));
            if is_code && is_ours && BY_HAND.iter().any(|text| line.contains(text)) {
                by_hand.push(format!("{}:{}: {}", path.display(), at + 1, line.trim()));
            }
        }
    }
    assert!(by_hand.is_empty(), "write a Diagnostic:\n{}", by_hand.join("\n"));
}
