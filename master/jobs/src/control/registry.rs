//! The registry answers commands: it holds the jobs of this process, and the backend that may take in new ones.

use super::job_view::JobView;
use super::shortage::{Supply, in_words};
use super::status::{JobStatus, MasterStatus};
use crate::job::{Ended, JobRecord, SlotBound, why_it_ended};
use compass_common::job_log::JobLog;
use compass_common::words::{counted, grouped};
use compass_diagnostic::Diagnostics;
use compass_planning::SpeedStore;
use compass_progress::RunView;
use compass_run::{JobCommand, JobHandle, JobReasons};
use compass_scheduler::Shortage;
use compass_scheduler::broker::{FairShare, JobId};
use compass_store::LeadershipStatus;
use compass_types::ids::{Digest, TaskId, WorkerId};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Longest wait for schedulers that are asked what their jobs are short of.
const REASONS: Duration = Duration::from_secs(1);

/// A job, as far as commands are concerned.
#[derive(Clone, Debug)]
pub struct JobEntry {
    pub id: JobId,
    pub plan: Digest,
    pub folder: PathBuf,
    pub priority: u32,
    pub submitted: String,
    /// Key that tells its submission from others of the same plan.
    pub key: Option<String>,
    pub max_slots: Option<SlotBound>,
    pub job_handle: JobHandle,
    /// Log of the job's messages; `None` where they go to a terminal.
    pub job_log: Option<Arc<JobLog>>,
    pub ended: watch::Receiver<Option<Ended>>,
}

impl JobEntry {
    /// Creates the entry of a job of which only the plan and the run folder are known.
    pub fn new(plan: Digest, folder: PathBuf) -> Self {
        Self {
            id: JobId::of(&plan),
            plan,
            folder,
            priority: 1,
            submitted: String::new(),
            key: None,
            max_slots: None,
            job_handle: JobHandle::default(),
            job_log: None,
            ended: watch::channel(None).1,
        }
    }

    /// Returns the job as it is now; `shares` are the slots of each job of a server.
    fn view(&self, shares: Option<&BTreeMap<JobId, FairShare>>) -> JobView {
        let (doing, mut run) = self.job_handle.view();
        let (ended, cancelled) = (self.ended.borrow().clone(), self.job_handle.cancelled());
        let stands_by = self.job_handle.stands_by().filter(|_| ended.is_none());
        let state = match (&ended, &stands_by) {
            (Some(_), _) => "ended",
            (None, Some(_)) => "standby",
            (None, None) if doing.is_empty() => "opening",
            (None, None) => doing,
        };
        if cancelled.is_some() {
            // Samples that are not wanted any more have not failed.
            run.failed_samples = run.failed_samples.saturating_sub(run.given_up_samples);
        }
        if let Some(ended) = &ended {
            (run.recorded_samples, run.expected_samples) = (ended.recorded_samples, ended.expected_samples);
            (run.failed_tasks, run.slots) = (ended.failed_tasks, 0);
            run.workers.iter_mut().for_each(|worker| worker.connected = false);
        }
        JobView {
            job: self.id.0.clone(),
            plan: self.plan.to_string(),
            folder: self.folder.clone(),
            state,
            priority: self.priority,
            submitted: self.submitted.clone(),
            share: shares.map(|shares| shares.get(&self.id).map_or(0, |share| share.slots)),
            max_slots: self.max_slots.clone(),
            stands_by,
            cancelled,
            ended,
            run,
        }
    }
}

/// A job that was taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub job: JobId,
    pub folder: PathBuf,
    /// Set if it ran already.
    pub attached: bool,
}

/// Reason why a job is not taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declined {
    /// Another time it may be.
    Now(Diagnostics),
    /// As it is, this server can never run it.
    Ever(Diagnostics),
}

/// A master that stays.
#[tonic::async_trait]
pub trait ServerBackend: Debug + Send + Sync {
    /// Takes a job in, durably; a job that runs already is not run twice.
    async fn submit(&self, job: JobRecord) -> Result<Accepted, Declined>;

    /// Remembers durably that a job is cancelled.
    async fn cancel(&self, job: &JobId, reason: &str) -> Result<(), Diagnostics>;

