//! One moment of a job, for its page and as JSON: what its stage shows, how the job stands, and how it ended.

use super::status::JobStatus;
use compass_progress::RunView;
use serde_json::{Value, json};

/// One moment of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobView {
    pub status: JobStatus,
    /// Time of its end, once it has ended.
    pub ended_at: Option<String>,
    /// View of its latest stage, with all reasons for which tasks wait. It no longer moves once the stage has ended.
    pub run: RunView,
}

impl JobView {
    /// Fills in what the view of a stage cannot know: the names, where none has begun in this process, and the end.
    pub(super) fn complete(&mut self) {
        let Self { status, run, .. } = self;
        if run.job.is_empty() {
            (run.run, run.job) = (status.run.clone(), status.plan.clone());
        }
        if status.exit_code.is_some() {
            run.recorded_samples = status.recorded_samples;
            run.expected_samples = status.expected_samples;
            run.failed_tasks = status.failed_tasks;
            (run.granted_tasks, run.slots, run.samples_per_second, run.tokens_per_second) = (0, 0, 0.0, 0.0);
            run.workers.iter_mut().for_each(|worker| worker.connected = false);
        }
    }

    /// Returns whether a stage of it can grant tasks.
    pub fn is_running(&self) -> bool {
        let JobStatus { state, exit_code, cancelled, .. } = &self.status;
        exit_code.is_none() && cancelled.is_none() && matches!(state.as_str(), "infer" | "execute")
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
        let (JobStatus { state, cancelled, exit_code, reason, help, share, .. }, run) = (&self.status, &self.run);
        let mut all = serde_json::to_value(run)?;
        let beside = json!({
            "state": state,
            "priority": self.status.priority,
            "share": share,
            "max_slots": self.status.max_slots,
            "cancelled": cancelled,
            "exit_code": exit_code,
            "reason": reason,
            "help": help,
            "ended_at": self.ended_at,
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
    use crate::job::Ended;
    use crate::job::JobRecord;
    use crate::job::SlotBound;
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
        registry.add(JobEntry {
            id: JobId::of(&own),
            plan: own,
            folder: "run".into(),
            priority: 1,
            submitted: String::new(),
            key: None,
            max_slots: None,
            job_handle,
            job_log: None,
            ended: ending,
        });
        let job = registry.job(&own.to_string()).unwrap();
        let share =
            format!("its share is 0 slots (priority 1); of the other jobs {} has 1 (priority 1)", other.short());
        let waits = registry.job_view(&job).run.waits;
        let added = "workers can be added at any time: compass-worker --master 127.0.0.1:50051";
        assert_eq!(waits, ["slots are short", share.as_str(), "pool gpu: no quota", added]);
        assert!(registry.only_job().is_some_and(|only| only.status.share == Some(0)));
        let (why, pools) = ("no worker of pool far is connected".to_owned(), vec!["far".to_owned()]);
        let shortage = Some(Shortage::Workers { waiting: 5, why, pools });
        views.send_replace(RunView { granted_tasks: 0, shortage, ..run });
        let waits = registry.job_view(&job).run.waits;
        assert_eq!(waits.first().map(String::as_str), Some("5 tasks wait: no worker of pool far is connected"));
        let joins =
            "workers of pool far are not launched; start one: compass-worker --master 127.0.0.1:50051 --pool far";
        assert_eq!(waits.last().map(String::as_str), Some(joins));
        ended.send_replace(Some(Ended {
            exit_code: 0,
            reason: String::new(),
            help: None,
            at: "2026-11-26T01:00:00Z".into(),
            recorded_samples: 10,
            expected_samples: 10,
            failed_tasks: 0,
        }));
        let over = registry.job_view(&job);
        assert!(over.run.waits.is_empty() && over.ended_at.is_some() && registry.only_job().is_none(), "{over:?}");
    }

    fn running() -> JobView {
        let status = JobStatus { run: "r".into(), plan: "p".into(), state: "infer".into(), ..JobStatus::default() };
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
        JobView { status, ended_at: None, run }
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
    fn a_job_that_ended_has_no_time_left_and_no_worker() {
        let mut view = running();
        view.status = JobStatus {
            state: "ended".into(),
            exit_code: Some(1),
            reason: Some("the disk is full".into()),
            recorded_samples: 9,
            expected_samples: 11,
            ..view.status
        };
        view.complete();
        let json = view.json().unwrap();
        assert_eq!((&json["eta_seconds"], &json["exit_code"]), (&Value::Null, &json!(1)));
        assert_eq!((&json["recorded_samples"], &json["expected_samples"]), (&json!(9), &json!(11)));
        assert_eq!((&json["reason"], &json["workers"][0]["connected"]), (&json!("the disk is full"), &json!(false)));
        let cancelled =
            JobView { status: JobStatus { cancelled: Some("enough".into()), ..running().status }, ..running() };
        assert_eq!(cancelled.eta_seconds(), None);
    }
}
