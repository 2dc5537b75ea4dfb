//! One pool: keeps as many jobs of one launcher alive as it is told, and ends them all with the run.

use super::error::LaunchError;
use super::job_table::{Count, JobEvent, JobTable};
use super::launch_event::LaunchEvent;
use super::launcher::{JobOutcome, JobState, Launched, Launcher, LauncherJobId, LauncherPolicy};
use super::log_follower::LogFollower;
use super::{emergency_cleanup, scaler::PoolState};
use compass_common::status_output::print_status;
use compass_common::words::counted;
use compass_scheduler::PoolChoice;
use compass_types::ids::WorkerId;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Questions in a row that a launcher may leave unanswered until it is said.
const MAX_UNANSWERED: u32 = 5;

/// Looks after a submission that failed, until it is believed that nothing came of it: a cluster may take jobs without having
/// answered in time.
const DOUBTFUL_LOOKS: u32 = 3;

/// Longest wait for the log of a job that has ended, at the end of its pool.
const LATE_LOG: Duration = Duration::from_secs(2);

/// Kind of a pool's jobs, and the bounds of their number.
#[derive(Clone, Debug, Default)]
pub struct PoolSpec {
    pub name: String,
    /// The launcher's name in configurations.
    pub kind: &'static str,
    /// GPUs of one job.
    pub gpus: u32,
    /// Replica slots of one job.
    pub slots: u32,
    /// Jobs that stay while the run lasts.
    pub least: u32,
    /// Jobs at most.
    pub most: u32,
    /// Launches in a row that may fail after a first one; `None` leaves it to the launcher.
    pub retry: Option<u32>,
    /// Set if the output of its jobs goes to the terminal too.
    pub shows_logs: bool,
}

impl PoolSpec {
    /// Returns whether its workers may do what can be done in these pools.
    pub(super) fn takes(&self, choice: &PoolChoice) -> bool {
        choice.as_ref().is_none_or(|pools| pools.contains(&self.name))
    }
}

/// A pool that has launched nothing yet.
pub struct Pool {
    pub spec: PoolSpec,
    pub launcher: Box<dyn Launcher>,
}

/// State of a pool.
#[derive(Clone, Debug, Default)]
pub struct PoolReport {
    pub name: String,
    pub kind: &'static str,
    /// Jobs that it is to have.
    pub target: u32,
    pub count: Count,
    /// The names of its agents.
    pub workers: BTreeSet<WorkerId>,
    /// The latest failure, while failures go on.
    pub trouble: Option<String>,
    /// For how long nothing is launched after it, in milliseconds.
    pub pause_left: u64,
    /// Reason why nothing more will be launched.
    pub given_up: Option<String>,
    /// Reason why the launcher does not tell the states of jobs, when it does not.
    pub status_error: Option<String>,
}

/// Instructions to a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ScaleTarget {
    /// Jobs that it is to have.
    pub(super) target: u32,
    /// Workers that have nothing to do any more.
    pub(super) retire: BTreeSet<WorkerId>,
    /// Workers that are connected.
    pub(super) connected: BTreeSet<WorkerId>,
    /// Connected workers from which samples were recorded.
    pub(super) recorded: BTreeSet<WorkerId>,
    /// Set if there is anything that its workers could do.
    pub(super) has_work: bool,
}

/// Channels through which a pool's task communicates.
pub(super) struct PoolChannels {
    pub(super) targets: watch::Receiver<ScaleTarget>,
    pub(super) report: watch::Sender<PoolReport>,
    pub(super) events: mpsc::Sender<LaunchEvent>,
    pub(super) stop: CancellationToken,
}

struct Running {
    spec: PoolSpec,
    launcher: Box<dyn Launcher>,
    job_table: JobTable,
    began: Instant,
    unanswered: u32,
    /// Looks that are left until nothing more is expected of a submission that failed, or of an earlier master.
    doubtful_looks: u32,
    has_work: bool,
    status_error: Option<String>,
    logs: LogFollower,
    /// Jobs that ended without a request: their logs tell why, and a shared file system may show them late.
    awaited_logs: BTreeSet<LauncherJobId>,
    report: watch::Sender<PoolReport>,
    events: mpsc::Sender<LaunchEvent>,
}

