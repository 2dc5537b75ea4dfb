//! The meaning of a job's states over time. Pure: the clock is an argument, in milliseconds.
//!
//! Whatever goes on for too long has a bound: answers that cannot be read, restarts, and waiting for one.

use super::super::launcher::{JobOutcome, JobState};
use super::answer::{DlcJob, Status};
use compass_types::ids::WorkerId;
use jiff::{Timestamp, ToSpan as _};

/// Answers in a row that cannot be read after which a job is given up, as in OpenCompass.
const UNREADABLE: u32 = 60;
/// Between two looks after an answer that could not be read, and beside the configured pause.
const AGAIN_MS: u64 = 2_000;
/// Restarts of one job after which it is given up.
const RESTARTS: u32 = 5;
/// Longest time that one restart may take.
const RESTARTING_MS: u64 = 30 * 60_000;
const TIME: &str = "%Y-%m-%dT%H:%M:%SZ";

/// A job that was submitted.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    pub(super) worker: WorkerId,
    pub(super) state: JobState,
    submitted_ms: u64,
    next_look_ms: u64,
    hurried: bool,
    unreadable: u32,
    restarts: u32,
    restarting_ms: Option<u64>,
    /// By the clock of the service.
    created: Option<Timestamp>,
    /// Up to where its log was read.
    logged: Option<Timestamp>,
    /// Set if it is to be stopped for good, although its launcher gave it up.
    pub(super) given_up: bool,
}

impl Watched {
    pub(super) fn new(worker: WorkerId, now: u64, sleep_ms: u64) -> Self {
        Self {
            worker,
            state: JobState::Queued { reason: "just submitted".into() },
            submitted_ms: now,
            next_look_ms: now + sleep_ms,
            hurried: false,
            unreadable: 0,
            restarts: 0,
            restarting_ms: None,
            created: None,
            logged: None,
            given_up: false,
        }
    }

    /// Returns whether it is time to ask for its state.
    pub(super) fn is_due(&self, now: u64) -> bool {
        self.hurried || now >= self.next_look_ms
    }

    /// From now on it is always time: the end of the job is waited for.
    pub(super) fn hurry(&mut self) {
        self.hurried = true;
    }

    /// Takes in its state, or that the answer could not be read.
    pub(super) fn seen(&mut self, now: u64, state: Option<DlcJob>, sleep_ms: u64) {
        let Some(state) = state else {
            self.unreadable += 1;
            self.next_look_ms = now + AGAIN_MS;
            if self.unreadable >= UNREADABLE {
                self.given_up = true;
                self.state = JobState::Ended(JobOutcome::Unknown);
            }
            return;
        };
        self.unreadable = 0;
        self.next_look_ms = now + sleep_ms + AGAIN_MS;
        if self.created.is_none() {
            self.created = jiff::civil::DateTime::strptime(TIME, &state.created)
                .ok()
                .and_then(|time| time.to_zoned(jiff::tz::TimeZone::UTC).ok())
                .map(|time| time.timestamp());
        }
        if state.status != Status::Restarting {
            self.restarting_ms = None;
        }
        self.state = match state.status {
            Status::Waiting(name) if state.reason.is_empty() => JobState::Queued { reason: name },
            Status::Waiting(name) => JobState::Queued { reason: format!("{name}: {}", state.reason) },
            Status::Running => JobState::Running,
            Status::Restarting => self.restarting(now, &state.reason),
            // It still holds its machine.
            Status::Stopping => JobState::Running,
            Status::Succeeded => JobState::Ended(JobOutcome::Done),
            Status::Failed if state.reason.is_empty() => {
                JobState::Ended(JobOutcome::Failed { reason: "the job failed, and DLC gives no reason".into() })
            }
            Status::Failed => {
                JobState::Ended(JobOutcome::Failed { reason: format!("the job failed: {}", state.reason) })
            }
            Status::Stopped => JobState::Ended(JobOutcome::Cancelled),
            Status::Preempted => JobState::Ended(JobOutcome::Preempted),
        };
    }

    fn restarting(&mut self, now: u64, reason: &str) -> JobState {
        let since = match self.restarting_ms {
            Some(since) => since,
            None => {
                self.restarts += 1;
                *self.restarting_ms.insert(now)
            }
        };
        let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        let too_much = if self.restarts > RESTARTS {
            Some(format!("DLC restarted the job {} times{why}", self.restarts))
        } else if now >= since + RESTARTING_MS {
            Some(format!("DLC has been restarting the job for {} minutes{why}", RESTARTING_MS / 60_000))
        } else {
            None
        };
        match too_much {
            Some(reason) => {
                self.given_up = true;
                JobState::Ended(JobOutcome::Failed { reason })
            }
            None => JobState::Queued { reason: format!("restarting{why}") },
        }
    }

