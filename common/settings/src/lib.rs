//! The settings of a run, once checked: plain data that the rest of the program trusts, without the readers that make it.
//!
//! `compass-config` makes it of files and flags. Packages that only need to know a setting (a launcher, a store, a reader of rows)
//! depend on this one, and not on how configurations are written.

mod base;
mod digest;
mod expression;
mod file_format;
mod gate;
mod launching;
mod left_out;
mod loader;
mod notify;
mod remote;
mod run;
mod source;
mod written;

pub use base::Base;
pub use digest::digest;
pub use expression::{Cast, ColumnConfig, Condition, Expression, Group, Key, Pattern, Piece, Repeat, Test, TextSpan};
pub use file_format::{FORMATS, FileFormat};
pub use gate::{Correction, GatePolicy, GateRule, GateTier};
pub use launching::{
    AliyunConfig, CommandConfig, CommandPiece, DlcCommand, DlcConfig, JobEnvironment, PoolConfig, RunnerKind,
    SlurmConfig, come_from_elsewhere,
};
pub use left_out::{LeftOut, LeftOutKind, left_out_groups, left_out_line, left_out_lines};
pub use loader::{
    EvaluatedConfiguration, Interpreter, LoadedRows, Loader, LoaderCall, LoaderWorld, NoRows, RowLoader, is_own,
};
pub use notify::{NotifyConfig, NotifyEvent};
pub use remote::{Choose, Remote, RemoteFault, RemoteFiles, RemoteFolder, RemoteModel, is_on_s3};
pub use run::{
    Advertised, AuthorityConfig, Config, DatasetConfig, EtcdConfig, HttpConfig, HttpTls, ModelConfig, RunnerConfig,
    StageConfig, StoreConfig,
};
pub use source::{CircularConfig, ReadLimits, ReadOptions, SourceConfig, SourceFile};
pub use written::WrittenConfig;
