//! An attached worker: what it offers, what it holds, and how it does. Only [`super::worker_table::WorkerTable`] changes it.

use super::event::{Capabilities, ConnectionId, SandboxState};
use super::indexed::Indexed;
use super::recent_units::RecentUnits;
use super::slot_models::SlotModels;
use super::task::Requires;
use super::worker_ids::Rank;
use compass_types::ids::{ModelId, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// Progress of a worker on its way out of the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Drain {
    #[default]
    No,
    /// The worker was told to drain; whether it has heard, only what it does shows.
    Requested,
    /// The worker has said that it begins nothing more.
    Announced,
}

/// A worker of the job.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    /// Given by the table.
    pub(super) rank: Rank,
    /// Kept by the indexes of the table.
    pub(super) indexed: Indexed,
    pub(super) connection: Option<ConnectionId>,
    pub(super) session: String,
    pub(super) slots: u32,
    pub(super) has_engine: bool,
    pub(super) sandbox: SandboxState,
    pub(super) pool: String,
    pub(super) credit: u32,
    pub(super) held: BTreeSet<TaskId>,
    /// Model of its latest grant.
    pub(super) resident: Option<ModelId>,
    /// Models that its slots hold.
    pub(super) models: SlotModels,
    /// Name of its host; empty when it did not say.
    pub(super) host: String,
    /// Models that it gets no tasks of, and until when where that is only due to its host.
    pub(super) barred: BTreeSet<ModelId>,
    pub(super) by_host: BTreeMap<ModelId, u64>,
    pub(super) units: RecentUnits,
    pub(super) last_heard: u64,
    pub(super) drain: Drain,
    /// Time at which it last handed anything in, or got something to do; see
    /// [`super::deadlines::Deadlines::last_progress`].
    pub(super) last_progress: u64,
    /// Ticks before it got rid of the latest task that it held.
    pub(super) idle_since_tick: u64,
    /// Longest time that it may hand in nothing until it is named next.
    pub(super) stall: u64,
    /// Set if a sample was recorded from it since it attached.
    pub(super) recorded_any: bool,
    /// Failures of its node in a row.
    pub(super) infrastructure: u32,
    /// The task of which it is to have what the holder has not begun.
    pub(super) awaits: Option<TaskId>,
    /// Since when, on this connection, it has not answered what it was asked to return.
    pub(super) asked_at: Option<u64>,
    /// Connections that were cut since it did not answer.
    pub(super) unanswered: u32,
}

impl Worker {
    /// A worker that has just attached and is given so many slots; not connected yet.
    pub(super) fn new(capabilities: &Capabilities, slots: u32, now: u64) -> Self {
        let Capabilities { session, has_engine, sandbox, pool, host, .. } = capabilities.clone();
        Self {
            rank: Rank::default(),
            indexed: Indexed::default(),
            connection: None,
            session,
            slots,
            has_engine,
            sandbox,
            pool,
            credit: 0,
            held: BTreeSet::new(),
            resident: None,
            models: SlotModels::new(slots),
            host,
            barred: BTreeSet::new(),
            by_host: BTreeMap::new(),
            units: RecentUnits::default(),
            last_heard: now,
            drain: Drain::No,
            last_progress: now,
            idle_since_tick: 0,
            stall: 0,
            recorded_any: false,
            infrastructure: 0,
            awaits: None,
            asked_at: None,
            unanswered: 0,
        }
    }

    /// Returns whether it has what a task requires.
    pub(super) fn suits(&self, requires: Requires) -> bool {
        match requires {
            Requires::Echo => true,
            Requires::Engine => self.has_engine,
            Requires::Sandbox => self.sandbox == SandboxState::Works,
        }
    }

    /// Returns whether it gets nothing more.
    pub(super) fn is_draining(&self) -> bool {
        self.drain != Drain::No
    }

    /// Returns the number of tasks that it holds per slot, in thousandths, while it can take another grant.
    pub(super) fn free_load(&self) -> Option<u32> {
        let held = self.held.len() as u32;
        let ready = self.connection.is_some() && !self.is_draining() && held < self.credit;
        ready.then(|| held.saturating_mul(1000) / self.slots.max(1))
    }
}
