//! The contract of eval.toml: parsed with positions, checked whole, then trusted.

mod abbr;
mod aliyun;
mod base;
mod chat_template;
mod check;
mod choice;
mod combination;
mod command_line;
mod convert;
mod convert_paths;
mod custom_dataset;
mod data_cache;
mod dataset;
mod decoding;
mod digest;
mod evaluation;
mod evaluator;
mod evaluator_fit;
mod evaluator_names;
mod evaluator_parameters;
mod fields;
mod file_format;
mod filter;
mod for_each;
mod http;
mod hub;
mod import;
mod include;
mod infer_cfg;
mod inferencer;
mod inherit;
mod inherit_preset;
mod keys;
mod kwargs;
mod launcher_flags;
mod launching;
mod left_out;
mod load;
mod master;
mod merge;
mod meta_template;
mod missing_files;
mod model;
mod model_class;
mod model_files;
mod model_generation;
mod model_presets;
mod model_settings;
mod opencompass;
mod overrides;
mod parse;
mod partitioner;
mod paths;
mod pool;
mod postprocessor;
mod presets;
mod presets_later;
mod raw_template;
mod reference;
mod resolved;
mod retriever;
mod row_expression;
mod row_range;
mod runner;
mod runner_command;
mod runner_dlc;
mod runner_slurm;
mod selection;
mod source;
mod split;
mod split_columns;
mod split_files;
mod split_keep;
mod split_lists;
mod split_source;
mod split_template;
mod stage;
mod store;
mod summarizer;
mod summary_files;
mod summary_group;
mod template;
#[cfg(test)]
mod tests;
mod toml_text;
mod tree;
mod version;

pub use aliyun::{AliyunConfig, DlcCommand, JobEnvironment};
pub use base::{Base, load_base};
pub use compass_diagnostic::{Diagnostic, Diagnostics, Origin, Severity};
pub use convert::{Converted, convert};
pub use data_cache::DataCache;
pub use digest::digest;
pub use file_format::FileFormat;
pub use http::HttpConfig;
pub use hub::{dataset_files, dataset_snapshot};
pub use launching::{CommandConfig, DlcConfig, Piece as CommandPiece, PoolConfig, RunnerKind, SlurmConfig};
pub use left_out::{LeftOut, LeftOutKind};
pub use load::{Loaded, load, load_authority, preset_datasets};
pub use master::default_listen;
pub use model_presets::{ModelPreset, model_presets};
pub use opencompass::{
    EvaluatedConfiguration, Interpreter, LoadedRows, Loader, LoaderCall, LoaderChain, LoaderWorld, NoRows, PythonWorld,
    RowLoader,
};
pub use overrides::{CustomDataset, DlcFlags, HfKind, HfModel, ModelFlags, Overrides, SlurmFlags};
pub use presets::{Preset, presets};
pub use presets_later::preset_later;
pub use reference::{reference_page, reference_parts, schema};
pub use resolved::{
    Advertised, AuthorityConfig, Config, DatasetConfig, EtcdConfig, ModelConfig, RunnerConfig, StageConfig, StoreConfig,
};
pub use row_expression::{
    Cast, ColumnConfig, Condition, Expression, Group, Key, Pattern, Piece, Repeat, Span as TextSpan, Test,
};
pub use split_source::{ReadLimits, ReadOptions, SourceConfig, SourceFile};
