//! Data sets of the Hugging Face hub, in its local cache, and fetched into it where they are not there:
//! `path = "hub:<owner>/<name>[@<revision>][/<config>]"`.
//!
//! A repository lies in `datasets--<owner>--<name>/snapshots/<commit>/`; `refs/<revision>` names the commit. Which files
//! are a split of a config follows the names that data sets on the hub have: `data/test-00000-of-00001.parquet`,
//! `main/train-*.parquet`, `validation.jsonl`, `test/abstract_algebra.csv`, `auxiliary/dev_ids.json`.

use compass_common::regular_file;
use compass_settings::{Choose, FileFormat, Remote, RemoteFault};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Prefix of a path on the hub.
pub(crate) const SCHEME: &str = "hub:";

/// Reason why nothing was found, and what to do.
#[derive(Debug)]
pub(crate) struct HubFault {
    pub(crate) message: String,
    pub(crate) help: String,
}

/// The parts of `owner/name@revision/config`.
#[derive(Debug, PartialEq, Eq)]
struct HubId<'t> {
    repo: &'t str,
    revision: &'t str,
    config: Option<&'t str>,
}

/// Reason why none of the files there is a split.
#[derive(Debug)]
enum Unchosen {
    /// They are not all there.
    Absent(String),
    /// A person has to choose.
    Several(String),
}

impl Unchosen {
    fn message(self) -> String {
        let (Self::Absent(message) | Self::Several(message)) = self;
        message
    }
}

/// Places where files are looked for, in messages.
const LOCAL: &str = "in the local hub cache";
const REMOTE: &str = "on the hub";

