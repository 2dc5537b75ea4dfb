//! Files of predictions as OpenCompass leaves them: `<abbr>.json`, or shards `<abbr>_0.json`, `<abbr>_1.json`, ...

use compass_diagnostic::Diagnostic;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The files of one model's predictions on a data set, in order; numbered where they are shards.
#[derive(Debug)]
pub(super) struct Shards {
    pub(super) files: Vec<(Option<u32>, PathBuf)>,
    /// Names of shards below the last that are not there.
    missing: Vec<String>,
}

impl Shards {
    /// The whole file, where there is one, else the shards.
    pub(super) fn find(whole: &Path) -> Self {
        if whole.is_file() {
            return Self { files: vec![(None, whole.to_owned())], missing: Vec::new() };
        }
        let stem = whole.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = whole.parent().unwrap_or(Path::new("."));
        let number = |name: &str| -> Option<u32> {
            name.strip_prefix(&stem)?.strip_prefix('_')?.strip_suffix(".json")?.parse().ok()
        };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut numbers: Vec<u32> = entries.filter_map(|entry| number(&entry.file_name().to_string_lossy())).collect();
        numbers.sort_unstable();
        let name = |at: u32| format!("{stem}_{at}.json");
        let missing = (0..numbers.last().map_or(0, |last| last + 1)).filter(|at| !numbers.contains(at)).map(name);
        let missing = missing.collect();
        Self { files: numbers.into_iter().map(|at| (Some(at), folder.join(name(at)))).collect(), missing }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// What is missing between the shards that are there, in words.
    pub(super) fn gap(&self) -> Option<String> {
        let folder = self.files.first()?.1.parent().unwrap_or(Path::new("."));
        (!self.missing.is_empty())
            .then(|| format!("{}: {} shards, but not {}", folder.display(), self.files.len(), self.missing.join(", ")))
    }

    /// The number that the shard at `at` has where none is missing just before it.
    pub(super) fn before(&self, at: usize) -> usize {
        let previous = at.checked_sub(1).and_then(|at| self.files.get(at)?.0);
        previous.map_or(0, |number| number as usize + 1)
    }
}

/// The records of a file, by the number that is their key.
#[derive(Debug)]
pub(super) struct Records(BTreeMap<usize, Map<String, Value>>);

impl Records {
    /// # Errors
    /// The file cannot be read, or holds something else than a table from number to record.
    pub(super) fn read(file: &Path) -> Result<Self, Diagnostic> {
        let fault = |what: String| Diagnostic::error(format!("{}: {what}", file.display()));
        let bytes = fs::read(file).map_err(|error| fault(error.to_string()))?;
        let records: Map<String, Value> =
            serde_json::from_slice(&bytes).map_err(|error| fault(format!("not a file of predictions: {error}")))?;
        let count = records.len();
        let record = |(key, record): (String, Value)| match (key.parse::<u32>(), record) {
            (Ok(at), Value::Object(record)) if at.to_string() == key => Ok((at as usize, record)),
            _ => Err(fault(format!("{count} records, but `{key}` is not the number of one"))),
        };
        records.into_iter().map(record).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// How many samples the file is of, whether or not each has a record.
    pub(super) fn length(&self) -> usize {
        self.0.last_key_value().map_or(0, |(at, _)| at + 1)
    }

    /// The first number without a record.
    pub(super) fn first_missing(&self) -> Option<usize> {
        (0..self.length()).find(|at| !self.0.contains_key(at))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Map<String, Value>)> {
        self.0.iter().map(|(at, record)| (*at, record))
    }
}