    /// Slots of each job.
    fn shares(&self) -> BTreeMap<JobId, FairShare>;

    /// Workers without a job.
    fn idle_workers(&self) -> Vec<WorkerId>;

    /// Slots of the workers that are connected, at work or not.
    fn connected_slots(&self) -> u32;

    /// Store of the speeds of its runs.
    fn speeds(&self) -> SpeedStore;

    /// Most slots that all jobs together may have of the workers that it launches.
    fn bound(&self) -> Option<SlotBound>;

    /// Its pools whose workers it does not launch.
    fn pools_to_join(&self) -> Vec<String>;

    /// Returns the reasons that keep workers from starting.
    fn notes(&self) -> Vec<String>;

    /// Returns how sure this master may be of its lead, and of its store.
    fn status(&self) -> LeadershipStatus;
}

/// Jobs of this process, and the backend that accepts new ones.
#[derive(Debug, Default)]
pub struct JobRegistry {
    backend: OnceLock<Arc<dyn ServerBackend>>,
    workers_at: OnceLock<String>,
    /// Since when the only job is planned, while it is.
    planning_since: Option<String>,
    /// The server that leads while this one stands by, in words.
    stands_by: Option<String>,
    jobs: Mutex<BTreeMap<JobId, JobEntry>>,
}

/// A question that cannot be answered, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownJob(pub String);

impl JobRegistry {
    /// Creates the registry of a master whose job is not planned yet, since that time.
    pub fn planning(since: String) -> Self {
        Self { planning_since: Some(since), ..Self::default() }
    }

    /// Creates the registry of a server on standby; `for_whom` says in words which other server leads.
    pub fn standing_by(for_whom: String) -> Self {
        Self { stands_by: Some(for_whom), ..Self::default() }
    }

    /// Sets the address where workers dial, once the ports are open; called once.
    pub fn opened_at(&self, workers_at: String) {
        // Ports that are opened again have the same address.
        let _ = self.workers_at.set(workers_at);
    }

    /// Sets the backend that takes in jobs, and the address where workers dial; called once.
    pub fn governed_by(&self, backend: impl ServerBackend + 'static, workers_at: String) {
        // A second time would be another server in the same process.
        let _ = (self.backend.set(Arc::new(backend)), self.workers_at.set(workers_at));
    }

    /// Returns the backend that takes in jobs, where there is one.
    pub fn backend(&self) -> Option<&Arc<dyn ServerBackend>> {
        self.backend.get()
    }

