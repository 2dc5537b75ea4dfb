//! The world of a history: everybody in it, and what is going to happen when.

use super::disk::Disk;
use super::links::Links;
use super::master::Master;
use super::mutant::Mutant;
use super::oracle::Oracle;
use super::rng::Rng;
use super::scenario::Scenario;
use super::store::{Reply, Request, Store};
use super::worker::Worker;
use compass_proto::v1;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What comes up to a master.
#[derive(Clone, Debug)]
pub(super) enum Up {
    Hello(v1::Hello),
    Frame(v1::WorkerFrame),
    /// The other end is gone.
    Closed,
}

/// Something that will happen. `life` tells processes of one name apart.
#[derive(Clone, Debug)]
pub(super) enum Happening {
    MasterTick {
        master: usize,
        life: u64,
    },
    MasterStarts {
        master: usize,
    },
    WorkerTick {
        worker: usize,
        life: u64,
    },
    WorkerStarts {
        worker: usize,
    },
    Up {
        link: usize,
        what: Up,
    },
    Down {
        link: usize,
        frame: v1::MasterFrame,
    },
    /// The worker learns that its connection is gone.
    Lost {
        link: usize,
    },
    PackEnds {
        worker: usize,
        life: u64,
        slot: usize,
        pack: u64,
    },
    Synced {
        master: usize,
        life: u64,
    },
    Asked {
        master: usize,
        life: u64,
        call: u64,
        request: Request,
    },
    Answered {
        master: usize,
        life: u64,
        call: u64,
        reply: Reply,
    },
    Unanswered {
        master: usize,
        life: u64,
        call: u64,
    },
    Fault {
        number: usize,
    },
}

#[derive(Debug)]
struct Scheduled {
    at: u64,
    order: u64,
    happening: Happening,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct World {
    pub(super) now: u64,
    pub(super) rng: Rng,
    pub(super) scenario: Scenario,
    pub(super) mutant: Option<Mutant>,
    pub(super) store: Store,
    /// Until when the store does nothing, and until when its answers are lost.
    pub(super) store_down_until: u64,
    pub(super) store_deaf_until: u64,
    pub(super) disk: Disk,
    pub(super) links: Links,
    pub(super) masters: Vec<Master>,
    pub(super) workers: Vec<Worker>,
    pub(super) oracle: Oracle,
    pub(super) cancelled: bool,
    /// Samples that the job gave up, once it is over.
    pub(super) over: Option<Vec<(u32, u32)>>,
    queue: BinaryHeap<Scheduled>,
    order: u64,
}

impl World {
    pub(super) fn new(scenario: &Scenario, mutant: Option<Mutant>, trace: bool) -> Self {
        let mut world = Self {
            now: 0,
            rng: Rng::new(scenario.seed),
            scenario: scenario.clone(),
            mutant,
            store: Store::new(mutant == Some(Mutant::StaleEpochAccepted)),
            store_down_until: 0,
            store_deaf_until: 0,
            disk: Disk::default(),
            links: Links::new(scenario),
            masters: (0..scenario.masters).map(Master::new).collect(),
            workers: scenario.workers.iter().enumerate().map(|(at, &slots)| Worker::new(at, slots)).collect(),
            oracle: Oracle::new(scenario, trace),
            cancelled: false,
            over: None,
            queue: BinaryHeap::new(),
            order: 0,
        };
        for master in 0..scenario.masters {
            world.after(1 + 40 * master as u64, Happening::MasterStarts { master });
        }
        for worker in 0..scenario.workers.len() {
            let pause = world.rng.below(3_000);
            world.after(pause, Happening::WorkerStarts { worker });
        }
        for (number, fault) in scenario.faults.iter().enumerate() {
            world.at(fault.at, Happening::Fault { number });
        }
        world
    }

    pub(super) fn at(&mut self, at: u64, happening: Happening) {
        self.order += 1;
        self.queue.push(Scheduled { at: at.max(self.now), order: self.order, happening });
    }

    pub(super) fn after(&mut self, pause: u64, happening: Happening) {
        self.at(self.now + pause, happening);
    }

    /// Lets the next thing happen; false when the time is up, or nothing is left to happen.
    pub(super) fn step(&mut self, until: u64) -> bool {
        let Some(next) = self.queue.pop().filter(|next| next.at <= until) else { return false };
        self.now = next.at;
        if let Some(resumes) = self.stopped(&next.happening) {
            self.at(resumes, next.happening);
            return true;
        }
        self.happens(next.happening);
        true
    }

    /// When the process that this is for goes on, if it is stopped.
    fn stopped(&self, happening: &Happening) -> Option<u64> {
        let until = match happening {
            Happening::MasterTick { master, .. }
            | Happening::Synced { master, .. }
            | Happening::Answered { master, .. }
            | Happening::Unanswered { master, .. } => self.masters[*master].paused_until,
            Happening::Up { link, .. } => self.masters[self.links.all[*link].master].paused_until,
            Happening::WorkerTick { worker, .. } | Happening::PackEnds { worker, .. } => {
                self.workers[*worker].paused_until
            }
            Happening::Down { link, .. } | Happening::Lost { link } => {
                self.workers[self.links.all[*link].worker].paused_until
            }
            _ => 0,
        };
        (until > self.now).then_some(until)
    }

    /// Breaks a connection: what is on it is lost, and each end learns of it in its time.
    pub(super) fn sever(&mut self, link: usize, most: u64) {
        if self.links.all[link].broken {
            return;
        }
        self.links.all[link].broken = true;
        let (up, down) = (self.rng.below(most), self.rng.below(most));
        self.after(up, Happening::Up { link, what: Up::Closed });
        self.after(down, Happening::Lost { link });
    }
}
