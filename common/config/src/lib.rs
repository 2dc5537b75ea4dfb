//! The contract of eval.toml: parsed with positions, checked whole, then trusted.

mod base;
mod convert;
mod flags;
mod keys;
mod load;
mod opencompass;
mod passes;
mod presets;
mod read;
mod reference;
mod report;
mod resolve;
mod syntax;
#[cfg(test)]
mod tests;
mod written;

pub use base::load_base;
pub use compass_diagnostic::{Diagnostic, Diagnostics, Origin, Severity};
pub use convert::document::{Converted, convert};
pub use flags::data_cache::DataCache;
pub use flags::overrides::{CustomDataset, DlcFlags, HfKind, HfModel, ModelFlags, Overrides, SlurmFlags};
pub use load::{Loaded, load, load_authority, load_datasets, preset_datasets};
pub use opencompass::{LoaderChain, beside_name, library_module, tree_module, without_beside};
pub use presets::data_sets::presets;
pub use presets::later::preset_later;
pub use presets::models::{ModelPreset, model_presets};
pub use read::datasets::hub::{dataset_files, dataset_snapshot, fetch_dataset};
pub use read::gate::load_gate;
pub use read::master::addresses::default_listen;
pub use reference::{reference_page, reference_parts, schema};
pub use report::environment::PythonWorld;
pub use syntax::source::Preset;
