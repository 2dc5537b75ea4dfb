//! The rows of a split as its range takes them, and where each of them stands.
//!
//! Files are read to their end, so that every fault is found, but no more rows are held than the range can take: with
//! `[:100]` a hundred. A range that depends on how many rows there are (a count, a share, the last ten) is read twice,
//! first to count.

use crate::Row;
use crate::error::{DataError, Faults};
use crate::range::{apply_range, window};
use crate::shaping::Shaping;
use crate::stream;
use compass_config::{FileFormat, SourceConfig, SourceFile};
use compass_types::range::RangeSpec;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Rows in the order in which they are used.
#[derive(Debug, Default)]
pub struct SplitRows {
    pub rows: Vec<Row>,
    /// Of each row, in step.
    places: Vec<RowOrigin>,
    files: Vec<PathBuf>,
    /// Rows of all files, before conditions dropped any.
    pub in_files: usize,
    /// Rows that the conditions left, before the range was applied.
    pub kept: usize,
}

/// Where a row was read.
#[derive(Clone, Copy, Debug, Default)]
struct RowOrigin {
    file: usize,
    line: Option<usize>,
    /// Position in the file, from 0.
    row: usize,
    /// Position among the rows that the conditions left, from 0.
    kept: usize,
}

impl SplitRows {
    /// Where row `at` of what was taken stands: `path:line:1`, or its position in a file without lines.
    pub fn place(&self, at: usize) -> String {
        let place = self.places.get(at).copied().unwrap_or_default();
        let path = self.files.get(place.file).map_or(Path::new(""), PathBuf::as_path).display();
        match place.line {
            Some(line) => format!("{path}:{line}:1"),
            None => format!("{path}: row {} (from 0)", place.row),
        }
    }

    /// Gives every row the columns that OpenCompass gives it, `subdivision` (the data set's name) and `idx` (its position
    /// before the range), behind its own; a column of its own of that name stays. Its templates can name them, and a text
    /// that holds `{idx}` is filled too.
    pub fn number(&mut self, abbr: &str) {
        for (row, place) in self.rows.iter_mut().zip(&self.places) {
            row.entry("subdivision").or_insert_with(|| abbr.into());
            row.entry("idx").or_insert_with(|| place.kept.into());
        }
    }

    /// The files in words, for a message about all of them.
    pub fn files(&self) -> String {
        match self.files.as_slice() {
            [] => String::new(),
            [one] => one.display().to_string(),
            [first, rest @ ..] => format!("{} and {} more files", first.display(), rest.len()),
        }
    }
}

/// Reads a split and applies `range`, which is the value of `key`.
///
/// # Errors
/// Every fault of its files, as far as twenty rows and a count of the rest; or what is wrong with the range.
pub fn read_split(source: &SourceConfig, key: &str, range: &RangeSpec) -> Result<SplitRows, Vec<DataError>> {
    let of_range = |fault| vec![DataError::Split(format!("{key}: {fault}"))];
    let mut faults = Faults::default();
    let mut shaping = Shaping::new(source, &mut faults).map_err(|fault| vec![fault])?;
    let window = window(range).map_err(of_range)?;
    let sides_are_whole = faults.is_empty();
    let held = window.clone().unwrap_or(0..0);
    let mut pass = read_pass(source, &mut shaping, &mut faults, |at| held.contains(&at));
    if faults.is_empty() {
        pass.check(source, &shaping, sides_are_whole, &mut faults);
    }
    faults.or(())?;
    let taken = apply_range(range, pass.kept).map_err(of_range)?;
    if window.is_none() {
        let picked: BTreeSet<usize> = taken.iter().copied().collect();
        let mut faults = Faults::default();
        pass = read_pass(source, &mut shaping, &mut faults, |at| picked.contains(&at));
        faults.or(())?;
    }
    let files = source.files.iter().map(|file| file.path.clone()).collect();
    let mut split = SplitRows { files, in_files: pass.in_files, kept: pass.kept, ..SplitRows::default() };
    for at in taken {
        // A range may name a row twice (chained slices do not, but nothing forbids it).
        if let Some((place, row)) = pass.held.remove(&at) {
            split.rows.push(row);
            split.places.push(place);
        }
    }
    Ok(split)
}

/// What reading all files once gave.
#[derive(Default)]
struct Pass {
    in_files: usize,
    kept: usize,
    /// Rows that the conditions left, before `slice` took of them.
    left: usize,
    /// Rows by their position among those kept.
    held: HashMap<usize, (RowOrigin, Row)>,
}

/// Reads every file to its end and holds the rows whose position among those kept is wanted.
fn read_pass(
    source: &SourceConfig,
    shaping: &mut Shaping<'_>,
    faults: &mut Faults,
    is_wanted: impl Fn(usize) -> bool,
) -> Pass {
    let skip = shaping.never_read();
    let sides = shaping.side_columns().map(|side| side.values.len()).min().unwrap_or(usize::MAX);
    let mut pass = Pass::default();
    for (file, named) in source.files.iter().enumerate() {
        let rows = match stream::open(&named.path, &source.read, &skip) {
            Ok(rows) => rows,
            Err(fault) => {
                faults.add(fault);
                continue;
            }
        };
        for (row, read) in rows.enumerate() {
            let at = pass.in_files;
            pass.in_files += 1;
            let (line, shaped) = match read {
                // A shorter side column is one fault, not one for each row.
                Ok(_) if at >= sides => continue,
                Ok(placed) => (placed.line, shaping.shape(placed.row, at, &named.name)),
                Err(fault) => {
                    faults.add(fault);
                    continue;
                }
            };
            match shaped {
                Ok(shaped) => {
                    for shaped in shaped {
                        let left = pass.left;
                        pass.left += 1;
                        if source.slice.as_ref().is_some_and(|slice| !slice.contains(&left)) {
                            continue;
                        }
                        if is_wanted(pass.kept) {
                            pass.held.insert(pass.kept, (RowOrigin { file, line, row, kept: pass.kept }, shaped));
                        }
                        pass.kept += 1;
                    }
                }
                Err(message) => faults.add(DataError::at(&named.path, line, row, message)),
            }
        }
    }
    pass
}

impl Pass {
    /// What only the whole of a split shows.
    fn check(&self, source: &SourceConfig, shaping: &Shaping<'_>, sides_are_whole: bool, faults: &mut Faults) {
        let uneven = shaping.side_columns().find(|side| sides_are_whole && side.values.len() != self.in_files);
        if let (Some(side), Some(main)) = (uneven, source.files.first()) {
            let (rows, labels) = (self.in_files, side.values.len());
            faults.add(DataError::RowCount { main: main.path.clone(), rows, other: side.file.clone(), labels });
            return;
        }
        // Columns of a columnar file that are not used are not even read.
        let has_lines = |file: &SourceFile| {
            source.read.format.or_else(|| FileFormat::of(&file.path)).is_some_and(FileFormat::has_lines)
        };
        if self.kept > 0 && source.files.iter().all(has_lines) {
            for column in shaping.unseen() {
                let place = source.files.first().map(|file| file.path.display().to_string()).unwrap_or_default();
                faults.add(DataError::Split(format!(
                    "`drop_columns`, `order` or `only` names `{column}`, but no row of {place} has it"
                )));
            }
        }
    }
}
