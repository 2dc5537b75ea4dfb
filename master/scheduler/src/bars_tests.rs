//! Workers that cannot load a model: which are barred, what becomes of the tasks, and when a model fails.

use super::tests::{Bench, view, worker};
use super::*;
use compass_plan::engine::UnableKind;
use compass_types::ids::{GrantId, ModelId, TaskId, UnitId};

fn attach_on(bench: &mut Bench, at: u8, host: &str) {
    let capabilities = Capabilities {
        session: format!("s{at}"),
        slots: 1,
        has_engine: true,
        host: host.into(),
        ..Capabilities::default()
    };
    let (connection, held) = (ConnectionId(u64::from(at) + 1), vec![]);
    bench.apply(Event::Attached { worker: worker(at), connection, capabilities, held });
    bench.apply(Event::Credit { worker: worker(at), grants: 2 });
}

/// Every live grant of the worker for this model comes back: it cannot load it.
fn cannot_load(bench: &mut Bench, at: u8, model: u32, kind: UnableKind, text: &str) {
    loop {
        let is_of = |grant: &&(u8, GrantId, UnitId, _)| {
            grant.0 == at && grant.2 == UnitId(model) && bench.core.is_live(&worker(at), &grant.1)
        };
        let Some((_, grant, ..)) = bench.grants.iter().find(is_of).cloned() else { return };
        let class = FailureClass::Unable(kind);
        bench.apply(Event::Failed { worker: worker(at), grant, class, message: text.into() });
    }
}

fn work_all(bench: &mut Bench) {
    for _ in 0..100 {
        for at in 0..bench.grants.len() {
            let (who, grant, ..) = bench.grants[at].clone();
            if bench.core.is_live(&worker(who), &grant) {
                bench.work(at);
            }
        }
    }
}

#[test]
fn tasks_of_a_barred_worker_go_to_others_and_cost_no_retry() {
    let limits = Limits { retry: 0, infrastructure: 0, losses: 0, ..Limits::default() };
    let mut bench = Bench::new(limits, vec![view(0, 0, 4), view(0, 4, 8), view(0, 8, 12)]);
    attach_on(&mut bench, 0, "bad");
    cannot_load(&mut bench, 0, 0, UnableKind::Missing, "/models/llama is missing");
    assert!(bench.core.explain_worker(&worker(0)).unwrap().contains("barred: /models/llama is missing"));
    let granted = bench.grants.len();
    attach_on(&mut bench, 1, "good");
    assert!(bench.grants[granted..].iter().all(|grant| grant.0 == 1), "B1: {:?}", bench.grants);
    work_all(&mut bench);
    assert!(bench.core.is_finished() && bench.core.failures().is_empty(), "{:?}", bench.core.failures());
    assert_eq!(bench.core.progress().retries, 0);
    let barred: Vec<_> = bench.core.barred().map(|bar| (bar.worker.clone(), bar.host.clone())).collect();
    assert_eq!(barred, [(worker(0), "bad".to_owned())], "named once");
}

#[test]
fn a_barred_worker_goes_on_with_other_models() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 4), view(1, 0, 4)]);
    attach_on(&mut bench, 0, "a");
    cannot_load(&mut bench, 0, 0, UnableKind::Missing, "gone");
    work_all(&mut bench);
    assert!(!bench.core.is_finished(), "others may come for the other model");
    assert_eq!(bench.core.progress().open_tasks, 1);
}

#[test]
fn a_model_whose_weights_are_gone_ends_once_no_connected_worker_can_load_it() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 4), view(1, 0, 4)]);
    attach_on(&mut bench, 0, "a");
    bench.apply(Event::WeightsGone { model: ModelId(0) });
    assert_eq!(bench.core.progress().open_tasks, 2, "a worker may hold it loaded");
    cannot_load(&mut bench, 0, 0, UnableKind::Missing, "no such file");
    assert_eq!(bench.core.progress().open_tasks, 1, "the other model goes on");
    assert!(bench.core.failures()[0].2.starts_with("no such file"));
}

#[test]
fn a_model_ends_at_once_where_no_other_worker_can_come() {
    let limits = Limits { others_may_come: false, ..Limits::default() };
    let mut bench = Bench::new(limits, vec![view(0, 0, 4), view(0, 4, 8), view(1, 0, 2)]);
    attach_on(&mut bench, 0, "here");
    cannot_load(&mut bench, 0, 0, UnableKind::Missing, "no such folder");
    work_all(&mut bench);
    assert!(bench.core.is_finished());
    let failures = bench.core.failures();
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert!(failures.iter().all(|failure| failure.2 == "no such folder (worker w0 on here)"), "{failures:?}");
}