impl Pool {
    /// Runs until `stop` is cancelled and every job has ended, or was waited for long enough.
    pub(super) async fn run(self, channels: PoolChannels) {
        let PoolChannels { mut targets, report, events, stop } = channels;
        let policy = self.launcher.policy();
        let failures = self.spec.retry.map_or(policy.failures, |retry| retry.saturating_add(1));
        let job_table = JobTable::new(LauncherPolicy { failures, ..policy });
        let mut pool = Running {
            spec: self.spec,
            launcher: self.launcher,
            job_table,
            began: Instant::now(),
            unanswered: 0,
            doubtful_looks: 0,
            has_work: false,
            status_error: None,
            logs: LogFollower::default(),
            awaited_logs: BTreeSet::new(),
            report,
            events,
        };
        pool.adopt().await;
        let mut tick = tokio::time::interval(pool.launcher.policy().poll);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // Nothing is begun that the end of the run has to wait for longer than for one command of the launcher.
        while !stop.is_cancelled() {
            tokio::select! {
                () = stop.cancelled() => break,
                changed = targets.changed() => if changed.is_err() { break },
                _ = tick.tick() => {
                    pool.poll().await;
                    pool.show_logs();
                }
            }
            let order = targets.borrow_and_update().clone();
            pool.follow(&order).await;
            pool.tell(order.target);
        }
        pool.end().await;
        pool.show_rest_of_logs().await;
        pool.tell(0);
    }
}

impl Running {
    fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    /// Jobs were launched or taken over: they are counted, and their logs are followed from now on, if they are to be shown:
    /// a job may have ended before it is looked at.
    fn launched(&mut self, launched: Vec<Launched>) {
        if self.spec.shows_logs {
            for Launched { job, .. } in &launched {
                if let Some(path) = self.launcher.log_file(job) {
                    self.logs.follow(job.clone(), path);
                }
            }
        }
        self.job_table.launched(self.now(), launched);
    }

    /// Prints what the logs of the jobs have gained, those that have ended included.
    fn show_logs(&mut self) {
        for (job, line) in self.logs.new_lines() {
            print_status(format!("{} {job} | {line}", self.spec.kind));
        }
    }

    /// Prints what is left in the logs once all jobs have ended. The log of a job that ended by itself may take a moment to
    /// be seen here.
    async fn show_rest_of_logs(&mut self) {
        let begun = Instant::now();
        while self.spec.shows_logs
            && self.awaited_logs.iter().any(|job| self.logs.is_unseen(job))
            && begun.elapsed() < LATE_LOG
        {
            tokio::time::sleep(LATE_LOG / 20).await;
            self.show_logs();
        }
        self.show_logs();
        for (job, line) in self.logs.unfinished_lines() {
            print_status(format!("{} {job} | {line}", self.spec.kind));
        }
    }

    async fn adopt(&mut self) {
        match self.launcher.adopt().await {
            Ok(launched) => {
                if !launched.is_empty() {
                    let (verb, count) = (if launched.len() == 1 { "goes" } else { "go" }, launched.len() as u64);
                    let jobs = counted(count, "job");
                    print_status(format!("pool {}: {jobs} of an earlier master {verb} on", self.spec.name));
                }
                self.launched(launched);
            }
            Err(error) => {
                tracing::warn!(pool = self.spec.name, "cannot look for earlier jobs: {}", error.sentence());
                // They count against the bound: nothing is submitted before it is known whether they are there.
                if !error.is_final() {
                    self.doubtful_looks = DOUBTFUL_LOOKS;
                }
            }
        }
        self.remember();
    }

    async fn poll(&mut self) {
        if self.is_empty() {
            return;
        }
        match self.launcher.poll().await {
            Ok(standings) => {
                (self.unanswered, self.status_error) = (0, None);
                let happened = self.seen(standings);
                self.announce(&happened);
                for happened in happened {
                    self.heed(happened).await;
                }
                for job in self.job_table.jobs() {
                    if let Some(worker) = self.launcher.worker_of(&job) {
                        self.job_table.renamed(&job, worker);
                    }
                }
            }
            Err(error) => {
                self.unanswered += 1;
                if self.unanswered == MAX_UNANSWERED {
                    tracing::warn!(pool = self.spec.name, "{}", error.sentence());
                }
                self.status_error = (self.unanswered >= MAX_UNANSWERED).then(|| error.sentence());
                // Nothing is launched while nothing is seen, which must end as other failures do.
                if self.job_table.live() == 0 && self.unanswered.is_multiple_of(MAX_UNANSWERED) {
                    self.job_table.refused(self.now(), error.sentence(), false);
                }
            }
        }
    }

    /// Returns whether no job is there, nor expected of a submission that failed.
    fn is_empty(&self) -> bool {
        self.job_table.live() == 0 && self.doubtful_looks == 0
    }

