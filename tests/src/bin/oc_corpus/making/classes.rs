//! Data of loader classes, made as their own errors ask for it.
//!
//! A class is evaluated over what is there. An error that names a file, a repository or a key that is missing has it made; one
//! of another kind has a value that its line reads made of another kind. Rounds are bounded.

use super::fault::Fault;
use super::reads::{self, Step, Use};
use super::sources::Sources;
use super::text::Draw;
use super::tokens::Token;
use compass_pyfmt::python_str;
use compass_settings::LoaderCall;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Shapes that no source tells, by class.
const KNOWN: &str = include_str!("classes.json");
/// Rows of a file.
const ROWS: usize = 30;
/// Kinds that a value is given in turn where the loader stumbles over it.
const KINDS: usize = 8;
const SPLITS: [&str; 3] = ["train", "validation", "test"];

/// Classes and data that are made for one file of data sets.
#[derive(Debug)]
pub(in super::super) struct Classes {
    sources: Arc<Sources>,
    data: PathBuf,
    hub: PathBuf,
    known: Map<String, Value>,
    /// Columns that the configuration asks of its rows.
    columns: BTreeSet<String>,
    asked: BTreeMap<String, Asked>,
}

/// Data that one class asks for.
#[derive(Debug, Default)]
struct Asked {
    row: Value,
    /// Content of a `.json` file as a whole, where it is not a list of rows.
    document: Value,
    /// Shapes by the ends of paths.
    files: Map<String, Value>,
    /// `.json` files hold lines of rows.
    is_lines: bool,
    /// Ends of names that the source spells out.
    ends: Vec<&'static str>,
    /// Texts of the source.
    words: BTreeSet<String>,
    /// Rows are cells without names.
    is_table: bool,
    /// Files that a folder of the class has.
    names: Vec<String>,
    made: Vec<PathBuf>,
    /// Number of times that each error came.
    errors: BTreeMap<String, usize>,
    /// Attempt at the last error: the place of a value, and its former content.
    tried: Option<(Vec<Step>, Value)>,
}

impl Classes {
    pub(in super::super) fn new(sources: Arc<Sources>, data: &Path, hub: &Path, columns: BTreeSet<String>) -> Self {
        let known = serde_json::from_str(KNOWN).unwrap_or_default();
        Self { sources, data: data.to_owned(), hub: hub.to_owned(), known, columns, asked: BTreeMap::new() }
    }

    /// Makes what the fault asks for; whether anything was made.
    pub(in super::super) fn mend(&mut self, call: &LoaderCall, reason: &str) -> bool {
        let fault = Fault::of(reason);
        let mut asked = match self.asked.remove(&call.class) {
            Some(asked) => asked,
            None => self.begin(&call.class),
        };
        // Values of another kind come to other words at the same place.
        let told = match (&fault.place, &fault.missing) {
            (Some((file, line)), None) => format!("{file}:{line}:{}", fault.named_key().unwrap_or_default()),
            _ => reason.to_owned(),
        };
        let count = asked.errors.entry(told).or_default();
        *count += 1;
        let count = *count;
        let mended = match &fault.missing {
            Some(missing) if count < 3 => self.place(call, &mut asked, &fault, missing),
            Some(_) => false,
            None => self.change(call, &mut asked, &fault, count),
        };
        self.asked.insert(call.class.clone(), asked);
        mended
    }

    /// Gives a column of every class's rows one of the values; whether there was one.
    pub(in super::super) fn labels(&mut self, name: &str, labels: &[&str]) -> bool {
        let token = Value::from(format!("$any:{}", labels.join("|")));
        let mut any = false;
        let classes: Vec<String> = self.asked.keys().cloned().collect();
        for class in classes {
            let Some(mut asked) = self.asked.remove(&class) else { continue };
            if let Some(map) = asked.row.as_object_mut() {
                // The gold answer of cells without names is the last one.
                let last = map.keys().next_back().cloned().filter(|_| asked.is_table);
                let name = last.unwrap_or_else(|| name.to_owned());
                if map.insert(name, token.clone()).as_ref() == Some(&token) {
                    self.asked.insert(class, asked);
                    continue;
                }
                any |= self.again(&asked);
            }
            self.asked.insert(class, asked);
        }
        any
    }

