//! The end-to-end tests: real processes, and what the programs print and write.

#![warn(clippy::disallowed_methods)]

mod bad_input;
#[cfg(feature = "engine")]
mod bad_models;
mod bad_peers;
mod chaos;
mod chaos_cluster;
mod combinations;
mod command;
mod compare;
#[cfg(feature = "engine")]
mod demo;
#[cfg(feature = "engine")]
mod device_types;
mod dispatch;
mod dlc;
mod documents;
mod duplicates;
#[cfg(feature = "engine")]
mod elsewhere;
mod endpoints;
#[cfg(feature = "engine")]
mod engine_faults;
mod estimate;
mod fake_dlc;
mod far_away;
mod faults;
#[cfg(feature = "engine")]
mod golden_presets;
#[cfg(feature = "engine")]
mod gpu_check;
mod gpus;
mod high_availability;
mod large_jobs;
mod live;
mod netlab;
mod notify;
mod offline;
mod on_call;
mod once;
mod opencompass_peer;
mod opencompass_scripts;
mod other_releases;
#[cfg(feature = "engine")]
mod parity;
mod placement;
mod planning;
mod played;
mod pools;
#[cfg(feature = "engine")]
mod prefixes;
mod programs;
mod real_size;
mod release;
#[cfg(feature = "engine")]
mod requests;
mod reuse;
mod run_folders;
mod security;
mod serve;
#[cfg(feature = "engine")]
mod served_endpoints;
mod shared_authority;
mod signals;
mod slurm;
#[cfg(feature = "engine")]
mod slurm_demo;
mod stores;
#[cfg(feature = "engine")]
mod system_messages;
mod vanished;
#[cfg(feature = "engine")]
mod watch;
mod web;
#[cfg(feature = "engine")]
mod weights;
mod whose_results;
