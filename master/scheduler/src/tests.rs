//! The scheduler driven by random histories: no step may break an invariant, and with fair workers the job ends.

use super::*;
use compass_types::ids::{Attempt, Epoch, GrantId, ModelId, TaskId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use proptest::prelude::*;
use std::collections::BTreeMap;

pub(super) fn worker(at: u8) -> WorkerId {
    WorkerId(format!("w{at}"))
}

pub(super) fn view(unit: u32, first: u32, end: u32) -> TaskView {
    let samples = IntervalSet::range(first, end);
    TaskView {
        unit: UnitId(unit),
        model: ModelId(unit),
        requires: Requires::Echo,
        samples,
        attempt: Attempt(0),
        sample_cost: 1,
        shared_cost: 0,
    }
}

pub(super) fn attached(at: u8, connection: u64, session: u8, slots: u32) -> Event {
    let (session, sandbox) = (format!("s{session}"), SandboxState::Works);
    let capabilities = Capabilities { session, slots, has_engine: true, sandbox, ..Capabilities::default() };
    Event::Attached { worker: worker(at), connection: ConnectionId(connection), capabilities, held: vec![] }
}

/// A result of one byte, computed on a CPU.
fn handed(index: u32, result: u8) -> Handed {
    Handed { index, result: vec![result], failed: false, device: DeviceType::Cpu }
}

/// A scheduler with the outside world that its effects make: who holds which grant, what was recorded.
pub(super) struct Bench {
    pub(super) core: Core,
    pub(super) now: u64,
    connections: u64,
    /// Live connection of each worker.
    up: BTreeMap<u8, u64>,
    /// Grants as the workers know them, with what they still have to do.
    pub(super) grants: Vec<(u8, GrantId, UnitId, IntervalSet)>,
    pub(super) recorded: BTreeMap<(UnitId, u32), Vec<u8>>,
    last_seq: u64,
    attempts: BTreeMap<TaskId, Attempt>,
    /// Samples that holders were asked to return.
    pub(super) asked: Vec<(GrantId, IntervalSet)>,
    watch: Watch,
}

impl Bench {
    pub(super) fn new(limits: Limits, tasks: Vec<TaskView>) -> Self {
        Self {
            core: Core::new(Epoch(1), limits, tasks, Recorded::default()),
            now: 0,
            connections: 0,
            up: BTreeMap::new(),
            grants: Vec::new(),
            recorded: BTreeMap::new(),
            last_seq: 0,
            attempts: BTreeMap::new(),
            asked: Vec::new(),
            watch: Watch::default(),
        }
    }

    pub(super) fn apply(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.core.apply(self.now, event, &mut effects);
        for effect in &effects {
            match effect {
                Effect::Persist { seq, record } => {
                    assert_eq!(seq.0, self.last_seq + 1, "numbers ascend without gaps");
                    self.last_seq = seq.0;
                    match record {
                        Record::Sample { unit, handed, .. } => {
                            let before = self.recorded.insert((*unit, handed.index), handed.result.clone());
                            assert_eq!(before, None, "C2: a sample was recorded twice");
                        }
                        Record::Duplicate { unit, index, original, .. } => {
                            let before = self.recorded.insert((*unit, *index), original.result.clone());
                            assert_eq!(before, None, "C2: a sample was recorded twice");
                        }
                        Record::Attempt { task, holder } => {
                            let before = self.attempts.insert(*task, holder.attempt);
                            assert!(before < Some(holder.attempt), "attempts grow");
                        }
                        _ => {}
                    }
                }
                Effect::Send { message: Message::Grant { grant, unit, samples, .. }, worker: to, after } => {
                    assert_eq!(
                        self.attempts.get(&grant.task),
                        Some(&grant.attempt),
                        "G2: granted before it was recorded"
                    );
                    assert!(after.0 > 0 && after.0 <= self.last_seq, "G2: the grant waits for its attempt");
                    let at = to.0[1..].parse().unwrap();
                    self.grants.push((at, *grant, *unit, samples.clone()));
                }
                Effect::Send { message: Message::Revoke { grant, samples: Some(samples), .. }, .. } => {
                    self.asked.push((*grant, samples.clone()));
                }
                _ => {}
            }
            assert_eq!(self.watch.observe(effect), None);
        }
        let broken = invariants::check(&self.core);
        assert!(broken.is_empty(), "{broken:?}");
        effects
    }

    pub(super) fn attach(&mut self, at: u8, session: u8, slots: u32) {
        self.connections += 1;
        self.up.insert(at, self.connections);
        self.apply(attached(at, self.connections, session, slots));
        self.apply(Event::Credit { worker: worker(at), grants: slots + 1 });
    }

    /// The holder of grant number `at` hands in one more result of it.
    pub(super) fn work(&mut self, at: usize) {
        let Some((who, grant, unit, left)) = self.grants.get_mut(at) else { return };
        let Some(index) = left.iter().next() else { return };
        left.remove(index);
        let (who, grant, unit) = (*who, *grant, *unit);
        self.apply(Event::Results { worker: worker(who), grant, unit, samples: vec![handed(index, index as u8)] });
    }
}

#[derive(Clone, Debug)]
enum Step {
    Attach(u8, u8, u32),
    Detach(u8),
    Exit(u8),
    Work(usize),
    Fail(usize, FailureClass),
    Report(usize),
    Release(u8),
    Wait(u64),
}

fn class() -> impl Strategy<Value = FailureClass> {
    prop_oneof![Just(FailureClass::User), Just(FailureClass::Transient), Just(FailureClass::NoRoom)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0u8..4, 0u8..2, 1u32..4).prop_map(|(w, s, n)| Step::Attach(w, s, n)),
        1 => (0u8..4).prop_map(Step::Detach),
        1 => (0u8..4).prop_map(Step::Exit),
        12 => (0usize..40).prop_map(Step::Work),
        1 => (0usize..40, class()).prop_map(|(g, class)| Step::Fail(g, class)),
        1 => (0usize..40).prop_map(Step::Report),
        1 => (0u8..4).prop_map(Step::Release),
        2 => (0u64..20_000).prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_history_breaks_an_invariant_and_fair_workers_finish(steps in proptest::collection::vec(step(), 0..120)) {
        let limits = Limits { max_slots: Some(6), retry: 1000, losses: 1000, ..Limits::default() };
        let tasks = vec![view(0, 0, 9), view(0, 9, 10), view(1, 0, 5), view(2, 3, 3), view(1, 5, 20)];
        let mut bench = Bench::new(limits, tasks);
        let mut gives_up = false;
        for step in steps {
            match step {
                Step::Attach(at, session, slots) => bench.attach(at, session, slots),
                Step::Detach(at) => {
                    if let Some(connection) = bench.up.remove(&at) {
                        bench.apply(Event::Detached { worker: worker(at), connection: ConnectionId(connection) });
                    }
                }
                Step::Exit(at) => { bench.apply(Event::Exited { worker: worker(at), wanted: false }); }
                Step::Work(at) => bench.work(at),
                Step::Fail(at, class) => if let Some((who, grant, ..)) = bench.grants.get(at).cloned() {
                    gives_up |= class != FailureClass::Transient;
                    bench.apply(Event::Failed { worker: worker(who), grant, class, message: format!("broken on {who}") });
                },
                Step::Report(at) => if let Some((who, grant, unit, _)) = bench.grants.get(at).cloned() {
                    bench.apply(Event::Report { worker: worker(who), grant, unit, samples: 0, busy_ms: 0, report: vec![1] });
                },
                Step::Release(at) => { bench.apply(Event::Release { worker: worker(at) }); }
                Step::Wait(ms) => { bench.now += ms; bench.apply(Event::Tick); }
            }
        }
        // P1: one fair worker, and everything that can still be done gets done.
        bench.now += 100_000;
        bench.apply(Event::Tick);
        bench.attach(9, 0, 2);
        for _ in 0..200 {
            let open: Vec<usize> = (0..bench.grants.len()).filter(|&at| bench.grants[at].0 == 9).collect();
            for at in open {
                bench.work(at);
            }
        }
        prop_assert!(bench.core.is_finished(), "{:?}", bench.core);
        if !gives_up {
            prop_assert_eq!(bench.recorded.len(), 30);
            prop_assert!(bench.core.failures().is_empty());
        }
    }
}

/// Units of the grants that each of two workers holds, of tasks of one model whose samples begin alike within a unit.
fn units_held(slots: u32, tasks: &[(u32, u32)]) -> [Vec<u32>; 2] {
    let task =
        |&(unit, first): &(u32, u32)| TaskView { model: ModelId(0), shared_cost: 7, ..view(unit, first, first + 5) };
    let mut bench = Bench::new(Limits::default(), tasks.iter().map(task).collect());
    bench.attach(0, 0, slots);
    bench.attach(1, 0, slots);
    let held = |who| bench.grants.iter().filter(|grant| grant.0 == who).map(|grant| grant.2.0).collect();
    [held(0), held(1)]
}

#[test]
fn a_worker_gets_what_begins_as_it_has_computed_and_leaves_others_theirs() {
    let mixed = [(0, 0), (1, 0), (0, 5), (1, 5), (2, 0), (0, 10)];
    assert_eq!(units_held(1, &mixed), [vec![0, 0], vec![1, 1]]);
    let last = [(0, 0), (0, 5), (0, 10), (1, 0)];
    assert_eq!(units_held(1, &last), [vec![0, 0], vec![1, 0]], "but no worker idles for it");
}

#[test]
fn slots_of_one_worker_begin_with_what_begins_differently() {
    let sorted = [(0, 0), (0, 5), (0, 10), (1, 0), (1, 5), (2, 0), (3, 0), (3, 5)];
    assert_eq!(
        units_held(2, &sorted),
        [vec![0, 1, 1], vec![2, 3, 3]],
        "one task more for each worker is granted ahead"
    );
    let alike = [(0, 0), (0, 5), (0, 10)];
    assert_eq!(units_held(2, &alike)[0], vec![0, 0, 0], "but no slot idles for it");
}

#[test]
fn a_lost_worker_s_samples_go_to_another_and_late_results_still_count() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 3)]);
    bench.attach(0, 0, 1);
    bench.work(0);
    bench.now = 31_000;
    bench.apply(Event::Tick);
    bench.attach(1, 0, 1);
    assert_eq!(bench.grants[1].3.pairs(), [(1, 3)], "only what is missing is granted again");
    assert_eq!(bench.grants[1].1.attempt, Attempt(2));
    bench.work(0);
    assert_eq!(bench.recorded.len(), 2, "the old holder's result of sample 1 counts");
    bench.work(1);
    assert_eq!(bench.core.progress().repeats, 1);
    bench.work(1);
    assert!(bench.core.is_finished());
}

