//! One state of a run in each of its projections, byte by byte: `run.json`, `status --json`, `status.json`, the page, `/metrics`.
//!
//! The state is that of a second master, as events make it. Users and their programs read all of these.

use crate::metrics;
use crate::pages::{Narrowed, job_parts};
use compass_common::encode::pretty_json;
use compass_jobs::{Ended, JobEntry, JobRegistry, SlotBound};
use compass_ledger::{Tally, WorkerEvent};
use compass_plan::Plan;
use compass_plan::engine::{TokenCounters, UnableKind};
use compass_plans::planned;
use compass_progress::{Diverged, EndpointFacts, Histogram, LiveMetric, Refusals, RunFacts, RunView};
use compass_proto::v1;
use compass_run::JobHandle;
use compass_run_folder::{RunFolder, write_atomically, write_plan};
use compass_scheduler::{Barred, Progress, Shortage};
use compass_settings::{LeftOut, LeftOutKind};
use compass_store::LeadershipStatus;
use compass_types::ids::{Digest, Epoch, ModelId, WorkerId};
use serde::Serialize;
use serde_json::json;
use std::time::Duration;
use tokio::sync::watch;

const RUN: &str = "20261122_000001";
const PLAN: Digest = Digest([7; 32]);

fn worker(name: &str) -> WorkerId {
    WorkerId(name.into())
}

/// Counters of the scheduler under the second master.
fn counters() -> Progress {
    Progress {
        recorded: 2,
        open_tasks: 3,
        granted: 1,
        workers: 1,
        slots: 2,
        retries: 1,
        repeats: 4,
        divergences: 1,
        misfits: 2,
        adopted: 1,
        stolen: 3,
        loads: 1,
    }
}

const LASTED: Duration = Duration::from_millis(8_250);

/// The record that a second master finds.
fn inherited(plan: &Plan) -> RunFacts {
    let mut facts = RunFacts::of_plan(plan);
    let (far, epoch) = (worker("node7-4"), Epoch(1));
    let attached = WorkerEvent::Attached { slots: 2, device: "cuda".into(), pool: "far".into(), after: 3.5 };
    let found = json!({ "device": "NVIDIA H100 80GB HBM3", "notes": [], "bytes": 12 });
    let loaded = WorkerEvent::Loaded { model: ModelId(0), facts: found };
    let tally = Tally {
        started: "2026-11-22T00:00:01+00:00".into(),
        milliseconds: 61_250,
        retries: 2,
        deaths: [("node7-4".to_owned(), 1)].into(),
        divergences: 1,
        misfits: 1,
        adopted: 1,
        stolen: 2,
        loads: 3,
        violations: 0,
    };
    for entry in [attached.entry(&far, epoch), loaded.entry(&far, epoch), tally.entry(epoch)] {
        facts.fold(&entry.unwrap());
    }
    facts.recorded(&far);
    facts.resumed_samples = 1;
    facts.begin("2026-11-22T00:02:00+00:00".into());
    facts
}

/// The record under the second master, after a worker has come and reported.
fn record() -> RunFacts {
    let mut facts = RunFacts {
        run: RUN.into(),
        plan: PLAN.to_string(),
        epoch: 2,
        duplicate_samples: 1,
        partitioner: json!({ "type": "size", "max_task_size": 40 }),
        summarizer: "default".into(),
        runner: "local".into(),
        tasks: 4,
        left_out: vec![LeftOut { kind: LeftOutKind::Model, name: "n".into(), reason: "no weights".into() }],
        ..inherited(&planned().plan)
    };
    let near = worker("local-17");
    let _ = facts.attached(&near, 2, "cpu", "");
    let found = json!({ "device": "cpu", "notes": ["the date is fixed"], "remarks": ["its head is not used"] });
    let _ = facts.model(&near, ModelId(0), found.to_string().as_bytes());
    facts.results(&near, 2);
    let segment = |path, tokens| v1::PrefixSegment { path, tokens };
    let tokens = TokenCounters { submitted: 900, distinct: 300, computed: 320, padded: 6, generated: 40 };
    for (name, seconds) in [("local-17", 2.5), ("node7-4", 0.75)] {
        let report = v1::ShardReport {
            scored: 1,
            failed: 1,
            seconds,
            tokens: Some(tokens.into()),
            notes: vec!["tokens are drawn".into()],
            prefix_segments: vec![segment(7, 100), segment(8, 20)],
            notes_left_out: 1,
            prefix_segments_left_out: 2,
            engine_deaths: 1,
            ..v1::ShardReport::default()
        };
        let _ = facts.report(&worker(name), report);
    }
    facts.ended(&near);
    facts.count(&counters(), 1, LASTED);
    facts
}

/// The record at the end of the run.
fn last_record() -> RunFacts {
    let mut facts = record();
    let refusals = Refusals { not_granted: 1, misfits: 2, void_claims: 3, void_reports: 4, times: 5 };
    let (refused, barred) = (worker("odd-1"), worker("bad-2"));
    facts.sent_away([(&refused, &refusals)].into_iter(), [(&barred, "it lies")].into_iter());
    facts.barred(&Barred {
        worker: worker("node7-4"),
        session: "s".into(),
        host: "node7".into(),
        model: ModelId(0),
        kind: UnableKind::Missing,
        text: "no such file".into(),
    });
    let endpoint = EndpointFacts {
        url: "http://h/v1".into(),
        model: "big".into(),
        samples: 2,
        cost: Some(0.5),
        ..Default::default()
    };
    facts.endpoints.insert("m".into(), endpoint);
    let diverged = Diverged { sample: 1, recorded: "node7-4".into(), differs: "local-17".into() };
    facts.diverged.insert("m/d".into(), vec![diverged]);
    facts.ran(&worker("local-17"), "m/d".into(), "0..2".into());
    (facts.reports, facts.reports_not_compared) = (2, 1);
    facts
}

