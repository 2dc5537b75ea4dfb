//! A run that ends with its job answers commands as well, for as long as it goes on.

use super::office::{Entry, Office};
use super::service::ControlService;
use super::socket::open;
use crate::broker::JobId;
use crate::job::{Ended, OpenedRun, now};
use crate::pipeline::{self, Desk};
use compass_common::config::Config;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Answers until it is dropped.
#[derive(Debug)]
pub struct OwnRun {
    answering: JoinHandle<()>,
    _stop: watch::Sender<bool>,
    _ended: watch::Sender<Option<Ended>>,
}

impl Drop for OwnRun {
    fn drop(&mut self) {
        self.answering.abort();
    }
}

/// Opens the socket of the run in `opened` and answers for it; `None`, and a warning, where that cannot be: the run does
/// not depend on it.
pub fn answer_for(config: &Config, opened: &OpenedRun, desk: &Desk) -> Option<OwnRun> {
    let plan = pipeline::plan_digest(&opened.folder).ok()?;
    let folder = &opened.folder;
    let socket = open(&config.state_dir, &format!("{}-{}", folder.name(), std::process::id()));
    let socket = socket.inspect_err(|error| tracing::warn!(%error, "this run answers no commands")).ok()?;
    let (ended, ending) = watch::channel(None);
    let office = Office::default();
    office.add(Entry {
        id: JobId::of(&plan),
        plan,
        folder: std::fs::canonicalize(folder.root()).unwrap_or_else(|_| folder.root().into()),
        priority: 1,
        submitted: now(),
        max_slots: config.infer.runner.max_num_workers,
        desk: desk.clone(),
        journal: None,
        ended: ending,
    });
    let (stop, stopping) = watch::channel(false);
    let answering = tokio::spawn(socket.serve(ControlService::new(office.into()), stopping));
    Some(OwnRun { answering, _stop: stop, _ended: ended })
}
