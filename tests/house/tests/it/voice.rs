//! The voice of comments and code, counted against budgets that may only fall: what this project leaves behind may not come back.

use std::path::{Path, PathBuf};

/// Part of a budget, as its divisor, by which a count may lie below it: a commit that removes more lowers the budget.
const SLACK: usize = 50;

/// Something that is counted in a source file.
struct Counter {
    what: &'static str,
    instead: &'static str,
    budget: usize,
    count: fn(&str) -> usize,
}

const COUNTERS: [Counter; 5] = [
    Counter {
        what: "documentation that begins with What, Whether, How, Where, Who, Of, Those or the like",
        instead: "begin with the subject: a noun for a type, a verb for a function",
        budget: 60,
        count: openers,
    },
    Counter {
        what: "`such`, `so many`, `is none`, `goes on`, `those of` in comments",
        instead: "say what it is: this kind, the number, continues, the noun again",
        budget: 399,
        count: dialect,
    },
    Counter {
        what: "parameters that are tuples",
        instead: "a struct with named fields",
        budget: 132,
        count: tuple_parameters,
    },
    Counter { what: "results whose error is a text", instead: "an error type", budget: 353, count: texts_as_errors },
    Counter { what: "functions called `of`", instead: "a verb, or `from_...`", budget: 92, count: named_of },
];

const OPENERS: [&str; 13] =
    ["What", "Whether", "How", "Where", "Of", "Who", "Whom", "Whose", "Which", "Why", "When", "Those", "That"];
const DIALECT: [&str; 5] = ["such", "so many", "is none", "goes on", "those of"];

/// The text of a documentation comment's line.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
}

fn openers(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let begins = |at: usize| at == 0 || documentation(lines[at - 1]).is_none_or(str::is_empty);
    let is_opener = |at: &usize| {
        let first = documentation(lines[*at]).and_then(|text| text.split(|c: char| !c.is_alphabetic()).next());
        first.is_some_and(|first| OPENERS.contains(&first)) && begins(*at)
    };
    (0..lines.len()).filter(is_opener).count()
}

fn dialect(text: &str) -> usize {
    let comments = text.lines().filter_map(|line| line.trim_start().strip_prefix("//"));
    let words = |line: &str| {
        let words: Vec<&str> = line.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
        format!(" {} ", words.join(" ").to_lowercase())
    };
    comments
        .map(|line| DIALECT.iter().map(|word| words(line).matches(&format!(" {word} ")).count()).sum::<usize>())
        .sum()
}

/// Tuples that are taken apart, and annotated: `(a, b): (A, B)` within the parentheses of a function.
fn tuple_parameters(text: &str) -> usize {
    text.match_indices("): (").chain(text.match_indices("): &(")).filter(|(at, _)| is_pattern(&text[..*at])).count()
}

/// Whether a text ends within a pattern of several names that a parameter begins with.
fn is_pattern(text: &str) -> bool {
    let Some(open) = text.rfind('(') else { return false };
    let names = &text[open + 1..];
    let before = text[..open].trim_end();
    names.contains(',')
        && names.chars().all(|c| c.is_alphanumeric() || " ,_\n".contains(c))
        && before.ends_with(['(', ','])
}

fn texts_as_errors(text: &str) -> usize {
    text.match_indices(", String>").filter(|(at, _)| is_in_result(&text[..*at])).count()
}

/// Whether the innermost generic that is open at the end of a text is a `Result`.
fn is_in_result(text: &str) -> bool {
    let mut depth = 0;
    for (at, letter) in text.char_indices().rev().take(200) {
        match letter {
            '>' if !text[..at].ends_with(['-', '=']) => depth += 1,
            '<' if depth == 0 => return text[..at].ends_with("Result"),
            '<' => depth -= 1,
            ';' | '{' | '}' => return false,
            _ => {}
        }
    }
    false
}

fn named_of(text: &str) -> usize {
    text.matches("fn of(").count()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        match entry.file_type().unwrap().is_dir() {
            true if !name.starts_with('.') && name != "target" && name != "third_party" => sources(&path, found),
            // This file names what it counts.
            false if name.ends_with(".rs") && name != "voice.rs" => found.push(path),
            _ => {}
        }
    }
}

#[test]
fn what_is_left_behind_does_not_come_back() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut files = Vec::new();
    sources(&root, &mut files);
    let texts: Vec<String> = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    assert!(texts.len() > 1_000, "{} files", texts.len());
    let mut wrong = Vec::new();
    for Counter { what, instead, budget, count } in COUNTERS {
        let found: usize = texts.iter().map(|text| count(text)).sum();
        println!("{found} of {budget}: {what}");
        if found > budget {
            wrong.push(format!("{what}: {found}, where {budget} are allowed; write {instead}"));
        }
        if found + budget / SLACK < budget {
            wrong.push(format!("{what}: {found}, which is less than was allowed: lower the budget from {budget}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_counter_counts_its_kind_and_nothing_else() {
    assert_eq!(openers("//! What a thing is.\n\n/// Whether it is.\nfn f() {}\n/// A thing.\n/// What follows.\n"), 2);
    assert_eq!(openers("/// Whatever it is.\n// What a comment is.\nlet what = \"/// What\";\n"), 0);
    assert_eq!(dialect("/// As many as there are; there is none such.\nlet such = 1;\n"), 2);
    assert_eq!(tuple_parameters("fn f((a, b): (A, B), c: u8, (d, e): &(D, E)) {}"), 2);
    assert_eq!(tuple_parameters("let (a, b): (A, B) = c; fn f(a: u8) -> (A, B) {}"), 0);
    assert_eq!(texts_as_errors("fn f() -> Result<Vec<u8>, String> {}\nfn g() -> BTreeMap<u8, String> {}"), 1);
    assert_eq!(texts_as_errors("fn f() -> Result<Map<u8, String>, Error> {}"), 0);
    assert_eq!(named_of("pub fn of(a: u8) {} fn often() {}"), 1);
}
