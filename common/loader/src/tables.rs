//! `load_dataset` without a network: files by their kind, a folder, or the hub's local cache, on the program's own readers.

use crate::observed::{self, Look};
use crate::pandas;
use crate::world::TreeWorld;
use compass_config::{dataset_files, dataset_snapshot, fetch_dataset};
use compass_python::{FileFault, TableRequest, Tables};
use compass_settings::{FileFormat, ReadOptions};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Splits that a repository may have, by their usual names.
const SPLITS: &[&str] = &["train", "validation", "test", "dev", "val", "auxiliary_train"];

/// The tables of a request.
pub(crate) fn read(world: &TreeWorld<'_>, request: &TableRequest, split: Option<&str>) -> Result<Tables, FileFault> {
    let kind = match request.path.as_str() {
        "json" => Some(FileFormat::Jsonl),
        "csv" => Some(FileFormat::Csv),
        "parquet" => Some(FileFormat::Parquet),
        "arrow" => Some(FileFormat::Arrow),
        "text" => Some(FileFormat::Txt),
        _ => None,
    };
    if let Some(kind) = kind {
        return of_files(world, request, None, Some(kind), split);
    }
    let folder = folder(world, request)?;
    if !request.files.is_empty() {
        return of_files(world, request, Some(&folder), None, split);
    }
    if world.place(Path::new(&request.path)).is_file() {
        return Err(FileFault::Other(format!("`{}` is a file, not a data set", request.path)));
    }
    let below = request.data_dir.as_ref().map_or(folder.clone(), |inner| folder.join(inner));
    seen_names(world, &below);
    let mut tables = Vec::new();
    let wanted: Vec<&str> = split.map_or_else(|| SPLITS.to_vec(), |split| vec![split]);
    let mut reason = None;
    for name in wanted {
        match dataset_files(&below, request.name.as_deref(), name) {
            Ok(files) => {
                // `validation` is found under `dev` too: one name for a set of files.
                let is_known = tables.iter().any(|(_, known, _): &(String, Vec<PathBuf>, _)| *known == files);
                if !is_known {
                    let rows = rows(world, &files, None)?;
                    tables.push((name.to_owned(), files, rows));
                }
            }
            Err(message) => {
                reason.get_or_insert(message);
            }
        }
    }
    if tables.is_empty() {
        return Err(FileFault::Other(reason.unwrap_or_else(|| format!("`{}` holds no data file", below.display()))));
    }
    Ok(tables.into_iter().map(|(name, _, rows)| (name, rows)).collect())
}

/// The folder of a local data set, or the snapshot of the hub's.
fn folder(world: &TreeWorld<'_>, request: &TableRequest) -> Result<PathBuf, FileFault> {
    let path = Path::new(&request.path);
    let place = world.place(path);
    if place.exists() {
        return world.allowed(path);
    }
    let is_repository = !request.path.starts_with(['.', '/']) && request.path.split('/').count() <= 2;
    if !is_repository {
        return Err(FileFault::Missing(place));
    }
    let found = dataset_snapshot(&request.path, request.revision.as_deref(), &world.world.hub_caches);
    if found.is_err() {
        for cache in &world.world.hub_caches {
            world.saw(Look::Kind(cache.join(format!("datasets--{}", request.path.replace('/', "--")))), None);
        }
    }
    let found = match (found, &world.world.remote) {
        (Err(missing), Some(remote)) => match remote.0.offline() {
            Some(variable) => Err(format!("{missing}; {variable} forbids to fetch it")),
            None => {
                let of = (request.revision.as_deref(), request.name.as_deref());
                fetch_dataset(remote, &request.path, of, SPLITS).map_err(|fault| {
                    format!("`{}` is not in the local hub cache, and it cannot be fetched: {fault}", request.path)
                })
            }
        },
        (found, _) => found,
    };
    found.map_err(FileFault::Other)
}

fn seen_names(world: &TreeWorld<'_>, folder: &Path) {
    let Some(names) = observed::names(folder) else { return };
    for name in &names {
        let inner = folder.join(name);
        if inner.is_dir() {
            seen_names(world, &inner);
        }
    }
    world.saw(Look::Names(folder.to_path_buf()), Some(names.join("\n")));
}

