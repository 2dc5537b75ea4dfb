//! A stage whose workers are not its own: it shares them with other jobs, and somebody else listens for them.

use super::desk::Demands;
use super::drive::{Driver, Setup};
use super::folder::RunFolder;
use super::infer::{InferError, InferOptions, Inferred, Opened, left_behind};
use super::progress::ProgressBoard;
use super::residence::Residence;
use crate::core::Wanted;
use crate::encode::{self, EncodeError};
use crate::launch::Situation;
use crate::rpc::Inbound;
use crate::screen::alike;
use crate::web::RunView;
use compass_common::ids::Digest;
use compass_common::plan::Plan;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// What a stage says of itself when it asks for workers.
#[derive(Debug)]
pub struct StageEntry {
    /// Digest of the plan.
    pub plan: Digest,
    /// The plan's files, for workers to fetch.
    pub files: BTreeMap<Digest, PathBuf>,
    /// Its models, as workers name them.
    pub models: BTreeSet<Digest>,
    /// What it could use, as it goes on.
    pub wanted: watch::Receiver<Wanted>,
}

/// Where a stage meets the workers that it is sent.
#[derive(Debug)]
pub struct Seat {
    pub inbound: mpsc::Receiver<Inbound>,
}

/// Workers that jobs share, as one of these jobs sees them.
pub trait Floor: Debug + Send + Sync {
    /// Where the job's models may run, in their order.
    fn residences(&self) -> &[Residence];

    /// A stage is ready for workers.
    fn enter(&self, stage: StageEntry) -> Seat;

    /// The stage is over.
    fn leave(&self, plan: &Digest);

    /// Where workers come to.
    fn address(&self) -> SocketAddr;
}

/// Runs a stage that was opened to its end, with the workers that `floor` sends.
pub(super) async fn run_on(
    floor: Arc<dyn Floor>,
    folder: &RunFolder,
    plan: Arc<Plan>,
    digest: Digest,
    files: BTreeMap<Digest, PathBuf>,
    options: InferOptions,
    opened: Opened,
) -> Result<Inferred, InferError> {
    let (wanted, demand) = watch::channel(Wanted::default());
    let models = plan.models.iter().map(|model| Ok(Digest::of(&encode::json("a model of the plan", model)?)));
    let models = models.collect::<Result<_, EncodeError>>()?;
    let (views, view) = watch::channel(RunView::default());
    let asks = options.desk.open(options.stage, view);
    let Seat { inbound } = floor.enter(StageEntry { plan: digest, files, models, wanted: demand });
    // Nobody is launched for this stage alone.
    let (_, launched) = mpsc::channel(1);
    let (situations, _) = watch::channel(Situation::default());
    let (_, pools) = watch::channel(Vec::new());
    let (stop, stopping) = watch::channel(false);
    let board = ProgressBoard::new(plan.clone());
    let watching = tokio::spawn(alike(board.show(options.stage, opened.facts.resumed_samples)));
    let writing = tokio::spawn(opened.live.run(options.predictions, opened.durability.clone(), stopping));
    let driver = Driver::new(Setup {
        leader: opened.leader,
        committer: opened.committer,
        durability: opened.durability,
        inbound,
        launched,
        situations,
        pools,
        open_at: None,
        others_may_come: true,
        dismisses: false,
        interrupted: options.interrupted,
        board,
        facts: opened.facts,
        views,
        asks,
        demands: Demands::from(wanted),
    });
    let driven = Box::pin(driver.run()).await;
    floor.leave(&digest);
    options.desk.close();
    let _ = stop.send(true);
    let _ = watching.await;
    // Were it to write on while the run is scored, it could put an older file over the last one.
    let _ = writing.await;
    left_behind(driven?, opened.lead, folder, &plan, digest, floor.address()).await
}
