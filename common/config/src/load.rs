//! From a path to a configuration, or to everything that is wrong with it.

use super::resolve::{DATA_DIR, asked, finish, resolve};
use super::written;
use crate::flags::command_line;
use crate::flags::overrides::Overrides;
use crate::passes::include;
use crate::presets::data_sets;
use crate::read::datasets::dataset::{self, DATASET};
use crate::read::fields::Fields;
use crate::read::master::addresses;
use crate::read::top::TOP;
use crate::report::check::Check;
use crate::syntax::tree::{Node, Table};
use compass_diagnostic::{Diagnostic, Diagnostics};
use compass_settings::{AuthorityConfig, Config, DatasetConfig, WrittenConfig};
use std::path::{Path, PathBuf};

/// A configuration that is right.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub config: Config,
    /// Settings that were accepted and have no effect.
    pub notes: Vec<Diagnostic>,
    /// Configuration as a run keeps it.
    pub written: WrittenConfig,
}

/// Reads `path`, if there is a file, and what it includes, puts `overrides` over it, and checks everything. Reads no file but
/// configuration; of the others it only asks whether they exist.
///
/// # Errors
/// All errors at once, by file and position.
pub fn load(path: Option<&Path>, overrides: &Overrides) -> Result<Loaded, Diagnostics> {
    // Functions and transforms are tried as they are read.
    compass_python::link_interpreter();
    let mut check = asked(overrides);
    let config = if check.has_errors() { None } else { read(&mut check, path, overrides) };
    if config.is_none() && !check.has_errors() {
        // Whatever is missing has been reported. Should it not have been, nothing is started all the same.
        let path = path.unwrap_or(Path::new("the command line"));
        check.report(None, format!("`{}` is not usable", path.display()), Some("please report this file".into()));
    }
    let written = config.as_ref().filter(|_| !check.has_errors() && !overrides.dry_run);
    let written = written.map(|(config, root)| written::written(&check, root.clone(), config, overrides));
    let notes = finish(check)?;
    let (config, _) = config.ok_or_else(Diagnostics::default)?;
    Ok(Loaded { config, notes, written: written.unwrap_or_default() })
}

fn read(check: &mut Check, path: Option<&Path>, overrides: &Overrides) -> Option<(Config, Table)> {
    let (table, span) = match path {
        Some(path) => include::read(check, path)?,
        None => (Table::default(), command_line::nowhere(check)),
    };
    resolve(check, table, span, overrides)
}

/// Reads what `[master]` of a file says of the authority that admits workers; without a file, its defaults. `home` is where `~` is.
///
/// # Errors
/// All errors of that table at once. The rest of the file is not looked at.
pub fn load_authority(path: Option<&Path>, home: Option<PathBuf>) -> Result<AuthorityConfig, Diagnostics> {
    let mut check = Check::new(home);
    let authority = match path {
        Some(path) => include::read(&mut check, path).and_then(|(table, span)| {
            let mut root = Fields::new(&table, span, &TOP);
            addresses::read(&mut check, &mut root).authority()
        }),
        None => {
            let (table, span) = (Table::default(), command_line::nowhere(&mut check));
            let mut root = Fields::new(&table, span, &TOP);
            addresses::read(&mut check, &mut root).authority()
        }
    };
    check.finish()?;
    authority.ok_or_else(Diagnostics::default)
}

/// The data sets of the file that a run keeps as `configs/resolved.toml`, of those whose name is asked for. Nothing else of it
/// is looked at: its models may be gone.
///
/// # Errors
/// Returns what is wrong with these data sets: a file that is no longer there, say.
pub fn load_datasets(path: &Path, is_asked: impl Fn(&str) -> bool) -> Result<Vec<DatasetConfig>, Diagnostics> {
    let mut check = Check::new(None);
    let tables = include::read(&mut check, path).map(|(table, _)| table);
    let tables = tables.as_ref().and_then(|table| table.get("dataset")).map(Node::items).unwrap_or_default();
    let asked = tables.iter().filter(|node| node.table().and_then(|table| table.text("abbr")).is_some_and(&is_asked));
    let datasets = datasets_of(&mut check, asked, None);
    check.finish()?;
    Ok(datasets.unwrap_or_default())
}

/// Reads the tables of data sets; `None` if one is not right, which is reported.
fn datasets_of<'n>(
    check: &mut Check,
    tables: impl Iterator<Item = &'n Node>,
    data_dir: Option<&Path>,
) -> Option<Vec<DatasetConfig>> {
    let tables = tables.filter_map(|node| Some((node.table()?, node.span)));
    let datasets: Vec<_> =
        tables.map(|(table, span)| dataset::read(check, Fields::new(table, span, &DATASET), data_dir)).collect();
    datasets.into_iter().collect()
}

/// The data sets of one preset, with paths below `data_dir`; `None` when no preset has that name.
///
/// # Errors
/// The files that are not there, as a run would report them.
pub fn preset_datasets(name: &str, data_dir: Option<&Path>) -> Option<Result<Vec<DatasetConfig>, Diagnostics>> {
    let mut check = Check::new(None);
    let mut table = Table::default();
    data_sets::resolve(&mut check, &mut table, Some(&[name.to_owned()]));
    let tables = table.get("dataset")?;
    let data_dir = data_dir.map_or_else(|| DATA_DIR.into(), Path::to_path_buf);
    check.environment.data_root.clone_from(&data_dir);
    let datasets = datasets_of(&mut check, tables.items().iter(), Some(&data_dir));
    Some(check.finish().map(|_| datasets.unwrap_or_default()))
}