#[test]
fn a_differing_second_result_is_a_divergence_and_the_first_stands() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 2)]);
    bench.attach(0, 0, 1);
    bench.work(0);
    let (_, grant, unit, _) = bench.grants[0].clone();
    let effects = bench.apply(Event::Results { worker: worker(0), grant, unit, samples: vec![handed(0, 99)] });
    let diverges = |effects: &[Effect], same: bool| {
        let of = |effect: &Effect| {
            let Effect::Persist { record: Record::Divergence { handed, same_device, .. }, .. } = effect else {
                return false;
            };
            handed.index == 0 && *same_device == same
        };
        effects.iter().any(of)
    };
    assert!(diverges(&effects, true));
    for device in [DeviceType::Cuda, DeviceType::Unknown] {
        let samples = vec![Handed { device, ..handed(0, 98) }];
        let effects = bench.apply(Event::Results { worker: worker(0), grant, unit, samples });
        assert!(diverges(&effects, false), "another device type, or none");
    }
    assert_eq!(bench.core.progress().divergences, 3);
    assert_eq!(bench.recorded[&(UnitId(0), 0)], vec![0]);
}

#[test]
fn a_model_that_cannot_be_loaded_fails_its_tasks_at_once_and_no_other() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 2), view(0, 2, 4), view(1, 0, 1)]);
    bench.attach(0, 0, 1);
    let (_, grant, ..) = bench.grants[0].clone();
    bench.apply(Event::Failed { worker: worker(0), grant, class: FailureClass::User, message: "no weights".into() });
    bench.apply(Event::Credit { worker: worker(0), grants: 8 });
    for at in 0..bench.grants.len() {
        bench.work(at);
        bench.work(at);
    }
    let units: Vec<_> = bench.core.failures().iter().map(|failure| (failure.0, failure.2.clone())).collect();
    assert!(units.iter().all(|(unit, why)| *unit == UnitId(0) && why == "no weights"), "{units:?}");
    assert!(bench.core.is_finished());
    assert!(bench.recorded.contains_key(&(UnitId(1), 0)));
}

