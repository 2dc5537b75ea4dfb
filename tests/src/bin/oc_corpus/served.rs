//! A file of data sets, from its script to its plan; its data is made on the way.

use super::corpus::File;
use super::making::Making;
use super::options::Options;
use compass_config::{Overrides, PythonWorld, load};
use compass_master::pipeline::{Planned, plan};
use std::path::Path;

/// How often data is made for one file before it counts as refused.
const ATTEMPTS: usize = 40;

/// Plans every data set of the file.
///
/// # Errors
/// The first reason why not.
pub(super) fn serve(options: &Options, work: &Path, file: &File) -> Result<Planned, String> {
    let data = work.join("data");
    let overrides = Overrides {
        home: Some(work.to_owned()),
        data_dir: Some(data.clone()),
        python: PythonWorld {
            opencompass: Some(options.tree.clone()),
            loader: super::loader::loader(),
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
                if !making.columns(&errors) {
                    break;
                }
            }
        }
    }
    Err(errors)
}
