//! The loader that asks an interpreter: kept results first, then one run for all the rest.

use crate::cache::{Cache, Record};
use crate::environment;
use crate::fault::Fault;
use crate::limits::Limits;
use crate::program;
use crate::script::{Call, FILES};
use crate::session::{Session, Told};
use crate::stamp::Stamper;
use compass_common::regular_file;
use compass_common::status_output::print_status;
use compass_common::words::counted;
use compass_settings::{
    EvaluatedConfiguration, Interpreter, LoadedRows, LoaderCall, LoaderWorld, NoRows, RowLoader, is_own,
};
use std::path::{Path, PathBuf};

/// Reads data sets with the interpreter of a [`LoaderWorld`]; without one it refuses everything without a reason of its own.
#[derive(Debug)]
pub struct Exporter {
    /// The folder of exports, in the state folder.
    folder: PathBuf,
    limits: Limits,
}

impl Exporter {
    /// Keeps what it reads in `state_dir`, the user's state folder.
    pub fn new(state_dir: &Path, limits: Limits) -> Self {
        Self { folder: state_dir.join("exports"), limits }
    }
}

/// Sources of rows, for notes to the user.
struct Sources<'s> {
    program: &'s Path,
    cache: &'s Cache,
}

impl RowLoader for Exporter {
    fn load(&self, world: &LoaderWorld, calls: &[LoaderCall]) -> Vec<Result<LoadedRows, NoRows>> {
        let Some(interpreter) = &world.interpreter else {
            return calls.iter().map(|_| Err(NoRows::default())).collect();
        };
        match self.rows(world, interpreter, calls) {
            Ok(rows) => rows,
            Err(fault) => calls.iter().map(|_| Err(fault.no_rows())).collect(),
        }
    }

    fn configuration(&self, world: &LoaderWorld) -> Option<Result<EvaluatedConfiguration, NoRows>> {
        let interpreter = world.interpreter.as_ref()?;
        let evaluated = self.evaluated(world, interpreter);
        Some(evaluated.unwrap_or_else(|fault| Err(fault.no_rows())))
    }
}

impl Exporter {
    fn rows(
        &self,
        world: &LoaderWorld,
        interpreter: &Interpreter,
        calls: &[LoaderCall],
    ) -> Result<Vec<Result<LoadedRows, NoRows>>, Fault> {
        let program = program::locate(&interpreter.program, environment::variable(world, "PATH"))?;
        let cache = Cache::new(&self.folder);
        let causes = Causes::new(world, interpreter, &program);
        let keys: Vec<String> = calls.iter().map(|call| causes.of_call(call)).collect();
        let mut stamper = Stamper::default();
        let mut found: Vec<Option<Result<Record, NoRows>>> =
            keys.iter().map(|key| cache.find(key, &mut stamper, world).map(Ok)).collect();
        let kept = found.iter().flatten().count();
        // Each once, however often a configuration names it.
        let mut left: Vec<usize> = (0..calls.len()).filter(|at| found[*at].is_none()).collect();
        left.retain(|at| keys.iter().position(|key| *key == keys[*at]) == Some(*at));
        let mut contained = String::new();
        if !left.is_empty() {
            say_start(&program, &format!("the rows of {}", counted(left.len() as u64, "data set")));
            let session = self.session(world, interpreter, &program, &cache);
            let of_call = |at: &usize| {
                let LoaderCall { class, parameters, splits } = &calls[*at];
                Call { class, parameters, splits }
            };
            let asked = left.iter().map(of_call).collect();
            let of_left: Vec<String> = left.iter().map(|at| keys[*at].clone()).collect();
            let mut told = session.run(asked, &of_left, None)?;
            for (number, at) in left.iter().enumerate() {
                let result = told.rows.remove(&number).unwrap_or_else(|| Err(told.no_rows()));
                for (one, key) in found.iter_mut().zip(&keys).filter(|(one, key)| one.is_none() && **key == keys[*at]) {
                    let _ = key;
                    *one = Some(result.clone());
                }
            }
            contained = told.how();
        }
        let records: Vec<Result<Record, NoRows>> =
            found.into_iter().map(|one| one.unwrap_or_else(|| Err(NoRows::default()))).collect();
        let sources = Sources { program: &program, cache: &cache };
        Ok(sources.loaded(&records, kept, &contained))
    }

    fn evaluated(
        &self,
        world: &LoaderWorld,
        interpreter: &Interpreter,
    ) -> Result<Result<EvaluatedConfiguration, NoRows>, Fault> {
        let program = program::locate(&interpreter.program, environment::variable(world, "PATH"))?;
        let cache = Cache::new(&self.folder);
        let config = std::path::absolute(&world.config).unwrap_or_else(|_| world.config.clone());
        let key = Causes::new(world, interpreter, &program).of_configuration(&config);
        let (record, how) = match cache.find(&key, &mut Stamper::default(), world) {
            Some(record) => (Ok(record), "earlier: its files have not changed".to_owned()),
            None => {
                say_start(&program, &format!("`{}`", world.config.display()));
                let session = self.session(world, interpreter, &program, &cache);
                let mut told = session.run(Vec::new(), &[], Some((&config, &key)))?;
                let record = told.configuration.take().unwrap_or_else(|| Err(told.no_rows()));
                (record, told.how())
            }
        };
        let read = record.and_then(|record| {
            let output = record.outputs.first().ok_or_else(NoRows::default)?;
            let unusable = |reason: String| NoRows { reason, help: None };
            let bytes = regular_file::read(&cache.file(output), regular_file::LARGE)
                .map_err(|error| unusable(error.to_string()))?;
            let names = serde_json::from_slice(&bytes).map_err(|error| unusable(error.to_string()))?;
            let said = format!("`{}` ({}) evaluated it, {how}", program.display(), record.versions);
            Ok(EvaluatedConfiguration { names, said })
        });
        Ok(read)
    }