/// The files of `split`, by name, found in the first of `caches` that has the repository. What is not there is fetched, where
/// that is allowed.
pub(crate) fn files(
    id: &str,
    split: &str,
    caches: &[PathBuf],
    remote: Option<&Remote>,
) -> Result<Vec<PathBuf>, HubFault> {
    let id = parse(id)?;
    let missing = match local_files(&id, split, caches) {
        Ok(Ok(files)) => return Ok(files),
        Ok(Err(chosen)) => return Err(chosen),
        Err(missing) => missing,
    };
    let Some(remote) = remote else { return Err(missing) };
    if let Some(variable) = remote.0.offline() {
        return Err(HubFault { help: format!("{variable} forbids to fetch it; {}", missing.help), ..missing });
    }
    let found = fetched(remote, id.repo, id.revision, &|all| chosen(all, &id, split, REMOTE));
    let (folder, names) = found.map_err(|fault| HubFault {
        message: format!("{}, and it cannot be fetched: {}", missing.message, fault.message),
        help: fault.help,
    })?;
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

/// As [`files`], of the local caches alone. The outer error is for what is not there, the inner one for what a person has to
/// choose.
fn local_files(id: &HubId<'_>, split: &str, caches: &[PathBuf]) -> Result<Result<Vec<PathBuf>, HubFault>, HubFault> {
    let folder = format!("datasets--{}", id.repo.replace('/', "--"));
    let Some(found) = caches.iter().map(|cache| cache.join(&folder)).find(|folder| folder.is_dir()) else {
        let looked: Vec<String> = caches.iter().map(|cache| format!("`{}`", cache.join(&folder).display())).collect();
        let looked = if looked.is_empty() { "no cache folder is known".into() } else { looked.join(" and ") };
        return Err(HubFault {
            message: format!("the data set `{}` is not in the local hub cache", id.repo),
            help: format!("looked for {looked}; {}", download(id)),
        });
    };
    let snapshot = snapshot(&found, id)?;
    let mut all = Vec::new();
    walk(&snapshot, Path::new(""), &mut all);
    all.retain(|path| FileFormat::of(path).is_some());
    let fault = |message: String| HubFault {
        message,
        help: format!("`{}` holds {}; {}", snapshot.display(), listed(&all), download(id)),
    };
    match choose(&all, id, split, LOCAL) {
        Ok(chosen) => Ok(Ok(chosen.into_iter().map(|path| snapshot.join(path)).collect())),
        Err(Unchosen::Several(message)) => Ok(Err(fault(message))),
        Err(Unchosen::Absent(message)) => Err(fault(message)),
    }
}

/// Fetches the files of a data set that `choose` picks: their folder, and their names in it.
fn fetched(
    remote: &Remote,
    repo: &str,
    revision: &str,
    choose: &Choose<'_>,
) -> Result<(PathBuf, Vec<String>), RemoteFault> {
    let names = RefCell::new(Vec::new());
    let folder = remote.0.dataset(repo, revision, &|all| {
        let chosen = choose(all)?;
        names.borrow_mut().clone_from(&chosen);
        Ok(chosen)
    })?;
    Ok((folder, names.into_inner()))
}

/// The names of the files of a split among all of a repository.
fn chosen(all: &[String], id: &HubId<'_>, split: &str, place: &str) -> Result<Vec<String>, String> {
    let mut paths: Vec<PathBuf> = all.iter().map(PathBuf::from).collect();
    paths.retain(|path| FileFormat::of(path).is_some());
    paths.sort();
    let files = choose(&paths, id, split, place).map_err(|unchosen| {
        let message = unchosen.message();
        format!("{message}; it holds {}", listed(&paths))
    })?;
    Ok(files.into_iter().map(|path| path.display().to_string()).collect())
}

/// Fetches what a data set's repository holds of these splits.
///
/// # Errors
/// Why it cannot be had, and what to do.
pub fn fetch_dataset(
    remote: &Remote,
    repo: &str,
    (revision, config): (Option<&str>, Option<&str>),
    splits: &[&str],
) -> Result<PathBuf, String> {
    let id = HubId { repo, revision: revision.unwrap_or("main"), config };
    let id = check(id).ok_or_else(|| format!("`{repo}` is not the name of a data set of the hub"))?;
    let choose = |all: &[String]| {
        let (mut names, mut reason) = (BTreeSet::new(), None);
        for split in splits {
            match chosen(all, &id, split, REMOTE) {
                Ok(found) => names.extend(found),
                Err(message) => reason = reason.or(Some(message)),
            }
        }
        match reason {
            Some(reason) if names.is_empty() => Err(reason),
            _ => Ok(names.into_iter().collect()),
        }
    };
    let found = fetched(remote, id.repo, id.revision, &choose);
    found.map(|(folder, _)| folder).map_err(|fault| format!("{}; {}", fault.message, fault.help))
}

/// The snapshot of a data set's repository in the first of `caches` that has it.
///
/// # Errors
/// In words: where it was looked for, and how it is fetched.
pub fn dataset_snapshot(repo: &str, revision: Option<&str>, caches: &[PathBuf]) -> Result<PathBuf, String> {
    let id = HubId { repo, revision: revision.unwrap_or("main"), config: None };
    let id = check(id).ok_or_else(|| format!("`{repo}` is not the name of a data set of the hub"))?;
    let folder = format!("datasets--{}", id.repo.replace('/', "--"));
    let Some(found) = caches.iter().map(|cache| cache.join(&folder)).find(|folder| folder.is_dir()) else {
        return Err(format!("the data set `{repo}` is not in the local hub cache; {}", download(&id)));
    };
    snapshot(&found, &id).map_err(|fault| format!("{}; {}", fault.message, fault.help))
}

/// The files of a split below a folder that lies as a repository of the hub does.
///
/// # Errors
/// In words: no file, or a choice of several.
pub fn dataset_files(folder: &Path, config: Option<&str>, split: &str) -> Result<Vec<PathBuf>, String> {
    let mut all = Vec::new();
    walk(folder, Path::new(""), &mut all);
    all.retain(|path| FileFormat::of(path).is_some());
    let shown = folder.display().to_string();
    let chosen = choose(&all, &HubId { repo: &shown, revision: "main", config }, split, LOCAL);
    let chosen = chosen.map_err(Unchosen::message)?;
    Ok(chosen.into_iter().map(|path| folder.join(path)).collect())
}

/// The snapshot of a model's repository, `owner/name` or `owner/name@revision`, in the first of `caches` that has it.
pub(crate) fn model(id: &str, caches: &[PathBuf]) -> Option<PathBuf> {
    let (repo, revision) = id.split_once('@').unwrap_or((id, "main"));
    let id = check(HubId { repo, revision, config: None })?;
    let folder = format!("models--{}", id.repo.replace('/', "--"));
    let found = caches.iter().map(|cache| cache.join(&folder)).find(|folder| folder.is_dir())?;
    snapshot(&found, &id).ok()
}

fn parse(id: &str) -> Result<HubId<'_>, HubFault> {
    let cut = |text: &'static str| HubFault {
        message: format!("`hub:{id}` cannot be read: {text}"),
        help: "write `hub:<owner>/<name>`, then `@<revision>` and `/<config>` where they are wanted".into(),
    };
    let (repo, rest) = match id.split_once('@') {
        Some((repo, rest)) => (repo, rest),
        None => {
            // Two names are the repository, further ones the config; some old repositories have no owner.
            let second = id.find('/').and_then(|first| id[first + 1..].find('/').map(|at| first + 1 + at));
            let (repo, config) = second.map_or((id, ""), |at| id.split_at(at));
            let config = config.strip_prefix('/').filter(|config| !config.is_empty());
            return check(HubId { repo, revision: "main", config }).ok_or_else(|| cut("a name is missing or odd"));
        }
    };
    let (revision, config) = rest.split_once('/').map_or((rest, None), |(revision, config)| (revision, Some(config)));
    check(HubId { repo, revision, config }).ok_or_else(|| cut("a name is missing or odd"))
}

