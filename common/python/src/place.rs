//! Places in files.

use ruff_text_size::TextRange;
use std::path::PathBuf;

/// A file by the order in which it was first read; 0 is the one that was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileId(pub(crate) u32);

impl FileId {
    /// The place of the file among [`Evaluation::files`](crate::Evaluation::files).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A range of bytes of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl Place {
    pub(crate) fn of(file: FileId, range: TextRange) -> Self {
        Self { file, start: range.start().to_u32(), end: range.end().to_u32() }
    }

    /// The range as positions in the file's text.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    pub path: PathBuf,
    pub text: String,
}
