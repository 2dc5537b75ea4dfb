//! The contract of eval.toml: parsed with positions, checked whole, then trusted.

mod abbr;
mod check;
mod choice;
mod command_line;
mod dataset;
mod decoding;
mod diagnostic;
mod digest;
mod evaluation;
mod fields;
mod for_each;
mod include;
mod infer_cfg;
mod inferencer;
mod inherit;
mod kwargs;
mod load;
mod master;
mod merge;
mod meta_template;
mod model;
mod model_files;
mod overrides;
mod parse;
mod partitioner;
mod paths;
mod presets;
mod resolved;
mod retriever;
mod row_range;
mod runner;
mod selection;
mod source;
mod spelling;
mod split;
mod stage;
mod template;
#[cfg(test)]
mod tests;
mod tree;

pub use diagnostic::{Diagnostic, Diagnostics, Origin, Severity};
pub use digest::digest;
pub use load::{Loaded, load, preset_datasets};
pub use overrides::{CustomDataset, HfModel, ModelFlags, Overrides};
pub use presets::{Preset, presets};
pub use resolved::{
    Config, DatasetConfig, DeviceRequest, ExtraColumn, ModelConfig, RunnerConfig, RunnerKind, SourceConfig, StageConfig,
};
