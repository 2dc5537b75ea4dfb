//! Tasks that are not begun come back, and a task that no other worker takes is not kept for one.

use super::tests::{Bench, attached, view, worker};
use super::*;
use compass_plan::Misfit;
use compass_types::ids::GrantId;
use compass_types::intervals::IntervalSet;

const TICK_MS: u64 = 1_000;

impl Bench {
    /// The workers that hold something now, by their latest grants.
    fn holder_of(&self, index: u32) -> Option<u8> {
        let of = self.grants.iter().rev().find(|(.., samples)| samples.contains(index));
        of.filter(|(who, grant, ..)| self.core.is_live(&worker(*who), grant)).map(|(who, ..)| *who)
    }

    fn live_grants(&self, at: u8) -> Vec<GrantId> {
        let of = self.grants.iter().filter(|(who, grant, ..)| *who == at && self.core.is_live(&worker(at), grant));
        of.map(|(_, grant, ..)| *grant).collect()
    }

    /// Time passes; the workers are heard, and nothing else of them. Returns the effects.
    fn passes(&mut self, ms: u64, heard: &[u8]) -> Vec<Effect> {
        let (until, mut effects) = (self.now + ms, Vec::new());
        while self.now < until {
            self.now += TICK_MS;
            for &at in heard {
                effects.extend(self.apply(Event::Heartbeat { worker: worker(at) }));
            }
            effects.extend(self.apply(Event::Tick));
        }
        effects
    }

    fn fails(&mut self, at: u8, class: FailureClass, message: &str) {
        for grant in self.live_grants(at) {
            self.apply(Event::Failed { worker: worker(at), grant, class, message: message.into() });
        }
    }
}

fn asked(effects: &[Effect]) -> usize {
    let asks =
        |effect: &&Effect| matches!(effect, Effect::Send { message: Message::Revoke { only_unbegun: true, .. }, .. });
    effects.iter().filter(asks).count()
}

#[test]
fn a_misfit_is_not_left_to_a_worker_without_room_for_its_sample() {
    let mut bench = Bench::new(Limits { split: false, ..Limits::default() }, vec![view(0, 0, 1)]);
    bench.attach(0, 0, 1);
    bench.fails(0, FailureClass::NoRoom, "not enough memory");
    bench.attach(1, 0, 1);
    let [grant] = bench.live_grants(1)[..] else { panic!("{:?}", bench.core.explain_job()) };
    let misfit = Unfit { index: 0, result: vec![0], misfit: Misfit::Count { expected: 4, found: 2 } };
    bench.apply(Event::Misfits { worker: worker(1), grant, unit: view(0, 0, 1).unit, samples: vec![misfit] });
    assert_eq!(bench.holder_of(0), Some(1), "{:?}", bench.core.explain_job());
}

#[test]
fn two_workers_on_which_a_task_failed_do_not_leave_it_to_each_other() {
    let mut bench = Bench::new(Limits { split: false, retry: 9, ..Limits::default() }, vec![view(0, 0, 1)]);
    bench.attach(0, 0, 1);
    bench.fails(0, FailureClass::Transient, "the one");
    bench.attach(1, 0, 1);
    bench.core.tasks.with_failures(compass_types::ids::TaskId(0), |failures| {
        failures.workers = [0, 1].map(worker_ids::WorkerIx).into()
    });
    bench.fails(0, FailureClass::Preempted, "gone on");
    bench.apply(Event::Tick);
    assert!(bench.holder_of(0).is_some(), "{:?}", bench.core.explain_job());
}

#[test]
fn a_worker_whose_node_fails_gets_what_no_other_can_run() {
    let limits = Limits { split: false, infrastructure: 2, ..Limits::default() };
    let mut bench = Bench::new(limits, vec![view(0, 0, 1)]);
    bench.attach(1, 0, 1);
    let (class, message) = (FailureClass::Unable(compass_plan::engine::UnableKind::Missing), "no such files");
    bench.fails(1, class, message);
    bench.attach(0, 0, 1);
    for _ in 0..2 {
        assert_eq!(bench.holder_of(0), Some(0), "{:?}", bench.core.explain_job());
        bench.fails(0, FailureClass::Infrastructure, "the device is gone");
    }
    assert_eq!(bench.holder_of(0), Some(0), "{:?}", bench.core.explain_job());
}