    fn jobs<T>(&self, act: impl FnOnce(&mut BTreeMap<JobId, JobEntry>) -> T) -> T {
        act(&mut self.jobs.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A job comes, or begins again.
    pub fn add(&self, entry: JobEntry) {
        self.jobs(|jobs| drop(jobs.insert(entry.id.clone(), entry)));
    }

    /// Forgets the jobs that have ended, except for the `most` that ended last; returns those forgotten. One that ran for long
    /// among many short ones has just ended, however early it was submitted: a client that waits for it must find it.
    pub fn forget_ended(&self, most: usize) -> Vec<JobId> {
        self.jobs(|jobs| {
            let ended_at = |job: &JobEntry| job.ended.borrow().as_ref().map(|ended| ended.at.clone());
            let ended = jobs.values().filter_map(|job| Some((ended_at(job)?, job.submitted.clone(), job.id.clone())));
            let mut ended: Vec<(String, String, JobId)> = ended.collect();
            ended.sort_unstable();
            ended.truncate(ended.len().saturating_sub(most));
            let forgotten: Vec<JobId> = ended.into_iter().map(|(_, _, id)| id).collect();
            forgotten.iter().for_each(|id| drop(jobs.remove(id)));
            forgotten
        })
    }

    /// The job of a plan, unless it has ended.
    pub fn find(&self, plan: &Digest) -> Option<JobEntry> {
        self.jobs(|jobs| jobs.values().find(|job| job.plan == *plan && job.ended.borrow().is_none()).cloned())
    }

    /// The job that was submitted under this key, unless its host ended it: it has ended, or will.
    pub fn keyed(&self, key: &str) -> Option<JobEntry> {
        let goes_on = |job: &JobEntry| job.ended.borrow().as_ref().is_none_or(|ended| !ended.is_resumable());
        let is_keyed = |job: &&JobEntry| job.key.as_deref() == Some(key) && goes_on(job);
        self.jobs(|jobs| jobs.values().find(is_keyed).cloned())
    }

    /// The job of this name: its id or the beginning of it, its plan, or its run.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn job(&self, name: &str) -> Result<JobEntry, UnknownJob> {
        self.jobs(|jobs| {
            let is_run = |job: &JobEntry| job.folder.file_name().is_some_and(|run| run.to_string_lossy() == name);
            let named = |job: &&JobEntry| job.id.0.starts_with(name) || is_run(job) || job.plan.to_string() == name;
            let mut found = jobs.values().filter(|job| !name.is_empty() && named(job));
            match (found.next(), found.next()) {
                (Some(job), None) => Ok(job.clone()),
                (None, _) => Err(UnknownJob(format!("there is no job `{name}`"))),
                (Some(_), Some(_)) => Err(UnknownJob(format!("`{name}` may be several jobs; write more of its id"))),
            }
        })
    }

    /// The folders in which the runs of all jobs lie.
    pub fn work_dirs(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> =
            self.jobs(|jobs| jobs.values().filter_map(|job| Some(job.folder.parent()?.to_owned())).collect());
        folders.sort();
        folders.dedup();
        folders
    }

    /// Returns the jobs that have not ended.
    pub fn views(&self) -> Vec<JobView> {
        let open = |job: &&JobEntry| job.ended.borrow().is_none();
        self.jobs(|jobs| jobs.values().filter(open).map(|job| job.view(None)).collect())
    }

    /// Returns the content of a job's page: beside the reasons of its stage, it has the reasons that lie in how slots are shared out.
    pub fn job_view(&self, job: &JobEntry) -> JobView {
        let mut view = job.view(self.backend().map(|backend| backend.shares()).as_ref());
        view.complete();
        if view.is_running() && view.run.waiting_tasks() > 0 {
            // How the pools stand is a list of its own.
            let reasons = JobReasons { shortage: view.run.shortage.clone(), ..JobReasons::default() };
            let mut waits: Vec<String> = self.shortage(job, &reasons).into_iter().collect();
            waits.append(&mut view.run.waits);
            waits.extend(self.waits_of_shares(job, &view.run));
            view.run.waits = waits;
        } else {
            view.run.waits.clear();
        }
        view
    }

    /// The view of the only job that has not ended, where there is one.
    pub fn only_job(&self) -> Option<JobView> {
        let mut open = self.jobs(|jobs| {
            let open = jobs.values().filter(|job| job.ended.borrow().is_none()).take(2);
            open.cloned().collect::<Vec<JobEntry>>()
        });
        let only = open.pop().filter(|_| open.is_empty())?;
        Some(self.job_view(&only))
    }

    /// Describes the slots that a server gives to a job; empty where the job is the only one of its master.
    fn waits_of_shares(&self, job: &JobEntry, view: &RunView) -> Vec<String> {
        let Some(backend) = self.backend() else { return Vec::new() };
        let idle = backend.idle_workers().len();
        let mut lines = shares_in_words(&job.id, job, &backend.shares(), idle);
        lines.extend(backend.notes());
        let needed = match &view.shortage {
            Some(Shortage::Workers { pools, .. }) => pools.as_slice(),
            _ => &[],
        };
        let joined = backend.pools_to_join().into_iter().find(|pool| needed.contains(pool));
        match (self.workers_at.get(), joined) {
            (Some(address), Some(pool)) => lines.push(format!(
                "workers of pool {pool} are not launched; start one: compass-worker --master {address} --pool {pool}"
            )),
            (Some(address), None) if view.slots == 0 && idle == 0 => {
                lines.push(format!("workers can be added at any time: compass-worker --master {address}"));
            }
            _ => {}
        }
        lines
    }

    /// For how long the most silent scheduler has not shown itself, if one runs, and the worst that is known of a lead.
    pub fn pulse(&self) -> (Option<Duration>, LeadershipStatus) {
        let pulses: Vec<_> = self.jobs(|jobs| jobs.values().filter_map(|job| job.job_handle.pulse()).collect());
        let silent_for = pulses.iter().map(|pulse| pulse.silent_for).max();
        let own = self.backend().map(|backend| backend.status());
        let rank = |status: &LeadershipStatus| match status {
            LeadershipStatus::Sure => 0,
            LeadershipStatus::Waiting { .. } => 1,
            LeadershipStatus::Lost => 2,
        };
        let worst = pulses.into_iter().map(|pulse| pulse.status).chain(own).max_by_key(rank);
        (silent_for, worst.unwrap_or(LeadershipStatus::Sure))
    }

    /// As [`Self::status`], with what each running job is short of, as far as its scheduler says so at once.
    pub async fn status_with_shortages(&self) -> MasterStatus {
        let mut status = self.status();
        let entries: BTreeMap<String, JobEntry> =
            self.jobs(|jobs| jobs.iter().map(|(id, job)| (id.0.clone(), job.clone())).collect());
        let deadline = tokio::time::Instant::now() + REASONS;
        for job in status.jobs.iter_mut().filter(|job| job.is_at_work()) {
            let Some(entry) = entries.get(&job.job) else { continue };
            let asked = tokio::time::timeout_at(deadline, entry.job_handle.ask(JobCommand::Job)).await;
            let Ok(Some(reasons)) = asked else { continue };
            job.shortage = self.shortage(entry, &reasons);
        }
        status
    }

    /// Describes in one sentence what a job is short of.
    fn shortage(&self, job: &JobEntry, reasons: &JobReasons) -> Option<String> {
        Some(in_words(reasons.shortage.as_ref()?, &self.supply(job, reasons.launchers.clone())))
    }

    /// Returns whether a job has nothing because every slot of the server works for other jobs.
    pub(super) fn waits_for_turn(&self, job: &JobEntry) -> bool {
        self.backend().is_some() && self.supply(job, Vec::new()).waits_for_turn()
    }

    /// Returns the possible sources of a job's slots; `launchers` describes the pools that have not brought what they should.
    fn supply(&self, job: &JobEntry, launchers: Vec<String>) -> Supply {
        let shares = self.backend().map(|backend| backend.shares());
        let others = shares.iter().flatten().filter(|(other, _)| **other != job.id);
        let rivals: Vec<(&JobId, u32)> = others.map(|(other, share)| (other, share.slots)).collect();
        let ahead = rivals.iter().filter(|(_, slots)| *slots > 0);
        Supply {
            bound: job.max_slots.clone(),
            share: shares.as_ref().and_then(|shares| shares.get(&job.id)).map(|share| share.slots),
            has_rivals: !rivals.is_empty(),
            ahead: ahead.map(|(other, _)| other.0.clone()).collect(),
            taken: rivals.iter().map(|(_, slots)| slots).sum(),
            server: self.backend().and_then(|backend| backend.bound()),
            launchers,
        }
    }

    /// Returns the state of the master, its jobs and its workers.
    pub fn status(&self) -> MasterStatus {
        let shares = self.backend().map(|backend| backend.shares());
        let mut jobs: Vec<JobStatus> =
            self.jobs(|jobs| jobs.values().map(|job| job.view(shares.as_ref()).into()).collect());
        jobs.sort_by(|a, b| {
            (a.exit_code.is_some(), &a.submitted, &a.job).cmp(&(b.exit_code.is_some(), &b.submitted, &b.job))
        });
        MasterStatus {
            kind: if self.backend().is_some() || self.stands_by.is_some() { "serve" } else { "run" }.into(),
            stands_by: self.stands_by.clone(),
            planning_since: self.planning_since.clone(),
            process: std::process::id(),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            workers_at: self.workers_at.get().cloned().unwrap_or_default(),
            idle_workers: self.backend().map_or(0, |backend| backend.idle_workers().len() as u32),
            slots: self.backend().map_or(0, |backend| backend.connected_slots()),
            notes: self.backend().map(|backend| backend.notes()).unwrap_or_default(),
            jobs,
        }
    }

    /// Explains why nothing more of a job is running.
    pub async fn explain_job(&self, job: &JobEntry) -> Vec<String> {
        let id = &job.id;
        if let Some(ended) = &*job.ended.borrow() {
            let mut lines = vec![format!("job {id} ended at {} with exit code {}", ended.at, ended.exit_code)];
            lines.extend(cancelled_in_words(job));
            lines.extend(why_it_ended(ended.reason.clone(), ended.help.clone()).map(|why| why.to_string()));
            return lines;
        }
        let (doing, view) = job.job_handle.view();
        let mut lines = vec![format!(
            "job {id} ({}): {} of {} samples",
            if doing.is_empty() { "opening" } else { doing },
            grouped(view.recorded_samples),
            grouped(view.expected_samples)
        )];
        lines.extend(cancelled_in_words(job));
        if let Some(stands_by) = job.job_handle.stands_by() {
            lines.push(format!("stands by: {stands_by}"));
            return lines;
        }
        match job.job_handle.ask(JobCommand::Job).await {
            Some(reasons) => {
                lines.extend(self.shortage(job, &reasons));
                lines.extend(reasons.lines);
            }
            None => lines.push("no stage is running: nothing can be granted now".into()),
        }
        // What is said already is not said again.
        let add = |lines: &mut Vec<String>, more: Vec<String>| {
            for line in more {
                if !lines.iter().any(|said| said.contains(&line)) {
                    lines.push(line);
                }
            }
        };
        add(&mut lines, view.pools.clone());
        add(&mut lines, self.waits_of_shares(job, &view));
        lines
    }

    /// Describes the state of a task of a job.
    pub async fn explain_task(&self, job: &JobEntry, task: TaskId) -> Result<String, UnknownJob> {
        let answer = job.job_handle.ask(|reply| JobCommand::Task(task, reply)).await;
        let answer = answer.ok_or_else(|| UnknownJob(format!("job {} runs no tasks now", job.id)))?;
        answer.ok_or_else(|| UnknownJob(format!("job {} has no task {task}", job.id)))
    }

    /// Describes the work of a worker, for whichever job.
    pub async fn explain_worker(&self, name: &str) -> Result<Vec<String>, UnknownJob> {
        let worker = WorkerId(name.to_owned());
        let jobs: Vec<JobEntry> = self.jobs(|jobs| jobs.values().cloned().collect());
        let mut lines = Vec::new();
        let mut known = Vec::new();
        for job in jobs {
            known.extend(job.job_handle.view().1.workers.into_iter().map(|worker| worker.name));
            if let Some(Some(line)) = job.job_handle.ask(|reply| JobCommand::Worker(worker.clone(), reply)).await {
                lines.push(format!("job {}: {line}", job.id));
            }
        }
        if !lines.is_empty() {
            return Ok(lines);
        }
        if self.backend().is_some_and(|backend| backend.idle_workers().contains(&worker)) {
            return Ok(vec![format!("worker {name} idle: no running job has work it can execute")]);
        }
        known.sort();
        known.dedup();
        if known.iter().any(|known| known == name) {
            return Ok(vec![format!("worker {name} is with no job now")]);
        }
        let known =
            if known.is_empty() { "none has come yet".to_owned() } else { format!("known: {}", known.join(", ")) };
        Err(UnknownJob(format!("there is no worker `{name}`; {known}")))
    }
}

/// Returns the reason why it was cancelled, if it was.
fn cancelled_in_words(job: &JobEntry) -> Option<String> {
    job.job_handle.cancelled().map(|reason| format!("cancelled: {reason}"))
}

fn shares_in_words(id: &JobId, job: &JobEntry, shares: &BTreeMap<JobId, FairShare>, idle: usize) -> Vec<String> {
    let Some(own) = shares.get(id) else { return Vec::new() };
    let others = shares.iter().filter(|(other, _)| *other != id);
    let others: Vec<String> =
        others.map(|(other, share)| format!("{other} has {} (priority {})", share.slots, share.weight)).collect();
    let mut line = format!("its share is {} (priority {})", counted(own.slots, "slot"), own.weight);
    if let Some(bound) = &job.max_slots {
        line += &format!(", at most {} ({})", bound.slots, bound.by);
    }
    if !others.is_empty() {
        line += &format!("; of the other jobs {}", others.join(", "));
    }
    let mut lines = vec![line];
    if idle > 0 {
        lines.push(match idle {
            1 => "1 worker is idle: no running job has work that it can execute".to_owned(),
            _ => format!("{idle} workers are idle: no running job has work that they can execute"),
        });
    }
    lines
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
