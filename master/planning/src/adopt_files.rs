//! Files of predictions as OpenCompass leaves them: `<abbr>.json`, or shards `<abbr>_0.json`, `<abbr>_1.json`, ...; and those
//! that it was writing when it ended, `tmp_` before the name, where the file itself is not there.

use compass_common::regular_file;
use compass_diagnostic::Diagnostic;
use compass_pyfmt::whole_numbers_kept;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The files of one model's predictions on a data set, in order; numbered where they are shards.
#[derive(Debug)]
pub(super) struct Shards {
    pub files: Vec<ShardFile>,
    /// Names of shards below the last that are not there, or not to their end.
    missing: Vec<String>,
}

/// A file of predictions.
#[derive(Debug)]
pub(super) struct ShardFile {
    pub number: Option<u32>,
    pub path: PathBuf,
    /// Set if OpenCompass was still writing the file: `tmp_<abbr>_1.jsonl`, in older versions `tmp_<abbr>_1.json`.
    pub(super) is_partial: bool,
}

impl Shards {
    /// The whole file, where there is one, else the shards, else what was being written of the whole.
    pub(crate) fn find(whole: &Path) -> Self {
        let one = |path: PathBuf, is_partial| Self {
            files: vec![ShardFile { number: None, path, is_partial }],
            missing: Vec::new(),
        };
        if whole.is_file() {
            return one(whole.to_owned(), false);
        }
        let stem = whole.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = whole.parent().unwrap_or(Path::new("."));
        let number = |name: &str, before: &str, ending: &str| -> Option<u32> {
            name.strip_prefix(before)?.strip_prefix(&stem)?.strip_prefix('_')?.strip_suffix(ending)?.parse().ok()
        };
        let mut numbered: BTreeMap<u32, ShardFile> = BTreeMap::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let whole = number(&name, "", ".json");
            let partial = || PARTIAL.iter().find_map(|ending| number(&name, "tmp_", ending));
            let Some(number) = whole.or_else(partial) else { continue };
            let file = ShardFile { number: Some(number), path: entry.path(), is_partial: whole.is_none() };
            match numbered.get(&number) {
                Some(known) if !known.is_partial || file.path > known.path => {}
                _ => drop(numbered.insert(number, file)),
            }
        }
        let partial = PARTIAL.map(|ending| folder.join(format!("tmp_{stem}{ending}")));
        if let (true, Some(path)) = (numbered.is_empty(), partial.into_iter().find(|path| path.is_file())) {
            return one(path, true);
        }
        let is_whole = |at: &u32| numbered.get(at).is_some_and(|file| !file.is_partial);
        let last = numbered.last_key_value().map_or(0, |(last, _)| *last);
        let missing = (0..last).filter(|at| !is_whole(at)).map(|at| format!("{stem}_{at}.json")).collect();
        Self { files: numbered.into_values().collect(), missing }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Describes in words the gap between the shards that are there.
    pub(crate) fn gap(&self) -> Option<String> {
        let folder = self.files.first()?.path.parent().unwrap_or(Path::new("."));
        (!self.missing.is_empty())
            .then(|| format!("{}: {} shards, but not {}", folder.display(), self.files.len(), self.missing.join(", ")))
    }

    /// Returns whether the shard at `at` begins where the file before it ends: no shard is missing between them, and that one is
    /// whole.
    pub(super) fn follows(&self, at: usize) -> bool {
        let Some(number) = self.files.get(at).and_then(|file| file.number) else { return true };
        match at.checked_sub(1).and_then(|at| self.files.get(at)) {
            Some(previous) => !previous.is_partial && previous.number.is_some_and(|before| before + 1 == number),
            None => number == 0,
        }
    }
}

/// Endings of the files that OpenCompass is writing; the first is that of 0.5.
const PARTIAL: [&str; 2] = [".jsonl", ".json"];

/// The records of a file, by the number that is their key.
#[derive(Debug)]
pub(super) struct Records(BTreeMap<usize, Map<String, Value>>);

