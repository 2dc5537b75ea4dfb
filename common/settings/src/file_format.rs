//! The kinds of data file, told by the end of the name.

use serde::Serialize;
use std::path::Path;

/// Layout of a file; compression apart, which `.gz` at the end of the name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileFormat {
    Parquet,
    /// Arrow IPC, a stream (as the HF datasets cache holds them) or a file.
    Arrow,
    /// An object a line.
    Jsonl,
    /// One document; an object a line is understood too, as some files are not what their name says.
    Json,
    /// Separated by commas, quoted as Python's `csv` reads it.
    Csv,
    /// Separated by tabs; a quotation mark is a character like others.
    Tsv,
    /// A row a line, in the column `text`.
    Txt,
}

/// Every format by the name that `format` takes; also the ends of file names.
pub const FORMATS: &[(&str, FileFormat)] = &[
    ("jsonl", FileFormat::Jsonl),
    ("json", FileFormat::Json),
    ("csv", FileFormat::Csv),
    ("tsv", FileFormat::Tsv),
    ("txt", FileFormat::Txt),
    ("parquet", FileFormat::Parquet),
    ("arrow", FileFormat::Arrow),
];

impl FileFormat {
    /// By the end of the name, `.gz` left aside; `None` when it says nothing.
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let (_, end) = name.rsplit_once('.')?;
        match end {
            "ndjson" => Some(Self::Jsonl),
            end => FORMATS.iter().find(|(known, _)| *known == end).map(|(_, format)| *format),
        }
    }

    /// Returns `true` if rows are on lines, so that a line can be named.
    pub fn has_lines(self) -> bool {
        !matches!(self, Self::Parquet | Self::Arrow)
    }

    /// The name that `format` takes.
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_format() {
        for (name, format) in [
            ("a/b.jsonl", Some(FileFormat::Jsonl)),
            ("B.JSONL.GZ", Some(FileFormat::Jsonl)),
            ("test-00000-of-00001.parquet", Some(FileFormat::Parquet)),
            ("mgsm_zh.tsv", Some(FileFormat::Tsv)),
            ("notes.md", None),
            ("labels.gz", None),
            ("csv", None),
        ] {
            assert_eq!(FileFormat::of(Path::new(name)), format, "{name}");
        }
    }
}
