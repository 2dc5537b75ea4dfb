//! The jobs of one pool, and what is to be thought of those that ended. Pure: times are milliseconds that never go back.
//!
//! Preemption, a broken node, an expired wall time and a cancellation by hand are no failures: they never pause a pool. A
//! worker that was told to end is none either, but whatever told it may tell the next one as soon: that one has to wait for
//! the first pause. A job that ends early for any other reason is a failure; pauses double with each in a row, until the pool
//! is given up.
//!
//! Jobs that end without one result although there is work give the pool up as failures do, however long they lived and
//! whatever ended them, except a preemption and a broken node, which another job need not meet. A submission that is refused
//! while jobs of the pool wait or run gives nothing up: as many are there as are taken.

use super::launcher::{JobOutcome, JobState, Launched, LauncherJobId, LauncherPolicy};
use compass_common::words::counted;
use compass_types::ids::WorkerId;
use std::collections::{BTreeMap, BTreeSet};

/// A job that lived longer did not end early: whatever ended it, another one makes sense.
const EARLY_MS: u64 = 60_000;
/// Answers in a row that do not list a job, until it counts as gone.
const MISSING: u32 = 3;

/// One job.
#[derive(Clone, Debug)]
struct Job {
    worker: WorkerId,
    submitted_ms: u64,
    /// Since when it runs; `None` while it waits.
    running_ms: Option<u64>,
    /// The launcher's word on why it waits.
    reason: String,
    /// Set if its agent reported since it runs.
    reported: bool,
    /// Set if a sample was recorded from its agent.
    recorded: bool,
    /// Set if it was asked to end.
    ending: bool,
    missing: u32,
}

/// Something that others should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JobEvent {
    /// The job is over; `asked` when it was asked to end.
    Ended { job: LauncherJobId, worker: WorkerId, outcome: JobOutcome, asked: bool },
    /// The job stopped running and waits to run again.
    Requeued { worker: WorkerId },
    /// The job waits and will not run: it should be ended, so that another takes its place.
    Held { job: LauncherJobId, reason: String },
    /// The job runs, and its agent has not reported in all the time that it had: it should be ended.
    NeverConnected { job: LauncherJobId, worker: WorkerId },
}

/// Numbers of a pool's jobs by their states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Jobs that wait.
    pub queued: u32,
    /// Jobs that run.
    pub running: u32,
    /// Jobs that run and whose agents have reported.
    pub reported: u32,
    /// Words on why jobs wait, and of how many.
    pub reasons: BTreeMap<String, u32>,
    /// For how long the longest waiting job waits, in milliseconds.
    pub longest_wait: u64,
    /// For how long the oldest job without a connected worker has run, in milliseconds.
    pub longest_mute: u64,
}

/// Jobs of one pool that were submitted, and what is known of those that ended.
#[derive(Debug)]
pub(super) struct JobTable {
    jobs: BTreeMap<LauncherJobId, Job>,
    policy: LauncherPolicy,
    failures: u32,
    /// Looks in a row at which jobs had ended without a result, and how many jobs.
    barren: u32,
    barren_jobs: u64,
    /// Submissions in a row that were refused while jobs were there.
    refusals: u32,
    paused_until: u64,
    trouble: Option<String>,
    given_up: Option<String>,
}

impl JobTable {
    pub(super) fn new(policy: LauncherPolicy) -> Self {
        Self {
            jobs: BTreeMap::new(),
            policy,
            failures: 0,
            barren: 0,
            barren_jobs: 0,
            refusals: 0,
            paused_until: 0,
            trouble: None,
            given_up: None,
        }
    }

    /// Jobs were submitted, or taken over from an earlier master.
    pub(super) fn launched(&mut self, now: u64, launched: Vec<Launched>) {
        for Launched { job, worker } in launched {
            let entry = Job {
                worker,
                submitted_ms: now,
                running_ms: None,
                reason: String::new(),
                reported: false,
                recorded: false,
                ending: false,
                missing: 0,
            };
            self.jobs.entry(job).or_insert(entry);
            self.refusals = 0;
        }
    }

    /// Jobs that wait or run according to a launcher and that are not in the table: their submission seemed to fail.
    pub(super) fn unknown(&self, standings: &[(LauncherJobId, JobState)]) -> Vec<LauncherJobId> {
        let live = standings.iter().filter(|(_, state)| !matches!(state, JobState::Ended(_)));
        live.filter(|(job, _)| !self.jobs.contains_key(job)).map(|(job, _)| job.clone()).collect()
    }

