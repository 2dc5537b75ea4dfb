//! One moment of a job: what its stage shows, how the job stands, and how it ended. Its page, its metrics and every status are
//! projections of it.

use crate::job::{Ended, SlotBound};
use compass_progress::RunView;
use serde_json::{Value, json};
use std::path::PathBuf;

/// One moment of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobView {
    pub job: String,
    /// Digest of the plan.
    pub plan: String,
    pub folder: PathBuf,
    /// `standby`, `opening`, `infer`, `execute`, `score` or `ended`.
    pub state: &'static str,
    pub priority: u32,
    pub submitted: String,
    /// Slots that are its share now; `None` where there are no others.
    pub share: Option<u32>,
    pub max_slots: Option<SlotBound>,
    /// The other master that leads it, in words, while this one stands by.
    pub stands_by: Option<String>,
    pub cancelled: Option<String>,
    pub ended: Option<Ended>,
    /// View of its latest stage, with the counts of its end once it has ended.
    pub run: RunView,
}

impl JobView {
    /// Returns the name of the run folder.
    pub fn run_name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Fills in the names, where no stage has begun in this process, and stops what no longer moves.
    pub(super) fn complete(&mut self) {
        if self.run.job.is_empty() {
            (self.run.run, self.run.job) = (self.run_name(), self.plan.clone());
        }
        if self.ended.is_some() {
            let run = &mut self.run;
            (run.granted_tasks, run.samples_per_second, run.tokens_per_second) = (0, 0.0, 0.0);
        }
    }

    /// Returns whether a stage of it can grant tasks.
    pub fn is_running(&self) -> bool {
        self.ended.is_none() && self.cancelled.is_none() && matches!(self.state, "infer" | "execute")
    }

    /// Returns the reason why it ended without a table.
    pub fn reason(&self) -> Option<&str> {
        self.ended.as_ref().map(|ended| ended.reason.as_str()).filter(|reason| !reason.is_empty())
    }

    /// Returns the advice on that reason.
    pub fn help(&self) -> Option<&str> {
        self.ended.as_ref()?.help.as_deref()
    }

    /// Seconds until all samples are recorded at the present speed; `None` where none are recorded of late or nothing is left;
    /// those of tasks that were given up are not waited for.
    pub fn eta_seconds(&self) -> Option<f64> {
        let left = self.run.expected_samples.saturating_sub(self.run.recorded_samples + self.run.given_up_samples);
        let rate = self.run.samples_per_second;
        (self.is_running() && left > 0 && rate > 0.0).then(|| left as f64 / rate)
    }