#[test]
fn transient_failures_are_tried_again_within_the_budget() {
    let mut bench = Bench::new(Limits { retry: 2, ..Limits::default() }, vec![view(0, 0, 1)]);
    bench.attach(0, 0, 1);
    for attempt in 0..3 {
        assert_eq!(bench.grants.len(), attempt + 1);
        let (_, grant, ..) = bench.grants[attempt].clone();
        bench.apply(Event::Failed { worker: worker(0), grant, class: FailureClass::Transient, message: "cuda".into() });
    }
    assert_eq!(bench.grants.len(), 3);
    assert_eq!(bench.core.failures()[0].2, "cuda");
}

#[test]
fn slots_beyond_the_bound_are_refused_with_a_reason() {
    let mut bench = Bench::new(Limits { max_slots: Some(2), ..Limits::default() }, vec![view(0, 0, 9)]);
    bench.attach(0, 0, 5);
    let effects = bench.apply(attached(1, 77, 0, 1));
    let refused = effects.iter().find_map(|effect| match effect {
        Effect::Send { message: Message::Refused { reason }, .. } => Some(reason.as_str()),
        _ => None,
    });
    assert_eq!(refused, Some("all of this job's 2 slots are taken (max_num_workers = 2)"));
}

#[test]
fn what_a_drained_worker_leaves_goes_to_others_at_once_and_uncounted() {
    let mut bench = Bench::new(Limits { losses: 0, ..Limits::default() }, vec![view(0, 0, 3)]);
    bench.attach(0, 0, 1);
    bench.work(0);
    bench.apply(Event::Draining { worker: worker(0) });
    let effects = bench.apply(Event::Detached { worker: worker(0), connection: ConnectionId(1) });
    let is_told = |effect: &Effect| matches!(effect, Effect::Event { text } if text.ends_with("left (it left); 1 task goes to others"));
    assert!(effects.iter().any(is_told), "{effects:?}");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Note { .. })), "it is no warning: {effects:?}");
    bench.attach(1, 0, 1);
    assert_eq!(bench.grants.last().map(|grant| (grant.0, grant.3.len())), Some((1, 2)));
}