    /// Takes in where the jobs stand. Those that a submission left which seemed to fail are adopted.
    fn seen(&mut self, standings: Vec<(LauncherJobId, JobState)>) -> Vec<JobEvent> {
        self.doubtful_looks = self.doubtful_looks.saturating_sub(1);
        let unknown = self.job_table.unknown(&standings).into_iter();
        let found: Vec<Launched> =
            unknown.filter_map(|job| Some(Launched { worker: self.launcher.worker_of(&job)?, job })).collect();
        if !found.is_empty() {
            let jobs = counted(found.len() as u64, "job");
            print_status(format!(
                "pool {}: {jobs} found in the queue, of a submission that seemed to fail or of an earlier master",
                self.spec.name
            ));
            self.launched(found);
            self.remember();
        }
        self.job_table.polled(self.now(), standings, self.has_work)
    }

    /// Reports what happened without a request; of many jobs that fare alike, once. What a cluster does as a matter of course
    /// is no warning.
    fn announce(&self, happened: &[JobEvent]) {
        let mut ended: BTreeMap<(String, bool), Vec<&LauncherJobId>> = BTreeMap::new();
        let mut requeued: Vec<&WorkerId> = Vec::new();
        for happened in happened {
            match happened {
                JobEvent::Ended { job, outcome, asked: false, .. } => {
                    ended.entry((outcome.to_string(), outcome.is_expected())).or_default().push(job);
                }
                JobEvent::Requeued { worker } => requeued.push(worker),
                _ => {}
            }
        }
        let pool = &self.spec.name;
        for ((outcome, is_expected), jobs) in ended {
            let log = jobs.first().and_then(|job| self.launcher.log(job));
            let ended = ended_in_words(self.spec.kind, &jobs, &outcome, log.as_deref());
            match is_expected {
                true => print_status(format!("pool {pool}: {ended}; others take over")),
                false => tracing::warn!(pool, "{ended}"),
            }
        }
        if let Some(first) = requeued.first() {
            let which = match requeued.len() {
                1 => "a job was".to_owned(),
                count => format!("{count} jobs were"),
            };
            print_status(format!("pool {pool}: {which} preempted or lost a node, and will run again ({})", first.0));
        }
    }

    async fn heed(&mut self, happened: JobEvent) {
        let pool = &self.spec.name;
        match happened {
            JobEvent::Ended { job, worker, outcome, asked } => {
                if !asked && self.spec.shows_logs {
                    self.awaited_logs.insert(job);
                }
                let is_expected = outcome.is_expected() && outcome != JobOutcome::Done;
                let is_death = !asked && !is_expected;
                let _ = self.events.send(LaunchEvent::Exited { worker, is_death }).await;
            }
            JobEvent::Requeued { worker } => {
                let _ = self.events.send(LaunchEvent::Exited { worker, is_death: false }).await;
            }
            JobEvent::Held { job, reason } => {
                tracing::warn!(pool, %job, reason, "a job is held and will not run; another takes its place");
                self.cancel(vec![job]).await;
            }
            JobEvent::NeverConnected { job, worker } => {
                self.job_table.never_connected(self.now(), &job);
                let log = self.launcher.log(&job).map(|log| format!("; its log tells why: {log}")).unwrap_or_default();
                tracing::warn!(pool, %job, worker = worker.0, "a job runs whose worker never reached this master{log}");
                self.cancel(vec![job]).await;
            }
        }
    }

    async fn follow(&mut self, order: &ScaleTarget) {
        self.job_table.connected(&order.connected);
        self.job_table.recorded(&order.recorded);
        self.has_work = order.has_work;
        let idle = self.job_table.of_workers(&order.retire);
        self.cancel(idle).await;
        self.cancel(self.job_table.beyond(self.spec.most)).await;
        let live = self.job_table.live();
        if live > order.target {
            let surplus = self.job_table.latest_queued(live - order.target);
            self.cancel(surplus).await;
        } else if live < order.target
            && self.doubtful_looks == 0
            && self.job_table.pause_left(self.now()) == 0
            && self.job_table.given_up().is_none()
        {
            self.submit(order.target - live).await;
        }
    }

    async fn submit(&mut self, jobs: u32) {
        match self.launcher.submit(jobs).await {
            Ok(launched) => self.launched(launched),
            Err(error) => {
                let sentence = error.sentence();
                if self.job_table.trouble() != Some(&sentence) {
                    tracing::warn!(pool = self.spec.name, "cannot launch a worker: {sentence}");
                }
                if !error.is_final() {
                    self.doubtful_looks = DOUBTFUL_LOOKS;
                }
                self.job_table.refused(self.now(), sentence, error.is_final());
            }
        }
        self.remember();
    }