    /// Adds a column to the rows of every class; whether there was one.
    pub(in super::super) fn column(&mut self, name: &str) -> bool {
        let mut any = false;
        let classes: Vec<String> = self.asked.keys().cloned().collect();
        for class in classes {
            let Some(mut asked) = self.asked.remove(&class) else { continue };
            if asked.row.get(name).is_none() && !asked.made.is_empty() {
                reads::put(&mut asked.row, &[Step::Key(name.to_owned())], Use::Any);
                any |= self.again(&asked);
            }
            self.asked.insert(class, asked);
        }
        any
    }

    /// Reads what the source of a class says of its data.
    fn begin(&self, class: &str) -> Asked {
        let words = self.sources.class(class).words;
        let mut asked = Asked { row: json!({}), ..Asked::default() };
        let found = reads::reads(&words);
        for read in &found {
            let has_rows = matches!(read.at.steps.as_slice(), [Step::Key(_)]) && read.used == Use::Any;
            if read.at.of_document && has_rows {
                // A list of rows that are passed on as they are, unless more is read of it.
                if let Some(Step::Key(key)) = read.at.steps.first() {
                    reads::put_rows(&mut asked.document, key);
                }
            } else if read.at.of_document {
                reads::put(&mut asked.document, &read.at.steps, read.used);
            } else {
                reads::put(&mut asked.row, &read.at.steps, read.used);
            }
        }
        asked.words = words.iter().filter_map(Token::text).map(str::to_owned).collect();
        let texts: BTreeSet<&str> = words.iter().filter_map(Token::text).collect();
        // A document whose items are rows needs no shape of its own.
        if let Value::Array(items) = &asked.document {
            let row = items.first().cloned().unwrap_or_default();
            merge(&mut asked.row, row);
            asked.document = Value::Null;
        }
        for column in &self.columns {
            if !texts.contains(column.as_str()) && asked.row.get(column).is_none() {
                reads::put(&mut asked.row, &[Step::Key(column.clone())], Use::Any);
            }
        }
        let called = |module: &str, name: &str| {
            words.windows(3).any(|three| match three {
                [one, dot, two] => one.name() == Some(module) && dot.is('.') && two.name() == Some(name),
                _ => false,
            })
        };
        asked.is_lines = called("json", "loads") && !called("json", "load");
        asked.ends = vec![".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet"];
        asked.ends.retain(|end| texts.iter().any(|text| text.ends_with(end)));
        let name = class.rsplit('.').next().unwrap_or(class);
        if let Some(known) = self.known.get(name) {
            if let Some(row) = known.get("row") {
                asked.row = row.clone();
            }
            if let Some(document) = known.get("document") {
                asked.document = document.clone();
            }
            if let Some(more) = known.get("more") {
                merge(&mut asked.row, more.clone());
            }
            if let Some(lines) = known.get("lines").and_then(Value::as_bool) {
                asked.is_lines = lines;
            }
            let names = known.get("names").and_then(Value::as_array).into_iter().flatten();
            asked.names = names.filter_map(Value::as_str).map(str::to_owned).collect();
            asked.files = known.get("files").and_then(Value::as_object).cloned().unwrap_or_default();
        }
        asked
    }