impl Records {
    /// # Errors
    /// The file cannot be read, or holds something else than a table from number to record.
    pub(crate) fn read(file: &Path) -> Result<Self, Diagnostic> {
        let fault = |what: String| Diagnostic::error(format!("{}: {what}", file.display()));
        let bytes = regular_file::read(file, regular_file::LARGE).map_err(|error| fault(error.to_string()))?;
        let is_lines = file.extension().is_some_and(|ending| ending == "jsonl");
        let records = if is_lines { lines(&bytes) } else { json(&bytes) };
        let records: Map<String, Value> =
            records.map_err(|error| fault(format!("not a file of predictions: {error}")))?;
        let count = records.len();
        let record = |(key, record): (String, Value)| match (key.parse::<u32>(), record) {
            (Ok(at), Value::Object(record)) if at.to_string() == key => Ok((at as usize, record)),
            _ => Err(fault(format!("{count} records, but `{key}` is not the number of one"))),
        };
        records.into_iter().map(record).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the number of samples that the file is of, whether or not each has a record.
    pub(crate) fn length(&self) -> usize {
        self.0.last_key_value().map_or(0, |(at, _)| at + 1)
    }

    /// The first number without a record.
    pub(super) fn first_missing(&self) -> Option<usize> {
        (0..self.length()).find(|at| !self.0.contains_key(at))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Map<String, Value>)> {
        self.0.iter().map(|(at, record)| (*at, record))
    }
}

/// JSON, in which whole numbers keep their digits.
fn json<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    match std::str::from_utf8(bytes) {
        Ok(text) => serde_json::from_str(&whole_numbers_kept(text)),
        Err(_) => serde_json::from_slice(bytes),
    }
}

/// The records of a file that OpenCompass was writing, one a line with its number in `idx`. A last line that broke off is left out.
fn lines(bytes: &[u8]) -> serde_json::Result<Map<String, Value>> {
    let mut records = Map::new();
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).collect();
    for (at, line) in lines.iter().enumerate() {
        let mut record: Map<String, Value> = match json(line) {
            Ok(record) => record,
            Err(_) if at + 1 == lines.len() => break,
            Err(error) => return Err(error),
        };
        let number = match record.remove("idx") {
            Some(Value::String(number)) => number,
            Some(number) => number.to_string(),
            None => String::new(),
        };
        records.insert(number, Value::Object(record));
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str]) -> (Vec<String>, Vec<String>, Vec<bool>) {
        let folder = tempfile::tempdir().unwrap();
        names.iter().for_each(|name| fs::write(folder.path().join(name), "{}").unwrap());
        let shards = Shards::find(&folder.path().join("math.json"));
        let name = |file: &ShardFile| file.path.file_name().unwrap().to_string_lossy().into_owned();
        let follows = (0..shards.files.len()).map(|at| shards.follows(at)).collect();
        (shards.files.iter().map(name).collect(), shards.missing, follows)
    }

    #[test]
    fn a_shard_in_progress_stands_for_one_that_is_not_there() {
        let all = found(&["math_0.json", "tmp_math_1.json", "math_2.json", "tmp_math_0.json", "tmp_other_4.json"]);
        assert_eq!(all.0, ["math_0.json", "tmp_math_1.json", "math_2.json"]);
        assert_eq!((all.1.as_slice(), all.2.as_slice()), (&["math_1.json".to_owned()][..], &[true, true, false][..]));
        let last = found(&["math_0.json", "tmp_math_1.jsonl"]);
        assert_eq!((last.0.len(), last.1.len(), last.2), (2, 0, vec![true, true]));
        assert_eq!(found(&["tmp_math.json"]).0, ["tmp_math.json"]);
        assert_eq!(found(&["tmp_math.json", "math.json"]).0, ["math.json"]);
        assert_eq!(found(&["tmp_math_1.json", "tmp_math_1.jsonl"]).2, [false]);
    }

    #[test]
    fn lines_of_a_file_in_progress_are_records() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tmp_math.jsonl");
        fs::write(
            &path,
            "{\"idx\": \"0\", \"prediction\": \"a\"}\n{\"idx\": 1, \"prediction\": \"b\"}\n{\"idx\": \"2\", \"pre",
        )
        .unwrap();
        let records = Records::read(&path).unwrap();
        assert_eq!((records.len(), records.first_missing()), (2, None));
        fs::write(&path, "{\"idx\": \n{\"idx\": \"1\"}\n").unwrap();
        assert!(Records::read(&path).unwrap_err().message.contains("not a file of predictions"));
        fs::write(&path, "{\"prediction\": \"a\"}\n").unwrap();
        assert!(Records::read(&path).unwrap_err().message.contains("is not the number of one"));
    }
}