    fn session<'s>(
        &'s self,
        world: &'s LoaderWorld,
        interpreter: &'s Interpreter,
        program: &'s Path,
        cache: &'s Cache,
    ) -> Session<'s> {
        let tree = tree(world);
        Session { world, interpreter, program, tree, folder: &self.folder, limits: &self.limits, cache }
    }
}

impl Told {
    /// Describes how it was contained, with a remark if there is one.
    fn how(&self) -> String {
        let remark = self.remark.as_ref().map_or_else(String::new, |remark| format!("; {remark}"));
        format!("{}{remark}", self.contained)
    }

    /// The reason of what has no answer.
    fn no_rows(&self) -> NoRows {
        self.fault.as_ref().map_or_else(NoRows::default, Fault::no_rows)
    }
}

/// The package whose loaders are run: the one whose configurations are read, where it is a package.
fn tree(world: &LoaderWorld) -> Option<&Path> {
    let first = world.trees.first()?;
    first.join("__init__.py").is_file().then_some(first.as_path())
}

fn say_start(program: &Path, what: &str) {
    print_status(format_args!("asking `{}` for {what} ...", program.display()));
}

impl Sources<'_> {
    /// The rows of every record; all tell the same of where they come from.
    fn loaded(
        &self,
        records: &[Result<Record, NoRows>],
        kept: usize,
        contained: &str,
    ) -> Vec<Result<LoadedRows, NoRows>> {
        let read: Vec<&Record> = records.iter().flatten().collect();
        let rows: u64 = read.iter().map(|record| record.rows()).sum();
        let versions = read.first().map(|record| record.versions.as_str()).unwrap_or_default();
        let how = match (kept, kept == read.len()) {
            (_, true) => "earlier: neither its loaders nor its data have changed".to_owned(),
            (0, false) => contained.to_owned(),
            (_, false) => {
                format!("{contained}; those of {} come from an earlier run", counted(kept as u64, "data set"))
            }
        };
        let said = format!(
            "`{}` ({versions}) read {} of {} with OpenCompass's own loaders, {how}",
            self.program.display(),
            counted(rows, "row"),
            counted(read.len() as u64, "data set")
        );
        let of_record = |record: &Record| LoadedRows {
            splits: record.outputs.iter().map(|output| (output.name.clone(), self.cache.file(output))).collect(),
            said: said.clone(),
        };
        records.iter().map(|record| record.as_ref().map(of_record).map_err(Clone::clone)).collect()
    }
}

impl Record {
    /// Rows of its files, each file once.
    fn rows(&self) -> u64 {
        let is_first =
            |at: usize| self.outputs.iter().position(|output| output.digest == self.outputs[at].digest) == Some(at);
        self.outputs.iter().enumerate().filter(|(at, _)| is_first(*at)).map(|(_, output)| output.rows).sum()
    }
}

/// Causes on which rows depend, beside the files that are read for them.
struct Causes {
    all: serde_json::Value,
    /// The folder of the configuration, where classes of the user's own are.
    folder: Option<PathBuf>,
}

impl Causes {
    fn new(world: &LoaderWorld, interpreter: &Interpreter, program: &Path) -> Self {
        let path = ["PYTHONPATH", "PYTHONHOME"].map(|name| environment::variable(world, name));
        let script = FILES.map(|(_, text)| text);
        let folder = world.config.parent().and_then(|folder| std::path::absolute(folder.join(".")).ok());
        let all = serde_json::json!({
            "script": script,
            "program": program,
            "network": interpreter.network,
            "tree": tree(world),
            "directory": std::env::current_dir().ok(),
            "data_dir": world.data_dir,
            "datasets": environment::cache(world, "HF_DATASETS_CACHE", "datasets"),
            "modules": environment::cache(world, "HF_MODULES_CACHE", "modules"),
            "path": path,
        });
        Self { all, folder }
    }

    fn of_call(&self, call: &LoaderCall) -> String {
        let folder = self.folder.as_ref().filter(|_| is_own(&call.class));
        self.key(&serde_json::json!([call.class, call.parameters, call.splits, folder]))
    }

    fn of_configuration(&self, path: &Path) -> String {
        self.key(&serde_json::json!(path))
    }

    fn key(&self, of: &serde_json::Value) -> String {
        blake3::hash(serde_json::json!([self.all, of]).to_string().as_bytes()).to_hex().to_string()
    }
}
