//! The rows of a split as its range takes them, and where each of them stands.
//!
//! Files are read to their end, so that every fault is found, but no more rows are held than the range can take: with
//! `[:100]` a hundred. A range that depends on how many rows there are (a count, a share, the last ten) is read twice,
//! first to count.

use crate::Row;
use crate::circular::Rotation;
use crate::error::{DataError, Faults};
use crate::range::{apply_range, window};
use crate::row_table::RowTable;
use crate::shaping::Shaping;
use crate::stream;
use compass_plan::prompt::RowSource;
use compass_settings::{FileFormat, SourceConfig, SourceFile};
use compass_types::range::RangeSpec;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Rows in the order in which they are used.
#[derive(Debug, Default)]
pub struct SplitRows {
    /// The rows that are used, each once, in the order of the files.
    table: RowTable,
    /// Origin of each row of the table, in step.
    places: Vec<RowOrigin>,
    /// Positions in the table.
    order: Vec<u32>,
    /// The data set whose columns each row gets.
    numbered: Option<String>,
    files: Vec<PathBuf>,
    /// Rows of all files, before conditions dropped any.
    pub in_files: usize,
    /// Rows that the conditions left, before the range was applied.
    pub kept: usize,
}

/// Place where a row was read. Small, since there is one for each row.
#[derive(Clone, Copy, Debug, Default)]
struct RowOrigin {
    file: u32,
    /// From 1; 0 in a file without lines.
    line: u32,
    /// Position in the file, from 0.
    row: u32,
    /// Position among the rows that the conditions left, from 0.
    kept: u32,
}

impl SplitRows {
    fn origin(&self, at: usize) -> Option<RowOrigin> {
        self.places.get(*self.order.get(at)? as usize).copied()
    }

    /// Returns the place of row `at` of what was taken: `path:line:1`, or its position in a file without lines.
    pub fn place(&self, at: usize) -> String {
        let place = self.origin(at).unwrap_or_default();
        let path = self.files.get(place.file as usize).map_or(Path::new(""), PathBuf::as_path).display();
        match place.line {
            0 => format!("{path}: row {} (from 0)", place.row),
            line => format!("{path}:{line}:1"),
        }
    }

    /// Gives every row the columns that OpenCompass gives it, `subdivision` (the data set's name) and `idx` (its position
    /// before the range), behind its own; a column of its own of that name stays. Its templates can name them, and a text
    /// that holds `{idx}` is filled too.
    pub fn number(&mut self, abbr: &str) {
        self.numbered = Some(abbr.to_owned());
    }

    /// Keeps the first `limit` rows.
    pub fn truncate(&mut self, limit: usize) {
        self.order.truncate(limit);
    }

    /// All rows in order.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        (0..self.order.len()).filter_map(|at| self.get(at))
    }

    fn get(&self, at: usize) -> Option<Row> {
        let mut row = self.table.get(*self.order.get(at)? as usize)?;
        if let Some(abbr) = &self.numbered {
            row.entry("subdivision").or_insert_with(|| abbr.as_str().into());
            row.entry("idx").or_insert_with(|| self.origin(at).unwrap_or_default().kept.into());
        }
        Some(row)
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

impl RowSource for SplitRows {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn row(&self, at: usize) -> Option<Cow<'_, Row>> {
        self.get(at).map(Cow::Owned)
    }

    /// Returns the columns of all rows that were read: what `limit` takes away has its columns too.
    fn columns(&self) -> Vec<String> {
        let mut columns = self.table.columns().to_vec();
        for own in ["subdivision", "idx"].into_iter().filter(|_| self.numbered.is_some()) {
            if !columns.iter().any(|column| column == own) {
                columns.push(own.to_owned());
            }
        }
        columns
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
    // Rows were held in the order of the files, so that those that a range names are found by halving.
    let position = |at: usize| pass.places.binary_search_by_key(&at, |place| place.kept as usize).ok();
    let mut order: Vec<u32> = taken.into_iter().filter_map(position).map(|at| at as u32).collect();
    // A range may name a row twice (chained slices do not, but nothing forbids it): it is taken the first time.
    let mut seen = vec![false; pass.places.len()];
    order.retain(|at| seen.get_mut(*at as usize).is_some_and(|seen| !std::mem::replace(seen, true)));
    let Pass { table, places, in_files, kept, .. } = pass;
    Ok(SplitRows { table, places, order, numbered: None, files, in_files, kept })
}

/// Results of reading all files once.
#[derive(Default)]
struct Pass {
    in_files: usize,
    kept: usize,
    /// Rows that the conditions left, before `slice` took of them.
    left: usize,
    /// Rows of those that `slice` took, before `circular` made several of each.
    questions: usize,
    /// The rows that are wanted, in the order of the files.
    table: RowTable,
    /// Origin of each of them.
    places: Vec<RowOrigin>,
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
    let rotation = source.circular.as_ref().map(Rotation::new);
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
                        let asked = rotation.as_ref().map(|rotation| rotation.rows(&shaped, pass.questions));
                        let asked = match asked.unwrap_or_else(|| Ok(vec![shaped])) {
                            Ok(asked) => asked,
                            Err(fault) => {
                                faults.add_row(&named.path, line, row, fault);
                                continue;
                            }
                        };
                        pass.questions += 1;
                        for one in asked {
                            if is_wanted(pass.kept) {
                                let of_line = line.unwrap_or(0) as u32;
                                let kept = pass.kept as u32;
                                let origin = RowOrigin { file: file as u32, line: of_line, row: row as u32, kept };
                                match pass.table.push(&one) {
                                    Ok(()) => pass.places.push(origin),
                                    Err(fault) => faults.add_row(&named.path, line, row, fault),
                                }
                            }
                            pass.kept += 1;
                        }
                    }
                }
                Err(message) => faults.add_row(&named.path, line, row, message),
            }
        }
    }
    pass
}

impl Pass {
    /// Checks what only the whole of a split shows.
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
