//! One run of the interpreter: its request, and its results, which are taken over into the cache.

use crate::cache::{Cache, Output, Record};
use crate::child::{self, Ended, How};
use crate::environment;
use crate::fault::{self, Fault};
use crate::limits::Limits;
use crate::run_folder::RunFolder;
use crate::sandbox::{Containment, View, detect};
use crate::script::{self, Caches, Call, Event, Request, Split};
use crate::stamp::Stamper;
use compass_settings::{Interpreter, LoaderWorld, NoRows};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Context that is the same for all runs of a job.
#[derive(Debug)]
pub(crate) struct Session<'s> {
    pub(crate) world: &'s LoaderWorld,
    pub(crate) interpreter: &'s Interpreter,
    pub(crate) program: &'s Path,
    pub(crate) tree: Option<&'s Path>,
    /// The folder of exports, in the state folder.
    pub(crate) folder: &'s Path,
    pub(crate) limits: &'s Limits,
    pub(crate) cache: &'s Cache,
}

/// Result of one run.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// `Python 3.11.7, OpenCompass 0.5.4`.
    pub(crate) versions: String,
    /// Description of its containment, for the screen.
    pub(crate) contained: String,
    pub(crate) configuration: Option<Result<Record, NoRows>>,
    /// By the number of the call.
    pub(crate) rows: BTreeMap<usize, Result<Record, NoRows>>,
    /// Fault because of which the remaining calls have no answer.
    pub(crate) fault: Option<Fault>,
    /// Remark although there are answers: the reason why none of them is kept, or that it ended badly after the last one.
    pub(crate) remark: Option<String>,
}

