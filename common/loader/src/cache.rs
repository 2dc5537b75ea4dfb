//! Rows that were loaded, in files named by what they were made from; and a record, for each class with its parameters, of what
//! was seen when they were made.

use crate::observed::Look;
use compass_common::regular_file;
use compass_python::LoadedSplit;
use compass_settings::{LoaderCall, LoaderWorld, is_own};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Part of every digest: raised when the same source and data come to other rows than before.
const FORMAT: &str = "compass rows 2";
/// The file of a class that gives one data set for all splits.
const WHOLE: &str = "rows.jsonl";

/// Earlier result of a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    looks: Vec<(Look, Option<String>)>,
    /// The folder of its rows.
    digest: String,
    /// Names of the splits, and how many rows each has.
    pub(crate) splits: Vec<(Option<String>, usize)>,
    /// Bytes of the file of each split: a file that a crash cut short is made again.
    sizes: Vec<u64>,
    /// `cmrc.py:17`.
    pub(crate) place: String,
}

/// The folder that holds rows and records.
#[derive(Clone, Debug)]
pub(crate) struct Cache(pub(crate) PathBuf);

impl Cache {
    fn record_path(&self, world: &LoaderWorld, call: &LoaderCall) -> PathBuf {
        let mut asked =
            serde_json::json!([FORMAT, call.class, call.parameters, world.trees, world.data_dir, world.hub_caches]);
        // Another folder has another class of that name.
        if let (true, Some(asked)) = (is_own(&call.class), asked.as_array_mut()) {
            asked.push(serde_json::json!(std::path::absolute(&world.config).ok()));
        }
        let digest = blake3::hash(asked.to_string().as_bytes()).to_hex();
        self.0.join("records").join(format!("{digest}.json"))
    }

    /// Returns the earlier result of the class, if all that was observed then is still so and its rows are there.
    pub(crate) fn known(&self, world: &LoaderWorld, call: &LoaderCall) -> Option<Record> {
        let bytes = regular_file::read(&self.record_path(world, call), regular_file::SMALL).ok()?;
        let record: Record = serde_json::from_slice(&bytes).ok()?;
        let is_so = record.looks.iter().all(|(look, what)| look.now(&world.variables) == *what);
        let is_whole = |((name, _), size): (&(Option<String>, usize), &u64)| {
            std::fs::metadata(self.file(&record, name.as_deref())).is_ok_and(|found| found.len() == *size)
        };
        let is_there =
            record.splits.len() == record.sizes.len() && record.splits.iter().zip(&record.sizes).all(is_whole);
        (is_so && is_there).then_some(record)
    }

    /// The file of a split of a record.
    pub(crate) fn file(&self, record: &Record, split: Option<&str>) -> PathBuf {
        let name = split.map_or_else(|| WHOLE.to_owned(), |split| format!("{}.jsonl", plain(split)));
        self.0.join(&record.digest).join(name)
    }

    /// Writes rows and record.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(crate) fn keep(
        &self,
        world: &LoaderWorld,
        call: &LoaderCall,
        looks: BTreeMap<Look, Option<String>>,
        splits: &[LoadedSplit],
        place: String,
    ) -> io::Result<Record> {
        let mut hasher = blake3::Hasher::new();
        let asked = serde_json::json!([FORMAT, call.class, call.parameters]);
        hasher.update(asked.to_string().as_bytes());
        for (look, what) in &looks {
            // The path of a file changes no row: its name and its content do.
            let (kind, name) = match look {
                Look::Source(path) => ("source", name(path)),
                Look::Data(path) => ("data", name(path)),
                Look::Names(path) => ("names", name(path)),
                Look::Kind(_) | Look::Variable(_) => continue,
            };
            hasher.update(format!("\n{kind} {name} {}", what.as_deref().unwrap_or_default()).as_bytes());
        }
        let digest = hasher.finalize().to_hex().get(..32).unwrap_or_default().to_owned();
        let counts = splits.iter().map(|split| (split.name.clone(), split.lines.len())).collect();
        let size = |split: &LoadedSplit| split.lines.iter().map(|line| line.len() as u64 + 1).sum();
        let sizes = splits.iter().map(size).collect();
        let record = Record { sizes, looks: looks.into_iter().collect(), digest, splits: counts, place };
        for split in splits {
            let path = self.file(&record, split.name.as_deref());
            write(&path, |file| {
                split.lines.iter().try_for_each(|line| {
                    file.write_all(line.as_bytes())?;
                    file.write_all(b"\n")
                })
            })?;
        }
        let bytes = serde_json::to_vec(&record).map_err(io::Error::other)?;
        write(&self.record_path(world, call), |file| file.write_all(&bytes))?;
        Ok(record)
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The name of a split as the name of a file.
fn plain(split: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !split.is_empty() && !split.starts_with('.') && split.chars().all(is_plain) {
        return split.to_owned();
    }
    blake3::hash(split.as_bytes()).to_hex().to_string()
}

/// Writes a file that is there whole or not at all.
fn write(path: &Path, fill: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let draft = folder.join(format!(".{}.{}", name(path), std::process::id()));
    let mut file = io::BufWriter::new(std::fs::File::create(&draft)?);
    fill(&mut file)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?;
    std::fs::rename(&draft, path)
}