    /// Makes what is missing.
    fn place(&self, call: &LoaderCall, asked: &mut Asked, fault: &Fault, missing: &super::fault::Missing) -> bool {
        use super::fault::Missing;
        match missing {
            Missing::Repository(name) => {
                let folder = self.hub.join(format!("datasets--{}", name.replace('/', "--")));
                let snapshot = folder.join("snapshots/made");
                let refs = folder.join("refs");
                let made = std::fs::create_dir_all(&refs).is_ok() && std::fs::write(refs.join("main"), "made").is_ok();
                made && self.tables(call, asked, &snapshot)
            }
            Missing::Revision(name, revision) => {
                let refs = self.hub.join(format!("datasets--{}", name.replace('/', "--"))).join("refs");
                std::fs::create_dir_all(&refs).is_ok() && std::fs::write(refs.join(revision), "made").is_ok()
            }
            Missing::Split { folder, config, split } => {
                let mut folder = PathBuf::from(folder);
                if let Some(config) = config {
                    folder = folder.join(config);
                }
                let is_new = !folder.join(format!("{split}.jsonl")).exists();
                let first = is_new && self.is_ours(&folder) && self.tables(call, asked, &folder);
                first && (folder.join(format!("{split}.jsonl")).exists() || self.split(asked, split))
            }
            Missing::Path(path) => {
                let path = if path.is_absolute() { path.clone() } else { self.data.join(path) };
                if !self.is_ours(&path) {
                    return false;
                }
                let line = fault.place.as_ref().map(|(file, line)| self.sources.line_text(&call.class, file, *line));
                let line = line.unwrap_or_default();
                if path.is_dir() {
                    return self.fill_folder(call, asked, &path);
                }
                let has_end = path
                    .extension()
                    .and_then(|end| end.to_str())
                    .is_some_and(|end| (1..6).contains(&end.len()) && end.chars().all(|c| c.is_ascii_alphabetic()));
                match has_end {
                    true => self.file(asked, &path, true),
                    false if line.contains("open(") => self.file(asked, &path, true),
                    false if line.contains("load_dataset(") => self.tables(call, asked, &path),
                    false => {
                        for name in asked.names.clone() {
                            self.file(asked, &path.join(name), true);
                        }
                        std::fs::create_dir_all(&path).is_ok()
                    }
                }
            }
        }
    }

    fn is_ours(&self, path: &Path) -> bool {
        let plain = path.components().all(|part| part != std::path::Component::ParentDir);
        plain && (path.starts_with(&self.data) || path.starts_with(&self.hub))
    }

    /// A file for every split.
    fn tables(&self, call: &LoaderCall, asked: &mut Asked, folder: &Path) -> bool {
        let names = call.splits.iter().map(String::as_str).chain(SPLITS);
        let names: BTreeSet<&str> = names.filter(|name| !name.is_empty() && !name.contains('/')).collect();
        names.iter().filter(|name| self.file(asked, &folder.join(format!("{name}.jsonl")), true)).count() > 0
    }

    /// A further split beside those that were made.
    fn split(&self, asked: &mut Asked, split: &str) -> bool {
        let is_table = |path: &&PathBuf| SPLITS.iter().any(|name| path.file_stem().is_some_and(|stem| stem == *name));
        let beside: BTreeSet<PathBuf> = asked
            .made
            .iter()
            .filter(is_table)
            .filter_map(|path| Some(path.parent()?.join(split).with_extension(path.extension()?)))
            .filter(|path| !path.exists())
            .collect();
        beside.iter().filter(|path| self.file(asked, path, true)).count() > 0
    }

    /// A folder whose names the loader goes through.
    fn fill_folder(&self, call: &LoaderCall, asked: &mut Asked, folder: &Path) -> bool {
        let end = asked.ends.first().copied().unwrap_or(".jsonl");
        let name = call.parameters.get("name").and_then(Value::as_str).unwrap_or("part");
        let path = folder.join(format!("{name}{end}"));
        !path.exists() && self.is_ours(&path) && self.file(asked, &path, true)
    }

