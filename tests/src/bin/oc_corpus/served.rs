//! A file of data sets, from its script to its plan; its data is made on the way.

use super::corpus::File;
use super::loader::MakingLoader;
use super::making::{self, Classes, Making, Sources};
use super::options::Options;
use compass_config::{Overrides, PythonWorld, load};
use compass_planning::plan;
use compass_run_folder::Planned;
use compass_settings::{Config, Loader, RowLoader};
use std::path::Path;
use std::sync::Arc;

/// Number of times that data is made for one file before it counts as refused.
const ATTEMPTS: usize = 40;

/// Plans every data set of the file, over data that is made below `work`.
///
/// # Errors
/// The report that says why not.
pub(super) fn serve(options: &Options, sources: &Arc<Sources>, work: &Path, file: &File) -> Result<Planned, String> {
    let (data, hub) = (work.join("data"), work.join("hub"));
    std::fs::create_dir_all(&data).map_err(|error| error.to_string())?;
    let text = file.text(&options.tree);
    let classes = Classes::new(Arc::clone(sources), &data, &hub, making::columns(&text));
    let loader = Arc::new(MakingLoader::new(&work.join("rows"), classes));
    let overrides = Overrides {
        home: Some(work.to_owned()),
        data_dir: Some(data.clone()),
        hub_caches: vec![hub],
        python: PythonWorld {
            opencompass: Some(options.tree.clone()),
            loader: Some(Loader(Arc::clone(&loader) as Arc<dyn RowLoader>)),
            ..PythonWorld::default()
        },
        ..Overrides::default()
    };
    let script = work.join("eval.py");
    std::fs::write(&script, file.script()).map_err(|error| error.to_string())?;
    let mut making = Making::new(&data);
    let mut errors = String::new();
    for _ in 0..ATTEMPTS {
        let loaded = match load(Some(&script), &overrides) {
            Ok(loaded) => loaded,
            Err(found) => {
                errors = found.to_string();
                if making.files(&errors) { continue } else { break }
            }
        };
        let config = loaded.config;
        if making.rows(&config) {
            continue;
        }
        match plan(&config) {
            Ok(planned) => return Ok(planned),
            Err(found) => {
                errors = format!("error: {found}");
                let columns = missing_columns(&errors).iter().filter(|name| loader.column(name)).count();
                if columns == 0 && !labels(&config, &errors, &loader) {
                    break;
                }
            }
        }
    }
    Err(errors)
}

/// Columns that a plan says are missing.
fn missing_columns(report: &str) -> Vec<&str> {
    let after = |words| report.split(words).skip(1).filter_map(|rest: &str| rest.split_once('`'));
    let lacking = after("there is no `").map(|(name, _)| name);
    let unnamed = after("names `").filter(|(_, rest)| rest.starts_with(", but no row")).map(|(name, _)| name);
    lacking.chain(unnamed).collect()
}

/// Gold answers that a plan says are no label of theirs: `... is not among the labels 0, 1: ...`.
fn labels(config: &Config, report: &str, loader: &MakingLoader) -> bool {
    let Some((_, rest)) = report.split_once("is not among the labels ") else { return false };
    let labels: Vec<&str> = rest.split(':').next().unwrap_or_default().split(", ").collect();
    let abbr = report.split_once("data set `").and_then(|(_, rest)| rest.split_once('`')).map(|(abbr, _)| abbr);
    let dataset = config.datasets.iter().find(|dataset| Some(dataset.abbr.as_str()) == abbr);
    let output = dataset.and_then(|dataset| dataset.output_column.as_deref());
    output.is_some_and(|output| loader.labels(output, &labels))
}