    /// All that the page shows, for programs: the members of the stage's view, and these beside them.
    ///
    /// # Errors
    /// Never in practice: every key is a text.
    pub fn json(&self) -> serde_json::Result<Value> {
        let (run, ended) = (&self.run, self.ended.as_ref());
        let mut all = serde_json::to_value(run)?;
        let beside = json!({
            "state": self.state,
            "priority": self.priority,
            "share": self.share,
            "max_slots": self.max_slots.as_ref().map(|bound| bound.slots),
            "cancelled": self.cancelled,
            "exit_code": ended.map(|ended| ended.exit_code),
            "reason": self.reason(),
            "help": self.help(),
            "ended_at": ended.map(|ended| &ended.at),
            "eta_seconds": self.eta_seconds(),
            "tasks": { "running": run.granted_tasks, "waiting": run.waiting_tasks(), "failed": run.failed_tasks },
        });
        if let (Some(all), Value::Object(beside)) = (all.as_object_mut(), beside) {
            all.extend(beside);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::registry::Accepted;
    use crate::control::registry::Declined;
    use crate::control::registry::JobEntry;
    use crate::control::registry::JobRegistry;
    use crate::control::registry::ServerBackend;
    use crate::job::JobRecord;
    use compass_diagnostic::Diagnostics;
    use compass_planning::SpeedStore;
    use compass_progress::WorkerView;
    use compass_run::JobHandle;
    use compass_scheduler::Shortage;
    use compass_scheduler::broker::{FairShare, JobId};
    use compass_settings::StoreConfig;
    use compass_store::LeadershipStatus;
    use compass_types::ids::{Digest, WorkerId};
    use std::collections::BTreeMap;
    use std::path::Path;
    use tokio::sync::watch;

    /// A server that does nothing but share slots out.
    #[derive(Debug)]
    struct Shares(BTreeMap<JobId, FairShare>);

    #[tonic::async_trait]
    impl ServerBackend for Shares {
        async fn submit(&self, _job: JobRecord) -> Result<Accepted, Declined> {
            Err(Declined::Now(Diagnostics::default()))
        }

        async fn cancel(&self, _job: &JobId, _reason: &str) -> Result<(), Diagnostics> {
            Ok(())
        }

        fn shares(&self) -> BTreeMap<JobId, FairShare> {
            self.0.clone()
        }

        fn idle_workers(&self) -> Vec<WorkerId> {
            Vec::new()
        }

        fn connected_slots(&self) -> u32 {
            0
        }

        fn speeds(&self) -> SpeedStore {
            SpeedStore::of(&StoreConfig::Embedded, Path::new("state"))
        }

        fn pools_to_join(&self) -> Vec<String> {
            vec!["far".into()]
        }

        fn notes(&self) -> Vec<String> {
            vec!["pool gpu: no quota".into()]
        }

        fn bound(&self) -> Option<SlotBound> {
            None
        }

        fn status(&self) -> LeadershipStatus {
            LeadershipStatus::Sure
        }
    }

    #[test]
    fn a_job_that_waits_for_its_share_says_so_until_it_ends() {
        let (own, other) = (Digest([7; 32]), Digest([8; 32]));
        let share = |slots| FairShare { slots, weight: 1, ..FairShare::default() };
        let shares = BTreeMap::from([(JobId::of(&own), share(0)), (JobId::of(&other), share(1))]);
        let registry = JobRegistry::default();
        registry.governed_by(Shares(shares), "127.0.0.1:50051".into());
        let run = RunView { job: own.to_string(), waits: vec!["slots are short".into()], ..running().run };
        let (views, view) = watch::channel(RunView { granted_tasks: 0, ..run.clone() });
        let (_statuses, status) = watch::channel(LeadershipStatus::Sure);
        let (ended, ending) = watch::channel(None);
        let job_handle = JobHandle::default();
        let _commands = job_handle.open("infer", view, status);
        registry.add(JobEntry { job_handle, ended: ending, ..JobEntry::new(own, "run".into()) });
        let job = registry.job(&own.to_string()).unwrap();
        let share =
            format!("its share is 0 slots (priority 1); of the other jobs {} has 1 (priority 1)", other.short());
        let waits = registry.job_view(&job).run.waits;
        let added = "workers can be added at any time: compass-worker --master 127.0.0.1:50051";
        assert_eq!(waits, ["slots are short", share.as_str(), "pool gpu: no quota", added]);
        assert!(registry.only_job().is_some_and(|only| only.share == Some(0)));
        let (why, pools) = ("no worker of pool far is connected".to_owned(), vec!["far".to_owned()]);
        let shortage = Some(Shortage::Workers { waiting: 5, why, pools });
        views.send_replace(RunView { granted_tasks: 0, shortage, ..run });
        let waits = registry.job_view(&job).run.waits;
        assert_eq!(waits.first().map(String::as_str), Some("5 tasks wait: no worker of pool far is connected"));
        let joins =
            "workers of pool far are not launched; start one: compass-worker --master 127.0.0.1:50051 --pool far";
        assert_eq!(waits.last().map(String::as_str), Some(joins));
        ended.send_replace(Some(Ended {
            at: "2026-11-26T01:00:00Z".into(),
            recorded_samples: 9,
            expected_samples: 11,
            ..Ended::default()
        }));
        let over = registry.job_view(&job);
        assert_eq!((over.run.recorded_samples, over.run.expected_samples), (9, 11));
        assert!(over.run.workers.iter().all(|worker| !worker.connected), "{over:?}");
        assert!(over.run.waits.is_empty() && over.ended.is_some() && registry.only_job().is_none(), "{over:?}");
    }

    fn running() -> JobView {
        let worker = WorkerView { connected: true, ..WorkerView::default() };
        let run = RunView {
            expected_samples: 10,
            recorded_samples: 4,
            samples_per_second: 0.5,
            open_tasks: 5,
            granted_tasks: 2,
            waits: vec!["its share is 1 slots".into()],
            workers: vec![worker],
            ..RunView::default()
        };
        JobView { plan: "p".into(), state: "infer", run, ..JobView::default() }
    }

    #[test]
    fn programs_get_what_the_page_shows() {
        let mut view = running();
        view.complete();
        let json = view.json().unwrap();
        assert_eq!((&json["eta_seconds"], &json["state"], &json["job"]), (&json!(12.0), &json!("infer"), &json!("p")));
        assert_eq!(json["tasks"], json!({ "running": 2, "waiting": 3, "failed": 0 }));
        assert_eq!((&json["waits"], &json["exit_code"]), (&json!(["its share is 1 slots"]), &Value::Null));
    }

    #[test]
    fn a_job_that_ended_has_no_time_left() {
        let ended = Ended { exit_code: 1, reason: "the disk is full".into(), ..Ended::default() };
        let mut view = JobView { state: "ended", ended: Some(ended), ..running() };
        view.complete();
        let json = view.json().unwrap();
        assert_eq!((&json["eta_seconds"], &json["exit_code"]), (&Value::Null, &json!(1)));
        assert_eq!((&json["reason"], &json["samples_per_second"]), (&json!("the disk is full"), &json!(0.0)));
        assert_eq!(JobView { cancelled: Some("enough".into()), ..running() }.eta_seconds(), None);
    }
}