/// Names become folders: none may lead elsewhere.
fn check(id: HubId<'_>) -> Option<HubId<'_>> {
    let is_name = |name: &str| {
        let usual = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !name.is_empty() && name != "." && name != ".." && name.chars().all(usual)
    };
    let parts = id.repo.split('/').chain([id.revision]).chain(id.config.iter().flat_map(|config| config.split('/')));
    (id.repo.split('/').count() <= 2 && parts.into_iter().all(is_name)).then_some(id)
}

fn snapshot(folder: &Path, id: &HubId<'_>) -> Result<PathBuf, HubFault> {
    let snapshots = folder.join("snapshots");
    let commit = regular_file::read_text(&folder.join("refs").join(id.revision), regular_file::SMALL)
        .unwrap_or_else(|_| id.revision.into());
    let named = snapshots.join(commit.trim());
    if !commit.trim().is_empty() && named.is_dir() {
        return Ok(named);
    }
    let there: Vec<PathBuf> = entries(&snapshots).into_iter().filter(|path| path.is_dir()).collect();
    match there.as_slice() {
        // Copied by hand, or downloaded by its commit: the only one there is is meant.
        [only] if id.revision == "main" => Ok(only.clone()),
        _ => Err(HubFault {
            message: format!("revision `{}` of `{}` is not in the local hub cache", id.revision, id.repo),
            help: format!("`{}` holds {}; {}", snapshots.display(), names(&there), download(id)),
        }),
    }
}

fn names(paths: &[PathBuf]) -> String {
    let names: Vec<String> =
        paths.iter().map(|path| format!("`{}`", path.file_name().unwrap_or_default().display())).collect();
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}

fn listed(paths: &[PathBuf]) -> String {
    const MOST: usize = 8;
    let names: Vec<String> = paths.iter().take(MOST).map(|path| format!("`{}`", path.display())).collect();
    match paths.len() {
        0 => "no data file".into(),
        all if all > MOST => format!("{} and {} more", names.join(", "), all - MOST),
        _ => names.join(", "),
    }
}

fn download(id: &HubId<'_>) -> String {
    let revision = if id.revision == "main" { String::new() } else { format!(" --revision {}", id.revision) };
    format!("with a network, `hf download --repo-type dataset{revision} {}` fetches it", id.repo)
}

/// Everything below `folder`, as paths relative to the first one, by name. A snapshot's files are links into `blobs`.
fn walk(folder: &Path, relative: &Path, found: &mut Vec<PathBuf>) {
    for path in entries(folder) {
        let below = relative.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            walk(&path, &below, found);
        } else if path.is_file() {
            found.push(below);
        }
    }
}

