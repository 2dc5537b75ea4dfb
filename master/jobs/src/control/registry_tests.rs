//! Jobs of a server, as commands and `explain` tell of them.

use super::*;
use compass_cli::exit;

fn entry(number: u32, ended: bool) -> JobEntry {
    let plan = Digest::of(&number.to_le_bytes());
    let outcome = ended.then(|| Ended {
        at: format!("2026-11-23T01:00:{:02}Z", if number == 0 { 59 } else { number }),
        ..Ended::default()
    });
    JobEntry {
        submitted: format!("2026-11-23T00:00:{number:02}Z"),
        key: Some(format!("key {number}")),
        ended: watch::channel(outcome).1,
        ..JobEntry::new(plan, PathBuf::new())
    }
}

#[test]
fn a_key_names_what_runs_and_what_came_to_its_own_end() {
    let registry = JobRegistry::default();
    registry.add(entry(1, false));
    registry.add(entry(2, true));
    let mut stopped = entry(3, true);
    let ended = stopped.ended.borrow().clone().map(|ended| Ended { exit_code: exit::INFRASTRUCTURE, ..ended });
    stopped.ended = watch::channel(ended).1;
    registry.add(stopped);
    assert!(registry.keyed("key 1").is_some() && registry.keyed("key 2").is_some());
    assert!(registry.keyed("key 3").is_none(), "it goes on when it is submitted again");
    assert!(registry.keyed("key 4").is_none());
}

#[test]
fn the_jobs_that_ended_last_are_remembered() {
    let registry = JobRegistry::default();
    let all: Vec<JobEntry> = (0..10).map(|number| entry(number, number % 2 == 0)).collect();
    all.iter().cloned().for_each(|entry| registry.add(entry));
    assert_eq!(registry.forget_ended(3), [all[2].id.clone(), all[4].id.clone()]);
    assert_eq!(registry.forget_ended(3), []);
    assert_eq!(registry.status().jobs.len(), 8);
    assert!(registry.find(&all[1].plan).is_some(), "it runs");
    assert!(registry.job(&all[4].id.0).is_err() && registry.job(&all[6].id.0).is_ok());
    assert!(registry.job(&all[0].id.0).is_ok(), "submitted first, ended last");
}

#[tokio::test]
async fn samples_of_a_cancelled_job_have_not_failed() {
    let (registry, job) = (JobRegistry::default(), entry(1, false));
    registry.add(job.clone());
    job.job_handle.recall(RunView { failed_samples: 9, given_up_samples: 7, ..RunView::default() });
    let failed = || (registry.job_view(&job).run.failed_samples, registry.views()[0].run.failed_samples);
    assert_eq!(failed(), (9, 9));
    job.job_handle.cancel("wrong model".into()).await;
    assert_eq!(failed(), (2, 2));
}

#[tokio::test]
async fn a_job_that_ended_says_that_it_was_cancelled() {
    let registry = JobRegistry::default();
    let job = entry(1, true);
    job.job_handle.cancel("wrong model".into()).await;
    let expected =
        [format!("job {} ended at 2026-11-23T01:00:01Z with exit code 0", job.id), "cancelled: wrong model".into()];
    assert_eq!(registry.explain_job(&job).await, expected);
}

#[tokio::test]
async fn status_shows_what_explain_begins_with() {
    let registry = JobRegistry::default();
    let job = JobEntry { max_slots: Some(SlotBound::of_debug()), ..entry(1, false) };
    let (_views, view) = watch::channel(RunView::default());
    let (_standing, leadership) = watch::channel(LeadershipStatus::Sure);
    let mut commands = job.job_handle.open("infer", view, leadership);
    let reasons = JobReasons {
        shortage: Some(Shortage::Slots { waiting: 9, slots: 1 }),
        launchers: Vec::new(),
        lines: vec!["10 tasks are open, 1 granted; 1 worker with 1 slot is connected".into()],
    };
    tokio::spawn(async move {
        while let Some(JobCommand::Job(reply)) = commands.recv().await {
            let _ = reply.send(reasons.clone());
        }
    });
    registry.add(job.clone());
    registry.opened_at("127.0.0.1:50051".into());
    let sentence = "9 tasks wait for a slot: the job may have 1 slot (`--debug`)";
    let status = registry.status_with_shortages().await;
    assert_eq!(status.jobs[0].shortage.as_deref(), Some(sentence));
    assert_eq!((status.jobs[0].max_slots, status.jobs[0].max_slots_by.as_deref()), (Some(1), Some("--debug")));
    assert_eq!(status.workers_at, "127.0.0.1:50051");
    assert_eq!(registry.explain_job(&job).await[1], sentence);
}
