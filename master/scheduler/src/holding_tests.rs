//! Grants that workers keep, return and give up: adoption, stealing, classes of failure, cancellation, explanations.

use super::tests::{Bench, view, worker};
use super::*;
use compass_types::ids::{Epoch, GrantId, ModelId, TaskId, UnitId};
use compass_types::intervals::IntervalSet;

/// Attaches with what a hello lists; the credit is that of one slot. What the welcome leaves to the worker.
fn attach_holding(bench: &mut Bench, at: u8, connection: u64, held: Vec<HeldGrant>) -> Vec<KeptGrant> {
    let capabilities = Capabilities {
        session: "s0".into(),
        slots: 1,
        has_engine: true,
        sandbox: SandboxState::Works,
        ..Capabilities::default()
    };
    let connection = ConnectionId(connection);
    let effects = bench.apply(Event::Attached { worker: worker(at), connection, capabilities, held });
    bench.apply(Event::Credit { worker: worker(at), grants: 2 });
    let welcome = effects.into_iter().find_map(|effect| match effect {
        Effect::Send { message: Message::Welcome { kept, .. }, .. } => Some(kept),
        _ => None,
    });
    welcome.unwrap()
}

fn held(epoch: u64, task: u32, first: u32, end: u32) -> HeldGrant {
    let grant = GrantId::new(epoch, task, 1);
    HeldGrant { grant, unit: UnitId(0), samples: IntervalSet::range(first, end) }
}

fn fail(bench: &mut Bench, at: usize, class: FailureClass, message: &str) -> Vec<Effect> {
    let (who, grant, ..) = bench.grants[at].clone();
    bench.apply(Event::Failed { worker: worker(who), grant, class, message: message.into() })
}

#[test]
fn a_worker_keeps_what_an_older_leader_granted_under_a_new_attempt() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 10), view(0, 10, 20)]);
    let kept = attach_holding(&mut bench, 0, 1, vec![held(0, 7, 4, 14)]);
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].held.epoch, kept[0].now.grant.epoch), (Epoch(0), Epoch(1)));
    assert_eq!(kept[0].now.samples, IntervalSet::range(4, 14), "across the borders of this leader's tasks");
    assert_eq!(bench.core.progress().adopted, 1);
    let others: Vec<_> = bench.grants.iter().map(|grant| grant.3.pairs().to_vec()).collect();
    assert_eq!(others, [[(0, 4)]], "its credit of two is spent by what it keeps");
    let again = attach_holding(&mut bench, 0, 2, vec![held(0, 7, 4, 14)]);
    assert_eq!(again[0].now.samples, IntervalSet::range(4, 14), "the welcome was lost");
    assert!(again[0].now.grant.attempt > kept[0].now.grant.attempt);
}

#[test]
fn what_another_has_by_now_is_not_left_to_a_worker_that_was_given_up() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 3), view(0, 3, 6)]);
    bench.attach(0, 0, 1);
    bench.now = 31_000;
    bench.apply(Event::Tick);
    bench.attach(1, 0, 1);
    bench.apply(Event::Credit { worker: worker(1), grants: 1 });
    assert_eq!(bench.core.progress().granted, 2, "one worker has both");
    assert!(attach_holding(&mut bench, 0, 9, vec![held(1, 0, 0, 3)]).is_empty());
}

#[test]
fn what_a_hello_does_not_list_goes_back_into_the_queue() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 3)]);
    bench.attach(0, 0, 1);
    let first = bench.grants[0].1;
    assert!(attach_holding(&mut bench, 0, 5, vec![]).is_empty());
    assert_eq!(bench.grants.len(), 2, "granted again");
    assert!(bench.grants[1].1.attempt > first.attempt && !bench.core.is_live(&worker(0), &first));
}

