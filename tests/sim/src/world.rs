//! The world of a history: everybody in it, and what is going to happen when.

use super::disk::Disk;
use super::idle::Watched;
use super::job::{Job, JobSample};
use super::links::Links;
use super::master::Master;
use super::mutant::Mutant;
use super::oracle::Oracle;
use super::scenario::Scenario;
use super::store::{Answer, Request};
use super::tally::Tally;
use super::worker::Worker;
use compass_agent::BulkError;
use compass_proto::v1;
use compass_scheduler::invariants::N1;
use compass_store::SimStore;
use compass_types::ids::{Digest, Epoch};
use compass_types::seeded::Rng;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A worker that a leader has not heard for so long may lose what it holds.
const LONG_SILENCE_MS: u64 = super::master::WORKER_LEASE_MS / 2;

/// Something that lasts until it is ended, as scripts have it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lasting {
    WorkerGone(usize),
    CutOff(usize),
    MasterGone(usize),
    MasterStopped(usize),
}

/// A lasting fault ends after this time, in the order of its kind and number, each with a span of its own for what it holds up.
const OPEN_END: u64 = 1 << 60;
const LASTING_SPAN: u64 = 1 << 40;

impl Lasting {
    /// Returns its end: later than any history.
    pub(super) fn until(self) -> u64 {
        let number = match self {
            Self::WorkerGone(at) => 4 * at,
            Self::CutOff(at) => 4 * at + 1,
            Self::MasterGone(at) => 4 * at + 2,
            Self::MasterStopped(at) => 4 * at + 3,
        };
        OPEN_END + number as u64 * LASTING_SPAN
    }
}

