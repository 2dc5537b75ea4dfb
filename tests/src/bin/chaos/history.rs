//! One history: what goes wrong, when, and for how long, drawn from a seed, and the operator who starts again what ended.

use crate::cluster::{Cluster, MASTERS, WORKERS};
use crate::faults::{Fault, Faults};
use crate::judge::Judge;
use crate::liar;
use crate::pipes;
use compass_tests::{Etcd, Mood, wait_until};
use compass_types::seeded::Rng;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const FAULTS: u64 = 8;
/// Workers that die with tasks in their hands make these suspect, rightly, after four times.
const MOST_WORKER_KILLS: u32 = 3;
/// Longer than a leader's lease, so that one that is stopped so long is led by another meanwhile.
const LONGEST_MS: u64 = 9_000;
/// Time for which the member that is listed first stays away: longer than etcd elects, and than a leader's lease.
const FIRST_MEMBER_MS: u64 = 12_000;
/// Longest time until a master gives up a store that it found in trouble.
const AFTERMATH: Duration = Duration::from_secs(30);
/// Longest time that a history takes after its last fault.
const TIMEOUT: Duration = Duration::from_secs(240);
const LOOK: Duration = Duration::from_millis(20);

/// Action that ends a fault.
#[derive(Clone, Copy, Debug)]
enum Cure {
    StartMaster(usize),
    StartWorker(usize),
    WakeMaster(usize),
    WakeWorker(usize),
    StartMember(usize),
    MoveFolderBack,
    OpenToEtcd(usize),
    OpenToMasters(usize),
}

/// Faults of one history, drawn from a seed, and the operator who restarts what ended.
pub(crate) struct History {
    rng: Rng,
    faults: Faults,
    cures: Vec<(Instant, Cure)>,
    counts: BTreeMap<&'static str, u32>,
    worker_kills: u32,
    /// Set for each master that suffers a fault at the moment; one that is down or asleep is left alone.
    master_down: [bool; MASTERS],
    worker_down: [bool; WORKERS],
    member_down: [bool; 3],
    /// Masters that end meanwhile find nothing to resume until it is back.
    folder_away: bool,
    /// The leader that wrote it ends with 3, and the next finds less than was committed.
    segment_unlinked: bool,
    /// Until when the trouble between masters and etcd lasted that was more than the loss of a member.
    etcd_trouble: Option<Instant>,
    /// Masters that ended while the folder was away, to be started when it is back.
    waiting: Vec<usize>,
}

impl History {
    pub(crate) fn new(rng: Rng, faults: Faults) -> Self {
        Self {
            rng,
            faults,
            cures: Vec::new(),
            counts: BTreeMap::new(),
            worker_kills: 0,
            master_down: [false; MASTERS],
            worker_down: [false; WORKERS],
            member_down: [false; 3],
            folder_away: false,
            segment_unlinked: false,
            etcd_trouble: None,
            waiting: Vec::new(),
        }
    }

    /// Describes what happened, in words.
    pub(crate) fn told(&self) -> String {
        let each = self.counts.iter().map(|(what, count)| format!("{count} {what}"));
        each.collect::<Vec<_>>().join(", ")
    }

    /// Plays the history until a master brings the run to its end.
    pub(crate) fn play(&mut self, cluster: &mut Cluster, etcd: &mut Etcd, judge: &mut Judge) -> Result<(), String> {
        wait_until("the run is under way", || (cluster.job.ledger_bytes() > 400).then_some(()));
        let mut left = self.rng.between(FAULTS / 2, FAULTS);
        let mut next = Instant::now();
        let mut over = None;
        let ended = loop {
            if let Some(ended) = self.tend(cluster)? {
                break ended;
            }
            self.cure(cluster, etcd, Instant::now());
            self.etcd_was_well();
            if left > 0 && Instant::now() >= next {
                left -= 1;
                self.strike(cluster, etcd, judge);
                if !self.folder_away {
                    judge.look(etcd, cluster, &self.member_down);
                }
                next = Instant::now() + Duration::from_millis(self.rng.below(1_500));
            }
            if left == 0 && self.cures.is_empty() {
                let since = *over.get_or_insert_with(Instant::now);
                if since.elapsed() > TIMEOUT {
                    return Err("the run does not end".into());
                }
            }
            std::thread::sleep(LOOK);
        };
        *self.counts.entry(ended).or_default() += 1;
        while let Some(&(at, _)) = self.cures.first() {
            self.cure(cluster, etcd, at + Duration::from_secs(60));
        }
        cluster.heal();
        etcd.wait_healthy();
        Ok(())
    }