#[test]
fn a_new_leader_waits_for_those_who_may_hold_something() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 10)]);
    let former = Former { worker: worker(3), unit: UnitId(0), samples: IntervalSet::range(2, 6) };
    bench.core.recover(0, &[former]);
    bench.attach(0, 0, 1);
    assert_eq!(bench.grants[0].3.pairs(), [(0, 2), (6, 10)]);
    let waits = bench.core.explain_task(TaskId(1)).unwrap();
    assert!(waits.contains("waiting for worker w3"), "{waits}");
    let mut other = bench.core.clone();
    bench.now = 29_999;
    bench.apply(Event::Heartbeat { worker: worker(0) });
    bench.apply(Event::Tick);
    assert_eq!(bench.grants.len(), 1);
    bench.now = 30_000;
    bench.apply(Event::Tick);
    assert_eq!(bench.grants[1].3.pairs(), [(2, 6)], "it did not come");
    let mut effects = Vec::new();
    let capabilities = Capabilities {
        session: "new".into(),
        slots: 1,
        has_engine: true,
        sandbox: SandboxState::Works,
        ..Capabilities::default()
    };
    let event = Event::Attached { worker: worker(3), connection: ConnectionId(8), capabilities, held: vec![] };
    other.apply(1, event, &mut effects);
    assert_eq!(other.progress().granted, 2, "it came with nothing: the idle worker has it at once");
}

#[test]
fn an_idle_worker_gets_what_a_busy_one_has_not_begun_and_only_when_that_one_says_so() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 100)]);
    bench.attach(0, 0, 1);
    bench.attach(1, 0, 1);
    assert_eq!(bench.grants.len(), 1);
    let (grant, asked) = bench.asked[0].clone();
    assert_eq!(asked.pairs(), [(50, 100)], "equal speeds, half each, from the end");
    for _ in 0..5 {
        bench.apply(Event::Tick);
    }
    assert_eq!((bench.asked.len(), bench.grants.len()), (1, 1), "asked once; no other worker has them yet");
    let samples = IntervalSet::range(60, 100);
    bench.apply(Event::Returned { worker: worker(0), grant, samples, held: true });
    assert_eq!((bench.grants[1].0, bench.grants[1].3.pairs()), (1, &[(60, 100)][..]));
    assert!(bench.core.is_live(&worker(0), &grant), "the rest stays where it is");
    assert_eq!(bench.core.progress().stolen, 1);
}

#[test]
fn a_holder_that_has_begun_everything_is_not_asked_again() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 10_000)]);
    bench.attach(0, 0, 1);
    bench.attach(1, 0, 1);
    let (grant, _) = bench.asked[0].clone();
    bench.apply(Event::Returned { worker: worker(0), grant, samples: IntervalSet::new(), held: true });
    bench.apply(Event::Tick);
    assert_eq!(bench.asked.len(), 1);
}

#[test]
fn the_same_error_on_two_workers_puts_a_task_in_quarantine() {
    let mut bench = Bench::new(Limits { retry: 9, ..Limits::default() }, vec![view(0, 0, 2)]);
    bench.attach(0, 0, 1);
    bench.attach(1, 0, 1);
    fail(&mut bench, 0, FailureClass::Transient, "index out of range");
    assert_eq!(bench.grants[1].0, 1, "tried elsewhere while somebody else is there");
    fail(&mut bench, 1, FailureClass::Transient, "index out of range");
    assert!(bench.core.is_finished());
    let why = &bench.core.failures()[0].2;
    assert_eq!(why, "index out of range (the same on 2 workers)");
    let words = bench.core.explain_task(TaskId(0)).unwrap();
    assert!(words.contains("in quarantine: the same error on w0, w1"), "{words}");
}

