//! The loader of the program: every class's own `load`, evaluated.

use crate::cache::{Cache, Record};
use crate::observed::Look;
use crate::world::TreeWorld;
use compass_config::{beside_name, without_beside};
use compass_python::{LibraryCall, LibraryFault, Limits, load_rows};
use compass_settings::{LoadedRows, LoaderCall, LoaderWorld, NoRows, RowLoader, is_own};
use std::path::PathBuf;

/// Limits of one class. Rows of a data set are larger than a configuration.
const LIMITS: Limits = Limits { steps: 500_000_000, bytes: 64 << 30, depth: 400, file_bytes: 8 << 20 };

/// Evaluates loader classes and keeps their rows.
#[derive(Clone, Debug)]
pub struct TreeLoader {
    cache: Cache,
    limits: Limits,
}

impl TreeLoader {
    /// A loader that keeps rows in `folder`.
    pub fn new(folder: PathBuf) -> Self {
        Self { cache: Cache(folder), limits: LIMITS }
    }

    /// The same with other limits for each class.
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    fn one(&self, world: &LoaderWorld, call: &LoaderCall) -> Result<LoadedRows, NoRows> {
        let record = match self.cache.known(world, call) {
            Some(record) => record,
            None => self.evaluate(world, call)?,
        };
        self.rows(&record, call)
    }

    fn evaluate(&self, world: &LoaderWorld, call: &LoaderCall) -> Result<Record, NoRows> {
        let host = TreeWorld::new(world, call);
        let own = is_own(&call.class);
        let beside = beside_name(&world.config, &call.class).filter(|_| own);
        if own && beside.is_none() {
            return Err(no_module(call));
        }
        let asked =
            LibraryCall { class: beside.unwrap_or_else(|| call.class.clone()), parameters: call.parameters.clone() };
        let loaded = load_rows(&asked, &host, self.limits);
        let splits = loaded.result.map_err(|fault| if own { no_rows_of_own(fault, call) } else { no_rows(fault) })?;
        for (path, text) in loaded.files {
            let digest = blake3::hash(text.as_bytes()).to_hex().to_string();
            // The text without a mark of its encoding is not the file.
            let digest = Look::Source(path.clone()).now(&[]).unwrap_or(digest);
            host.saw(Look::Source(path), Some(digest));
        }
        let place = loaded.place.map_or_else(String::new, |(path, line)| {
            format!("{}:{line}", path.file_name().unwrap_or_default().display())
        });
        self.cache.keep(world, call, host.looks(), &splits, place).map_err(|error| NoRows {
            reason: format!("its rows cannot be kept in `{}`: {error}", self.cache.0.display()),
            help: Some("make room there, or let this user write there".into()),
        })
    }

    fn rows(&self, record: &Record, call: &LoaderCall) -> Result<LoadedRows, NoRows> {
        let mut splits = Vec::new();
        let mut count = 0;
        for wanted in &call.splits {
            let of_name = |(name, _): &&(Option<String>, usize)| name.as_ref().is_none_or(|name| name == wanted);
            let Some((name, rows)) = record.splits.iter().find(of_name) else {
                let names: Vec<String> =
                    record.splits.iter().flat_map(|(name, _)| name).map(|name| format!("`{name}`")).collect();
                let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                return Err(NoRows {
                    reason: format!("it gives no split `{wanted}`, but {there}"),
                    help: Some("name one of these in `reader_cfg`: test_split or train_split".into()),
                });
            };
            let file = self.cache.file(record, name.as_deref());
            if splits.iter().all(|(_, known)| *known != file) {
                count += rows;
            }
            splits.push((wanted.clone(), file));
        }
        let class = call.class.rsplit('.').next().unwrap_or(&call.class);
        let whose = if is_own(&call.class) { "its own `load`" } else { "OpenCompass's own loader" };
        let said = format!(
            "{class}: read by {whose} ({}), {} {}",
            record.place,
            thousands(count),
            if count == 1 { "row" } else { "rows" }
        );
        Ok(LoadedRows { splits, said })
    }
}

/// Help for a class that is not read here.
const ELSEWHERE: &str = "read its rows with --python PATH, an interpreter that has OpenCompass, or run the rest with \
                         --skip-unsupported";

/// A class of the user's own whose module is not beside the configuration.
fn no_module(call: &LoaderCall) -> NoRows {
    let module = call.class.rsplit_once('.').map_or(call.class.as_str(), |(module, _)| module);
    let file = module.trim_start_matches('.').replace('.', "/");
    NoRows {
        reason: format!("there is no `{file}.py` beside the configuration, so there is no source of it to read"),
        help: Some(format!("put the module there, or {ELSEWHERE}")),
    }
}

/// As [`no_rows`], with names as the user writes them.
fn no_rows_of_own(fault: LibraryFault, call: &LoaderCall) -> NoRows {
    let (module, class) = call.class.rsplit_once('.').unwrap_or(("", &call.class));
    if ["has no class", "no OpenCompass tree is known"].iter().any(|said| fault.text.contains(said)) {
        let reason = format!("the module `{}` has no class `{class}`", module.trim_start_matches('.'));
        return NoRows { reason, help: Some(ELSEWHERE.to_owned()) };
    }
    let NoRows { reason, help } = no_rows(fault);
    NoRows { reason: without_beside(&reason), help }
}

/// The reason with its place, and what to do: about data and about the tree the evaluation knows, all else needs Python.
fn no_rows(fault: LibraryFault) -> NoRows {
    let reason = fault.to_string();
    let is_own = matches!(fault.class.as_str(), "FileNotFoundError" | "");
    NoRows { reason, help: Some(fault.help.filter(|_| is_own).unwrap_or_else(|| ELSEWHERE.to_owned())) }
}

fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl RowLoader for TreeLoader {
    fn load(&self, world: &LoaderWorld, calls: &[LoaderCall]) -> Vec<Result<LoadedRows, NoRows>> {
        calls.iter().map(|call| self.one(world, call)).collect()
    }
}