#[test]
fn the_failure_of_a_model_is_said_once_per_reason() {
    let limits = Limits { others_may_come: false, ..Limits::default() };
    let mut bench = Bench::new(limits, (0..4).map(|at| view(0, at * 4, at * 4 + 4)).collect());
    attach_on(&mut bench, 0, "here");
    let held: Vec<_> = bench.grants.iter().map(|(_, grant, ..)| *grant).collect();
    assert_eq!(held.len(), 2);
    let mut fail = |grant, text: &str| {
        let class = FailureClass::Unable(UnableKind::Missing);
        let effects = bench.apply(Event::Failed { worker: worker(0), grant, class, message: text.into() });
        let notes = effects.into_iter().filter_map(|effect| match effect {
            Effect::Note { text } => Some(text),
            _ => None,
        });
        notes.collect::<Vec<_>>()
    };
    let said = fail(held[0], "no such folder");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("no worker can load "), "{said:?}");
    assert!(said[0].contains("its 3 tasks failed: no such folder"), "{said:?}");
    assert_eq!(fail(held[1], "no such folder"), [""; 0]);
    assert_eq!(bench.core.failures().len(), 4, "all the same they are recorded");
    assert_eq!(bench.core.failed_samples(), 16);
}

#[test]
fn a_model_waits_for_an_able_worker_as_long_as_it_may_and_then_fails_with_all_reasons() {
    let mut bench =
        Bench::new(Limits { lease_ttl: 10_000_000, silence: 10_000_000, ..Limits::default() }, vec![view(0, 0, 4)]);
    attach_on(&mut bench, 0, "a");
    attach_on(&mut bench, 1, "b");
    cannot_load(&mut bench, 0, 0, UnableKind::Missing, "gone at a");
    bench.now = 100_000;
    cannot_load(&mut bench, 1, 0, UnableKind::Device, "no GPU at b");
    bench.now = 699_999;
    bench.apply(Event::Tick);
    assert!(!bench.core.is_finished());
    let why = bench.core.explain_task(TaskId(0)).unwrap();
    assert!(why.contains("worker w0 is barred: gone at a") && why.contains("fails in 1s"), "{why}");
    bench.now = 700_000;
    bench.apply(Event::Tick);
    assert!(bench.core.is_finished());
    let reason = &bench.core.failures()[0].2;
    assert_eq!(reason, "gone at a (worker w0 on a); no GPU at b (worker w1 on b)");
}

#[test]
fn two_hosts_that_agree_about_the_content_are_believed() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 4), view(0, 4, 8)]);
    bench.apply(Event::Supply(Supply::Ordered));
    attach_on(&mut bench, 0, "a");
    cannot_load(&mut bench, 0, 0, UnableKind::Content, "tensor x is missing");
    assert!(!bench.core.is_finished(), "one host may have a damaged copy, and another worker is on its way");
    attach_on(&mut bench, 1, "b");
    cannot_load(&mut bench, 1, 0, UnableKind::Content, "tensor x is missing");
    assert!(bench.core.is_finished());
}

#[test]
fn all_that_are_connected_are_believed_where_none_is_on_its_way() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 4)]);
    attach_on(&mut bench, 0, "a");
    cannot_load(&mut bench, 0, 0, UnableKind::Content, "tensor x is missing");
    assert!(bench.core.is_finished());
}

#[test]
fn a_host_with_two_barred_workers_is_barred_for_twice_as_long_each_time() {
    let limits =
        Limits { unschedulable: 100_000_000, lease_ttl: 100_000_000, silence: 100_000_000, ..Limits::default() };
    let mut bench = Bench::new(limits, vec![view(0, 0, 4)]);
    for at in [0, 1] {
        attach_on(&mut bench, at, "bad");
        cannot_load(&mut bench, at, 0, UnableKind::Missing, "gone");
    }
    let granted = bench.grants.len();
    attach_on(&mut bench, 2, "bad");
    assert_eq!(bench.grants.len(), granted, "its host is barred");
    assert!(bench.core.explain_worker(&worker(2)).unwrap().contains("barred for 600 s"));
    bench.now += 600_000;
    bench.apply(Event::Tick);
    assert_eq!(bench.grants.len(), granted + 1, "it may try");
    cannot_load(&mut bench, 2, 0, UnableKind::Missing, "gone");
    attach_on(&mut bench, 3, "bad");
    bench.now += 1_199_999;
    bench.apply(Event::Tick);
    assert_eq!(bench.grants.len(), granted + 1, "barred for twice as long");
    attach_on(&mut bench, 4, "good");
    assert_eq!(bench.grants.len(), granted + 2);
}

#[test]
fn a_bar_that_the_leader_raises_takes_back_what_the_worker_holds() {
    let mut bench = Bench::new(Limits { losses: 0, ..Limits::default() }, vec![view(0, 0, 4), view(0, 4, 8)]);
    attach_on(&mut bench, 0, "a");
    let kind = UnableKind::Content;
    let effects =
        bench.apply(Event::Unable { worker: worker(0), model: ModelId(0), kind, text: "other weights".into() });
    let revoked =
        |effect: &&Effect| matches!(effect, Effect::Send { message: Message::Revoke { samples: None, .. }, .. });
    assert_eq!(effects.iter().filter(revoked).count(), 2);
    attach_on(&mut bench, 1, "b");
    for (_, grant, ..) in bench.grants.clone().into_iter().filter(|grant| grant.0 == 0) {
        let samples = Default::default();
        bench.apply(Event::Returned { worker: worker(0), grant, samples, held: false });
    }
    assert!(bench.core.failures().is_empty(), "it costs no try");
    work_all(&mut bench);
    assert!(bench.core.is_finished() && bench.core.failures().is_empty());
}