    /// Nothing could be submitted; `is_final` when another try would find the same.
    pub(super) fn refused(&mut self, now: u64, sentence: String, is_final: bool) {
        if !is_final && !self.jobs.is_empty() {
            self.refusals += 1;
            self.pause(now, self.refusals);
            self.trouble = Some(sentence);
            return;
        }
        self.failed(now, sentence.clone());
        if is_final {
            self.given_up = Some(sentence);
        }
    }

    /// Samples were recorded from these agents, which are connected.
    pub(super) fn recorded(&mut self, workers: &BTreeSet<WorkerId>) {
        for job in self.jobs.values_mut().filter(|job| workers.contains(&job.worker)) {
            job.recorded = true;
            (self.barren, self.barren_jobs) = (0, 0);
        }
    }

    /// These agents are connected to the master.
    pub(super) fn connected(&mut self, workers: &BTreeSet<WorkerId>) {
        for job in self.jobs.values_mut().filter(|job| !job.reported && workers.contains(&job.worker)) {
            job.reported = true;
        }
    }

    /// Takes in where the jobs stand; `has_work` says whether there is anything that their agents could have done.
    pub(super) fn polled(
        &mut self,
        now: u64,
        standings: Vec<(LauncherJobId, JobState)>,
        has_work: bool,
    ) -> Vec<JobEvent> {
        let mut standings: BTreeMap<LauncherJobId, JobState> = standings.into_iter().collect();
        let mut happened = Vec::new();
        let mut ended = Vec::new();
        for (id, job) in &mut self.jobs {
            match standings.remove(id) {
                None => {
                    job.missing += 1;
                    if job.missing >= MISSING {
                        ended.push((id.clone(), JobOutcome::Unknown));
                    }
                    continue;
                }
                Some(JobState::Queued { reason }) => {
                    if job.running_ms.take().is_some() {
                        (job.reported, job.submitted_ms) = (false, now);
                        happened.push(JobEvent::Requeued { worker: job.worker.clone() });
                    }
                    job.reason = reason;
                }
                Some(JobState::Held { reason }) => {
                    if job.running_ms.take().is_some() {
                        (job.reported, job.submitted_ms) = (false, now);
                        happened.push(JobEvent::Requeued { worker: job.worker.clone() });
                    }
                    if !job.ending {
                        happened.push(JobEvent::Held { job: id.clone(), reason: reason.clone() });
                    }
                    job.reason = reason;
                }
                Some(JobState::Running) => {
                    let since = *job.running_ms.get_or_insert(now);
                    let late = self.policy.connect.is_some_and(|most| now >= since + most.as_millis() as u64);
                    if late && !job.reported && !job.ending {
                        happened.push(JobEvent::NeverConnected { job: id.clone(), worker: job.worker.clone() });
                    }
                }
                Some(JobState::Ended(outcome)) => ended.push((id.clone(), outcome)),
            }
            job.missing = 0;
        }
        if self.refusals > 0 && !ended.is_empty() {
            // There is room for another.
            (self.refusals, self.paused_until) = (0, now);
        }
        let mut failure = None;
        let mut barren = None;
        for (id, outcome) in ended {
            if let Some(job) = self.jobs.remove(&id) {
                let is_of_cluster = matches!(outcome, JobOutcome::Preempted | JobOutcome::NodeFailed);
                if has_work && !job.ending && !job.recorded && !is_of_cluster {
                    self.barren_jobs += 1;
                    barren = Some(outcome.to_string());
                }
                if outcome == JobOutcome::Terminated && !job.ending {
                    self.paused_until = self.paused_until.max(now + self.policy.pause.as_millis() as u64);
                }
                failure = self.judge(now, &job, &outcome).or(failure);
                happened.push(JobEvent::Ended { job: id, worker: job.worker, outcome, asked: job.ending });
            }
        }
        // What ends together has one reason: an array of eight that cannot start is one failure.
        if let Some(reason) = failure {
            self.failed(now, reason);
        }
        if let Some(reason) = barren {
            self.ended_barren(reason);
        }
        happened
    }

