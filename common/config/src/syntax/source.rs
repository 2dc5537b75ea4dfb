//! The texts of the files that make up a configuration, and where in them a byte stands.

use compass_diagnostic::{Origin, Snippet};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A file by the order in which it was first named; 0 is the one on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileId(usize);

/// A range of bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) file: FileId,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The name of what flags stand for.
const FLAGS: &str = "command line";

#[derive(Debug)]
struct Source {
    /// As named.
    shown: PathBuf,
    /// Links resolved: one file that two others include is one file.
    canonical: PathBuf,
    text: String,
    /// Set if it ships with the program.
    preset: bool,
}

/// A file that no user has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shipped {
    /// Contents of an imported preset, or of an imported model, by the name that was imported.
    Preset(String),
    /// Knowledge of OpenCompass's loaders.
    Loaders,
    /// The models that come by name.
    Models,
    /// Contents that flags stand for.
    Flags,
}

/// A preset's description of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Preset {
    /// The file's name, which holds OpenCompass's digest of the prompt where it has one.
    pub name: String,
    /// Further names.
    pub aliases: Vec<String>,
    /// One line for people.
    pub about: String,
    /// Origin of the data, and the place where each file of it goes.
    pub source: String,
}

/// A model or a data set that is being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) name: String,
    /// Its table.
    pub(crate) span: Span,
}

/// All files read so far.
#[derive(Debug, Default)]
pub(crate) struct Sources(Vec<Source>);

impl Sources {
    /// Adds a file, or finds it again.
    pub(crate) fn add(&mut self, shown: &Path, canonical: PathBuf, text: String) -> FileId {
        if let Some(at) = self.0.iter().position(|source| source.canonical == canonical) {
            return FileId(at);
        }
        self.0.push(Source { shown: shown.into(), canonical, text, preset: false });
        FileId(self.0.len() - 1)
    }

    /// Adds a file that ships with the program, or finds it again.
    pub(crate) fn add_shipped(&mut self, shown: &Path, text: String) -> FileId {
        self.add_preset(shown, shown, text)
    }

    /// Adds the part `name` of a file that ships with the program, or finds it again.
    pub(crate) fn add_preset(&mut self, shown: &Path, name: &Path, text: String) -> FileId {
        let at = self.0.iter().position(|source| source.preset && source.canonical == name);
        FileId(at.unwrap_or_else(|| {
            self.0.push(Source { shown: shown.into(), canonical: name.into(), text, preset: true });
            self.0.len() - 1
        }))
    }

    /// Adds what flags stand for.
    pub(crate) fn add_flags(&mut self, text: String) -> FileId {
        let shown = PathBuf::from(FLAGS);
        self.0.push(Source { canonical: shown.clone(), shown, text, preset: false });
        FileId(self.0.len() - 1)
    }

    /// The files that a person wrote, with their texts, the first named first.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&Path, &str)> {
        let is_file = |source: &&Source| !source.preset && source.canonical.is_absolute();
        self.0.iter().filter(is_file).map(|source| (source.shown.as_path(), source.text.as_str()))
    }

    /// Returns `true` if the file ships with the program.
    pub(crate) fn is_preset(&self, file: FileId) -> bool {
        self.0.get(file.0).is_some_and(|source| source.preset)
    }

    /// Returns what a file is, if a person could not open it. Presets in TOML are shown by their names.
    pub(crate) fn shipped(&self, file: FileId) -> Option<Shipped> {
        let source = self.0.get(file.0)?;
        if !source.preset {
            return (source.canonical == Path::new(FLAGS)).then_some(Shipped::Flags);
        }
        let stem = source.shown.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match source.shown.parent()?.to_str()? {
            "<presets>" => Some(Shipped::Preset(stem)),
            "loaders" => Some(Shipped::Loaders),
            "models" => Some(Shipped::Models),
            _ => None,
        }
    }

    /// The first import of a module whose last part is `name`, in a file that a person wrote.
    pub(crate) fn import_of(&self, name: &str) -> Option<Span> {
        let files = self.0.iter().enumerate().filter(|(_, source)| !source.preset && source.canonical.is_absolute());
        files.map(|(at, source)| (FileId(at), source)).find_map(|(file, source)| {
            let mut next = 0;
            source.text.split_inclusive('\n').find_map(|line| {
                let start = next + line.len() - line.trim_start().len();
                let end = next + line.trim_end().len();
                next += line.len();
                let module = line.trim_start().strip_prefix("from ")?.split_whitespace().next()?;
                (module.rsplit('.').next() == Some(name)).then_some(Span { file, start, end })
            })
        })
    }

    /// The line of the first byte of `span`.
    pub(crate) fn line(&self, span: Span) -> &str {
        let (_, _, line) = self.locate(span);
        line
    }

    /// The path as it was named.
    pub(crate) fn path(&self, file: FileId) -> &Path {
        self.0.get(file.0).map_or(Path::new(""), |source| &source.shown)
    }

    /// The text of `file`.
    pub(crate) fn text(&self, file: FileId) -> &str {
        self.0.get(file.0).map_or("", |source| &source.text)
    }

    /// The text of `span`.
    pub(crate) fn slice(&self, span: Span) -> &str {
        self.text(span.file).get(span.start..span.end).unwrap_or("")
    }

    /// Line and column of the first byte of `span`, both from 1, columns in characters.
    pub(crate) fn origin(&self, span: Span) -> Origin {
        let (line, column, _) = self.locate(span);
        Origin { file: self.path(span.file).into(), line, column }
    }

    /// The first line of `span` with what to mark in it.
    pub(crate) fn snippet(&self, span: Span) -> Snippet {
        let (_, column, line) = self.locate(span);
        let start = line.char_indices().nth(column - 1).map_or(line.len(), |(at, _)| at);
        let marked = self.slice(span).lines().next().unwrap_or("").len();
        Snippet { line: line.into(), marked: start..(start + marked).min(line.len()) }
    }

    /// Line and column from 1, and the line without its end.
    fn locate(&self, span: Span) -> (usize, usize, &str) {
        let text = self.text(span.file);
        let mut start = span.start.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let (before, after) = text.split_at(start);
        let first = before.rfind('\n').map_or(0, |at| at + 1);
        let last = after.find('\n').map_or(text.len(), |at| start + at);
        let line = text.get(first..last).unwrap_or("");
        let column = before.get(first..).unwrap_or("").chars().count() + 1;
        (before.matches('\n').count() + 1, column, line.strip_suffix('\r').unwrap_or(line))
    }
}

pub(crate) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".into(),
        std::io::ErrorKind::IsADirectory => "it is a directory".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => error.to_string(),
    }
}

/// The first byte that is not UTF-8, with its line and column from 1, the column in characters.
pub(crate) fn invalid_utf8(bytes: &[u8], at: usize) -> String {
    let (before, after) = bytes.split_at(at);
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    let byte = after.first().copied().unwrap_or_default();
    format!("byte 0x{byte:02x} at line {line}, column {column}")
}
