//! A file of data sets, from its script to its plan; its data is made on the way.

use super::corpus::File;
use super::loader::MakingLoader;
use super::making::{self, Classes, Making, Sources};
use super::options::Options;
use compass_config::{Loader, Overrides, PythonWorld, RowLoader, load};
use compass_master::pipeline::{Planned, plan};
use std::path::Path;
use std::sync::Arc;

/// How often data is made for one file before it counts as refused.
const ATTEMPTS: usize = 40;

/// Plans every data set of the file, over data that is made below `work`.
///
/// # Errors
/// The report that says why not.
pub(super) fn serve(options: &Options, sources: &Arc<Sources>, work: &Path, file: &File) -> Result<Planned, String> {
    let (data, hub) = (work.join("data"), work.join("hub"));
    std::fs::create_dir_all(&data).map_err(|error| error.to_string())?;
    let text = std::fs::read_to_string(options.tree.join(&file.path)).unwrap_or_default();
    let classes = Classes::new(Arc::clone(sources), &data, &hub, making::columns(&text));
    let loader = Arc::new(MakingLoader::new(&work.join("rows"), classes));
    let overrides = Overrides {
        home: Some(work.to_owned()),
        data_dir: Some(data.clone()),
        hub_cache: Some(hub),
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
                if !missing_columns(&errors).iter().any(|name| loader.column(name)) {
                    break;
                }
            }
        }
    }
    Err(errors)
}

/// Columns that a plan says are missing.
fn missing_columns(report: &str) -> Vec<&str> {
    report.split("there is no `").skip(1).filter_map(|rest| rest.split_once('`')).map(|(name, _)| name).collect()
}