    /// The stretch of the log that was not read yet, by the clock of the service: from, to. To the end where that is known
    /// to have come.
    pub(super) fn log_window(&self, now: u64) -> Option<(String, String)> {
        let created = self.created?;
        let elapsed = i64::try_from(now.saturating_sub(self.submitted_ms)).unwrap_or(i64::MAX);
        let by_now = created.checked_add(elapsed.milliseconds()).ok()?;
        // Lines of this very second may still come.
        let to = if matches!(self.state, JobState::Ended(_)) {
            by_now.checked_add(60.seconds()).ok()?
        } else {
            by_now.checked_sub(1.second()).ok()?
        };
        let from = match self.logged {
            Some(logged) => logged.checked_add(1.second()).ok()?,
            None => created,
        };
        (from <= to).then(|| (from.strftime(TIME).to_string(), to.strftime(TIME).to_string()))
    }

    /// The log was read up to this time.
    pub(super) fn logged(&mut self, to: &str) {
        self.logged = to.parse().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(status: Status, reason: &str) -> Option<DlcJob> {
        Some(DlcJob { status, reason: reason.into(), created: "2026-01-02T03:04:05Z".into() })
    }

    fn watched() -> Watched {
        Watched::new(WorkerId("w".into()), 0, 10_000)
    }

    #[test]
    fn what_cannot_be_read_changes_nothing_until_it_is_too_much() {
        let mut job = watched();
        assert!(!job.is_due(9_999) && job.is_due(10_000));
        job.seen(10_000, state(Status::Running, ""), 10_000);
        assert!(!job.is_due(21_999) && job.is_due(22_000));
        for at in 0..u64::from(UNREADABLE) - 1 {
            job.seen(22_000 + at * AGAIN_MS, None, 10_000);
            assert_eq!(job.state, JobState::Running);
        }
        job.seen(200_000, state(Status::Running, ""), 10_000);
        for _ in 0..UNREADABLE {
            assert!(!job.given_up);
            job.seen(300_000, None, 10_000);
        }
        assert_eq!((&job.state, job.given_up), (&JobState::Ended(JobOutcome::Unknown), true));
    }

    #[test]
    fn restarts_are_counted_and_have_their_time() {
        let mut job = watched();
        for round in 0..u64::from(RESTARTS) {
            job.seen(round * 10, state(Status::Running, ""), 0);
            for again in [1, 2] {
                job.seen(round * 10 + again, state(Status::Restarting, "NodeFailure"), 0);
                assert_eq!(job.state, JobState::Queued { reason: "restarting: NodeFailure".into() });
            }
        }
        job.seen(1_000, state(Status::Running, ""), 0);
        job.seen(1_001, state(Status::Restarting, "NodeFailure"), 0);
        let ended = format!("{:?}", job.state);
        assert!(ended.contains("restarted the job 6 times: NodeFailure") && job.given_up, "{ended}");
        let mut slow = watched();
        slow.seen(5, state(Status::Restarting, ""), 0);
        slow.seen(5 + RESTARTING_MS - 1, state(Status::Restarting, ""), 0);
        assert!(!slow.given_up);
        slow.seen(5 + RESTARTING_MS, state(Status::Restarting, ""), 0);
        assert!(slow.given_up);
    }

    #[test]
    fn ends_are_told_apart() {
        for (status, reason, outcome) in [
            (Status::Succeeded, "", JobOutcome::Done),
            (Status::Stopped, "by user", JobOutcome::Cancelled),
            (Status::Preempted, "", JobOutcome::Preempted),
            (Status::Failed, "ImagePull", JobOutcome::Failed { reason: "the job failed: ImagePull".into() }),
        ] {
            let mut job = watched();
            job.seen(0, state(status, reason), 0);
            assert_eq!(job.state, JobState::Ended(outcome));
            assert!(!job.given_up, "it has ended by itself");
        }
        let mut waiting = watched();
        waiting.seen(0, state(Status::Waiting("Queuing".into()), "quota used up"), 0);
        assert_eq!(waiting.state, JobState::Queued { reason: "Queuing: quota used up".into() });
    }

    #[test]
    fn the_log_is_read_by_the_clock_of_the_service_and_no_second_twice() {
        let mut job = watched();
        assert_eq!(job.log_window(5_000), None, "its clock is not known yet");
        job.seen(5_000, state(Status::Running, ""), 0);
        let window = |job: &Watched, now| job.log_window(now).unwrap();
        assert_eq!(window(&job, 5_000), ("2026-01-02T03:04:05Z".into(), "2026-01-02T03:04:09Z".into()));
        job.logged("2026-01-02T03:04:09Z");
        assert_eq!(job.log_window(5_500), None);
        assert_eq!(window(&job, 7_000), ("2026-01-02T03:04:10Z".into(), "2026-01-02T03:04:11Z".into()));
        job.seen(8_000, state(Status::Succeeded, ""), 0);
        assert_eq!(window(&job, 8_000), ("2026-01-02T03:04:10Z".into(), "2026-01-02T03:05:13Z".into()));
    }
}
