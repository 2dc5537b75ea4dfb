//! Missing data, as the error of a loader names it.

use std::path::PathBuf;

/// A thing that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Path(PathBuf),
    /// A repository of the hub.
    Repository(String),
    /// A revision of a repository.
    Revision(String, String),
    /// The file of a split below a folder.
    Split {
        folder: String,
        config: Option<String>,
        split: String,
    },
}

/// An error, taken apart: `aime2024.py:16:16: FileNotFoundError: [Errno 2] ...`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fault {
    /// The name of the source, and the line.
    pub(super) place: Option<(String, usize)>,
    /// CPython's class.
    pub(super) class: String,
    pub(super) missing: Option<Missing>,
    /// A split that a data set lacks.
    pub(super) split: Option<String>,
    /// A key or a column that is not there.
    pub(super) key: Option<String>,
}

impl Fault {
    /// A key that is a name rather than a drawn text.
    pub(super) fn named_key(&self) -> Option<&str> {
        self.key.as_deref().filter(|key| !key.contains(char::is_whitespace))
    }

    pub(super) fn of(reason: &str) -> Self {
        let mut parts = reason.splitn(4, ':');
        let place = match (parts.next(), parts.next().and_then(|line| line.parse().ok()), parts.next()) {
            (Some(file), Some(line), Some(_)) if file.ends_with(".py") => Some((file.to_owned(), line)),
            _ => None,
        };
        let said = match &place {
            Some(_) => parts.next().unwrap_or_default().trim(),
            None => reason,
        };
        let (class, text) = said.split_once(": ").or(said.split_once(':')).unwrap_or(("", said));
        let between = |from: &str, to: &str| text.split_once(from)?.1.split_once(to).map(|(inner, _)| inner.to_owned());
        let path = between("No such file or directory: '", "'").or_else(|| named_path(text));
        let folder_named =
            || between("`", "`").filter(|_| text.contains("is a folder") || text.contains("holds no data file"));
        let missing = match path {
            Some(path) => Some(Missing::Path(path.into())),
            None if text.contains("is not in the local hub cache") && text.contains("revision `") => {
                between("of `", "`")
                    .zip(between("revision `", "`"))
                    .map(|(name, revision)| Missing::Revision(name, revision))
            }
            None if text.contains("is not in the local hub cache") => {
                between("the data set `", "`").map(Missing::Repository)
            }
            None if text.contains("has no file of split `") => between("`", "`")
                .zip(between("of split `", "`"))
                .map(|(folder, split)| Missing::Split { folder, config: between("of config `", "`"), split }),
            None => folder_named().map(|path| Missing::Path(path.into())),
        };
        let key = match class {
            "KeyError" => Some(text.trim_matches(['\'', '"']).to_owned()),
            _ => between("olumn '", "'").or_else(|| between("olumn name ", " not in the dataset")),
        };
        let is_split = |key: &String| ["train", "test", "validation", "val", "dev"].contains(&key.as_str());
        let split = between("gives no split `", "`").or_else(|| key.clone().filter(is_split));
        let split = split.or_else(|| between("Unknown split \"", "\""));
        Self { place, class: class.to_owned(), missing, split, key: key.filter(|key| !key.is_empty()) }
    }
}

/// The path of a sentence of a loader's own: `File /data/x.jsonl does not exist`.
fn named_path(text: &str) -> Option<String> {
    let is_told = ["does not exist", "not found", "not exist"].iter().any(|words| text.contains(words));
    let words = text.split_whitespace().map(|word| word.trim_matches(['\'', '"', '`', ',', '!']));
    let mut paths = words.filter(|word| word.contains('/') && !word.contains("://"));
    paths.next().filter(|_| is_told).map(|path| path.trim_end_matches(['.', ':']).to_owned())
}
