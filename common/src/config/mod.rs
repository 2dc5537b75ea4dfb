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
mod evaluator;
mod evaluator_names;
mod evaluator_parameters;
mod fields;
mod file_format;
mod filter;
mod for_each;
mod hub;
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
mod postprocessor;
mod presets;
mod resolved;
mod retriever;
mod row_expression;
mod row_range;
mod runner;
mod selection;
mod source;
mod spelling;
mod split;
mod split_columns;
mod split_files;
mod split_keep;
mod split_source;
mod split_template;
mod stage;
mod store;
mod summary_group;
mod template;
#[cfg(test)]
mod tests;
mod tree;

pub use diagnostic::{Diagnostic, Diagnostics, Origin, Severity};
pub use digest::digest;
pub use file_format::FileFormat;
pub use load::{Loaded, load, preset_datasets};
pub use overrides::{CustomDataset, HfModel, ModelFlags, Overrides};
pub use presets::{Preset, presets};
pub use resolved::{
    Config, DatasetConfig, DeviceRequest, EtcdConfig, ModelConfig, RunnerConfig, RunnerKind, StageConfig, StoreConfig,
};
pub use row_expression::{Cast, ColumnConfig, Condition, Expression, Group, Key, Pattern, Piece, Test};
pub use split_source::{ReadOptions, SourceConfig, SourceFile};