#[test]
fn a_worker_whose_node_fails_again_and_again_is_asked_last_and_tasks_have_their_own_budget() {
    let limits = Limits { retry: 0, infrastructure: 2, split: false, ..Limits::default() };
    let mut bench = Bench::new(limits, vec![view(0, 0, 2), view(0, 2, 4), view(0, 4, 6)]);
    bench.attach(0, 0, 1);
    fail(&mut bench, 0, FailureClass::Infrastructure, "no device");
    fail(&mut bench, 1, FailureClass::Infrastructure, "no device");
    assert!(bench.core.failures().is_empty(), "not counted against `retry`");
    let alone = bench.grants.len();
    assert!(alone >= 4, "alone it still gets them");
    bench.attach(1, 0, 1);
    let last = bench.grants.len() - 1;
    fail(&mut bench, last, FailureClass::Infrastructure, "no device");
    let words = bench.core.explain_worker(&worker(0)).unwrap();
    assert!(words.contains("asked last: its node failed"), "{words}");
}

#[test]
fn a_cancelled_job_grants_nothing_more_and_takes_back_what_is_out() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 3), view(0, 3, 6), view(0, 6, 9), view(0, 9, 12)]);
    bench.attach(0, 0, 1);
    bench.work(0);
    let effects = bench.apply(Event::Cancel { reason: "asked to".into() });
    let revoked = effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Send { message: Message::Revoke { samples: None, .. }, .. }));
    assert_eq!(revoked.count(), 2);
    assert!(bench.core.is_finished());
    let grants = bench.grants.len();
    bench.attach(1, 0, 4);
    assert_eq!(bench.grants.len(), grants);
    let missing: u32 = bench.core.failures().iter().map(|failure| failure.1.len()).sum();
    assert_eq!(missing, 11, "what is recorded stays");
    assert!(bench.core.failures().iter().all(|failure| failure.2 == "cancelled: asked to"), "why, as in a table");
}

#[test]
fn a_task_tells_why_it_waits() {
    let view = TaskView { requires: Requires::Engine, ..view(0, 0, 2) };
    let mut bench = Bench::new(Limits::default(), vec![view]);
    let why = |bench: &Bench| bench.core.explain_task(TaskId(0)).unwrap();
    assert!(why(&bench).ends_with("no worker is connected to this job"));
    let capabilities = Capabilities {
        session: "s".into(),
        slots: 1,
        has_engine: false,
        sandbox: SandboxState::Unknown,
        ..Capabilities::default()
    };
    let (connection, held) = (ConnectionId(1), vec![]);
    bench.apply(Event::Attached { worker: worker(0), connection, capabilities, held });
    assert!(why(&bench).contains("libtorch is needed, and no connected worker has it"));
    bench.attach(1, 0, 1);
    assert!(why(&bench).contains("granted to worker w1; its lease expires in 30 s"), "{}", why(&bench));
    assert!(bench.core.explain_task(TaskId(1)).is_none());
}

#[test]
fn the_pool_of_a_model_is_named_whoever_is_connected() {
    let places = std::collections::BTreeMap::from([(ModelId(0), ["aliyun".to_owned()].into())]);
    let mut bench = Bench::new(Limits { places, ..Limits::default() }, vec![view(0, 0, 2)]);
    let why = "the model is only available in pool aliyun; no worker of pool aliyun is connected".to_owned();
    assert!(bench.core.explain_task(TaskId(0)).unwrap().ends_with(&why));
    let short = Some(Shortage::Workers { waiting: 1, why, pools: vec!["aliyun".to_owned()] });
    assert_eq!(bench.core.shortage(), short);
    bench.attach(0, 0, 1);
    assert_eq!(bench.core.shortage(), short, "a worker of no pool is of no use");
}

#[test]
fn an_explanation_prints_a_users_text_unchanged() {
    let mut bench = Bench::new(Limits { retry: 0, ..Limits::default() }, vec![view(0, 0, 2)]);
    bench.attach(0, 0, 1);
    fail(&mut bench, 0, FailureClass::User, "cannot read /Data/Models/LLaMA-7B/Config.JSON");
    let words = bench.core.explain_task(TaskId(0)).unwrap();
    assert!(words.ends_with("failed (user): cannot read /Data/Models/LLaMA-7B/Config.JSON"), "{words}");
}