    /// Other values where the fault stumbled.
    fn change(&self, call: &LoaderCall, asked: &mut Asked, fault: &Fault, count: usize) -> bool {
        if asked.made.is_empty() {
            return false;
        }
        let reads = fault.place.as_ref().map(|(file, line)| self.sources.line(&call.class, file, *line));
        let reads = reads.unwrap_or_default();
        if fault.class == "KeyError"
            && reads.is_empty()
            && let Some(key) = fault.named_key()
            && !asked.words.contains(key)
            && count == 1
            && self.split(asked, key)
        {
            return true;
        }
        if let Some(split) = &fault.split
            && self.split(asked, split)
        {
            return true;
        }
        if fault.class == "AssertionError"
            && let Some((file, line)) = &fault.place
            && let Some(columns) = length_in(self.sources.line_text(&call.class, file, *line))
            && count == 1
        {
            // Rows of a table without names.
            let name = |at: usize| format!("{}", char::from(b'a' + u8::try_from(at).unwrap_or(25)));
            let token = |at: usize| if at + 1 == columns { "$letter" } else { "$text" };
            asked.is_table = true;
            asked.row = (0..columns).map(|at| (name(at), Value::from(token(at)))).collect::<Map<_, _>>().into();
            return self.again(asked);
        }
        let is_spelled = |key: &str| asked.words.iter().any(|word| word == key);
        let is_named =
            |key: &String| is_spelled(key) || reads.iter().any(|read| read.at.steps.contains(&Step::Key(key.clone())));
        // Another key is a drawn value that the loader looks up.
        if let Some(key) = fault.key.as_ref().filter(|key| is_named(key) || (count == 1 && fault.class != "KeyError")) {
            if count > 2 {
                return self.split(asked, key);
            }
            let of_key = reads.iter().find(|read| read.at.steps.last() == Some(&Step::Key(key.clone())));
            let read = of_key.map(|read| (read.at.clone(), read.used));
            let top = (reads::At { of_document: false, steps: vec![Step::Key(key.clone())] }, Use::Any);
            let (at, used) = read.filter(|_| count == 1).unwrap_or(top);
            match at.of_document {
                true if matches!(at.steps.first(), Some(Step::Item)) => {
                    reads::put(&mut asked.row, at.steps.get(1..).unwrap_or_default(), used);
                }
                true => reads::put(&mut asked.document, &at.steps, used),
                false => reads::put(&mut asked.row, &at.steps, used),
            }
            return self.again(asked);
        }
        if fault.class == "JSONDecodeError" {
            asked.is_lines = !asked.is_lines;
            return count < 3 && self.again(asked);
        }
        // Another kind for each value of the line in turn.
        if let Some((steps, before)) = asked.tried.take()
            && let Some(there) = value_at(&mut asked.row, &steps)
            && count > 1
        {
            *there = before;
        }
        let mut keys: Vec<Vec<Step>> = reads.into_iter().map(|read| read.at.steps).collect();
        keys.dedup();
        keys.retain(|steps| value_at(&mut asked.row, steps).is_some());
        let at = count - 1;
        let Some(steps) = keys.get(at / KINDS) else { return false };
        let kind = match at % KINDS {
            0 => json!("$text"),
            1 => json!("$int:0:1"),
            2 => json!("$texts"),
            3 => json!("$letter"),
            4 => json!({"A": "$text", "B": "$text", "C": "$text", "D": "$text"}),
            5 => json!("$list"),
            6 => json!("$many"),
            _ => json!("$absent"),
        };
        if let Some(there) = value_at(&mut asked.row, steps) {
            asked.tried = Some((steps.clone(), there.clone()));
            *there = kind;
        }
        self.again(asked)
    }

    /// Writes every file of the class again.
    fn again(&self, asked: &Asked) -> bool {
        let mut copy = Asked {
            row: asked.row.clone(),
            document: asked.document.clone(),
            files: asked.files.clone(),
            ..Asked::default()
        };
        copy.is_lines = asked.is_lines;
        copy.is_table = asked.is_table;
        asked.made.iter().filter(|path| self.file(&mut copy, path, false)).count() > 0
    }

