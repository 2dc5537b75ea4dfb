//! Workers on their way to a job: what the shipped dispatcher decides is carried out here, as a server's shell does it.

use super::lead::Led;
use super::mutant::Mutant;
use super::world::{Happening, Up, World};
use compass_proto::v1;
use compass_scheduler::broker::{Dispatch, Dispatcher};
use compass_scheduler::{ConnectionId, Event};
use compass_types::ids::WorkerId;
use v1::master_frame::Body;

/// Interval at which a waiting worker is notified.
const WAIT_EVERY_MS: u64 = 2_000;
/// Time for which a job that is over listens to its workers' reports.
const LAST_REPORTS_MS: u64 = 5_000;

/// A hello that no job has taken yet.
#[derive(Debug)]
pub(super) struct Waiting {
    hello: Box<v1::Hello>,
    /// Set if its worker was asked to wait.
    was_told: bool,
}

impl World {
    /// The master expects to lead a job soon.
    pub(super) fn expects(&mut self, at: usize, job: usize) {
        if self.mutant != Some(Mutant::JobNotExpected) {
            let (plan, id) = (self.jobs[job].digest, self.jobs[job].id.clone());
            self.masters[at].dispatcher.expect(plan, id);
        }
    }

    /// Lets the dispatcher of a master decide, and carries it out.
    pub(super) fn dispatches(&mut self, at: usize, act: impl FnOnce(&mut Dispatcher, u64, &mut Vec<Dispatch>)) {
        let mut out = Vec::new();
        act(&mut self.masters[at].dispatcher, self.now, &mut out);
        for dispatch in out {
            self.oracle.note(self.now, || format!("m{at}: {dispatch:?}"));
            self.dispatched(at, dispatch);
        }
    }

    fn dispatched(&mut self, at: usize, dispatch: Dispatch) {
        match dispatch {
            Dispatch::Attach { connection, job, .. } => self.attaches(at, connection.0 as usize, &job),
            Dispatch::Refuse { connection, reason } => {
                self.turned_away(at, connection, Body::Refused(v1::Refused { reason }));
            }
            Dispatch::Shutdown { connection, reason } => {
                self.turned_away(at, connection, Body::Shutdown(v1::Shutdown { reason: reason.into() }));
            }
            Dispatch::Replaced { connection } => {
                self.masters[at].waiting.remove(&(connection.0 as usize));
                self.stream_ends(connection.0 as usize);
            }
            Dispatch::Release { worker, job } => {
                self.oracle.saw("a worker was to leave for another job");
                if let Some(job) = self.numbered(&job) {
                    self.leader_decides(at, job, Event::Release { worker });
                }
            }
        }
    }

    fn numbered(&self, id: &compass_scheduler::broker::JobId) -> Option<usize> {
        self.jobs.iter().position(|job| job.id == *id)
    }

    /// A job takes a worker: its leader gets the hello.
    fn attaches(&mut self, at: usize, link: usize, job: &compass_scheduler::broker::JobId) {
        let Some(job) = self.numbered(job) else { return };
        let waited = self.masters[at].waiting.get(&link).is_some_and(|waiting| waiting.was_told);
        if waited && self.mutant == Some(Mutant::WaitingNeverAssigned) {
            return;
        }
        let Some(Waiting { hello, .. }) = self.masters[at].waiting.remove(&link) else { return };
        let worker = &self.workers[self.links.all[link].worker];
        if let Some(before) = worker.job.filter(|before| *before != job) {
            self.oracle.saw(match self.over[before] {
                None => "a worker left for another job",
                Some(_) => "a worker went on with another job",
            });
        }
        self.links.all[link].job = Some(job);
        self.leader_hears(at, job, link, Up::Hello(hello));
    }

    fn turned_away(&mut self, at: usize, connection: ConnectionId, body: Body) {
        let link = connection.0 as usize;
        self.masters[at].waiting.remove(&link);
        self.pool_says(link, body);
        self.stream_ends(link);
    }

    fn pool_says(&mut self, link: usize, body: Body) {
        let frame = v1::MasterFrame { body: Some(body), ..Default::default() };
        let arrives = self.links.down(self.now, link, &mut self.rng);
        self.at(arrives, Happening::Down { link, frame });
    }

