//! Models that only one worker may be at, and models that are stopped.

use super::super::tests::{Bench, view, worker};
use super::super::*;
use compass_types::ids::ModelId;
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;

fn limited(most: u32) -> Limits {
    Limits { most_workers: BTreeMap::from([(ModelId(0), most)]), ..Limits::default() }
}

/// Workers that hold grants of unit 0 with samples left.
fn at_it(bench: &Bench) -> Vec<u8> {
    let held = bench.grants.iter().filter(|(_, _, unit, left)| unit.0 == 0 && !left.is_empty());
    let mut workers: Vec<u8> = held.map(|(who, ..)| *who).collect();
    workers.sort_unstable();
    workers.dedup();
    workers
}

#[test]
fn no_more_workers_are_at_a_model_than_it_has_shares() {
    for most in [1, 2] {
        let tasks = (0..12).map(|at| view(0, at * 4, at * 4 + 4)).collect();
        let mut bench = Bench::new(limited(most), tasks);
        (0..4).for_each(|at| bench.attach(at, 0, 1));
        assert_eq!(at_it(&bench).len(), most as usize, "every share is used");
        let why = bench.core.explain_worker(&worker(3)).unwrap();
        assert!(why.ends_with("; the models of what is pending have as many workers as they may"), "{why}");
        let mut at = 0;
        while !bench.core.is_finished() {
            assert!(at_it(&bench).len() <= most as usize, "grant {at}: {:?}", at_it(&bench));
            bench.work(at);
            if bench.grants[at].3.is_empty() {
                at += 1;
            }
        }
        assert_eq!(bench.recorded.len(), 48);
    }
}

#[test]
fn a_share_is_another_s_only_once_the_lease_is_over() {
    let mut bench = Bench::new(limited(1), vec![view(0, 0, 4), view(0, 4, 8)]);
    bench.attach(0, 0, 1);
    bench.attach(1, 0, 1);
    bench.apply(Event::Detached { worker: worker(0), connection: ConnectionId(1) });
    assert_eq!(at_it(&bench), [0]);
    assert!(bench.core.wanted().waiting.values().all(|tasks| *tasks == 0), "no worker more is wanted");
    bench.now = 29_000;
    bench.apply(Event::Heartbeat { worker: worker(1) });
    bench.now = 31_000;
    bench.apply(Event::Tick);
    assert!(bench.grants.iter().any(|(who, ..)| *who == 1));
}

#[test]
fn what_is_stopped_ends_what_it_has_begun_and_fails_the_rest() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 4), view(0, 4, 8), view(1, 0, 2)]);
    bench.attach(0, 0, 1);
    bench.apply(Event::Stop { model: ModelId(0), reason: "max_cost is reached".into() });
    let (grant, asked) = bench.asked.first().cloned().unwrap();
    // It has begun sample 0, and hands back the others.
    let returned = asked.minus(&IntervalSet::range(0, 1));
    bench.apply(Event::Returned { worker: worker(0), grant, samples: returned, held: true });
    for (grant, asked) in bench.asked.clone().into_iter().skip(1) {
        bench.apply(Event::Returned { worker: worker(0), grant, samples: asked, held: false });
    }
    bench.work(0);
    bench.apply(Event::Credit { worker: worker(0), grants: 8 });
    while let Some(at) = bench.grants.iter().position(|(_, _, unit, left)| unit.0 == 1 && !left.is_empty()) {
        bench.work(at);
    }
    assert!(bench.core.is_finished());
    let failures = bench.core.failures();
    let failed: u32 = failures.iter().map(|(_, samples, _)| samples.len()).sum();
    assert_eq!(failed, 7);
    assert!(failures.iter().all(|(unit, _, why)| unit.0 == 0 && why == "max_cost is reached"));
}