    fn ended_barren(&mut self, reason: String) {
        self.barren += 1;
        if self.barren >= self.policy.failures && self.given_up.is_none() {
            let jobs = counted(self.barren_jobs, "job");
            self.given_up = Some(format!(
                "{jobs} in a row ended without one result, last with: {reason}; give jobs more time, or see in their logs \
                 what took it"
            ));
        }
    }

    /// The reason, if this end is a failure.
    fn judge(&mut self, now: u64, job: &Job, outcome: &JobOutcome) -> Option<String> {
        let lived = now.saturating_sub(job.running_ms.unwrap_or(job.submitted_ms));
        match outcome {
            _ if job.ending => None,
            JobOutcome::Preempted
            | JobOutcome::NodeFailed
            | JobOutcome::Walltime
            | JobOutcome::Cancelled
            | JobOutcome::Terminated => None,
            _ if lived >= EARLY_MS => {
                self.failures = 0;
                None
            }
            outcome => Some(outcome.to_string()),
        }
    }

    /// A job whose agent never reported counts as a failure, and is to end.
    pub(super) fn never_connected(&mut self, now: u64, job: &LauncherJobId) {
        let seconds = self.policy.connect.unwrap_or_default().as_secs();
        self.ending([job]);
        self.failed(now, format!("job {job} ran for {seconds} s and its worker never reached the master"));
    }

    fn failed(&mut self, now: u64, reason: String) {
        self.failures += 1;
        self.pause(now, self.failures);
        if self.failures >= self.policy.failures {
            let times =
                if self.failures == 1 { "once".to_owned() } else { format!("{} times in a row", self.failures) };
            self.given_up = Some(format!("it failed {times}, last with: {reason}"));
        }
        self.trouble = Some(reason);
    }

    /// Nothing may be submitted for a while, which doubles with every time in a row.
    fn pause(&mut self, now: u64, times: u32) {
        let doubled = self.policy.pause.as_millis() as u64 * (1 << times.saturating_sub(1).min(20));
        self.paused_until = now + doubled.min(self.policy.longest_pause.as_millis() as u64);
    }

    /// A job has this agent from now on.
    pub(super) fn renamed(&mut self, job: &LauncherJobId, worker: WorkerId) {
        if let Some(job) = self.jobs.get_mut(job).filter(|job| job.worker != worker) {
            (job.worker, job.reported) = (worker, false);
        }
    }

