//! A worker's grants and results decide where it may go, and a connection is answered once.

use super::*;
use crate::Requires;

fn id(name: &str) -> JobId {
    JobId(name.into())
}

fn plan(name: &str) -> Digest {
    Digest::of(name.as_bytes())
}

fn terms() -> JobTerms {
    JobTerms { weight: 1, bound: None, models: BTreeSet::new(), everyone: false }
}

fn wanted(tasks: u32) -> SlotDemand {
    let slots: BTreeMap<_, _> = [(Requires::Echo.into(), tasks)].into();
    SlotDemand { waiting: slots.clone(), usable: slots, ..SlotDemand::default() }
}

fn hello(worker: &str, holds_of: Option<&str>) -> v1::Hello {
    v1::Hello {
        worker: worker.into(),
        session: worker.into(),
        slots: 1,
        plan: holds_of.map(|name| plan(name).0.to_vec()).unwrap_or_default(),
        held: holds_of.map(|_| v1::HeldGrant::default()).into_iter().collect(),
        ..v1::Hello::default()
    }
}

fn arrives(dispatcher: &mut Dispatcher, connection: u64, hello: &v1::Hello) -> Vec<Dispatch> {
    let mut out = Vec::new();
    dispatcher.arrive(0, ConnectionId(connection), hello, &mut out);
    out
}

fn attached(connection: u64, worker: &str, job: &str) -> Vec<Dispatch> {
    vec![Dispatch::Attach { connection: ConnectionId(connection), worker: WorkerId(worker.into()), job: id(job) }]
}

/// A dispatcher with a job that wants workers.
fn with_job(name: &str) -> Dispatcher {
    let (mut dispatcher, mut out) = (Dispatcher::default(), Vec::new());
    dispatcher.enter(0, id(name), terms(), plan(name), &mut out);
    dispatcher.demand(0, &id(name), &plan(name), wanted(10));
    assert_eq!(out, []);
    dispatcher
}

#[test]
fn a_worker_that_holds_something_waits_for_its_job_and_others_go_where_there_is_work() {
    let mut dispatcher = with_job("a");
    dispatcher.expect(plan("b"), id("b"));
    assert_eq!(arrives(&mut dispatcher, 1, &hello("w1", Some("b"))), []);
    assert_eq!(arrives(&mut dispatcher, 2, &hello("w2", None)), attached(2, "w2", "a"));
    let mut out = Vec::new();
    dispatcher.enter(0, id("b"), terms(), plan("b"), &mut out);
    assert_eq!(out, attached(1, "w1", "b"));
}

#[test]
fn a_worker_whose_job_is_expected_no_more_goes_where_there_is_work() {
    let (mut dispatcher, mut out) = (with_job("a"), Vec::new());
    dispatcher.expect(plan("b"), id("b"));
    assert_eq!(arrives(&mut dispatcher, 1, &hello("w1", Some("b"))), []);
    dispatcher.forget(0, &id("b"), &mut out);
    assert_eq!(out, attached(1, "w1", "a"));
}

#[test]
fn a_later_connection_of_a_worker_replaces_one_that_waits_and_another_process_of_its_name_is_refused() {
    let mut dispatcher = Dispatcher::default();
    assert_eq!(arrives(&mut dispatcher, 1, &hello("w1", None)), []);
    let replaced = Dispatch::Replaced { connection: ConnectionId(1) };
    assert_eq!(arrives(&mut dispatcher, 2, &hello("w1", None)), [replaced]);
    let other = v1::Hello { session: "another".into(), ..hello("w1", None) };
    assert!(matches!(arrives(&mut dispatcher, 3, &other)[..], [Dispatch::Refuse { .. }]));
    let mut out = Vec::new();
    dispatcher.left(0, &WorkerId("w1".into()), ConnectionId(1), &mut out);
    assert_eq!(dispatcher.connected().len(), 1, "the first connection is not the worker's any more");
    dispatcher.left(0, &WorkerId("w1".into()), ConnectionId(2), &mut out);
    assert_eq!(arrives(&mut dispatcher, 4, &other), []);
}

#[test]
fn workers_that_wait_are_told_to_end_once_it_is_closed() {
    let (mut dispatcher, mut out) = (Dispatcher::default(), Vec::new());
    assert_eq!(arrives(&mut dispatcher, 1, &hello("w1", None)), []);
    dispatcher.close("over", &mut out);
    dispatcher.close("over", &mut out);
    assert_eq!(out, [Dispatch::Shutdown { connection: ConnectionId(1), reason: "over" }]);
    assert!(matches!(arrives(&mut dispatcher, 2, &hello("w2", None))[..], [Dispatch::Shutdown { .. }]));
}
