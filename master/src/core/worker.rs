//! An attached worker: what it offers, what it holds, and how it does.

use super::event::{ConnectionId, SandboxState};
use super::slot_models::SlotModels;
use super::task::Requires;
use super::worker_table::Rank;
use compass_common::ids::{TaskId, UnitId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Whether a worker is to stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Going {
    #[default]
    Stays,
    /// Another job wants it, and it was told so; whether it has heard, only what it does shows.
    Wanted,
    /// It said itself that it begins nothing more.
    Drains,
}

#[derive(Clone, Debug)]
pub(super) struct Worker {
    /// Set by the table.
    pub(super) rank: Rank,
    pub(super) connection: Option<ConnectionId>,
    pub(super) session: String,
    pub(super) slots: u32,
    pub(super) has_engine: bool,
    pub(super) sandbox: SandboxState,
    pub(super) pool: String,
    pub(super) credit: u32,
    pub(super) held: BTreeSet<TaskId>,
    /// Model of its latest grant.
    pub(super) resident: Option<u32>,
    /// What its slots hold.
    pub(super) models: SlotModels,
    /// Whether its slots count among those that hold a model: whether it may still get tasks of it.
    pub(super) counted: bool,
    /// Name of its host; empty when it did not say.
    pub(super) host: String,
    /// Models that it gets no tasks of, and until when where that is only due to its host.
    pub(super) barred: BTreeSet<u32>,
    pub(super) by_host: BTreeMap<u32, u64>,
    /// The units of its latest grants, the latest last: others of them share prefixes with what it has computed.
    pub(super) units: VecDeque<UnitId>,
    pub(super) last_heard: u64,
    pub(super) going: Going,
    /// When it last handed anything in, or had nothing to hand in.
    pub(super) last_progress: u64,
    /// How long it may hand in nothing until it is named next.
    pub(super) stall: u64,
    /// Whether a sample was recorded from it since it attached.
    pub(super) recorded_any: bool,
    /// Failures of its node in a row.
    pub(super) infrastructure: u32,
    /// The task of which it is to have what the holder has not begun.
    pub(super) awaits: Option<TaskId>,
    /// Its key in [`Core::ready`], while it is there.
    pub(super) load: Option<u32>,
    /// Whether it is counted in [`Core::present`].
    pub(super) is_present: bool,
}

impl Worker {
    /// Whether it has what a task requires.
    pub(super) fn suits(&self, requires: Requires) -> bool {
        match requires {
            Requires::Echo => true,
            Requires::Engine => self.has_engine,
            Requires::Sandbox => self.sandbox == SandboxState::Works,
        }
    }

    /// Whether it gets nothing more.
    pub(super) fn is_going(&self) -> bool {
        self.going != Going::Stays
    }

    /// What it holds per slot, in thousandths, while it can take another grant.
    pub(super) fn free_load(&self) -> Option<u32> {
        let held = self.held.len() as u32;
        let ready = self.connection.is_some() && !self.is_going() && held < self.credit;
        ready.then(|| held.saturating_mul(1000) / self.slots.max(1))
    }
}