/// The files of the split among all.
fn choose(all: &[PathBuf], id: &HubId<'_>, split: &str, place: &str) -> Result<Vec<PathBuf>, Unchosen> {
    let of_config: Vec<&PathBuf> = match id.config {
        None => all.iter().collect(),
        Some(config) => {
            let within = |path: &PathBuf| path.parent().is_some_and(|folder| ends_with(folder, Path::new(config)));
            let inside: Vec<&PathBuf> = all.iter().filter(|path| within(path)).collect();
            let named = |path: &PathBuf| stem(path).is_some_and(|stem| names_config(stem, config));
            if inside.is_empty() { all.iter().filter(|path| named(path)).collect() } else { inside }
        }
    };
    let of_split: Vec<&PathBuf> = of_config.iter().copied().filter(|path| is_split(path, split)).collect();
    if of_split.is_empty() {
        let config = id.config.map_or(String::new(), |config| format!(" of config `{config}`"));
        return Err(Unchosen::Absent(format!("`{}` has no file of split `{split}`{config} {place}", id.repo)));
    }
    // The same rows are often there twice, as parquet and as what they were made from.
    let kind = of_split.iter().filter_map(|path| FileFormat::of(path)).min();
    let mut files: Vec<&PathBuf> = of_split.into_iter().filter(|path| FileFormat::of(path) == kind).collect();
    files.sort();
    let folders: BTreeSet<&Path> = files.iter().filter_map(|path| path.parent()).collect();
    if folders.len() > 1 {
        let folders: Vec<String> = folders.iter().map(|folder| format!("`{}`", folder.display())).collect();
        return Err(Unchosen::Several(format!(
            "`{}` has split `{split}` in several folders: choose a config, {}",
            id.repo,
            folders.join(" or ")
        )));
    }
    missing_shard(&files, place).map_err(Unchosen::Absent)?;
    Ok(files.into_iter().cloned().collect())
}

/// Returns `true` if `folder` ends with the names of `config`, a `data` or a split's own folder aside.
fn ends_with(folder: &Path, config: &Path) -> bool {
    folder.ends_with(config) || folder.parent().is_some_and(|above| above.ends_with(config))
}

fn stem(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.split('.').next()
}

/// `abstract_algebra_test` and `abstract_algebra` are of config `abstract_algebra`, `algebra_test` of none like it.
fn names_config(stem: &str, config: &str) -> bool {
    let aside = |rest: &str| rest.is_empty() || rest.starts_with(['-', '_', '.']);
    stem.strip_prefix(config).is_some_and(aside)
        || stem.strip_suffix(config).is_some_and(|rest| rest.is_empty() || rest.ends_with(['-', '_', '.']))
}

/// The words for a split that data sets use for one another.
const SPLITS: [&[&str]; 3] =
    [&["train", "training"], &["validation", "valid", "val", "dev"], &["test", "testing", "eval", "evaluation"]];

/// Returns `true` if a word of the file's name is the split, or, where no word is any split, a folder above it is.
fn is_split(path: &Path, split: &str) -> bool {
    let same = SPLITS.iter().find(|words| words.contains(&split)).copied();
    let is = |word: &str| word == split || same.is_some_and(|words| words.contains(&word));
    let any = |word: &str| word == split || SPLITS.iter().any(|words| words.contains(&word));
    let words = |name: &str| -> Vec<String> {
        name.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_ascii_lowercase).collect()
    };
    let name = stem(path).unwrap_or_default();
    if name == split {
        return true;
    }
    let of_name = words(name);
    if of_name.iter().any(|word| any(word)) {
        return of_name.iter().any(|word| is(word));
    }
    let folders = path.parent().into_iter().flat_map(Path::iter).filter_map(|name| name.to_str());
    folders.into_iter().any(|folder| is(&folder.to_ascii_lowercase()))
}

/// `test-00000-of-00003.parquet` promises three files.
fn missing_shard(files: &[&PathBuf], place: &str) -> Result<(), String> {
    let shard = |path: &&PathBuf| -> Option<(usize, usize)> {
        let words: Vec<&str> = stem(path)?.split('-').collect();
        let at = words.iter().rposition(|word| *word == "of")?;
        Some((words.get(at.checked_sub(1)?)?.parse().ok()?, words.get(at + 1)?.parse().ok()?))
    };
    let shards: Vec<(usize, usize)> = files.iter().filter_map(shard).collect();
    let Some((_, count)) = shards.first().copied() else { return Ok(()) };
    match (0..count).find(|at| !shards.contains(&(*at, count))) {
        Some(at) => Err(format!("shard {at} (from 0) of {count} is missing {place}")),
        None => Ok(()),
    }
}

/// Returns the paths in a folder, by name; nothing if it cannot be read.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
    paths.retain(|path| path.file_name().is_none_or(|name| !name.to_string_lossy().starts_with('.')));
    paths.sort();
    paths
}