/// A moment of the run, as its driver shows it.
fn moment() -> RunView {
    let metric = LiveMetric {
        model: "m".into(),
        dataset: "d".into(),
        recorded: 2,
        expected: 2,
        copied: 1,
        scored: 10,
        failed: 1,
        metric: "accuracy".into(),
        value: Some(70.0),
        interval: None,
    };
    let mut view = RunView {
        open_tasks: 3,
        granted_tasks: 1,
        slots: 2,
        failed_samples: 2,
        given_up_samples: 1,
        failed_tasks: 1,
        violations: 1,
        samples_per_second: 0.5,
        tokens_per_second: 80.25,
        live: vec![metric.with_interval()],
        pools: vec!["local: 1 of 1 workers on this host is here".into()],
        shortage: Some(Shortage::Slots { waiting: 2, slots: 2 }),
        waits: vec!["2 tasks wait for the model m".into()],
        ..record().view(|name| name == "local-17")
    };
    let observed: [(&mut Histogram, f64); 3] =
        [(&mut view.latencies.grant, 0.004), (&mut view.latencies.commit, 0.5), (&mut view.latencies.sample, 2.0)];
    observed.into_iter().for_each(|(histogram, seconds)| histogram.observe(seconds, 2));
    view
}

/// A registry with one job, the entry of which is returned as well.
fn registered(job_handle: JobHandle, ended: Option<Ended>) -> (JobRegistry, JobEntry) {
    let entry = JobEntry {
        priority: 2,
        submitted: "2026-11-22T00:00:00Z".into(),
        max_slots: Some(SlotBound { slots: 4, by: "`max_gpus`".into() }),
        job_handle,
        ended: watch::channel(ended).1,
        ..JobEntry::new(PLAN, format!("/out/{RUN}").into())
    };
    let registry = JobRegistry::default();
    registry.add(entry.clone());
    registry.opened_at("127.0.0.1:50051".into());
    (registry, entry)
}

fn end(exit_code: u8) -> Ended {
    Ended {
        exit_code,
        reason: "the disk is full".into(),
        help: Some("clear it".into()),
        at: "2026-11-22T00:03:00Z".into(),
        recorded_samples: 1,
        expected_samples: 3,
        failed_tasks: 2,
    }
}

fn text(value: &impl Serialize) -> String {
    String::from_utf8(pretty_json("a projection", value).unwrap()).unwrap()
}

/// Returns what a registry shows of its only job: `status --json`, `status.json`, and the parts of the page.
fn shown(registry: &JobRegistry, entry: &JobEntry) -> String {
    let mut status = registry.status();
    (status.process, status.host) = (17, "h".into());
    let view = registry.job_view(entry);
    let parts = job_parts(&view, &Narrowed::default()).into_iter();
    let page: String = parts.map(|(name, part)| format!("{name}: {}\n", part.into_string())).collect();
    // A line for each row of a table.
    let page = page.replace("<tr>", "\n<tr>");
    [serde_json::to_string(&status).unwrap(), view.json().unwrap().to_string(), page].join("\n\n")
}

#[test]
fn a_record_is_run_json() {
    insta::assert_snapshot!(text(&last_record()));
}

#[test]
fn a_job_that_runs_is_shown_everywhere() {
    let job_handle = JobHandle::default();
    let (_views, view) = watch::channel(moment());
    let (_statuses, status) = watch::channel(LeadershipStatus::Sure);
    let _commands = job_handle.open("infer", view, status);
    let (registry, entry) = registered(job_handle, None);
    let scrape = metrics::render(3, registry.views()).unwrap();
    insta::assert_snapshot!([shown(&registry, &entry), scrape].join("\n\n"));
}

#[tokio::test]
async fn a_job_that_was_cancelled_and_ended_is_shown_everywhere() {
    let job_handle = JobHandle::default();
    job_handle.recall(moment());
    job_handle.cancel("wrong model".into()).await;
    let (registry, entry) = registered(job_handle, Some(end(3)));
    insta::assert_snapshot!(shown(&registry, &entry));
}

#[test]
fn a_job_that_ended_under_another_master_is_shown_from_its_record() {
    let work_dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(work_dir.path(), "run").unwrap();
    write_plan(&folder, &planned()).unwrap();
    write_atomically(&folder.logs().join("run.json"), text(&last_record()).as_bytes()).unwrap();
    let table =
        "dataset,version,metric,mode,model,value,expected,scored,failed,reason\nd,000000,accuracy,ppl,m,50,2,2,0,\n";
    write_atomically(&folder.summary().join("long_20260102_030405.csv"), table.as_bytes()).unwrap();
    let job_handle = JobHandle::default();
    job_handle.recall(compass_scoring::recalled(folder.root()).unwrap());
    let (registry, entry) = registered(job_handle, Some(end(0)));
    insta::assert_snapshot!(shown(&registry, &entry));
}
