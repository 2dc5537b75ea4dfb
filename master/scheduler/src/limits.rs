//! The bounds that a job runs within.

use compass_types::ids::ModelId;
use std::collections::{BTreeMap, BTreeSet};

/// Bounds and budgets of a job. Times in milliseconds.
#[derive(Clone, Debug)]
pub struct Limits {
    /// A worker that was silent for so long is no longer counted on: its grants go to others. A new leader waits as long
    /// for those who held grants of an older one.
    pub lease_ttl: u64,
    /// A connection that was silent for so long is cut.
    pub silence: u64,
    /// Transient failures of a task that are followed by another try.
    pub retry: u32,
    /// Losses of a task's worker, with nothing recorded in between, that are followed by another try.
    pub losses: u32,
    /// Failures of a task for reasons of the nodes that ran it that are followed by another try; as many in a row make a
    /// worker the last choice.
    pub infrastructure: u32,
    /// A worker that holds tasks and has sent no results for so long is named on the screen, then at twice the time.
    pub stall: u64,
    /// Replica slots of all workers together; `None` takes whatever comes.
    pub max_slots: Option<u32>,
    /// Set if workers may join on their own: what no worker can do now then waits for one that can.
    pub others_may_come: bool,
    /// Set if another stage follows, for which workers are to stay.
    pub workers_stay: bool,
    /// The pools where a model loads, by its position; a model that is not listed loads anywhere.
    pub places: BTreeMap<ModelId, BTreeSet<String>>,
    /// Number of workers that may have tasks of a model at once, by its position; a model that is not listed runs anywhere
    /// at once. The endpoint that a model is asked at has one budget, of which each of these workers has a share.
    pub most_workers: BTreeMap<ModelId, u32>,
    /// Attempts before which no checkpoint of the assignments is made.
    pub fewest_attempts: u32,
    /// Set if tasks may be cut, so that a worker with nothing to do takes over samples that another has not begun. Whole
    /// tasks move in any case.
    pub split: bool,
    /// Longest time that tasks wait for a worker that can load their model, when all that are connected have said that they
    /// cannot, or for one that has room for their samples.
    pub unschedulable: u64,
    /// Time until what launchers can still do is known.
    pub settles: u64,
    /// Time that it may take to load a model, by its position, before a load was measured; 0 where it is not listed.
    pub load_ms: BTreeMap<ModelId, u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            lease_ttl: 30_000,
            silence: 15_000,
            retry: 2,
            losses: 4,
            infrastructure: 4,
            stall: 60_000,
            max_slots: None,
            others_may_come: true,
            workers_stay: false,
            places: BTreeMap::new(),
            most_workers: BTreeMap::new(),
            split: true,
            unschedulable: 600_000,
            settles: 0,
            load_ms: BTreeMap::new(),
            fewest_attempts: 50_000,
        }
    }
}
