//! The configuration once checked: plain data that the rest of the master trusts.

use super::launching::{PoolConfig, RunnerKind};
use super::left_out::LeftOut;
use super::notify::NotifyConfig;
use super::remote::RemoteModel;
use super::source::SourceConfig;
use compass_plan::partition::PartitionerKind;
use compass_plan::prompt::{MetaTemplate, PromptConfig};
use compass_plan::retriever::RetrieverKind;
use compass_plan::summary::{RowName, SummaryGroup};
use compass_plan::{
    BosPolicy, Decoding, DeviceRequest, Dtype, Endpoint, EvalSpec, InferSpec, ModelKind, NumericProfile, RefusedSystem,
    Thinking, Truncation,
};
use compass_postprocess::Postprocessor;
use compass_types::range::RangeSpec;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// All that a run is told. Every path is absolute.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// Folder in which the run folder is made.
    pub work_dir: PathBuf,
    /// Folder where relative data paths are looked up that do not exist beside their file.
    pub data_dir: Option<PathBuf>,
    /// The embedded store and keys.
    pub state_dir: PathBuf,
    /// Store of the leases.
    pub store: StoreConfig,
    /// Port 0 takes a free one. What is not loopback is encrypted, and admits only workers with a certificate.
    pub listen: SocketAddr,
    /// Time for which a worker that is not heard keeps what it was granted.
    #[serde(skip)]
    pub worker_lease: Duration,
    /// Ports that may be tried from that of `listen` on: more than one where the user named none.
    pub listen_ports: u16,
    /// Address that workers are told; `None` for this host's name and the port.
    pub advertise: Option<Advertised>,
    /// Authority that admits workers of other hosts.
    pub authority: AuthorityConfig,
    /// Port that shows the run; `None` for none.
    pub http: Option<HttpConfig>,
    /// The models of this job, in order; never empty.
    pub models: Vec<ModelConfig>,
    /// The data sets of this job, in order; never empty.
    pub datasets: Vec<DatasetConfig>,
    pub infer: StageConfig,
    pub eval: StageConfig,
    /// Pools that launch inference workers; empty leaves it to the runner.
    pub pools: Vec<PoolConfig>,
    /// Groups that the table shows beside those that come with the program. They change no number of a data set, and are
    /// no part of the job's identity.
    pub summary_groups: Vec<SummaryGroup>,
    /// The rows that the table shows; `None` shows all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_rows: Option<Vec<RowName>>,
    /// Pairs of a model and a data set, by abbr, that are not asked for.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub not_combined: BTreeSet<(String, String)>,
    /// Parts that were asked for and are not run, which makes the exit code 1. Likewise no part of the job's identity.
    pub left_out: Vec<LeftOut>,
    /// Destination of the job's notices. Not kept with the run: addresses are secrets.
    #[serde(skip)]
    pub notify: Option<NotifyConfig>,
    /// Variables of the workers that this master starts on this host: what flags say of where models are fetched from.
    #[serde(skip)]
    pub local_environment: Vec<(String, String)>,
}

/// The address under which workers reach this master.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advertised {
    /// A name or an address; an IPv6 address in brackets.
    pub host: String,
    /// Port, if it is not the port that is listened on.
    pub port: Option<u16>,
}

/// Place of the authority that all masters of a store form, and the lifetime of its certificates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuthorityConfig {
    pub state_dir: PathBuf,
    pub store: StoreConfig,
    /// The key of what the authority keeps in the store; masters that share the store share this file.
    pub key_file: PathBuf,
    /// Life of a worker's certificate.
    pub certificate_seconds: u64,
}

/// The store of a job's leases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreConfig {
    /// A file in [`Config::state_dir`].
    #[default]
    Embedded,
    Etcd(EtcdConfig),
}

/// An etcd cluster and how to get in. Secrets stand in files, so that the configuration can be kept with the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EtcdConfig {
    /// `host:port` of each member; never empty.
    pub endpoints: Vec<String>,
    /// Prefix of every key, without slashes around it.
    pub prefix: String,
    /// Time for which a leader that is not heard leads on; `None` for the usual time.
    #[serde(skip)]
    pub lease: Option<Duration>,
    /// Given with a password file, or not at all.
    pub user: Option<String>,
    pub password_file: Option<PathBuf>,
    /// The authority that signed the members' certificates, PEM. With it connections are encrypted.
    pub ca: Option<PathBuf>,
    /// This client's certificate, given with its key.
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

