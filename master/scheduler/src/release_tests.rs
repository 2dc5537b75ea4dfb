//! The way of a worker out of one job and back into it, and what a job says that it could use.

use super::tests::{Bench, view, worker};
use super::*;
use compass_types::ids::{ModelId, TaskId, UnitId};
use compass_types::intervals::IntervalSet;

fn releases(effects: &[Effect]) -> usize {
    effects.iter().filter(|effect| matches!(effect, Effect::Send { message: Message::Release, .. })).count()
}

#[test]
fn a_worker_that_is_wanted_elsewhere_gets_nothing_more_and_what_it_hands_back_goes_to_others() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 4), view(0, 4, 8), view(0, 8, 12)]);
    bench.attach(0, 0, 1);
    assert_eq!(bench.grants.len(), 2);
    assert_eq!(releases(&bench.apply(Event::Release { worker: worker(0) })), 1);
    assert_eq!(releases(&bench.apply(Event::Release { worker: worker(0) })), 0, "once is enough");
    bench.work(0);
    let (grant, kept) = (bench.grants[0].1, IntervalSet::range(1, 2));
    let returned = bench.grants[0].3.minus(&kept);
    bench.apply(Event::Returned { worker: worker(0), grant, samples: returned, held: true });
    let (grant, samples) = (bench.grants[1].1, bench.grants[1].3.clone());
    bench.apply(Event::Returned { worker: worker(0), grant, samples, held: false });
    assert_eq!((bench.grants.len(), bench.core.progress().stolen), (2, 0), "nothing was stolen");
    assert_eq!(bench.core.wanted().held[&worker(0)], 1, "what it has begun is its own");
    bench.grants[0].3 = kept;
    bench.work(0);
    assert_eq!(bench.core.wanted().held[&worker(0)], 0);
    bench.apply(Event::Detached { worker: worker(0), connection: ConnectionId(1) });
    assert!(!bench.core.has_workers());
    bench.attach(1, 0, 3);
    let left: u32 = bench.grants[2..].iter().map(|grant| grant.3.len()).sum();
    assert_eq!(left, 10);
}

#[test]
fn a_worker_that_comes_back_before_its_going_was_noticed_is_here_anew() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 4)]);
    bench.attach(0, 0, 1);
    bench.apply(Event::Release { worker: worker(0) });
    let (grant, samples) = (bench.grants[0].1, bench.grants[0].3.clone());
    bench.apply(Event::Returned { worker: worker(0), grant, samples, held: false });
    assert_eq!(bench.grants.len(), 1);
    bench.attach(0, 0, 1);
    assert_eq!(bench.grants.len(), 2, "it gets grants again");
}

#[test]
fn a_worker_that_hands_a_task_back_unbegun_was_never_at_what_it_begins_with() {
    let task = |unit| TaskView { model: ModelId(0), shared_cost: 7, ..view(unit, 0, 8) };
    let mut bench = Bench::new(Limits::default(), vec![task(0), task(1)]);
    bench.attach(0, 0, 1);
    let units =
        |bench: &Bench| bench.core.workers.named(&worker(0)).map(|worker| worker.units.iter().collect::<Vec<_>>());
    assert_eq!(units(&bench), Some(vec![UnitId(0), UnitId(1)]));
    let (grant, samples) = (bench.grants[1].1, bench.grants[1].3.clone());
    bench.attach(1, 0, 1);
    bench.apply(Event::Returned { worker: worker(0), grant, samples, held: true });
    assert_eq!(bench.grants.last().map(|grant| grant.0), Some(1));
    assert_eq!(units(&bench), Some(vec![UnitId(0)]));
}

#[test]
fn a_job_says_what_it_could_use_and_why_nothing_more_runs() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 4), view(1, 0, 8), view(1, 8, 12)]);
    assert_eq!(bench.core.wanted().waiting, [(Requires::Echo.into(), 3)].into());
    bench.attach(0, 0, 1);
    let wanted = bench.core.wanted();
    assert_eq!((wanted.waiting.get(&Requires::Echo.into()), wanted.slots), (Some(&1), 1));
    let held: u32 = bench.grants.iter().map(|grant| grant.3.len()).sum();
    assert_eq!(wanted.usable[&Requires::Echo.into()], 1 + held, "what others hold can be split");
    let words = bench.core.explain_job();
    assert_eq!(words[0], "3 tasks are open, 2 granted; 1 worker with 1 slot is connected");
    assert!(words[1].contains("not granted so far; waiting: 1 of 1 eligible worker at capacity"), "{words:?}");
    assert_eq!(bench.core.shortage(), Some(Shortage::Slots { waiting: 1, slots: 1 }));
    bench.attach(1, 1, 1);
    bench.attach(2, 2, 1);
    bench.attach(3, 3, 1);
    let why = "busy workers hold some ahead, which move once they are asked for";
    assert_eq!(bench.core.shortage(), Some(Shortage::Tasks { idle: 2, why }));
    assert!(bench.core.explain_task(TaskId(0)).is_some_and(|words| words.contains("attempt 1")));
}

#[test]
fn a_worker_that_may_not_have_heard_that_it_is_wanted_elsewhere_keeps_what_it_holds_for_its_lease() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 4)]);
    bench.attach(0, 0, 1);
    bench.attach(1, 1, 1);
    bench.apply(Event::Release { worker: worker(0) });
    bench.apply(Event::Detached { worker: worker(0), connection: ConnectionId(1) });
    assert_eq!(bench.grants.len(), 1, "it may be at it");
    bench.now = Limits::default().lease_ttl - 1;
    bench.apply(Event::Heartbeat { worker: worker(1) });
    bench.apply(Event::Tick);
    assert_eq!(bench.grants.len(), 1);
    bench.now += 1;
    bench.apply(Event::Tick);
    assert_eq!((bench.grants.len(), bench.grants[1].0), (2, 1));
}
