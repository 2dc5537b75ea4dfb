//! Whole tasks that have not begun move to idle slots, and slots load a model only where it pays.

use super::tests::{Bench, attached, view, worker};
use super::*;
use compass_types::ids::ModelId;
use compass_types::intervals::IntervalSet;
use std::collections::{BTreeMap, BTreeSet};

/// Workers answer what they are asked to return: all of a grant that is not the first that they hold.
fn answer(bench: &mut Bench) {
    while let Some((grant, asked)) = bench.asked.pop() {
        let Some((holder, ..)) =
            bench.grants.iter().find(|(who, held, ..)| *held == grant && bench.core.is_live(&worker(*who), held))
        else {
            continue;
        };
        let holder = *holder;
        let first =
            bench.grants.iter().find(|(who, held, ..)| *who == holder && bench.core.is_live(&worker(*who), held));
        let begun = first.is_some_and(|(_, held, ..)| *held == grant);
        let samples = if begun { IntervalSet::new() } else { asked };
        bench.apply(Event::Returned { worker: worker(holder), grant, samples, held: begun });
    }
}

fn shares(bench: &Bench) -> BTreeMap<u8, u32> {
    let mut shares = BTreeMap::new();
    for (who, grant, _, samples) in &bench.grants {
        if bench.core.is_live(&worker(*who), grant) {
            *shares.entry(*who).or_default() += samples.len();
        }
    }
    shares
}

#[test]
fn a_task_that_was_granted_ahead_goes_to_a_worker_that_comes_later() {
    let tasks = (0..4).map(|at| view(0, at * 100, (at + 1) * 100)).collect();
    let mut bench = Bench::new(Limits { split: false, ..Limits::default() }, tasks);
    for at in 0..4 {
        bench.attach(at, 0, 1);
        answer(&mut bench);
    }
    assert_eq!(shares(&bench), BTreeMap::from([(0, 100), (1, 100), (2, 100), (3, 100)]));
    assert!(bench.asked.is_empty());
}

#[test]
fn what_has_begun_stays_and_is_asked_for_once() {
    let mut bench = Bench::new(Limits { split: false, ..Limits::default() }, vec![view(0, 0, 10)]);
    bench.attach(0, 0, 1);
    bench.attach(1, 0, 1);
    assert!(bench.asked.is_empty(), "one task in one slot: nothing waits");
    for _ in 0..3 {
        bench.now += 1_000;
        bench.apply(Event::Tick);
    }
    assert!(bench.asked.is_empty());
}

#[test]
fn a_task_stays_where_it_ends_sooner() {
    let slow = |at: u8| if at == 1 { 10 } else { 1 };
    let tasks = (0..6).map(|at| view(0, at * 10, (at + 1) * 10)).collect();
    let mut bench = Bench::new(Limits { split: false, ..Limits::default() }, tasks);
    bench.attach(0, 0, 1);
    bench.attach(1, 0, 1);
    // The second worker takes ten times as long for a sample.
    for step in 1..200u64 {
        bench.now += 1_000;
        bench.apply(Event::Tick);
        for who in [0, 1] {
            bench.apply(Event::Heartbeat { worker: worker(who) });
            let first =
                bench.grants.iter().position(|(at, grant, ..)| *at == who && bench.core.is_live(&worker(who), grant));
            if let Some(first) = first.filter(|_| step % slow(who) == 0) {
                bench.work(first);
            }
        }
        answer(&mut bench);
    }
    assert!(bench.core.is_finished());
    let late = bench.grants.iter().filter(|(who, ..)| *who == 1).count();
    assert!(late <= 2, "the slow worker must not end last: {:?}", bench.grants);
}

#[test]
fn idle_workers_that_find_nothing_leave_the_turn_to_those_behind_them() {
    let places = BTreeMap::from([(ModelId(0), BTreeSet::from(["able".to_owned()]))]);
    let tasks = (0..4).map(|at| view(0, at * 10, (at + 1) * 10)).collect();
    let mut bench = Bench::new(Limits { split: false, places, ..Limits::default() }, tasks);
    let attach = |bench: &mut Bench, at: u8, pool: &str, credit: u32| {
        let Event::Attached { worker: id, connection, capabilities, held } = attached(at, u64::from(at) + 1, 0, 1)
        else {
            return;
        };
        let capabilities = Capabilities { pool: pool.to_owned(), ..capabilities };
        bench.apply(Event::Attached { worker: id, connection, capabilities, held });
        bench.apply(Event::Credit { worker: worker(at), grants: credit });
    };
    attach(&mut bench, 0, "able", 4);
    (1..=100).for_each(|at| attach(&mut bench, at, "other", 2));
    attach(&mut bench, 101, "able", 2);
    assert_eq!(shares(&bench), BTreeMap::from([(0, 40)]));
    for _ in 0..100 {
        bench.now += 100;
        bench.apply(Event::Tick);
        answer(&mut bench);
    }
    assert!(shares(&bench).contains_key(&101), "{:?}", shares(&bench));
}

