//! A configuration in Python, evaluated: the names that it defines, with their places.

use super::host::{self, TreeHost};
use super::{own_python, tree};
use crate::report::check::Check;
use crate::syntax::source::Span;
use compass_python::{Evaluation, Limits, Node as PythonNode, PythonError};
use compass_settings::{Interpreter, LoaderWorld};
use std::path::{Path, PathBuf};

/// A file that was evaluated.
pub(super) struct Evaluated {
    pub(super) places: tree::Places,
    /// The names that it defines, in its order.
    pub(super) names: Vec<(String, PythonNode)>,
    /// Its beginning.
    pub(super) span: Span,
}

/// The places that loaders may look at.
pub(super) fn world(check: &Check, path: &Path, trees: &[PathBuf]) -> LoaderWorld {
    let program = check.environment.python.interpreter.clone();
    LoaderWorld {
        config: path.to_path_buf(),
        trees: trees.to_vec(),
        data_dir: check.environment.data_root.clone(),
        hub_caches: check.environment.hub_caches(),
        remote: check.environment.remote.clone(),
        variables: check.environment.python.variables.clone(),
        interpreter: program.map(|program| Interpreter { program, network: check.environment.python.network }),
    }
}

/// Evaluates a file; `None` when it is not usable, which is reported.
pub(super) fn evaluated(
    check: &mut Check,
    host: &TreeHost,
    path: &Path,
    canonical: PathBuf,
    text: String,
) -> Option<Evaluated> {
    let Evaluation { files, printed, result } = compass_python::evaluate(path, text, host, Limits::default());
    // The files of the evaluation in the order of their ids.
    let mut ids = Vec::with_capacity(files.len());
    for (at, file) in files.into_iter().enumerate() {
        let canonical =
            if at == 0 { canonical.clone() } else { std::fs::canonicalize(&file.path).unwrap_or(file.path.clone()) };
        let is_ours = host::is_stand_in(&file.path);
        ids.push(match is_ours {
            true => check.sources.add_shipped(&file.path, file.text),
            false => check.sources.add(&file.path, canonical, file.text),
        });
    }
    let places = tree::Places::new(ids);
    for (place, text) in printed {
        let message = format!("printed: {}", text.replace('\n', " "));
        check.note(places.span(place), message, "a configuration is read once, before anything runs");
    }
    let names = match result {
        Ok(names) => names,
        Err(error) => instead(check, &places, &world(check, path, host.trees()), error)?,
    };
    let span = places.beginning()?;
    Some(Evaluated { places, names, span })
}

/// Returns what the user's own Python makes of a file whose evaluation ended with `error`; `None` if that Python cannot read it
/// either, which is reported.
fn instead(
    check: &mut Check,
    places: &tree::Places,
    world: &LoaderWorld,
    error: PythonError,
) -> Option<Vec<(String, PythonNode)>> {
    match own_python::names(&check.environment.python, world) {
        Some(Ok((names, said))) => {
            let span = places.beginning()?;
            let message = format!("beyond what is evaluated here ({}): {said}", error.line());
            check.note(span, message, "errors in it stand at the beginning of the file");
            Some(names)
        }
        Some(Err(none)) => {
            report(check, places, &world.config, error);
            check.report(
                places.beginning(),
                format!("the Python that was named cannot read it either: {}", none.reason),
                none.help,
            );
            None
        }
        None => {
            report(check, places, &world.config, error);
            None
        }
    }
}

fn report(check: &mut Check, places: &tree::Places, path: &Path, error: PythonError) {
    let message = error.line();
    let span = error.place.map(|place| places.span(place));
    let through = error.trace.iter().map(|place| {
        let origin = check.sources.origin(places.span(*place));
        format!("{}:{}", origin.file.display(), origin.line)
    });
    let through: Vec<String> = through.take(4).collect();
    // What the evaluator says of everything that it does not do is no remedy for a file that is written.
    let is_written = error.text.contains("nothing is written");
    let own = is_written.then(|| "remove it: a configuration is read, and writes no files".to_owned());
    let help = match (own.or(error.help), through.is_empty()) {
        (help, true) => help,
        (Some(help), false) => Some(format!("{help} (reached through {})", through.join(", "))),
        (None, false) => Some(format!("reached through {}", through.join(", "))),
    };
    let message = if span.is_none() { format!("`{}`: {message}", path.display()) } else { message };
    check.report(span, message, help);
}