impl Session<'_> {
    /// Runs the interpreter for `calls`, and for the configuration where it is wanted. `keys` are the calls' keys, and the
    /// configuration's.
    ///
    /// # Errors
    /// It did not start.
    pub(crate) fn run(
        &self,
        calls: Vec<Call<'_>>,
        keys: &[String],
        configuration: Option<(&Path, &str)>,
    ) -> Result<Told, Fault> {
        let of_folder = |error| Fault::of_folder(self.folder.to_path_buf(), &error);
        let own = RunFolder::make(self.folder).map_err(of_folder)?;
        let asked = calls.iter().map(|call| call.class.to_owned()).collect::<Vec<_>>();
        let folder = self.world.config.parent().and_then(|folder| std::path::absolute(folder.join(".")).ok());
        let request = Request {
            tree: self.tree,
            configuration: configuration.map(|(path, _)| path),
            folder: folder.as_deref(),
            caches: Caches {
                datasets: environment::cache(self.world, "HF_DATASETS_CACHE", "datasets"),
                modules: environment::cache(self.world, "HF_MODULES_CACHE", "modules"),
            },
            calls,
        };
        let script = script::prepare(own.path(), &request).map_err(of_folder)?;
        let variables = environment::variables(self.world, self.interpreter, own.path()).map_err(of_folder)?;
        let directory = std::env::current_dir().map_err(of_folder)?;
        let (mut words, contained) = self.words(own.path(), &directory, &variables);
        words.extend([self.program.into(), "-u".into(), "-B".into(), script.into()]);
        let started = child::run(&words, &variables, &directory, own.path(), self.limits);
        let ended = started
            .map_err(|error| Fault::Program { program: self.program.to_path_buf(), reason: error.to_string() })?;
        let mut told = Told { contained, ..Told::default() };
        let at = self.hear(&mut told, own.path(), keys, configuration.map(|(_, key)| key)).map_err(of_folder)?;
        let is_well = matches!(&ended.how, How::Itself(status) if status.success());
        if told.fault.is_none() && !(at.is_ended && is_well) {
            let during = at.loading.and_then(|number| asked.get(number));
            let fault = self.fault(ended, during.map(String::as_str));
            if at.is_ended {
                told.remark = Some(format!("after its last answer, {fault}"));
            } else {
                told.remark = Some(format!("nothing of it is kept for a later run: {fault}"));
                told.fault = Some(fault);
            }
        }
        Ok(told)
    }

    /// Returns the arguments before the interpreter's own, and a description of the containment.
    fn words(&self, own: &Path, directory: &Path, variables: &[(OsString, OsString)]) -> (Vec<OsString>, String) {
        let state = self.folder.parent().unwrap_or(self.folder);
        let hidden = std::fs::canonicalize(state).unwrap_or_else(|_| state.to_path_buf());
        let downloads = || [self.world.hub_caches.clone(), vec![self.world.data_dir.clone()]].concat();
        let network = self
            .interpreter
            .network
            .then(|| downloads().iter().filter_map(|place| std::path::absolute(place).ok()).collect::<Vec<PathBuf>>());
        let view = View { own, hidden: &hidden, directory, network };
        let without = if self.interpreter.network { "with the network" } else { "without a network" };
        match detect(&view, self.program, variables, environment::variable(self.world, "PATH")) {
            Containment::Bubblewrap(words) => (words, format!("in a sandbox {without}")),
            Containment::Nothing(reason) => {
                (Vec::new(), format!("without a sandbox, so that it could do all that you can: {reason}"))
            }
        }
    }

    /// Takes over what the script left.
    fn hear(
        &self,
        told: &mut Told,
        own: &Path,
        keys: &[String],
        configuration: Option<&str>,
    ) -> std::io::Result<Progress> {
        let events = script::events(own);
        let mut at = Progress::default();
        // Variables are known at the end alone; what ran to its end depends on all of them.
        let variables = events.iter().find_map(|event| match event {
            Event::End { variables } => Some(variables.as_slice()),
            _ => None,
        });
        let mut stamper = Stamper::default();
        let mut python = String::new();
        for event in &events {
            match event {
                Event::Python { version } => python = format!("Python {version}"),
                Event::Opencompass { version } => {
                    let version =
                        version.as_ref().map_or_else(String::new, |version| format!(", OpenCompass {version}"));
                    told.versions = format!("{python}{version}");
                }
                Event::Unusable { module, class, line } => {
                    at.is_ended = true;
                    told.fault = Some(Fault::Module {
                        program: self.program.to_path_buf(),
                        module: module.clone(),
                        class: class.clone(),
                        line: line.clone(),
                    });
                }
                Event::Loading { call } => at.loading = Some(*call),
                Event::Refused { call, class, line, place } => {
                    let place = place.as_deref();
                    if at.loading.take().is_none() {
                        told.configuration = Some(Err(fault::no_configuration(class, line, place)));
                        continue;
                    }
                    let none = fault::no_rows(class, line, place, !self.interpreter.network);
                    told.rows.insert(*call, Err(none));
                }
                Event::Configuration { file, files, folders } => {
                    let digest = self.cache.take(&own.join(file_name(file)))?;
                    let outputs = vec![Output { name: "configuration".into(), digest, rows: 0, columns: Vec::new() }];
                    let mut record = Record { outputs, versions: told.versions.clone(), ..Record::default() };
                    if let (Some(variables), Some(key)) = (variables, configuration) {
                        let paths = files.iter().chain(folders);
                        record.stamps = stamper.stamp(paths, self.world, variables);
                        self.cache.keep(key, &record, own)?;
                    }
                    told.configuration = Some(Ok(record));
                }
                Event::Rows { call, splits, files, folders, modules } => {
                    at.loading = None;
                    let outputs = self.outputs(own, splits)?;
                    let mut record = Record { outputs, versions: told.versions.clone(), ..Record::default() };
                    if let (Some(variables), Some(key)) = (variables, keys.get(*call)) {
                        let program = std::fs::canonicalize(self.program).ok();
                        let paths = files.iter().chain(folders).chain(modules).chain(&program);
                        record.stamps = stamper.stamp(paths, self.world, variables);
                        self.cache.keep(key, &record, own)?;
                    }
                    told.rows.insert(*call, Ok(record));
                }
                Event::End { .. } => at.is_ended = true,
            }
        }
        Ok(at)
    }

    fn outputs(&self, own: &Path, splits: &[Split]) -> std::io::Result<Vec<Output>> {
        // Two splits may be one file.
        let mut taken: BTreeMap<&str, String> = BTreeMap::new();
        let mut outputs = Vec::with_capacity(splits.len());
        for split in splits {
            let digest = match taken.get(split.file.as_str()) {
                Some(digest) => digest.clone(),
                None => self.cache.take(&own.join(file_name(&split.file)))?,
            };
            taken.insert(&split.file, digest.clone());
            let (rows, columns) = (split.rows, split.columns.clone());
            outputs.push(Output { name: split.split.clone(), digest, rows, columns });
        }
        Ok(outputs)
    }

    fn fault(&self, ended: Ended, during: Option<&str>) -> Fault {
        let program = self.program.to_path_buf();
        let during = during.map_or_else(String::new, |class| format!(" while `{class}` was loaded"));
        let is_full = ended.tail.contains("No space left on device");
        let tail = if ended.tail.is_empty() { String::new() } else { format!("; it said last: {}", ended.tail) };
        match ended.how {
            How::Itself(_) if is_full => Fault::Full { folder: self.folder.to_path_buf() },
            How::Itself(status) => Fault::Ended { program, ended: child::said(status), during, tail },
            How::TimedOut => Fault::TimedOut { program, idle_timeout: self.limits.idle_timeout, during, tail },
            How::Output => Fault::Output { program, most: self.limits.most_bytes, during },
        }
    }
}

/// Progress of a script.
#[derive(Debug, Default)]
struct Progress {
    is_ended: bool,
    /// The call that has no answer yet.
    loading: Option<usize>,
}

/// A name without folders: a script names files beside its events.
fn file_name(named: &str) -> &Path {
    Path::new(named).file_name().map_or(Path::new("none"), Path::new)
}