/// The model of a slot, the grant that is under way, and until when.
type SlotState = (Option<u32>, Option<usize>, u64);

/// Plays workers with a time to load; returns how many loads there were.
fn loads(models: u32, tasks_each: u32, workers: u8, slots: u32, split: bool, load: u64) -> u64 {
    let tasks = (0..models).flat_map(|model| {
        (0..tasks_each).map(move |at| TaskView { model: ModelId(model), ..view(model, at * 10, (at + 1) * 10) })
    });
    let load_ms = (0..models).map(|model| (ModelId(model), load)).collect();
    let mut bench = Bench::new(Limits { split, load_ms, ..Limits::default() }, tasks.collect());
    for at in 0..workers {
        bench.attach(at, 0, slots);
    }
    // By worker and slot: the model, what is under way, and until when.
    let mut held: BTreeMap<(u8, u32), SlotState> = BTreeMap::new();
    let (mut count, mut heard) = (0, [bench.grants.len(); 2]);
    for _ in 0..2_000_000 {
        // A word takes its time: a slot whose grant ends chooses among those that its worker had.
        heard = [heard[1], bench.grants.len()];
        if bench.core.is_finished() {
            return count;
        }
        bench.now += 20;
        if bench.now.is_multiple_of(1_000) {
            bench.apply(Event::Tick);
            (0..workers).for_each(|at| drop(bench.apply(Event::Heartbeat { worker: worker(at) })));
        }
        for who in 0..workers {
            for slot in 0..slots {
                let (model, under_way, until) = held.get(&(who, slot)).copied().unwrap_or_default();
                if let Some(at) = under_way {
                    if bench.now >= until {
                        bench.work(at);
                        let over =
                            bench.grants[at].3.is_empty() || !bench.core.is_live(&worker(who), &bench.grants[at].1);
                        held.insert((who, slot), (model, (!over).then_some(at), bench.now + 100));
                    }
                    continue;
                }
                let busy: Vec<usize> = held.values().filter_map(|(_, at, _)| *at).collect();
                let others: Vec<u32> =
                    held.iter().filter(|(at, _)| at.0 == who && at.1 != slot).filter_map(|(_, held)| held.0).collect();
                let open = bench.grants.iter().enumerate().take(heard[0]).filter(|(at, (of, grant, ..))| {
                    *of == who && !busy.contains(at) && bench.core.is_live(&worker(who), grant)
                });
                let rank = |of: u32| (Some(of) != model, others.contains(&of));
                let next = open.map(|(at, grant)| (rank(grant.2.0), at, grant.2.0)).min();
                // As the agent: what another slot holds is left to it, unless the master says otherwise.
                let is_left = |rank: (bool, bool)| rank.0 && rank.1 && (model.is_some() || models > slots);
                let Some((_, at, of)) = next.filter(|(rank, ..)| !is_left(*rank)) else {
                    continue;
                };
                let mut until = bench.now + 100;
                if Some(of) != model {
                    count += 1;
                    until += load;
                    bench.apply(Event::Loaded { worker: worker(who), model: ModelId(of), slot, ms: load });
                }
                held.insert((who, slot), (Some(of), Some(at), until));
            }
        }
        while let Some((grant, asked)) = bench.asked.pop() {
            let Some(at) = bench.grants.iter().position(|held| held.1 == grant) else { continue };
            let who = bench.grants[at].0;
            if !bench.core.is_live(&worker(who), &grant) {
                continue;
            }
            let begun = held.values().any(|(_, under_way, _)| *under_way == Some(at));
            let untouched = bench.grants[at].3.len() == 10;
            let samples = if begun || !untouched { IntervalSet::new() } else { asked };
            let still = begun || samples != bench.grants[at].3;
            bench.apply(Event::Returned { worker: worker(who), grant, samples, held: still });
        }
    }
    panic!("not over: {:?}", bench.core.explain_job());
}

#[test]
fn sixty_models_on_two_slots_are_loaded_about_once_each() {
    for (workers, slots) in [(2, 1), (1, 2)] {
        for split in [false, true] {
            let loads = loads(60, 2, workers, slots, split, 5_000);
            assert!(loads <= 62, "{loads} loads of 60 models on {workers} workers with {slots} slots");
        }
    }
}

#[test]
fn two_models_on_two_slots_are_loaded_once_each() {
    for split in [false, true] {
        for workers in [1, 3] {
            let loads = loads(2, 20, workers, 2, split, 5_000);
            assert!(loads <= 2 * u64::from(workers) + 1, "{loads} loads on {workers} workers");
        }
    }
}

#[test]
fn a_model_with_much_left_is_worth_a_second_load() {
    assert_eq!(loads(1, 40, 2, 1, false, 1_000), 2);
}