    async fn cancel(&mut self, jobs: Vec<LauncherJobId>) {
        if jobs.is_empty() {
            return;
        }
        match self.launcher.cancel(jobs.clone()).await {
            Ok(()) => self.job_table.ending(&jobs),
            Err(error) => tracing::warn!(pool = self.spec.name, "cannot end jobs: {}", error.sentence()),
        }
    }

    /// Ends every job, and waits until none is left.
    async fn end(&mut self) {
        let mut trouble: Option<LaunchError> = None;
        let grace = self.launcher.policy().grace;
        let _ = tokio::time::timeout(grace, self.end_jobs(&mut trouble)).await;
        let why = trouble.map(|error| format!(" ({})", error.sentence())).unwrap_or_default();
        let left: Vec<String> = self.job_table.jobs().iter().map(ToString::to_string).collect();
        let pool = &self.spec.name;
        if !left.is_empty() {
            print_status(format!("pool {pool}: these jobs may be left behind{why}: {}", left.join(" ")));
        } else if !self.is_empty() {
            print_status(format!("pool {pool}: jobs of a submission that failed may be left behind{why}"));
        }
        emergency_cleanup::forget(pool);
    }

    async fn end_jobs(&mut self, trouble: &mut Option<LaunchError>) {
        let policy = self.launcher.policy();
        while !self.is_empty() {
            let jobs = self.job_table.staying();
            if !jobs.is_empty() {
                match self.launcher.cancel(jobs.clone()).await {
                    Ok(()) => self.job_table.ending(&jobs),
                    Err(error) => *trouble = Some(error),
                }
            }
            match self.launcher.poll().await {
                Ok(standings) => {
                    self.seen(standings);
                }
                Err(error) => *trouble = Some(error),
            }
            if !self.is_empty() {
                tokio::time::sleep(policy.ending).await;
            }
        }
    }

    /// Stores what is to be done should this process be ended without asking.
    fn remember(&self) {
        emergency_cleanup::remember(&self.spec.name, self.launcher.emergency_cleanup(&self.job_table.jobs()));
    }

    fn tell(&self, target: u32) {
        let now = self.now();
        self.report.send_replace(PoolReport {
            name: self.spec.name.clone(),
            kind: self.spec.kind,
            target,
            count: self.job_table.count(now),
            workers: self.job_table.workers(),
            trouble: self.job_table.trouble().map(str::to_owned),
            pause_left: self.job_table.pause_left(now),
            given_up: self.job_table.given_up().map(str::to_owned),
            status_error: self.status_error.clone(),
        });
    }
}

/// Describes what has ended, why, and where the log is. A job of a launcher on this host is called a process.
pub(super) fn ended_in_words(kind: &str, jobs: &[&LauncherJobId], outcome: &str, log: Option<&str>) -> String {
    let (one, many) = match kind {
        "local" => ("worker process", "worker processes"),
        "command" => ("process", "processes"),
        _ => ("job", "jobs"),
    };
    let first = jobs.first().map(ToString::to_string).unwrap_or_default();
    let (which, whose) = match jobs.len() {
        0 | 1 => (format!("{one} {first}"), "its log"),
        count => (format!("{count} {many}"), "the log of the first"),
    };
    let log = match log {
        Some(log) if jobs.len() > 1 => format!(" ({whose}, {one} {first}: {log})"),
        Some(log) => format!(" ({whose}: {log})"),
        None => String::new(),
    };
    format!("{which} ended: {outcome}{log}")
}

impl PoolReport {
    /// The same, with who is connected by now: what a pool said last lags behind that.
    #[must_use]
    pub fn knowing(mut self, is_connected: impl Fn(&WorkerId) -> bool) -> Self {
        let here = self.workers.iter().filter(|worker| is_connected(worker)).count() as u32;
        self.count.reported = self.count.reported.max(here.min(self.live()));
        self
    }

    /// Jobs that wait or run.
    pub fn live(&self) -> u32 {
        self.count.queued + self.count.running
    }

    /// Returns the autoscaler's knowledge of a pool; `wanted` are open tasks that it could take.
    pub(super) fn state(&self, spec: &PoolSpec, wanted: u32) -> PoolState {
        PoolState {
            gpus: spec.gpus,
            slots: spec.slots,
            least: spec.least,
            most: spec.most,
            live: self.live(),
            running: self.count.running,
            ordered: self.target,
            paused: self.pause_left > 0 || self.given_up.is_some(),
            stuck: false,
            wanted,
        }
    }
}
