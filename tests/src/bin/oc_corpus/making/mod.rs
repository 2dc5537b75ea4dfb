//! Small data for configurations whose own data is not here.
//!
//! An error that names a file that is missing has it made, empty. Once every file is there, the splits say which columns each of
//! those needs, and of what kind ([`shape`]): they are filled ([`write`]). Files that were there are left alone. Data of loader
//! classes is made as their errors ask for it ([`classes`]), in shapes that their sources tell ([`sources`], [`reads`]).

mod classes;
mod fault;
mod parquet;
mod reads;
mod shape;
mod sources;
mod text;
mod tokens;
mod write;

pub(super) use classes::Classes;
pub(super) use sources::Sources;

use compass_settings::{Config, SourceConfig};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Shapes of rows that no split tells, by the folder of their files.
const KNOWN: &str = include_str!("known.json");
/// Ends of names that are data files.
const ENDS: [&str; 9] = [".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet", ".lst", ".md", ".tab"];

/// Data that was made for one file of data sets.
pub(super) struct Making {
    data: PathBuf,
    /// The shape of a row of every file that is filled, as its splits ask for it.
    shapes: BTreeMap<PathBuf, Value>,
}

impl Making {
    pub(super) fn new(data: &Path) -> Self {
        Self { data: data.to_owned(), shapes: BTreeMap::new() }
    }

    /// Makes every data file that the report asks for, empty; whether there was one.
    pub(super) fn files(&mut self, report: &str) -> bool {
        let named = report.split('`').filter(|part| ENDS.iter().any(|end| part.ends_with(end)));
        let paths: Vec<PathBuf> = named.map(|part| self.data.join(part)).collect();
        let mut any = false;
        for path in paths.iter().filter(|path| path.starts_with(&self.data) && !path.exists()) {
            let made = path.parent().is_some_and(|folder| std::fs::create_dir_all(folder).is_ok());
            any |= made && std::fs::write(path, "").is_ok();
        }
        any
    }

    /// Fills the empty files of every split; whether there was one.
    pub(super) fn rows(&mut self, config: &Config) -> bool {
        let mut empty: BTreeMap<PathBuf, SourceConfig> = BTreeMap::new();
        for dataset in &config.datasets {
            for source in [Some(&dataset.test), dataset.train.as_ref()].into_iter().flatten() {
                for file in source.files.iter().filter(|file| is_empty(&file.path)) {
                    empty.entry(file.path.clone()).or_insert_with(|| source.clone());
                }
                shape::of_split(&mut self.shapes, dataset, source);
            }
        }
        let known: BTreeMap<String, Value> = serde_json::from_str(KNOWN).unwrap_or_default();
        let mut any = false;
        for (path, shape) in &self.shapes {
            if let Ok(inner) = path.strip_prefix(&self.data)
                && is_empty(path)
            {
                let source = empty.get(path).cloned().unwrap_or_default();
                let known = known.iter().find(|(folder, _)| inner.starts_with(folder)).map(|(_, shape)| shape);
                any |= write::file(path, &source, known.unwrap_or(shape), &inner.to_string_lossy()).is_ok();
            }
        }
        any
    }
}

/// Columns that a configuration's text asks of its rows: the columns of `reader_cfg`, and names in braces.
pub(super) fn columns(text: &str) -> BTreeSet<String> {
    let words = tokens::tokens(text, 1);
    let mut found = BTreeSet::new();
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let mut is_reader = false;
    for word in &words {
        match word {
            tokens::Token::Name(name) => is_reader = matches!(name.as_str(), "input_columns" | "output_column"),
            tokens::Token::Text(text) if matches!(text.as_str(), "input_columns" | "output_column") => is_reader = true,
            tokens::Token::Text(text) => {
                let names = text.split_whitespace().filter(|_| is_reader).chain(tokens::braces(text));
                found.extend(names.filter(|name| is_name(name)).map(str::to_owned));
            }
            _ => {}
        }
    }
    found
}

fn is_empty(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
}