    /// These jobs were asked to end.
    pub(super) fn ending<'j>(&mut self, jobs: impl IntoIterator<Item = &'j LauncherJobId>) {
        for job in jobs {
            if let Some(job) = self.jobs.get_mut(job) {
                job.ending = true;
            }
        }
    }

    /// Jobs, those that are asked to end included: each may hold GPUs.
    pub(super) fn live(&self) -> u32 {
        self.jobs.len() as u32
    }

    /// Jobs that are not asked to end.
    pub(super) fn staying(&self) -> Vec<LauncherJobId> {
        self.jobs.iter().filter(|(_, job)| !job.ending).map(|(id, _)| id.clone()).collect()
    }

    /// Returns the staying jobs beyond `most`: it picks jobs that wait before jobs that run, and the latest first.
    pub(super) fn beyond(&self, most: u32) -> Vec<LauncherJobId> {
        let staying = self.jobs.iter().filter(|(_, job)| !job.ending);
        let mut staying: Vec<_> =
            staying.map(|(id, job)| (job.running_ms.is_none(), !job.reported, job.submitted_ms, id)).collect();
        staying.sort();
        staying.into_iter().skip(most as usize).map(|(_, _, _, id)| id.clone()).collect()
    }

    /// All that there are.
    pub(super) fn jobs(&self) -> Vec<LauncherJobId> {
        self.jobs.keys().cloned().collect()
    }

    /// So many jobs that wait and are not asked to end: the latest first, since they are the last to start.
    pub(super) fn latest_queued(&self, most: u32) -> Vec<LauncherJobId> {
        let queued = self.jobs.iter().filter(|(_, job)| job.running_ms.is_none() && !job.ending);
        let mut queued: Vec<_> = queued.map(|(id, job)| (job.submitted_ms, id.clone())).collect();
        queued.sort();
        queued.into_iter().rev().take(most as usize).map(|(_, id)| id).collect()
    }

    /// The jobs of these workers that are not asked to end.
    pub(super) fn of_workers(&self, workers: &BTreeSet<WorkerId>) -> Vec<LauncherJobId> {
        let named = self.jobs.iter().filter(|(_, job)| !job.ending && workers.contains(&job.worker));
        named.map(|(id, _)| id.clone()).collect()
    }

    /// The agents' names.
    pub(super) fn workers(&self) -> BTreeSet<WorkerId> {
        self.jobs.values().map(|job| job.worker.clone()).collect()
    }

    /// Returns the time for which nothing may be submitted, in milliseconds.
    pub(super) fn pause_left(&self, now: u64) -> u64 {
        self.paused_until.saturating_sub(now)
    }

    /// The latest failure, while failures go on.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref().filter(|_| self.failures > 0 || self.refusals > 0)
    }

    /// Returns the reason why nothing more will be launched.
    pub(super) fn given_up(&self) -> Option<&str> {
        self.given_up.as_deref()
    }

    /// Counts the jobs by their states.
    pub(super) fn count(&self, now: u64) -> Count {
        let mut count = Count::default();
        for job in self.jobs.values() {
            match job.running_ms {
                None => {
                    count.queued += 1;
                    count.longest_wait = count.longest_wait.max(now.saturating_sub(job.submitted_ms));
                    if !job.reason.is_empty() {
                        *count.reasons.entry(job.reason.clone()).or_default() += 1;
                    }
                }
                Some(since) => {
                    count.running += 1;
                    count.reported += u32::from(job.reported);
                    if !job.reported {
                        count.longest_mute = count.longest_mute.max(now.saturating_sub(since));
                    }
                }
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    fn policy() -> LauncherPolicy {
        LauncherPolicy {
            poll: SECOND,
            ending: SECOND,
            grace: SECOND,
            failures: 3,
            pause: SECOND,
            longest_pause: SECOND * 3,
            connect: Some(SECOND * 100),
        }
    }

    fn job_table(names: &[&str]) -> JobTable {
        let mut job_table = JobTable::new(policy());
        let launched = names
            .iter()
            .map(|name| Launched { job: LauncherJobId((*name).into()), worker: WorkerId(format!("w{name}")) });
        job_table.launched(0, launched.collect());
        job_table
    }

    fn at(job_table: &mut JobTable, now: u64, name: &str, state: JobState) -> Vec<JobEvent> {
        job_table.polled(now, vec![(LauncherJobId(name.into()), state)], true)
    }

    #[test]
    fn preemption_and_its_like_never_pause() {
        for outcome in [JobOutcome::Preempted, JobOutcome::NodeFailed, JobOutcome::Walltime, JobOutcome::Cancelled] {
            let mut job_table = job_table(&["1"]);
            let happened = at(&mut job_table, 10, "1", JobState::Ended(outcome.clone()));
            let (job, worker) = (LauncherJobId("1".into()), WorkerId("w1".into()));
            assert_eq!(happened, [JobEvent::Ended { job, worker, outcome, asked: false }]);
            assert_eq!((job_table.pause_left(10), job_table.trouble(), job_table.live()), (0, None, 0));
        }
    }

    #[test]
    fn a_worker_that_was_told_to_end_delays_the_next_and_is_no_trouble() {
        let mut job_table = job_table(&["1"]);
        for _ in 0..9 {
            job_table.recorded(&BTreeSet::from([WorkerId("w1".into())]));
            at(&mut job_table, 10, "1", JobState::Ended(JobOutcome::Terminated));
            assert_eq!((job_table.pause_left(10), job_table.trouble(), job_table.given_up()), (1000, None, None));
            job_table.launched(10, vec![Launched { job: LauncherJobId("1".into()), worker: WorkerId("w1".into()) }]);
        }
    }

    #[test]
    fn pauses_double_to_a_bound_and_then_the_pool_is_given_up() {
        let mut job_table = job_table(&["1", "2"]);
        let failed = || JobState::Ended(JobOutcome::Failed { reason: "exit status 1".into() });
        at(&mut job_table, 0, "1", failed());
        assert_eq!(job_table.pause_left(0), 1000);
        at(&mut job_table, 0, "2", failed());
        assert_eq!((job_table.pause_left(0), job_table.given_up()), (2000, None));
        job_table.refused(0, "no such partition".into(), false);
        assert_eq!(job_table.pause_left(0), 3000);
        assert_eq!(job_table.given_up(), Some("it failed 3 times in a row, last with: no such partition"));
    }

    /// One job after another, each ended in this way after a minute and a half; what the pool is given up with.
    fn ends_of(outcomes: &[JobOutcome], recorded: &[usize], has_work: bool) -> Option<String> {
        let mut job_table = job_table(&[]);
        for (at, outcome) in outcomes.iter().enumerate() {
            let (job, worker) = (LauncherJobId(at.to_string()), WorkerId(format!("w{at}")));
            let now = at as u64 * 100_000;
            job_table.launched(now, vec![Launched { job: job.clone(), worker: worker.clone() }]);
            job_table.polled(now, vec![(job.clone(), JobState::Running)], has_work);
            if recorded.contains(&at) {
                job_table.recorded(&BTreeSet::from([worker]));
            }
            job_table.polled(now + 90_000, vec![(job, JobState::Ended(outcome.clone()))], has_work);
        }
        job_table.given_up().map(str::to_owned)
    }

    #[test]
    fn a_pool_whose_jobs_end_in_a_row_without_one_result_is_given_up() {
        let time = || JobOutcome::Walltime;
        let given_up = ends_of(&[time(), time(), time()], &[], true).unwrap();
        let expected = "3 jobs in a row ended without one result, last with: its wall time was up; give jobs more time, or \
                        see in their logs what took it";
        assert_eq!(given_up, expected);
        let failed = || JobOutcome::Failed { reason: "no memory".into() };
        for other in [failed(), JobOutcome::Terminated, JobOutcome::Done, JobOutcome::Cancelled] {
            assert!(ends_of(&[time(), other.clone(), other.clone()], &[], true).is_some(), "{other}");
        }
        assert_eq!(ends_of(&[time(), time(), time(), time()], &[1], true), None, "a result begins the row again");
        assert_eq!(ends_of(&[time(), time(), time()], &[], false), None, "there was nothing to do");
        for of_cluster in [JobOutcome::Preempted, JobOutcome::NodeFailed] {
            assert_eq!(ends_of(&[of_cluster.clone(), time(), of_cluster, time()], &[], true), None);
        }
    }

    #[test]
    fn as_many_jobs_as_are_taken_are_no_failure() {
        let mut job_table = job_table(&["1", "2"]);
        for (times, pause) in [1000, 2000, 3000, 3000, 3000].into_iter().enumerate() {
            job_table.refused(times as u64, "the quota is used up".into(), false);
            assert_eq!(job_table.pause_left(times as u64), pause);
        }
        assert_eq!((job_table.given_up(), job_table.trouble()), (None, Some("the quota is used up")));
        at(&mut job_table, 9, "1", JobState::Ended(JobOutcome::Walltime));
        assert_eq!((job_table.pause_left(9), job_table.trouble()), (0, None), "there is room for another");
    }

    #[test]
    fn what_is_beyond_the_bound_waits_or_came_last() {
        let mut job_table = job_table(&["1", "2", "3"]);
        let running = |name: &str| (LauncherJobId(name.into()), JobState::Running);
        let lost = (LauncherJobId("4".into()), JobState::Queued { reason: String::new() });
        let ended = (LauncherJobId("5".into()), JobState::Ended(JobOutcome::Done));
        let standings = vec![running("2"), running("3"), lost.clone(), ended];
        assert_eq!(job_table.unknown(&standings), std::slice::from_ref(&lost.0));
        job_table.launched(7, vec![Launched { job: lost.0, worker: WorkerId("w4".into()) }]);
        job_table.polled(7, standings, true);
        let of = |most| job_table.beyond(most).into_iter().map(|job| job.0).collect::<Vec<_>>();
        assert_eq!((of(4), of(3), of(1)), (vec![], vec!["4".into()], vec!["3".into(), "1".into(), "4".into()]));
    }

    #[test]
    fn what_ends_together_is_one_failure() {
        let mut job_table = job_table(&["1", "2", "3", "4"]);
        let failed =
            |name: &str| (LauncherJobId(name.into()), JobState::Ended(JobOutcome::Failed { reason: "no".into() }));
        assert_eq!(job_table.polled(0, ["1", "2", "3", "4"].map(failed).to_vec(), true).len(), 4);
        assert_eq!((job_table.pause_left(0), job_table.given_up(), job_table.live()), (1000, None, 0));
    }

    #[test]
    fn a_long_life_forgives_and_an_end_that_was_asked_for_is_none() {
        let mut job_table = job_table(&["1", "2", "3"]);
        at(&mut job_table, 0, "1", JobState::Ended(JobOutcome::Done));
        assert!(job_table.trouble().is_some());
        at(&mut job_table, 1, "2", JobState::Running);
        at(&mut job_table, 70_000, "2", JobState::Ended(JobOutcome::Done));
        assert!(job_table.trouble().is_none());
        job_table.ending([&LauncherJobId("3".into())]);
        at(&mut job_table, 70_001, "3", JobState::Ended(JobOutcome::Cancelled));
        assert!(job_table.trouble().is_none());
    }

    #[test]
    fn what_is_not_listed_is_gone_after_a_while_only() {
        let mut job_table = job_table(&["1"]);
        assert_eq!(job_table.polled(0, Vec::new(), true), []);
        at(&mut job_table, 1, "1", JobState::Queued { reason: "Resources".into() });
        assert_eq!(job_table.count(9).reasons, BTreeMap::from([("Resources".into(), 1)]));
        assert!(job_table.polled(2, Vec::new(), true).is_empty() && job_table.polled(3, Vec::new(), true).is_empty());
        let gone = job_table.polled(4, Vec::new(), true);
        assert!(matches!(&gone[..], [JobEvent::Ended { outcome: JobOutcome::Unknown, .. }]), "{gone:?}");
    }

    #[test]
    fn a_requeued_job_lost_its_agent_and_a_mute_one_is_named() {
        let mut job_table = job_table(&["1"]);
        at(&mut job_table, 0, "1", JobState::Running);
        job_table.connected(&BTreeSet::from([WorkerId("w1".into())]));
        assert_eq!(job_table.count(0).reported, 1);
        let requeued = at(&mut job_table, 5, "1", JobState::Queued { reason: "BeginTime".into() });
        assert_eq!(requeued, [JobEvent::Requeued { worker: WorkerId("w1".into()) }]);
        assert_eq!((job_table.trouble(), job_table.live()), (None, 1));
        assert_eq!(at(&mut job_table, 10, "1", JobState::Running), []);
        let never_connected = at(&mut job_table, 100_010, "1", JobState::Running);
        assert!(matches!(&never_connected[..], [JobEvent::NeverConnected { .. }]), "{never_connected:?}");
        job_table.never_connected(100_010, &LauncherJobId("1".into()));
        assert_eq!(at(&mut job_table, 100_011, "1", JobState::Running), [], "once is enough");
        assert!(job_table.trouble().unwrap().contains("never reached the master"));
    }

    #[test]
    fn a_held_job_gives_way_and_a_renamed_agent_has_to_report() {
        let mut job_table = job_table(&["1"]);
        at(&mut job_table, 0, "1", JobState::Running);
        job_table.connected(&BTreeSet::from([WorkerId("w1".into())]));
        job_table.renamed(&LauncherJobId("1".into()), WorkerId("w1r1".into()));
        assert_eq!((job_table.count(0).reported, job_table.workers()), (0, BTreeSet::from([WorkerId("w1r1".into())])));
        let held = || JobState::Held { reason: "JobHeldAdmin".into() };
        let happened = at(&mut job_table, 1, "1", held());
        assert!(matches!(&happened[..], [JobEvent::Requeued { .. }, JobEvent::Held { .. }]), "{happened:?}");
        job_table.ending([&LauncherJobId("1".into())]);
        assert_eq!(at(&mut job_table, 2, "1", held()), [], "once is enough");
        assert!(job_table.trouble().is_none());
    }

    #[test]
    fn the_latest_in_the_queue_go_first() {
        let mut job_table = job_table(&["1"]);
        job_table.launched(5, vec![Launched { job: LauncherJobId("0".into()), worker: WorkerId("w0".into()) }]);
        at(&mut job_table, 6, "1", JobState::Queued { reason: String::new() });
        assert_eq!(job_table.latest_queued(1), [LauncherJobId("0".into())]);
        assert_eq!(job_table.latest_queued(9).len(), 2);
    }
}
