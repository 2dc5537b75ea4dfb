//! Workers that are launched here, and the dispatcher that hears how they end.

use super::worker_dispatcher::WorkerDispatcher;
use compass_launch::{
    Autoscaler, Bounds, LaunchError, LaunchEvent, LocalLauncher, MasterAddresses, Pool, PoolReport, PoolSpec, Programs,
    WorkerCommand, explain, find_worker,
};
use compass_run::WorkerEndpoint;
use compass_settings::{Base, Config, RunnerKind};
use compass_types::ids::WorkerId;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Agents that are kept running.
#[derive(Debug)]
pub(super) struct Agents {
    task: JoinHandle<()>,
    stop: DropGuard,
    launching: Launching,
}

/// State of the launching of workers.
#[derive(Clone, Debug)]
pub(super) struct Launching {
    pub pools: watch::Receiver<Vec<PoolReport>>,
    /// Reason why launching has ended, once it has.
    pub given_up: watch::Receiver<Option<String>>,
}

/// The autoscaler of a server that stays, at rest; `others` are the addresses of those that stand by.
///
/// # Errors
/// There is no worker to launch, or no launcher for it.
pub(super) fn autoscaler(
    base: &Base,
    config: &Config,
    endpoint: &WorkerEndpoint,
    others: &watch::Receiver<Vec<String>>,
) -> Result<Autoscaler, LaunchError> {
    if !base.pools.is_empty() || base.runner.kind != RunnerKind::Local {
        return Ok(Autoscaler { others_may_come: true, ..compass_run::fleet_of(config, endpoint, others)? });
    }
    let slots = own_slots(base);
    let worker = WorkerCommand {
        binary: find_worker()?,
        master: MasterAddresses::alone(endpoint.near()),
        slots: 1,
        device: "auto".into(),
        programs: Programs::Contained,
        pool: None,
    };
    let token_file = endpoint.token_file().map(|path| path.display().to_string()).unwrap_or_default();
    let environment = vec![("COMPASS_TOKEN_FILE".to_owned(), token_file)];
    let launcher = Box::new(LocalLauncher::new(worker, environment, Some(log(base))));
    let (name, kind) = ("local".to_owned(), RunnerKind::Local.name());
    // An agent has one slot, so that a slot is what jobs share.
    let retry = base.runner.launch_retry;
    let spec = PoolSpec { name, kind, gpus: 0, slots: 1, least: slots, most: slots, retry, shows_logs: false };
    let bounds = Bounds { slots: Some(slots), gpus: None };
    Ok(Autoscaler { pools: vec![Pool { spec, launcher }], bounds, others_may_come: true })
}

/// Slots on this host.
pub(super) fn own_slots(base: &Base) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    base.runner.max_num_workers.unwrap_or(cores).max(1)
}

fn log(base: &Base) -> PathBuf {
    base.state_dir.join("serve-logs").join("local.log")
}

impl Agents {
    /// Puts the autoscaler to work for those who meet in the dispatcher.
    pub(crate) fn start(autoscaler: Autoscaler, dispatcher: Arc<WorkerDispatcher>) -> Self {
        let (events, mut launched) = mpsc::channel(16);
        let stop = CancellationToken::new();
        let handle = autoscaler.start(dispatcher.snapshot(), events, stop.clone());
        let (gave_up, given_up) = watch::channel(None);
        let launching = Launching { pools: handle.reports.clone(), given_up };
        let task = tokio::spawn(async move {
            let mut ended = std::pin::pin!(handle.ended());
            loop {
                tokio::select! {
                    () = &mut ended => return,
                    Some(event) = launched.recv() => match event {
                        LaunchEvent::Exited { worker, is_death } => dispatcher.exited(worker, !is_death).await,
                        LaunchEvent::GaveUp { reason } => {
                            tracing::warn!(reason, "no more workers are launched");
                            gave_up.send_replace(Some(reason));
                        }
                    },
                }
            }
        });
        Self { task, stop: stop.drop_guard(), launching }
    }

    /// Returns the state of the pools, as long as they are kept running.
    pub(crate) fn launching(&self) -> Launching {
        self.launching.clone()
    }

    /// None is launched any more, and those that run are asked to end.
    pub(super) fn retire(&self) {
        self.stop.token().cancel();
    }

    /// Leaves every agent to another master. Nothing is asked of a launcher any more, up to the end of this process.
    pub(crate) fn leave(self) {
        self.stop.disarm();
    }

    /// Ends every agent and launches none any more. Returns when they are gone.
    pub(crate) async fn end(self) {
        self.retire();
        let _ = self.task.await;
    }
}

impl Launching {
    /// Describes the launchers that have not brought what they should, given the workers that are connected.
    pub(crate) fn notes(&self, is_connected: impl Fn(&WorkerId) -> bool) -> Vec<String> {
        let reports: Vec<_> = self.pools.borrow().iter().map(|report| report.clone().knowing(&is_connected)).collect();
        let lacking = reports.into_iter().filter(|report| report.count.reported < report.target.max(1));
        explain(&lacking.collect::<Vec<_>>())
    }
}
