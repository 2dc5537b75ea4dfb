//! Evaluates every configuration below a folder and counts the results.
//!
//! `cargo run --release -p compass-python --example corpus -- ROOT [FOLDER] [--json FILE]`: ROOT holds the package
//! `opencompass`; FOLDER is below it (`opencompass/configs` unless told). `--json` writes one line for each file, as mmengine's
//! `to_dict` has it, to be compared with what mmengine gives.

use compass_python::{Host, Imported, Limits, Node, Plain, evaluate};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

struct Tree {
    root: PathBuf,
}

impl Host for Tree {
    fn base(&self, file: &Path, level: u32, module: &str) -> Imported {
        let mut folder = if level == 0 { self.root.clone() } else { file.parent().unwrap_or(Path::new("")).to_owned() };
        for _ in 1..level {
            folder.pop();
        }
        let path = folder.join(module.replace('.', "/")).with_extension("py");
        match std::fs::read(&path) {
            Ok(bytes) => Imported::Source { path, text: String::from_utf8_lossy(&bytes).into_owned() },
            Err(error) => Imported::Missing { reason: format!("{}: {error}", path.display()), help: None },
        }
    }

    fn read(&self, path: &Path) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_below(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "py") && !path.ends_with("__init__.py") {
            files.push(path);
        }
    }
}

fn json(out: &mut String, node: &Node) {
    let text = |out: &mut String, text: &str| {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                c if u32::from(c) < 32 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => out.push(c),
            }
        }
        out.push('"');
    };
    match &node.value {
        Plain::None => out.push_str("null"),
        Plain::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Plain::Int(value) => out.push_str(&value.to_string()),
        Plain::Float(value) if value.is_finite() => out.push_str(&format!("{value:?}")),
        Plain::Float(value) => text(out, &value.to_string()),
        Plain::Text(value) => text(out, value),
        Plain::Symbol(value) => text(out, value),
        Plain::Other(kind) => text(out, kind),
        Plain::List(items) | Plain::Tuple(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                json(out, item);
            }
            out.push(']');
        }
        Plain::Dict(entries) => {
            out.push('{');
            for (at, (key, item)) in entries.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                match &key.value {
                    Plain::Text(key) => text(out, key),
                    Plain::Int(key) => text(out, &key.to_string()),
                    Plain::Bool(key) => text(out, if *key { "true" } else { "false" }),
                    other => text(out, &format!("{other:?}")),
                }
                out.push(':');
                json(out, item);
            }
            out.push('}');
        }
    }
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let written = arguments.iter().position(|argument| argument == "--json");
    let plain: Vec<&String> = arguments
        .iter()
        .enumerate()
        .filter(|(at, _)| written.is_none_or(|json| *at < json))
        .map(|(_, text)| text)
        .collect();
    let Some(root) = plain.first() else {
        eprintln!("usage: corpus ROOT [FOLDER] [--json FILE]");
        std::process::exit(2);
    };
    let root = PathBuf::from(root);
    let mut lines = match written.and_then(|at| arguments.get(at + 1)) {
        Some(path) => Some(std::io::BufWriter::new(std::fs::File::create(path)?)),
        None => None,
    };
    let mut files = Vec::new();
    files_below(&root.join(plain.get(1).map_or("opencompass/configs", |folder| folder.as_str())), &mut files);
    files.sort();
    let host = Tree { root: root.clone() };
    let mut counts: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let begun = std::time::Instant::now();
    for path in &files {
        let shown = path.strip_prefix(&root).unwrap_or(path);
        let folder: String =
            shown.components().skip(2).take(1).map(|part| part.as_os_str().to_string_lossy()).collect();
        let text = String::from_utf8_lossy(&std::fs::read(path)?).into_owned();
        let evaluation = evaluate(path, text, &host, Limits::default());
        let count = counts.entry(folder).or_default();
        count.1 += 1;
        match evaluation.result {
            Ok(names) => {
                count.0 += 1;
                if let Some(lines) = &mut lines {
                    let mut line = format!("{{\"file\":\"{}\",\"names\":{{", shown.display());
                    for (at, (name, node)) in names.iter().enumerate() {
                        line.push_str(if at > 0 { "," } else { "" });
                        line.push_str(&format!("\"{name}\":"));
                        json(&mut line, node);
                    }
                    writeln!(lines, "{line}}}}}")?;
                }
            }
            Err(error) => {
                let at = error.place.and_then(|place| {
                    let file = evaluation.files.get(place.file.index())?;
                    let line = file.text.get(..place.range().start)?.matches('\n').count() + 1;
                    Some(format!("{}:{line}", file.path.strip_prefix(&root).unwrap_or(&file.path).display()))
                });
                let reason: String = error.line().chars().take(150).collect();
                reasons.entry(reason).or_default().push(at.unwrap_or_else(|| shown.display().to_string()));
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    for (reason, places) in &reasons {
        println!(
            "{:4} x {reason}\n       {}",
            places.len(),
            places.iter().take(3).cloned().collect::<Vec<_>>().join("  ")
        );
    }
    for (folder, (evaluated, all)) in &counts {
        println!("{folder:24} {evaluated:5} of {all:5}");
    }
    println!("{seconds:.2} s");
    Ok(())
}
