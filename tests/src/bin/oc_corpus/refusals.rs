//! Files that are refused, grouped by reason: fits on two screens.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Groups that are printed, unless all are asked for.
const MOST: usize = 60;
/// Characters of a reason.
const LENGTH: usize = 150;

#[derive(Debug, Default)]
pub(super) struct Refusals {
    pub(super) by_reason: BTreeMap<String, Vec<String>>,
    /// Where whole reports are written.
    pub(super) reports: Option<PathBuf>,
}

impl Refusals {
    /// `reason` is a report: its first error counts.
    pub(super) fn add(&mut self, file: &str, reason: &str) {
        let line = reason.lines().find(|line| line.contains("error")).or(reason.lines().next()).unwrap_or_default();
        if let Some(folder) = &self.reports {
            // A report that cannot be written changes no count.
            let _ = std::fs::create_dir_all(folder);
            let _ = std::fs::write(folder.join(file.replace('/', "__") + ".txt"), reason);
        }
        self.by_reason.entry(general(line)).or_default().push(file.to_owned());
    }

    pub(super) fn print(&self, all: bool) {
        let mut groups: Vec<(&String, &Vec<String>)> = self.by_reason.iter().collect();
        groups.sort_by_key(|(reason, files)| (std::cmp::Reverse(files.len()), *reason));
        let shown = if all { groups.len() } else { MOST };
        for (reason, files) in groups.iter().take(shown) {
            println!("{:4} x {reason}", files.len());
            if all {
                println!("       {}", files.join(" "));
            }
        }
        if let Some(rest) = groups.get(shown..).filter(|rest| !rest.is_empty()) {
            let files: usize = rest.iter().map(|(_, files)| files.len()).sum();
            println!("{files:4} x one of {} further reasons (--all)", rest.len());
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
                text.push_str(part);
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
    text.trim_start_matches("error: ").chars().take(LENGTH).collect()
}