    /// Masters that stepped down or failed are started again, as an operator would; whether one ended the run.
    fn tend(&mut self, cluster: &mut Cluster) -> Result<Option<&'static str>, String> {
        for at in 0..MASTERS {
            if self.master_down[at] {
                continue;
            }
            match cluster.masters[at].ended().map(|status| status.code()) {
                None => {}
                Some(Some(0)) => return Ok(Some("master ended the run")),
                Some(Some(code @ (2 | 3))) if self.folder_away => {
                    let what = if code == 3 { "loss of the folder noticed" } else { "nothing to resume meanwhile" };
                    self.note(what);
                    self.master_down[at] = true;
                    self.waiting.push(at);
                }
                Some(Some(3)) if self.etcd_was_well() && !self.segment_unlinked => {
                    return Err(format!("master {at} gave up its store, of which a majority was there all the time"));
                }
                Some(Some(code @ (3 | 4))) => {
                    let what = if code == 4 { "leadership lost" } else { "store given up" };
                    *self.counts.entry(what).or_default() += 1;
                    cluster.restart_master(at).map_err(|error| error.to_string())?;
                }
                Some(code) => return Err(format!("master {at} ended with {code:?}")),
            }
        }
        for at in (0..WORKERS).filter(|&at| !self.worker_down[at]).collect::<Vec<_>>() {
            if cluster.workers[at].ended().is_some() {
                // It may have heard that the run is over; else it comes back.
                cluster.restart_worker(at).map_err(|error| error.to_string())?;
            }
        }
        Ok(None)
    }

    /// Returns whether etcd had a majority, and masters their ways to it, for so long that no master can be troubled by what was.
    fn etcd_was_well(&mut self) -> bool {
        let now = Instant::now();
        let members = self.member_down.iter().filter(|down| **down).count();
        if members > 1 || self.cures.iter().any(|(_, cure)| matches!(cure, Cure::OpenToEtcd(_))) {
            self.etcd_trouble = Some(now);
        }
        self.etcd_trouble.is_none_or(|until| now.duration_since(until) > AFTERMATH)
    }

    fn note(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn later(&mut self, ms: u64, cure: Cure) {
        self.cures.push((Instant::now() + Duration::from_millis(ms), cure));
        self.cures.sort_by_key(|(at, _)| *at);
    }

    fn mood(&mut self) -> Mood {
        match self.rng.below(3) {
            0 => Mood::Delay(Duration::from_millis(self.rng.between(20, 300))),
            1 => Mood::HalfOpen,
            _ => Mood::Cut,
        }
    }

    /// Draws a fault and lets it happen, where it can: what is down already is left alone.
    fn strike(&mut self, cluster: &mut Cluster, etcd: &mut Etcd, judge: &mut Judge) {
        let Some(fault) = self.faults.draw(&mut self.rng) else { return };
        let (worker, master) = (self.rng.below(WORKERS as u64) as usize, self.rng.below(MASTERS as u64) as usize);
        let member = self.rng.below(3) as usize;
        let ms = if self.rng.chance(500) { self.rng.between(100, 2_000) } else { self.rng.between(2_000, LONGEST_MS) };
        match fault {
            Fault::MasterKilled if !self.master_down[master] => {
                self.note("master killed");
                self.master_down[master] = true;
                cluster.masters[master].kill();
                self.later(ms / 2, Cure::StartMaster(master));
            }
            Fault::MasterStopped if !self.master_down[master] => {
                self.note("master stopped");
                self.master_down[master] = true;
                cluster.masters[master].signal("STOP");
                self.later(ms, Cure::WakeMaster(master));
            }
            Fault::WorkerKilled if !self.worker_down[worker] && self.worker_kills < MOST_WORKER_KILLS => {
                self.note("worker killed");
                self.worker_kills += 1;
                self.worker_down[worker] = true;
                cluster.workers[worker].kill();
                self.later(ms / 4, Cure::StartWorker(worker));
            }
            Fault::WorkerStopped if !self.worker_down[worker] => {
                self.note("worker stopped");
                self.worker_down[worker] = true;
                cluster.workers[worker].signal("STOP");
                self.later(ms, Cure::WakeWorker(worker));
            }
            Fault::WorkerWires => {
                self.note("worker's wires bad");
                let mood = self.mood();
                cluster.to_masters[worker].iter().for_each(|way| way.set(mood));
                self.later(ms, Cure::OpenToMasters(worker));
            }
            Fault::EtcdWires => {
                self.note("master's wires to etcd bad");
                let mood = self.mood();
                // All of them, or the one to a member.
                let all = self.rng.chance(600);
                for (at, way) in cluster.to_etcd[master].iter().enumerate() {
                    if all || at == member {
                        way.set(mood);
                    }
                }
                self.later(ms, Cure::OpenToEtcd(master));
            }
            Fault::MemberKilled if !self.member_down[member] => {
                self.note("member of etcd killed");
                self.member_down[member] = true;
                etcd.kill(member);
                self.later(ms / 2, Cure::StartMember(member));
            }
            // Of all three, so that the other two elect another leader at once.
            Fault::FirstMember if self.member_down == [false; 3] && etcd.lead(0) => {
                self.note("etcd's leader, listed first, killed");
                self.member_down[0] = true;
                etcd.kill(0);
                self.later(FIRST_MEMBER_MS + ms, Cure::StartMember(0));
            }
            Fault::BadNode if cluster.add_bad_node().is_ok_and(|added| added) => self.note("bad node joined"),
            Fault::Liar => {
                self.note("false results reported");
                cluster.ports.iter().for_each(|port| liar::lie(*port, cluster.token()));
            }
            Fault::Segment if !self.folder_away => {
                if cluster.unlink_segment() {
                    self.note("segment unlinked");
                    self.segment_unlinked = true;
                    judge.forget(etcd, cluster, &self.member_down);
                }
            }
            Fault::Folder if !self.folder_away && cluster.move_folder_away() => {
                self.note("run folder moved away");
                self.folder_away = true;
                self.later(ms, Cure::MoveFolderBack);
            }
            Fault::Pipes if !self.folder_away && pipes::lay(&cluster.job.path("out")) => self.note("pipes laid"),
            _ => self.note("moment of peace"),
        }
    }

    /// Ends the faults whose time is over at `now`.
    fn cure(&mut self, cluster: &mut Cluster, etcd: &mut Etcd, now: Instant) {
        while let Some(&(_, cure)) = self.cures.first().filter(|(at, _)| *at <= now) {
            self.cures.remove(0);
            match cure {
                Cure::StartMaster(at) if self.folder_away => self.waiting.push(at),
                Cure::StartMaster(at) => {
                    self.master_down[at] = cluster.restart_master(at).is_err();
                }
                Cure::StartWorker(at) => {
                    self.worker_down[at] = cluster.restart_worker(at).is_err();
                }
                Cure::WakeMaster(at) => {
                    cluster.masters[at].signal("CONT");
                    self.master_down[at] = false;
                }
                Cure::WakeWorker(at) => {
                    cluster.workers[at].signal("CONT");
                    self.worker_down[at] = false;
                }
                Cure::StartMember(at) => {
                    etcd.spawn(at);
                    self.member_down[at] = false;
                }
                Cure::MoveFolderBack => {
                    cluster.move_folder_back();
                    self.folder_away = false;
                    for at in std::mem::take(&mut self.waiting) {
                        self.master_down[at] = cluster.restart_master(at).is_err();
                    }
                }
                Cure::OpenToEtcd(at) => cluster.to_etcd[at].iter().for_each(|way| way.set(Mood::Pass)),
                Cure::OpenToMasters(at) => cluster.to_masters[at].iter().for_each(|way| way.set(Mood::Pass)),
            }
        }
    }
}
