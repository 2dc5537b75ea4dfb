//! Files that are refused, grouped by reason: fits on two screens.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Reasons of a kind that are printed, unless all are asked for.
const MOST: usize = 9;
/// Characters of a reason.
const LENGTH: usize = 150;

/// Kinds of reasons, by words that a reason holds; the first one that fits counts.
const KINDS: [(&str, &[&str]); 8] = [
    ("planned, but not scored", &["planned, not scored"]),
    ("an evaluator is missing here", &["evaluator `", "metric = "]),
    ("a postprocessor is missing here", &["postprocessor `"]),
    (
        "OpenCompass's own files are wrong",
        &["ModuleNotFoundError", "ImportError", "no data set is defined", "has no class"],
    ),
    (
        "the loader needs a package, the network or a feature",
        &[
            "is not evaluated here",
            "`load_dataset` with",
            "patterns and addresses",
            "has no attribute",
            "unsupported operand",
        ],
    ),
    ("no data was made that the loader takes", &["cannot be read here"]),
    ("no data was made that the plan takes", &["data set `"]),
    ("the configuration asks for what is missing here", &[""]),
];

#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// Names of files by the kind and the reason.
    by_kind: BTreeMap<usize, BTreeMap<String, Vec<String>>>,
    /// Path to which whole reports are written.
    reports: Option<PathBuf>,
}

impl Refusals {
    /// Whole reports are written to `reports`, where that is a folder.
    pub(super) fn new(reports: Option<PathBuf>) -> Self {
        Self { by_kind: BTreeMap::new(), reports }
    }

    /// `reason` is a report: its first error counts.
    pub(super) fn add(&mut self, file: &str, reason: &str) {
        let line = reason.lines().find(|line| line.contains("error")).or(reason.lines().next()).unwrap_or_default();
        if let Some(folder) = &self.reports {
            // A report that cannot be written changes no count.
            let _ = std::fs::create_dir_all(folder);
            let _ = std::fs::write(folder.join(file.replace('/', "__") + ".txt"), reason);
        }
        let kind = KINDS.iter().position(|(_, words)| words.iter().any(|word| line.contains(word)));
        let of_kind = self.by_kind.entry(kind.unwrap_or(KINDS.len() - 1)).or_default();
        of_kind.entry(general(line)).or_default().push(file.to_owned());
    }

    pub(super) fn print(&self, all: bool) {
        for (kind, of_kind) in &self.by_kind {
            let count = |files: &[(&String, &Vec<String>)]| files.iter().map(|(_, files)| files.len()).sum::<usize>();
            let mut groups: Vec<(&String, &Vec<String>)> = of_kind.iter().collect();
            groups.sort_by_key(|(reason, files)| (std::cmp::Reverse(files.len()), *reason));
            println!("{:4} x {}", count(&groups), KINDS.get(*kind).map_or("", |(name, _)| name));
            let (shown, rest) = groups.split_at(if all { groups.len() } else { groups.len().min(MOST) });
            for (reason, files) in shown {
                println!("     {:4} x {reason}", files.len());
                if all {
                    println!("            {}", files.join(" "));
                }
            }
            if !rest.is_empty() {
                println!("     {:4} x one of {} further reasons (--all)", count(rest), rest.len());
            }
        }
    }
}

/// The line without what differs from file to file: counts, places and paths.
fn general(line: &str) -> String {
    let mut text = String::new();
    for (at, part) in line.split('`').enumerate() {
        match at % 2 {
            0 => text.push_str(part),
            _ if part.contains('/') => text.push_str("`...`"),
            _ => {
                text.push('`');
                text.push_str(part.strip_prefix("opencompass.datasets.").unwrap_or(part));
                text.push('`');
            }
        }
    }
    let text = match text.find(" data sets)") {
        Some(end) => {
            let begin = text.get(..end).and_then(|head| head.rfind('(')).unwrap_or(end);
            format!("{}{}", text.get(..begin).unwrap_or_default().trim_end(), text.get(end + 11..).unwrap_or_default())
        }
        None => text,
    };
    let word = |word: &str| if word.contains("/") { "...".to_owned() } else { word.to_owned() };
    let text: Vec<String> = text.trim_start_matches("error: ").split(' ').map(word).collect();
    text.join(" ").replace(" cannot be read here", "").chars().take(LENGTH).collect()
}