/// A message that comes up to a master.
#[derive(Clone, Debug)]
pub(super) enum Up {
    Hello(Box<v1::Hello>),
    Frame(Box<v1::WorkerFrame>),
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
        wake: u64,
    },
    WorkerStarts {
        worker: usize,
    },
    /// The worker dials a master, as its connection `number`.
    Dials {
        worker: usize,
        life: u64,
        number: u64,
        master: usize,
        hello: Box<v1::Hello>,
    },
    Up {
        link: usize,
        what: Up,
    },
    /// The master has taken the connection.
    Opens {
        link: usize,
    },
    /// The worker has waited long enough for that.
    NotOpened {
        worker: usize,
        life: u64,
        number: u64,
    },
    Down {
        link: usize,
        frame: v1::MasterFrame,
    },
    /// The body of a frame begins to arrive.
    Fetching {
        link: usize,
    },
    /// The worker learns that its connection is gone.
    Lost {
        link: usize,
    },
    /// The body of a frame comes to the master.
    Uploads {
        link: usize,
        seq: u64,
        digest: Digest,
        bytes: Arc<Vec<u8>>,
        pause: u64,
    },
    Uploaded {
        worker: usize,
        life: u64,
        number: u64,
        seq: u64,
        done: Result<(), BulkError>,
    },
    Fetched {
        worker: usize,
        life: u64,
        digest: Digest,
        content: Result<Vec<u8>, BulkError>,
    },
    /// The batch under way in a slot continues.
    Engine {
        worker: usize,
        life: u64,
        slot: usize,
        batch: u64,
    },
    /// The worker hears once more that no job has taken it.
    IsToWait {
        link: usize,
    },
    /// The records that the leader of a job appended are on its disk.
    Synced {
        master: usize,
        life: u64,
        job: usize,
        epoch: Epoch,
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
        answer: Answer,
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

/// A sample that a worker has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub(super) worker: usize,
    at: u64,
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

/// Everything of a history, and what is going to happen when. Times in milliseconds.
#[derive(Debug)]
pub(super) struct World {
    pub(super) now: u64,
    pub(super) rng: Rng,
    pub(super) scenario: Scenario,
    pub(super) jobs: Vec<Arc<Job>>,
    pub(super) mutant: Option<Mutant>,
    pub(super) store: SimStore,
    /// Set if it has been down: leases begin again when it is back.
    pub(super) store_was_down: bool,
    /// Until when the store does nothing, and until when its answers are lost.
    pub(super) store_down_until: u64,
    pub(super) store_deaf_until: u64,
    /// The ledger of each job.
    pub(super) disks: Vec<Disk>,
    pub(super) links: Links,
    pub(super) masters: Vec<Master>,
    pub(super) workers: Vec<Worker>,
    pub(super) oracle: Oracle,
    pub(super) cancelled: Vec<bool>,
    /// Workers that have begun a sample whose result is not acknowledged yet.
    pub(super) begun: BTreeMap<JobSample, Begun>,
    /// Samples that each job gave up, once it is over.
    pub(super) over: Vec<Option<Vec<(u32, u32)>>>,
    /// For what is not part of the history: it leaves the stream of all else as it is.
    pub(super) aside: Rng,
    queue: BinaryHeap<Scheduled>,
    order: u64,
    /// Clock of uploads at the beginning; only differences count.
    began: Instant,
    pub(super) watched: Watched,
    /// Counts for scripts; other histories have none.
    pub(super) tally: Option<Tally>,
}

impl World {
    pub(super) fn new(scenario: &Scenario, jobs: Vec<Arc<Job>>, mutant: Option<Mutant>, trace: bool) -> Self {
        let mut world = Self {
            now: 0,
            rng: Rng::new(scenario.seed),
            scenario: scenario.clone(),
            mutant,
            store: SimStore::default(),
            store_was_down: false,
            store_down_until: 0,
            store_deaf_until: 0,
            disks: jobs.iter().map(|job| Disk::new(job.digest)).collect(),
            links: Links::new(scenario),
            masters: (0..scenario.masters).map(|at| Master::new(at, jobs.len())).collect(),
            workers: scenario.workers.iter().enumerate().map(|(at, &slots)| Worker::new(at, slots)).collect(),
            oracle: Oracle::new(&jobs, trace),
            cancelled: vec![false; jobs.len()],
            begun: BTreeMap::new(),
            over: vec![None; jobs.len()],
            aside: Rng::new(!scenario.seed),
            jobs,
            queue: BinaryHeap::new(),
            order: 0,
            began: Instant::now(),
            watched: Watched::default(),
            tally: None,
        };
        for master in 0..scenario.masters {
            world.after(1 + 40 * master as u64, Happening::MasterStarts { master });
        }
        for worker in 0..scenario.workers.len() {
            let pause = world.rng.below(3_000);
            let at = if scenario.late.contains(&worker) { Lasting::WorkerGone(worker).until() } else { pause };
            world.at(at, Happening::WorkerStarts { worker });
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

    /// Now, for what asks a clock of the operating system's kind.
    pub(super) fn instant(&self) -> Instant {
        self.began + Duration::from_millis(self.now)
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

    /// Returns the time at which the process that this is for continues, if it is stopped.
    fn stopped(&self, happening: &Happening) -> Option<u64> {
        let until = match happening {
            Happening::MasterTick { master, .. }
            | Happening::Synced { master, .. }
            | Happening::Answered { master, .. }
            | Happening::Unanswered { master, .. } => self.masters[*master].paused_until,
            Happening::Up { link, .. } | Happening::Uploads { link, .. } => {
                self.masters[self.links.all[*link].master].paused_until
            }
            Happening::WorkerTick { worker, .. }
            | Happening::Dials { worker, .. }
            | Happening::NotOpened { worker, .. }
            | Happening::Uploaded { worker, .. }
            | Happening::Fetched { worker, .. }
            | Happening::Engine { worker, .. } => self.workers[*worker].paused_until,
            Happening::Down { link, .. }
            | Happening::Opens { link }
            | Happening::Fetching { link }
            | Happening::Lost { link } => self.workers[self.links.all[*link].worker].paused_until,
            _ => 0,
        };
        (until > self.now).then_some(until)
    }

    /// A leader hears a worker.
    pub(super) fn is_heard(&mut self, at: usize) {
        let now = self.now;
        let worker = &mut self.workers[at];
        if now > worker.heard_at + LONG_SILENCE_MS {
            worker.silent_until = now;
        }
        worker.heard_at = now;
    }

    /// A worker begins a sample: no other worker that is heard all the time has begun it.
    pub(super) fn begins_once(&mut self, at: usize, key: JobSample, is_excused: bool) {
        // One that continues while it is cut off, or whose leader was replaced and cannot learn it, may be at what others have by
        // now: what is done twice then counts once.
        let (now, untrue) = (self.now, self.scenario.has_untrue_workers());
        self.tally.iter_mut().for_each(|tally| tally.begins(at));
        let is_far = |worker: usize| self.scenario.far.contains(&worker);
        if let Some(other) = self.begun.insert(key, Begun { worker: at, at: now }).filter(|other| other.worker != at) {
            let holder = &self.workers[other.worker];
            let is_heard = now <= holder.heard_at + LONG_SILENCE_MS && holder.silent_until < other.at;
            if is_heard && !untrue && !is_excused && !is_far(at) && !is_far(other.worker) && other.at < now {
                let (holder, name) = (holder.name.clone(), self.workers[at].name.clone());
                let detail = format!("{name} begins {key:?}, which {holder} began at {} and has still", other.at);
                self.oracle.violation(N1, detail);
            }
        }
    }

    /// Ends a lasting fault: what it held up comes now.
    pub(super) fn is_over(&mut self, lasting: Lasting) {
        let (base, now) = (lasting.until(), self.now);
        let comes = |at: u64| if (base..base + LASTING_SPAN).contains(&at) { now + (at - base) } else { at };
        let queue = std::mem::take(&mut self.queue).into_iter();
        self.queue = queue.map(|scheduled| Scheduled { at: comes(scheduled.at), ..scheduled }).collect();
        for link in &mut self.links.all {
            link.moves(comes);
        }
    }

    /// Breaks a connection: what is on it is lost, and each end learns of it in its time.
    pub(super) fn sever(&mut self, link: usize, most: u64) {
        if self.links.all[link].broken {
            return;
        }
        (self.links.all[link].broken, self.links.all[link].is_closing) = (true, true);
        let (up, down) = (self.rng.below(most), self.rng.below(most));
        self.after(up, Happening::Up { link, what: Up::Closed });
        self.after(down, Happening::Lost { link });
    }
}
