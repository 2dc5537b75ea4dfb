//! The server's own workers: launched once for all jobs. On this host an agent has one slot, so that a slot is what jobs
//! share.

use super::lobby::{ANYWHERE, Lobby};
use crate::launch::{
    Bounds, Fleet, LaunchError, LaunchEvent, LocalLauncher, Pool, PoolReport, Programs, Shape, WorkerCommand, explain,
    find_worker,
};
use crate::pipeline::{self, Entrance};
use compass_common::config::{Base, Config, RunnerKind};
use compass_common::ids::WorkerId;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// How often launchers hear what there is to do.
const LOOK: Duration = Duration::from_millis(250);

/// Agents that are kept running.
#[derive(Debug)]
pub(super) struct Agents {
    task: JoinHandle<()>,
    reports: watch::Receiver<Vec<PoolReport>>,
}

/// The fleet of a server, at rest.
///
/// # Errors
/// There is no worker to launch, or nobody to launch it.
pub(super) fn fleet(base: &Base, config: &Config, entrance: &Entrance) -> Result<Fleet, LaunchError> {
    if !base.pools.is_empty() || base.runner.kind != RunnerKind::Local {
        let mut fleet = Fleet { others_may_come: true, ..pipeline::fleet_of(config, entrance)? };
        for pool in &mut fleet.pools {
            let bound = (ANYWHERE + 1..).zip(&base.pools).find(|(_, known)| known.name == pool.shape.name);
            pool.shape.models = std::iter::once(ANYWHERE).chain(bound.map(|(model, _)| model)).collect();
        }
        return Ok(fleet);
    }
    let slots = own_slots(base);
    let worker = WorkerCommand {
        binary: find_worker()?,
        master: entrance.near().to_owned(),
        slots: 1,
        device: "auto".into(),
        programs: Programs::Contained,
        pool: None,
    };
    let token_file = entrance.token_file().map(|path| path.display().to_string()).unwrap_or_default();
    let environment = vec![("COMPASS_TOKEN_FILE".to_owned(), token_file)];
    let launcher = Box::new(LocalLauncher::new(worker, environment, Some(log(base))));
    let (name, kind) = ("local".to_owned(), RunnerKind::Local.name());
    let shape = Shape { name, kind, gpus: 0, slots: 1, least: slots, most: slots, models: [ANYWHERE].into() };
    let bounds = Bounds { slots: Some(slots), gpus: None };
    Ok(Fleet { pools: vec![Pool { shape, launcher }], bounds, others_may_come: true })
}

/// Slots of this host.
pub(super) fn own_slots(base: &Base) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    base.runner.max_num_workers.unwrap_or(cores).max(1)
}

fn log(base: &Base) -> PathBuf {
    base.state_dir.join("serve-logs").join("local.log")
}

impl Agents {
    /// Puts the fleet to work until `stop` is raised.
    pub(super) fn start(fleet: Fleet, pools: Vec<String>, lobby: Arc<Lobby>, stop: watch::Receiver<bool>) -> Self {
        let (events, mut launched) = mpsc::channel(16);
        let (situations, situation) = watch::channel(lobby.situation(&pools));
        let handle = fleet.start(situation, events, stop.clone());
        let reports = handle.reports.clone();
        let task = tokio::spawn(async move {
            let mut look = tokio::time::interval(LOOK);
            let mut ended = std::pin::pin!(handle.ended());
            loop {
                tokio::select! {
                    () = &mut ended => return,
                    _ = look.tick() => drop(situations.send_replace(lobby.situation(&pools))),
                    Some(event) = launched.recv() => match event {
                        LaunchEvent::Exited { worker, is_death } => lobby.exited(worker, !is_death).await,
                        LaunchEvent::GaveUp { reason } => tracing::warn!(reason, "no more workers are launched"),
                    },
                }
            }
        });
        Self { task, reports }
    }

    /// Waits until every agent has ended; `stop` was raised before.
    pub(super) async fn ended(self) {
        let _ = self.task.await;
    }

    /// How launchers stand that have not brought what they should, given who is connected.
    pub(super) fn notes(
        reports: &watch::Receiver<Vec<PoolReport>>,
        is_connected: impl Fn(&WorkerId) -> bool,
    ) -> Vec<String> {
        let reports: Vec<_> = reports.borrow().iter().map(|report| report.clone().knowing(&is_connected)).collect();
        let lacking = reports.into_iter().filter(|report| report.count.reported < report.target.max(1));
        explain(&lacking.collect::<Vec<_>>())
    }

    pub(super) fn reports(&self) -> watch::Receiver<Vec<PoolReport>> {
        self.reports.clone()
    }
}
