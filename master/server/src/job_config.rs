//! The configuration under which a server runs a job: the job's own terms at the server's place.

use compass_jobs::{JobRecord, StageTerms};
use compass_plan::partition::PartitionerKind;
use compass_settings::{Base, Config, PoolConfig, RunnerConfig, RunnerKind, StageConfig};
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// Returns the configuration of the launchers: it has nothing of models, which come with the jobs.
pub(super) fn launch_config(base: &Base) -> Config {
    let stage = StageConfig { partitioner: PartitionerKind::Balanced, runner: base.runner.clone() };
    Config {
        work_dir: base.state_dir.clone(),
        data_dir: None,
        state_dir: base.state_dir.clone(),
        store: base.store.clone(),
        worker_lease: base.worker_lease,
        listen: base.listen,
        listen_ports: 1,
        advertise: base.advertise.clone(),
        authority: base.authority.clone(),
        http: base.http.clone(),
        models: Vec::new(),
        datasets: Vec::new(),
        infer: stage.clone(),
        eval: stage,
        pools: base.pools.clone(),
        summary_groups: Vec::new(),
        summary_rows: None,
        not_combined: BTreeSet::new(),
        left_out: Vec::new(),
        notify: None,
        local_environment: Vec::new(),
    }
}

/// Returns the configuration of the job's stages. Its models and data sets are in its plan.
pub(super) fn job_config(base: &Base, address: SocketAddr, job: &JobRecord) -> Config {
    let stage = |terms: &StageTerms| StageConfig {
        partitioner: terms.partitioner.clone(),
        runner: RunnerConfig {
            // Workers come from the server; that this job launches none is all that it need know.
            kind: RunnerKind::None,
            max_num_workers: terms.slots,
            max_gpus: 0,
            retry: terms.retry,
            ..base.runner.clone()
        },
    };
    Config {
        work_dir: job.folder.parent().unwrap_or(&job.folder).to_owned(),
        infer: stage(&job.infer),
        eval: stage(&job.eval),
        // Of them a job knows what its workers are told, and where its models load.
        pools: base.pools.iter().map(|pool| PoolConfig { runner: RunnerKind::None, ..pool.clone() }).collect(),
        summary_groups: job.summary_groups.clone(),
        summary_rows: job.summary_rows.clone(),
        left_out: job.left_out.clone(),
        listen: address,
        http: None,
        notify: base.notify.clone(),
        ..launch_config(base)
    }
}