/// A model of the job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelConfig {
    /// The name in tables and file names.
    pub abbr: String,
    pub kind: ModelKind,
    /// Directory of config.json and the weights; empty for [`ModelKind::Echo`] without one.
    pub path: PathBuf,
    /// Directory of tokenizer.json; [`ModelConfig::path`] unless given.
    pub tokenizer_path: PathBuf,
    /// `peft_path`: directory of an adapter that is merged into the weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peft_path: Option<PathBuf>,
    /// Longest input in tokens; `None` takes the model's own.
    pub max_seq_len: Option<u32>,
    /// Tokens to generate when the data set does not say.
    pub max_out_len: u32,
    /// `None` is `auto`: the planner decides.
    pub dtype: Option<Dtype>,
    pub device: DeviceRequest,
    /// Set if a sample's numbers must not depend on what a GPU computes beside it.
    pub deterministic: bool,
    pub bos: BosPolicy,
    pub profile: NumericProfile,
    /// Wrapping of each role's words; `None` joins them by newlines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta_template: Option<MetaTemplate>,
    /// Set if prompts go through the tokenizer's chat template.
    pub chat: bool,
    /// Treatment of system messages that the chat template refuses.
    pub system: RefusedSystem,
    /// Variables of the chat template.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub chat_template_kwargs: Map<String, Value>,
    /// Thinking before the answer.
    #[serde(skip_serializing_if = "Thinking::is_default")]
    pub thinking: Thinking,
    /// `tokenizer_kwargs` as written.
    pub tokenizer_kwargs: Map<String, Value>,
    /// Treatment of a prompt that is too long.
    pub truncation: Truncation,
    /// Set if `ll` data sets get sums of log-probabilities, not means.
    pub sums_loglikelihood: bool,
    /// Fewest tokens before the end token may come, when the data set does not say.
    pub min_out_len: u32,
    /// `generation_kwargs`: how tokens are chosen when the data set does not say.
    pub decoding: Decoding,
    /// Strings that end a generation.
    pub stop_words: Vec<String>,
    /// GPUs of one replica, 0 or 1.
    pub num_gpus: u32,
    /// Names or labels of the pools where it may run; empty for any. No part of what it computes.
    #[serde(skip)]
    pub pools: Vec<String>,
    /// Parts of a model elsewhere that the planner reads on this host. No part of what it computes: the path is.
    #[serde(skip)]
    pub remote: Option<RemoteModel>,
    /// A copy on this host of the adapter, where it is elsewhere.
    #[serde(skip)]
    pub fetched_adapter: Option<PathBuf>,
    /// Missing parts of it, in words: where results are only scored it is not needed. No part of what it computes.
    #[serde(skip)]
    pub absent: Option<String>,
    /// Applied to every prediction before the data set's own.
    pub pred_postprocessors: Vec<Postprocessor>,
    /// The server that is asked, for [`ModelKind::Endpoint`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
}

/// A data set of the job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatasetConfig {
    /// The name in tables and file names.
    pub abbr: String,
    /// Columns that templates may name.
    pub input_columns: Vec<String>,
    /// The column of the gold answer.
    pub output_column: Option<String>,
    pub test_range: RangeSpec,
    /// `--limit`: at most so many rows of the range, from its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    pub train_range: RangeSpec,
    /// The questions.
    pub test: SourceConfig,
    /// Rows from which shots are drawn.
    pub train: Option<SourceConfig>,
    pub retriever: RetrieverKind,
    pub prompt: PromptConfig,
    pub infer: InferSpec,
    pub eval: EvalSpec,
    /// Version of it that the table shows; `None` for the digest of its prompts. No part of what is computed.
    #[serde(skip)]
    pub version: Option<String>,
    /// Missing parts of its rows, in words: where results are only scored the rows are taken from the run's plan.
    #[serde(skip)]
    pub absent: Option<String>,
}

/// The partitioner and the runner of a stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageConfig {
    pub partitioner: PartitionerKind,
    pub runner: RunnerConfig,
}

/// Launcher of workers, and their number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunnerConfig {
    pub kind: RunnerKind,
    /// Replica slots; `None` takes what the GPUs (or cores) allow.
    pub max_num_workers: Option<u32>,
    pub max_workers_per_gpu: u32,
    /// GPUs of the whole job; 0 for no bound.
    pub max_gpus: u32,
    /// Further tries of a failed task.
    pub retry: u32,
    /// Launches in a row that may fail after a first one; `None` leaves it to the launcher. `retry`, where it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch_retry: Option<u32>,
    /// Longest time for which tasks wait for a worker that can load their model when no connected one can.
    pub unschedulable_timeout: Duration,
    /// An engine that computes nothing for so long is ended.
    pub engine_timeout: Duration,
}

/// The port of a run for people and Prometheus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HttpConfig {
    pub address: SocketAddr,
    /// The file with the token that readers must present; always there when the address is not loopback.
    pub token_file: Option<PathBuf>,
    /// Certificate of its connections.
    pub tls: Option<HttpTls>,
}

/// A certificate and its private key, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HttpTls {
    pub cert: PathBuf,
    pub key: PathBuf,
}
