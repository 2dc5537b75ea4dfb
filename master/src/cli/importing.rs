//! Flags that say what configurations of OpenCompass may use, and the ways to the rows of their data sets.

use clap::Args;
use compass_common::join_token::DEFAULT_STATE;
use compass_config::LoaderChain;
use compass_exporter::{Exporter, Limits};
use compass_loader::TreeLoader;
use compass_settings::{Loader, RowLoader};
use std::path::PathBuf;
use std::sync::Arc;

/// Flags that say what configurations of OpenCompass may use.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configurations of OpenCompass")]
pub struct ImportArguments {
    /// The Python in whose environment OpenCompass is installed, such as ENV/bin/python. Its own loaders then read the data
    /// sets that cannot be read without it, in one process for the whole job: in a sandbox where bubblewrap works, with the
    /// machine read-only and no network. The rows are kept in ~/.local/state/compass/exports, and read from there until the
    /// loaders or the data change [default: no Python is started]
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,

    /// Let that Python use the network, and write what it downloads to the hub's cache and to the data folder
    #[arg(long)]
    pub python_network: bool,
}

/// The ways to rows that only a loader class can give, in the order in which they are tried: the class's own source, which is
/// evaluated without Python, then the Python that was named. `home` is where the state folder lies.
pub(super) fn loader(home: Option<PathBuf>) -> Option<Loader> {
    let state = home?.join(DEFAULT_STATE);
    let named = std::env::var_os("COMPASS_ROWS").filter(|value| !value.is_empty()).map(PathBuf::from);
    let source = TreeLoader::new(named.unwrap_or_else(|| state.join("rows")));
    let exporter = Exporter::new(&state, Limits::default());
    let ways: Vec<Arc<dyn RowLoader>> = vec![Arc::new(source), Arc::new(exporter)];
    Some(Loader(Arc::new(LoaderChain(ways))))
}