    /// A master ends the stream of a connection: its end follows what was sent on it.
    pub(super) fn stream_ends(&mut self, link: usize) {
        let arrives = self.links.down(self.now, link, &mut self.rng);
        self.at(arrives, Happening::Lost { link });
    }

    /// A worker is at a master's port.
    pub(super) fn hello_arrives(&mut self, at: usize, link: usize, hello: Box<v1::Hello>) {
        let mut shown = hello.clone();
        if self.mutant == Some(Mutant::HandedOverWithResults) {
            shown.held.clear();
        }
        let holds = !hello.held.is_empty();
        self.masters[at].waiting.insert(link, Waiting { hello, was_told: false });
        self.dispatches(at, |dispatcher, now, out| {
            dispatcher.arrive(now, ConnectionId(link as u64), &shown, out);
        });
        if self.masters[at].waiting.contains_key(&link) {
            self.oracle.saw("a worker waited to be assigned");
            if holds {
                self.oracle.saw("a worker waited for the job of which it held something");
            }
            self.is_to_wait(link);
        }
    }

    /// Tells a worker that waits so, now and then.
    pub(super) fn is_to_wait(&mut self, link: usize) {
        let known = self.links.all[link].clone();
        if known.broken || !self.is_up(known.master, known.master_life) {
            return;
        }
        let Some(waiting) = self.masters[known.master].waiting.get_mut(&link) else { return };
        waiting.was_told = true;
        self.pool_says(link, Body::Wait(v1::Wait {}));
        self.after(WAIT_EVERY_MS, Happening::IsToWait { link });
    }

    /// A connection is over, as its master knows.
    pub(super) fn connection_ends(&mut self, link: usize) {
        let known = self.links.all[link].clone();
        let at = known.master;
        self.masters[at].waiting.remove(&link);
        self.uploads_end(link);
        let worker = WorkerId(self.workers[known.worker].name.clone());
        // First of all, as in the shipped server: the worker may be here again at once.
        self.dispatches(at, |dispatcher, now, out| {
            dispatcher.left(now, &worker, ConnectionId(link as u64), out);
        });
        if let Some(job) = known.job {
            self.leader_hears(at, job, link, Up::Closed);
        }
    }

    /// The broker hears what a job could use.
    pub(super) fn tells_demand(&mut self, at: usize, number: usize) {
        let job = self.jobs[number].clone();
        let Some(led) = self.masters[at].led_job(number) else { return };
        let wanted = led.leader.core().wanted();
        self.dispatches(at, |dispatcher, now, out| {
            dispatcher.demand(now, &job.id, &job.digest, wanted);
            dispatcher.decide(now, out);
        });
    }

    /// A job's stage is over in a process that continues: its workers dial again.
    pub(super) fn stage_leaves(&mut self, at: usize, number: usize) {
        let (job, life) = (self.jobs[number].clone(), self.masters[at].life);
        for link in 0..self.links.all.len() {
            let known = &self.links.all[link];
            let is_its = known.master == at && known.master_life == life && known.job == Some(number);
            if is_its && !known.broken && !known.is_closing {
                self.stream_ends(link);
            }
        }
        self.dispatches(at, |dispatcher, now, out| dispatcher.leave(now, &job.id, out));
    }

    /// Nothing is left to do for a job. Alone it ends the history; beside others it listens to the last of its workers, and
    /// its lead is given back.
    pub(super) fn job_settled(&mut self, at: usize, job: usize, given_up: Vec<(u32, u32)>) {
        if !self.is_shared() {
            self.over[job] = Some(given_up);
            return;
        }
        let now = self.now;
        let run = &mut self.masters[at].jobs[job];
        let since = *run.settled.get_or_insert(now);
        let has_heard_all = self.masters[at].led_job(job).is_some_and(|led| led.leader.has_heard_all());
        if !has_heard_all && now < since + LAST_REPORTS_MS {
            return;
        }
        self.oracle.note(now, || format!("m{at} ends job {job}"));
        if self.over.iter().all(Option::is_none) {
            self.oracle.saw("a job ended while others went on");
        }
        self.over[job].get_or_insert(given_up);
        self.resigns(at, Led::Job(job));
        self.job_stops(at, job);
    }
}
