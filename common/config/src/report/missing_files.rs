//! Files with data that are not there. A preset may want two hundred of them: a folder that is missing is one error.

use crate::syntax::source::{FileId, Preset, Reading, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Files of one preset or folder are told one by one up to this number.
const FEW: usize = 2;
/// Names that stand in one message at most.
const NAMES: usize = 4;

/// A file that is neither beside the file that names it nor in the data folder.
#[derive(Debug)]
pub(crate) struct MissingFile {
    pub(crate) span: Span,
    /// As written.
    pub(crate) text: String,
    pub(crate) near: PathBuf,
    pub(crate) far: Option<PathBuf>,
    /// Set if a data folder is named: with no other place to look at, it was looked in.
    pub(crate) has_data_dir: bool,
    /// The data set that needs it.
    pub(crate) reading: Option<Reading>,
}

/// Data files that were looked for.
#[derive(Debug, Default)]
pub(crate) struct DataFiles {
    found: BTreeMap<FileId, BTreeSet<String>>,
    missing: Vec<MissingFile>,
}

/// Report of files that are missing.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) help: String,
    pub(crate) reading: Option<Reading>,
}

impl DataFiles {
    pub(crate) fn found(&mut self, by: FileId, text: &str) {
        self.found.entry(by).or_default().insert(text.to_owned());
    }

    pub(crate) fn missing(&mut self, file: MissingFile) {
        self.missing.push(file);
    }

    /// The files that name what is missing.
    pub(crate) fn named_in(&self) -> BTreeSet<FileId> {
        self.missing.iter().map(|file| file.span.file).collect()
    }

    pub(crate) fn lacks_any(&self) -> bool {
        !self.missing.is_empty()
    }

    /// Each file on its own.
    pub(crate) fn each(self) -> Vec<Report> {
        self.missing.iter().map(|file| alone(file, None)).collect()
    }

    /// One report for all files of a preset, or of a folder; for all presets where the folder of data itself is missing.
    pub(crate) fn grouped(self, presets: &BTreeMap<FileId, Preset>, data_root: &Path) -> Vec<Report> {
        let mut by_preset: BTreeMap<FileId, Vec<&MissingFile>> = BTreeMap::new();
        let mut by_folder: BTreeMap<&Path, Vec<&MissingFile>> = BTreeMap::new();
        for file in &self.missing {
            if presets.contains_key(&file.span.file) {
                by_preset.entry(file.span.file).or_default().push(file);
            } else {
                by_folder.entry(missing_folder(&file.near)).or_default().push(file);
            }
        }
        let mut reports = Vec::new();
        if !data_root.is_dir() && by_preset.values().flatten().count() > FEW {
            let names: Vec<&str> =
                by_preset.keys().filter_map(|id| presets.get(id)).map(|preset| preset.name.as_str()).collect();
            let files: Vec<&MissingFile> = by_preset.values().flatten().copied().collect();
            reports.extend(no_folder(&files, &names, data_root));
            by_preset.clear();
        }
        for (id, files) in by_preset {
            let found = self.found.get(&id).map_or(0, BTreeSet::len);
            match (presets.get(&id), texts(&files).len()) {
                (Some(preset), count) if count > FEW => reports.extend(of_preset(&files, preset, found, data_root)),
                (preset, _) => reports.extend(files.into_iter().map(|file| alone(file, preset))),
            }
        }
        for (folder, files) in by_folder {
            match texts(&files).len() {
                count if count > FEW && !folder.is_dir() => reports.extend(of_folder(&files, folder)),
                _ => reports.extend(files.into_iter().map(|file| alone(file, None))),
            }
        }
        reports
    }
}

/// The first folder of a file's path that is not there; else the one that should hold it.
fn missing_folder(file: &Path) -> &Path {
    let folder = file.parent().unwrap_or(Path::new(""));
    folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.is_dir()).last().unwrap_or(folder)
}

fn alone(file: &MissingFile, preset: Option<&Preset>) -> Report {
    let near = file.near.display();
    let help = match &file.far {
        Some(far) => format!("looked for `{near}` and `{}`", far.display()),
        None if file.has_data_dir => format!("looked for `{near}`"),
        None => format!("looked for `{near}`; name another folder with data with `--data-dir DIR`"),
    };
    let source = preset.map_or_else(String::new, |preset| format!("; it comes from {}", preset.source));
    let reading = file.reading.clone();
    Report { span: file.span, message: format!("no file `{}`", file.text), help: help + &source, reading }
}

/// Returns the missing files as they are written, each once, in order.
fn texts<'f>(files: &[&'f MissingFile]) -> Vec<&'f str> {
    let mut seen = BTreeSet::new();
    files.iter().map(|file| file.text.as_str()).filter(|text| seen.insert(*text)).collect()
}

fn no_folder(files: &[&MissingFile], presets: &[&str], data_root: &Path) -> Option<Report> {
    let count = texts(files).len();
    let (first, noun) = (files.first()?, if presets.len() == 1 { "preset" } else { "presets" });
    let message = format!(
        "no folder `{}`, where {count} files of {} {noun} are looked for: {}",
        data_root.display(),
        presets.len(),
        some(presets)
    );
    let help = format!(
        "the first is `{}`; name the folder that holds them with `--data-dir`, or the one above `data` with \
         COMPASS_DATA_CACHE; `compass-master datasets NAME` tells where the files of a preset come from",
        first.text
    );
    Some(Report { span: first.span, message, help, reading: first.reading.clone() })
}

fn of_preset(files: &[&MissingFile], preset: &Preset, found: usize, data_root: &Path) -> Option<Report> {
    let texts = texts(files);
    let (name, folder, count) = (&preset.name, data_root.display(), texts.len());
    let message = match found {
        0 => format!("`{folder}` has none of the {count} files of {name}: {}", some(&texts)),
        _ => format!("`{folder}` lacks {count} of the {} files of {name}: {}", count + found, some(&texts)),
    };
    let help = format!(
        "name the folder that holds them with `--data-dir`, or put them there; they come from {}",
        preset.source
    );
    let first = files.first()?;
    Some(Report { span: first.span, message, help, reading: first.reading.clone() })
}

fn of_folder(files: &[&MissingFile], folder: &Path) -> Option<Report> {
    let texts = texts(files);
    let message = format!("no folder `{}`, which would hold {} files: {}", folder.display(), texts.len(), some(&texts));
    let first = files.first()?;
    let help = match &first.far {
        Some(far) => format!("`{}` was looked for too", far.display()),
        None if first.has_data_dir => "put them there, or name another folder with `--data-dir`".to_owned(),
        None => "put them there, or name another folder with data with `--data-dir DIR`".to_owned(),
    };
    let mut sets: Vec<&str> = files.iter().filter_map(|file| Some(file.reading.as_ref()?.name.as_str())).collect();
    sets.dedup();
    let needed =
        if sets.len() > 1 { format!("; {} data sets need them: {}", sets.len(), some(&sets)) } else { String::new() };
    Some(Report { span: first.span, message, help: help + &needed, reading: first.reading.clone() })
}

/// The first names, and how many more there are.
pub(crate) fn some(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(NAMES).map(|name| format!("`{name}`")).collect();
    match names.len() {
        all if all > NAMES => format!("{} and {} more", shown.join(", "), all - NAMES),
        _ => shown.join(", "),
    }
}