#[test]
fn what_a_silent_worker_has_not_begun_goes_to_another() {
    let limits = Limits { split: false, ..Limits::default() };
    let stall = limits.stall;
    let mut bench = Bench::new(limits, vec![view(0, 0, 4)]);
    bench.attach(0, 0, 1);
    bench.attach(1, 0, 1);
    assert_eq!(bench.holder_of(0), Some(0));
    assert_eq!(asked(&bench.passes(stall - TICK_MS, &[0, 1])), 0);
    assert_eq!(asked(&bench.passes(2 * TICK_MS, &[0, 1])), 1);
    let [grant] = bench.live_grants(0)[..] else { panic!() };
    let samples = IntervalSet::range(0, 4);
    bench.apply(Event::Returned { worker: worker(0), grant, samples, held: false });
    assert_eq!(bench.holder_of(0), Some(1));
    assert_eq!(bench.core.take_violations(), []);
}

#[test]
fn what_a_silent_worker_has_begun_stays_with_it() {
    let mut bench = Bench::new(Limits { split: false, ..Limits::default() }, vec![view(0, 0, 4)]);
    bench.attach(0, 0, 1);
    bench.attach(1, 0, 1);
    bench.passes(60_000, &[0, 1]);
    let [grant] = bench.live_grants(0)[..] else { panic!() };
    bench.apply(Event::Returned { worker: worker(0), grant, samples: IntervalSet::new(), held: true });
    assert_eq!(asked(&bench.passes(1_000_000, &[0, 1])), 0);
    assert_eq!((bench.holder_of(0), bench.core.take_violations()), (Some(0), Vec::new()));
}

#[test]
fn a_worker_that_only_sends_heartbeats_loses_its_connection_and_then_its_tasks() {
    let limits = Limits { split: false, ..Limits::default() };
    let (stall, lease_ttl) = (limits.stall, limits.lease_ttl);
    let mut bench = Bench::new(limits, vec![view(0, 0, 4)]);
    bench.attach(0, 0, 1);
    bench.attach(1, 0, 1);
    let effects = bench.passes(stall + lease_ttl + 2 * TICK_MS, &[0, 1]);
    let cut = |effect: &&Effect| matches!(effect, Effect::Disconnect { worker: cut, .. } if *cut == worker(0));
    assert_eq!(effects.iter().filter(cut).count(), 1);
    // It comes back, and says nothing again.
    let [grant] = bench.live_grants(0)[..] else { panic!() };
    let held = HeldGrant { grant, unit: view(0, 0, 4).unit, samples: IntervalSet::range(0, 4) };
    let Event::Attached { worker: name, connection, capabilities, .. } = attached(0, 99, 0, 1) else { panic!() };
    bench.apply(Event::Attached { worker: name, connection, capabilities, held: vec![held] });
    assert_eq!(bench.holder_of(0), Some(0));
    bench.passes(stall + 2 * TICK_MS, &[0, 1]);
    assert_eq!(bench.holder_of(0), Some(1));
    assert_eq!(bench.core.take_violations(), []);
}

#[test]
fn what_no_slot_began_counts_against_its_worker_and_the_monitor_hears_of_it() {
    let mut bench = Bench::new(Limits { split: false, ..Limits::default() }, vec![view(0, 0, 4)]);
    bench.attach(0, 0, 1);
    bench.attach(1, 0, 1);
    let [grant] = bench.live_grants(0)[..] else { panic!() };
    let samples = IntervalSet::range(1, 4);
    bench.apply(Event::Unbegun { worker: worker(0), grant, samples: samples.clone() });
    bench.apply(Event::Returned { worker: worker(0), grant, samples, held: true });
    assert_eq!((bench.holder_of(0), bench.holder_of(1)), (Some(0), Some(1)));
    let violations = bench.core.take_violations();
    assert_eq!(violations.iter().map(|violation| violation.id).collect::<Vec<_>>(), [invariants::I1]);
}

#[test]
fn the_wait_for_room_goes_on_while_the_only_worker_is_with_another_job() {
    let limits = Limits { split: false, unschedulable: 60_000, workers_stay: true, ..Limits::default() };
    let mut bench = Bench::new(limits, vec![view(0, 0, 1)]);
    for turn in 0..4 {
        bench.attach(0, 0, 1);
        bench.fails(0, FailureClass::NoRoom, "not enough memory");
        bench.passes(25_000, &[0]);
        bench.apply(Event::Detached { worker: worker(0), connection: ConnectionId(turn + 1) });
        bench.passes(5_000, &[]);
    }
    assert!(bench.core.is_finished(), "{:?}", bench.core.explain_job());
}
