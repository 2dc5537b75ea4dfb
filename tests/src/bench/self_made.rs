//! Questions of one's own in the layout of the data sets' files, so that the presets read them.

use std::fmt::Write as _;
use std::path::Path;

const THINGS: [&str; 8] = ["apples", "boats", "coins", "drums", "eggs", "forks", "goats", "hats"];
const NAMES: [&str; 8] = ["Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal"];

/// Writes `questions` sums of four choices each for every subject, and five more to learn from, as MMLU's files are.
///
/// # Errors
/// Errors of the disk, in words.
pub(super) fn write_mmlu(root: &Path, subjects: &[String], questions: usize) -> Result<(), String> {
    for (which, subject) in subjects.iter().enumerate() {
        for (split, rows) in [("dev", 5), ("test", questions)] {
            let mut text = String::new();
            for row in 0..rows {
                let (a, b) = (row * 7 % 23 + 2 + which, row * 5 % 17 + 3);
                let (name, thing) = (pick(&NAMES, row + which), pick(&THINGS, row / 2 + which));
                let sum = a + b;
                let first = sum - row % 4;
                let letter = char::from(b'A' + (row % 4) as u8);
                let _ = writeln!(
                    text,
                    "{name} had {a} {thing} and found {b} more. How many {thing} has {name} now?,{first},{},{},{},{letter}",
                    first + 1,
                    first + 2,
                    first + 3
                );
            }
            write(&root.join("mmlu").join(split).join(format!("{subject}_{split}.csv")), &text)?;
        }
    }
    Ok(())
}

/// Writes `questions` word problems as GSM8K's file is.
///
/// # Errors
/// Errors of the disk, in words.
pub(super) fn write_gsm8k(root: &Path, questions: usize) -> Result<(), String> {
    let mut text = String::new();
    for row in 0..questions {
        let (a, b) = (row * 7 % 31 + 2, row * 11 % 13 + 2);
        let (name, thing) = (pick(&NAMES, row), pick(&THINGS, row / 3));
        let more = " They are kept in a box.".repeat(row % 4);
        let question = format!("{name} buys {a} bags with {b} {thing} each.{more} How many {thing} are that?");
        let row = serde_json::json!({"question": question, "answer": format!("{a} * {b}\n#### {}", a * b)});
        let _ = writeln!(text, "{row}");
    }
    write(&root.join("gsm8k/test.jsonl"), &text)
}

fn pick(words: &[&'static str], at: usize) -> &'static str {
    words.get(at % words.len().max(1)).copied().unwrap_or_default()
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, text));
    made.map_err(|error| format!("{}: {error}", path.display()))
}