    /// Writes one file.
    fn file(&self, asked: &mut Asked, path: &Path, is_new: bool) -> bool {
        let inner = path.strip_prefix(&self.data).unwrap_or(path).to_string_lossy().into_owned();
        let mut draw = Draw::new(&inner);
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_lowercase();
        let special = asked.files.iter().find(|(end, _)| inner.ends_with(end.as_str())).map(|(_, shape)| shape);
        let rows = |shape: &Value, draw: &mut Draw| -> Vec<Value> { (0..ROWS).map(|_| draw.value(shape)).collect() };
        let text = match (special, end.as_str()) {
            (Some(Value::Object(special)), _) if special.contains_key("lines") => {
                let shape = special.get("lines").cloned().unwrap_or_default();
                rows(&shape, &mut draw).iter().map(|line| python_str(line) + "\n").collect()
            }
            (Some(Value::Object(special)), _) if special.contains_key("document") => {
                draw.value(special.get("document").unwrap_or(&Value::Null)).to_string()
            }
            (Some(Value::Object(special)), _) if special.contains_key("text") => {
                special.get("text").and_then(Value::as_str).unwrap_or_default().to_owned()
            }
            (Some(shape), "csv") => table(shape, &rows(shape, &mut draw), ','),
            (Some(shape), "tsv") => table(shape, &rows(shape, &mut draw), '\t'),
            (Some(shape), "json") if !asked.is_lines => Value::Array(rows(shape, &mut draw)).to_string(),
            (Some(shape), _) => lines(&rows(shape, &mut draw)),
            (None, "json") if !asked.is_lines => match &asked.document {
                Value::Null => Value::Array(rows(&asked.row, &mut draw)).to_string(),
                document => {
                    let mut document = document.clone();
                    with_rows(&mut document, &asked.row);
                    draw.value(&document).to_string()
                }
            },
            (None, "csv") => {
                let text = table(&asked.row, &rows(&asked.row, &mut draw), ',');
                // The names of cells without names are no row.
                match asked.is_table {
                    true => text.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default(),
                    false => text,
                }
            }
            (None, "tsv") => table(&asked.row, &rows(&asked.row, &mut draw), '\t'),
            (None, "txt" | "md" | "prompt") => {
                (0..ROWS).map(|_| python_str(&draw.value(&"$word".into())) + "\n").collect()
            }
            (None, "parquet") => {
                let made = path.parent().is_some_and(|folder| std::fs::create_dir_all(folder).is_ok());
                let made = made && std::fs::write(path, super::parquet::file(&rows(&asked.row, &mut draw))).is_ok();
                if made && is_new {
                    asked.made.push(path.to_owned());
                }
                return made;
            }
            (None, "xlsx" | "zip" | "gz" | "pkl") => return false,
            (None, _) => lines(&rows(&asked.row, &mut draw)),
        };
        if path.is_dir() && std::fs::remove_dir(path).is_err() {
            return false;
        }
        let made = path.parent().is_some_and(|folder| std::fs::create_dir_all(folder).is_ok());
        let made = made && std::fs::write(path, text).is_ok();
        if made && is_new {
            asked.made.push(path.to_owned());
        }
        made
    }
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn table(shape: &Value, rows: &[Value], delimiter: char) -> String {
    let names: Vec<&String> = shape.as_object().map(|map| map.keys().collect()).unwrap_or_default();
    let cell = |text: &str| match delimiter {
        '\t' => text.replace(['\t', '\n'], " "),
        _ => format!("\"{}\"", text.replace('"', "\"\"")),
    };
    let join = |cells: Vec<String>| cells.join(&delimiter.to_string()) + "\n";
    let mut text = join(names.iter().map(|name| cell(name)).collect());
    for row in rows {
        text += &join(names.iter().map(|name| cell(&row.get(*name).map(python_str).unwrap_or_default())).collect());
    }
    text
}

/// Puts rows where a document has them.
fn with_rows(document: &mut Value, row: &Value) {
    match document {
        Value::String(token) if token == "$rows" => *document = Value::Array(vec![row.clone(); ROWS]),
        Value::Array(items) => items.iter_mut().for_each(|item| with_rows(item, row)),
        Value::Object(map) => map.values_mut().for_each(|item| with_rows(item, row)),
        _ => {}
    }
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) if into.is_null() || !from.is_null() => *into = from,
        _ => {}
    }
}

/// `assert len(row) == 6`.
fn length_in(line: &str) -> Option<usize> {
    let after = line.split_once("len(")?.1.split_once("==")?.1;
    after.trim().trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok().filter(|length| (1..20).contains(length))
}

fn value_at<'v>(value: &'v mut Value, steps: &[Step]) -> Option<&'v mut Value> {
    steps.iter().try_fold(value, |value, step| match (value, step) {
        (Value::Object(map), Step::Key(key)) => map.get_mut(key),
        (Value::Array(items), Step::Item) => items.first_mut(),
        _ => None,
    })
}