#[test]
fn a_task_that_never_began_does_not_pay_for_the_deaths_of_workers_that_got_things_done() {
    let mut bench = Bench::new(Limits { losses: 1, ..Limits::default() }, vec![view(0, 0, 50), view(0, 50, 51)]);
    for session in 0..20 {
        bench.attach(0, session, 1);
        assert!(bench.grants.iter().any(|grant| grant.3.iter().eq([50])), "the second task waits at the worker");
        let latest = bench.grants.iter().rposition(|grant| grant.3.iter().next().is_some_and(|i| i < 50)).unwrap();
        bench.work(latest);
        bench.apply(Event::Exited { worker: worker(0), wanted: false });
    }
    assert!(bench.core.failures().is_empty(), "{:?}", bench.core.failures());
    for session in 20..22 {
        bench.attach(0, session, 1);
        bench.apply(Event::Exited { worker: worker(0), wanted: false });
    }
    assert_eq!(
        bench.core.failures().len(),
        2,
        "workers that die of a task and record nothing are not sent indefinitely"
    );
}

#[test]
fn a_retry_is_counted_once_for_each_grant_that_failed_or_was_lost() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 10)]);
    for (session, counted) in [(0, 0), (1, 1), (2, 2)] {
        bench.attach(0, session, 1);
        assert_eq!(bench.core.progress().retries, counted);
        bench.apply(Event::Exited { worker: worker(0), wanted: false });
    }
    bench.attach(0, 3, 1);
    assert_eq!(bench.core.progress().retries, 3);
    // Also when the worker had got something done, and its death costs the task nothing.
    bench.work(bench.grants.len() - 1);
    bench.apply(Event::Exited { worker: worker(0), wanted: false });
    bench.attach(0, 4, 1);
    assert_eq!(bench.core.progress().retries, 4);
    // What was sent away has not failed: its grant is no retry, whatever befell the task before.
    bench.apply(Event::Exited { worker: worker(0), wanted: true });
    bench.attach(0, 5, 1);
    assert_eq!(bench.core.progress().retries, 4);
}

