//! Journal of the pieces of an incomplete file that are on the disk: a line for each, after a line that says of which content.
//!
//! A line is written after the piece is durable. A journal of another content, or one that was cut off within a line, is
//! worth only the lines that are whole and fit.

use crate::mark::ObjectMark;
use compass_common::regular_file;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Bytes of one piece.
pub(super) const PIECE: u64 = 8 << 20;

pub(super) struct Journal {
    file: File,
    pub(super) done: BTreeSet<u64>,
}

impl Journal {
    /// Beside the incomplete file.
    pub(super) fn path(incomplete: &Path) -> PathBuf {
        let mut name = incomplete.as_os_str().to_owned();
        name.push(".pieces");
        name.into()
    }

    /// Opens the journal of an incomplete file, or begins one.
    pub(super) fn open(incomplete: &Path, mark: &ObjectMark) -> io::Result<Self> {
        let path = Self::path(incomplete);
        let head = format!("{} {PIECE} {}", mark.bytes, mark.etag.as_deref().unwrap_or("-").escape_default());
        let text = regular_file::read_text(&path, regular_file::SMALL).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
        let mut lines = whole.lines();
        let pieces = mark.bytes.div_ceil(PIECE);
        if lines.next() == Some(head.as_str()) && incomplete.is_file() {
            let done = lines.filter_map(|line| line.parse().ok()).filter(|piece| *piece < pieces).collect();
            let file = OpenOptions::new().append(true).open(&path)?;
            // The beginning of a number is another number: a line that was cut off must not become whole.
            file.set_len(whole.len() as u64 + 1)?;
            return Ok(Self { file, done });
        }
        let mut file = File::create(&path)?;
        writeln!(file, "{head}")?;
        Ok(Self { file, done: BTreeSet::new() })
    }

    /// Notes that a piece is durable.
    pub(super) fn note(&mut self, piece: u64) -> io::Result<()> {
        self.done.insert(piece);
        writeln!(self.file, "{piece}")
    }

    /// Pieces that are missing, with their ranges.
    pub(super) fn missing(&self, bytes: u64) -> Vec<(u64, std::ops::Range<u64>)> {
        let all = 0..bytes.div_ceil(PIECE);
        let range = |piece: u64| (piece, piece * PIECE..((piece + 1) * PIECE).min(bytes));
        all.filter(|piece| !self.done.contains(piece)).map(range).collect()
    }

    /// Bytes of the pieces that are here.
    pub(super) fn bytes_done(&self, bytes: u64) -> u64 {
        bytes - self.missing(bytes).into_iter().map(|(_, range)| range.end - range.start).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_the_same_content_are_not_fetched_again() {
        let folder = tempfile::tempdir().unwrap();
        let incomplete = folder.path().join("a.incomplete");
        File::create(&incomplete).unwrap();
        let mark = |etag: &str| ObjectMark { bytes: 2 * PIECE + 5, etag: Some(etag.into()) };
        let mut journal = Journal::open(&incomplete, &mark("\"e1\"")).unwrap();
        assert_eq!(journal.missing(mark("").bytes).len(), 3);
        journal.note(2).unwrap();
        journal.note(0).unwrap();
        drop(journal);
        let journal = Journal::open(&incomplete, &mark("\"e1\"")).unwrap();
        assert_eq!(journal.missing(mark("").bytes), [(1, PIECE..2 * PIECE)]);
        assert_eq!(journal.bytes_done(mark("").bytes), PIECE + 5);
        // Cut off within a line: that piece counts as missing.
        let path = Journal::path(&incomplete);
        let text = std::fs::read_to_string(&path).unwrap();
        drop(journal);
        std::fs::write(&path, text.trim_end()).unwrap();
        for _ in 0..2 {
            assert_eq!(Journal::open(&incomplete, &mark("\"e1\"")).unwrap().missing(mark("").bytes).len(), 2);
        }
        let other = Journal::open(&incomplete, &mark("\"e2\"")).unwrap();
        assert_eq!(other.missing(mark("").bytes).len(), 3, "another content");
    }
}