/// Files that the request names.
fn of_files(
    world: &TreeWorld<'_>,
    request: &TableRequest,
    folder: Option<&Path>,
    kind: Option<FileFormat>,
    split: Option<&str>,
) -> Result<Tables, FileFault> {
    if request.files.is_empty() {
        return Err(FileFault::Other(format!("`load_dataset(\"{}\")` without `data_files`", request.path)));
    }
    let mut tables = Vec::new();
    for (name, paths) in &request.files {
        if split.is_some_and(|split| split != name) && request.files.len() > 1 {
            continue;
        }
        let mut files = Vec::new();
        for path in paths {
            let path = match (folder, &request.data_dir) {
                (Some(folder), _) => folder.join(path),
                (None, Some(inner)) => Path::new(inner).join(path),
                (None, None) => PathBuf::from(path),
            };
            if path.to_string_lossy().contains(['*', '?', '[']) || path.to_string_lossy().contains("://") {
                return Err(FileFault::Other(format!("`{}`: patterns and addresses are not read", path.display())));
            }
            files.push(world.allowed(&path)?);
        }
        tables.push((name.clone(), rows(world, &files, kind)?));
    }
    Ok(tables)
}

fn rows(
    world: &TreeWorld<'_>,
    files: &[PathBuf],
    kind: Option<FileFormat>,
) -> Result<Vec<Map<String, Value>>, FileFault> {
    let mut all = Vec::new();
    for path in files {
        let digest = observed::digest(path);
        world.saw(Look::Data(path.clone()), digest);
        let by_name = FileFormat::of(path);
        // A document and lines are told apart by the file's content.
        let format = match kind {
            Some(FileFormat::Jsonl) => Some(FileFormat::Json),
            Some(kind) => Some(kind),
            None if by_name == Some(FileFormat::Jsonl) => Some(FileFormat::Json),
            None => by_name,
        };
        let options = ReadOptions { format, ..ReadOptions::default() };
        let stream = compass_data::open(path, &options, &[]).map_err(|fault| FileFault::Other(fault.to_string()))?;
        let mut rows = Vec::new();
        for row in stream {
            rows.push(row.map_err(|fault| FileFault::Other(fault.to_string()))?.row);
        }
        match format {
            Some(FileFormat::Csv | FileFormat::Tsv) => pandas::typed(&mut rows),
            Some(FileFormat::Json) => {
                no_dates(path, &rows)?;
                one_shape(path, &rows)?;
            }
            _ => {}
        }
        all.extend(rows);
    }
    Ok(all)
}

/// Arrow makes dates of texts that look so in every row of a column, and a prompt would show those.
fn no_dates(path: &Path, rows: &[Map<String, Value>]) -> Result<(), FileFault> {
    let Some(first) = rows.first() else { return Ok(()) };
    for name in first.keys() {
        let mut texts = rows.iter().filter_map(|row| row.get(name)).filter(|value| !value.is_null()).peekable();
        if texts.peek().is_some() && texts.all(|value| value.as_str().is_some_and(is_date)) {
            let text = format!("`{}`: the column `{name}` holds dates, which are not read here", path.display());
            return Err(FileFault::Other(text));
        }
    }
    Ok(())
}

/// Objects of one column with different keys: versions of the library differ in what they make of them.
fn one_shape(path: &Path, rows: &[Map<String, Value>]) -> Result<(), FileFault> {
    let mut shapes: HashMap<String, BTreeSet<String>> = HashMap::new();
    for row in rows {
        for (name, value) in row {
            if !is_of_shape(&mut shapes, name, value) {
                let text = format!(
                    "`{}`: the objects of the column `{name}` have different keys, which versions of `datasets` read differently",
                    path.display()
                );
                return Err(FileFault::Other(text));
            }
        }
    }
    Ok(())
}

fn is_of_shape(shapes: &mut HashMap<String, BTreeSet<String>>, at: &str, value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(|item| is_of_shape(shapes, &format!("{at}[]"), item)),
        Value::Object(entries) => {
            let keys: BTreeSet<String> = entries.keys().cloned().collect();
            let known = shapes.entry(at.to_owned()).or_insert_with(|| keys.clone());
            *known == keys && entries.iter().all(|(key, value)| is_of_shape(shapes, &format!("{at}.{key}"), value))
        }
        _ => true,
    }
}

fn is_date(text: &str) -> bool {
    let shape = |at: usize, c: char| match at {
        4 | 7 => c == '-',
        10 => matches!(c, ' ' | 'T'),
        13 | 16 => c == ':',
        0..=18 => c.is_ascii_digit(),
        _ => matches!(c, '.' | 'Z') || c.is_ascii_digit(),
    };
    text.len() >= 10 && text.chars().enumerate().all(|(at, c)| shape(at, c)) && matches!(text.len(), 10 | 16 | 19..)
}