#[test]
fn a_worker_that_holds_tasks_and_hands_in_nothing_is_named() {
    let mut bench = Bench::new(Limits { stall: 10_000, ..Limits::default() }, vec![view(0, 0, 2)]);
    bench.attach(0, 0, 1);
    let mut named = Vec::new();
    for second in 1..=60 {
        bench.now = second * 1000;
        bench.apply(Event::Heartbeat { worker: worker(0) });
        let effects = bench.apply(Event::Tick);
        named.extend(effects.iter().any(|effect| matches!(effect, Effect::Note { .. })).then_some(second));
    }
    assert_eq!(named, [10, 20, 40], "at ever longer intervals");
    bench.work(0);
    bench.now += 9_000;
    bench.apply(Event::Heartbeat { worker: worker(0) });
    assert!(bench.apply(Event::Tick).is_empty(), "a result starts the count afresh");
}

#[test]
fn a_worker_that_attaches_after_the_end_is_told_to_go() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 1)]);
    bench.attach(0, 0, 1);
    bench.work(0);
    let effects = bench.apply(attached(1, 77, 0, 1));
    let told = |effect: &Effect| matches!(effect, Effect::Send { message: Message::Shutdown { .. }, .. });
    assert_eq!(effects.iter().filter(|effect| told(effect)).count(), 1);
}

#[test]
fn a_worker_without_libtorch_waits_and_the_master_says_why() {
    let task = TaskView { requires: Requires::Engine, ..view(0, 0, 4) };
    let mut bench = Bench::new(Limits::default(), vec![task]);
    let capabilities = Capabilities {
        session: "s".into(),
        slots: 1,
        has_engine: false,
        sandbox: SandboxState::Unknown,
        ..Capabilities::default()
    };
    let (connection, held) = (ConnectionId(1), vec![]);
    let effects = bench.apply(Event::Attached { worker: worker(0), connection, capabilities, held });
    let said =
        effects.iter().any(|effect| matches!(effect, Effect::Note { text } if text.contains("without libtorch")));
    assert!(said, "{effects:?}");
    bench.apply(Event::Credit { worker: worker(0), grants: 2 });
    assert!(bench.grants.is_empty());
    bench.apply(attached(1, 2, 1, 1));
    bench.apply(Event::Credit { worker: worker(1), grants: 2 });
    assert_eq!(bench.grants.len(), 1, "one that has it takes the task");
}

fn programs(sandbox: SandboxState, others_may_come: bool) -> (Bench, Vec<Effect>) {
    let task = TaskView { requires: Requires::Sandbox, ..view(0, 0, 4) };
    let mut bench = Bench::new(Limits { others_may_come, ..Limits::default() }, vec![task]);
    let capabilities =
        Capabilities { session: "s".into(), slots: 1, has_engine: false, sandbox, ..Capabilities::default() };
    let (connection, held) = (ConnectionId(1), vec![]);
    let effects = bench.apply(Event::Attached { worker: worker(0), connection, capabilities, held });
    bench.apply(Event::Credit { worker: worker(0), grants: 2 });
    (bench, effects)
}

#[test]
fn programs_go_only_to_a_worker_with_a_sandbox() {
    let (bench, _) = programs(SandboxState::Works, false);
    assert_eq!(bench.grants.len(), 1, "it needs no libtorch");
    for state in [SandboxState::Unknown, SandboxState::Refused { reason: "no isolation".into() }] {
        let (mut bench, effects) = programs(state, true);
        let said =
            |effect: &Effect| matches!(effect, Effect::Note { text } if text.contains("refuses to run programs"));
        assert!(effects.iter().any(said), "{effects:?}");
        assert!(bench.grants.is_empty() && !bench.core.is_finished(), "another may come");
        let sandbox = SandboxState::Works;
        let capabilities =
            Capabilities { session: "t".into(), slots: 1, has_engine: true, sandbox, ..Capabilities::default() };
        let (connection, held) = (ConnectionId(2), vec![]);
        bench.apply(Event::Attached { worker: worker(1), connection, capabilities, held });
        bench.apply(Event::Credit { worker: worker(1), grants: 2 });
        assert_eq!(bench.grants.len(), 1, "one that has a sandbox takes the task");
    }
}

#[test]
fn programs_that_nobody_will_run_fail_with_the_reason() {
    let (bench, _) = programs(SandboxState::Refused { reason: "no isolation".into() }, false);
    let failures = bench.core.failures();
    assert_eq!(failures.len(), 1);
    assert_eq!((failures[0].1.len(), failures[0].2.as_str()), (4, "refused: no isolation"));
    assert!(bench.core.is_finished());
}
