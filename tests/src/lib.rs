//! The harness of the end-to-end tests: real masters, workers and engines in temporary folders, and what to ask of them.
//!
//! Tests wait for conditions, never for times. The programs under test come from this build: `deploy/test.sh` builds
//! them first.

#[cfg(feature = "engine")]
pub mod bench;
mod demo_model;
mod echo;
mod endpoint_job;
mod etcd;
mod evidence;
mod fake_dlc;
mod gate;
mod job;
mod joining;
mod ports;
mod process_stats;
mod processes;
mod proxy;
mod real_size;
mod slurm;
pub mod sums;
mod table;
pub mod training;
mod tunnel;
mod worker;

pub use compass_needs::shared_folder;
pub use demo_model::{copy_demo_model, demo_model};
pub use echo::{SAMPLES, Tree, assert_same, configuration, echo_job, held_job, undisturbed};
pub use endpoint_job::{ENDPOINT_KEY, endpoint_configuration, endpoint_job, endpoint_rows, endpoint_score};
pub use etcd::{Etcd, EtcdOptions};
pub use evidence::{Committed, committed};
pub use fake_dlc::FakeDlc;
pub use gate::{GATE_VARIABLE, Gate};
pub use job::{CommandLine, Finished, Job, Running, results_in, runs_in, tree_of};
pub use joining::{JoinError, join_token_file, joined_channel};
pub use ports::free_port;
pub use process_stats::{open_files, peak_rss_mib, processor_seconds, rss_mib};
pub use processes::{children_of, is_alive, kill, program, wait_until};
pub use proxy::{Mood, Proxy};
pub use real_size::{DATA_SETS, DataSet, Question, RealSize, Request, RunFindings, folder_digest};
pub use slurm::{QueueWatch, Slurm, SlurmJob};
pub use table::Table;
pub use tunnel::{Tunnel, TunnelKind};
pub use worker::{Worker, told_address, worker_command};
