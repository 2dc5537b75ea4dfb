//! Results that do not fit, one worker and several.

use super::tests::{Bench, view, worker};
use super::*;
use compass_plan::Misfit;
use compass_types::ids::GrantId;
use compass_types::intervals::IntervalSet;

fn unfit(index: u32, misfit: &Misfit) -> Unfit {
    Unfit { index, result: vec![index as u8], misfit: misfit.clone() }
}

impl Bench {
    /// The latest grant of a worker.
    fn grant_of(&self, at: u8) -> (GrantId, compass_types::ids::UnitId, IntervalSet) {
        let (_, grant, unit, samples) = self.grants.iter().rev().find(|(who, ..)| *who == at).unwrap();
        (*grant, *unit, samples.clone())
    }

    fn misfit(&mut self, at: u8, samples: &[u32], misfit: &Misfit) -> Vec<Effect> {
        let (grant, unit, _) = self.grant_of(at);
        let samples = samples.iter().map(|&index| unfit(index, misfit)).collect();
        self.apply(Event::Misfits { worker: worker(at), grant, unit, samples })
    }

    fn holders_of(&self, index: u32) -> Vec<u8> {
        let of = self.grants.iter().filter(|(.., samples)| samples.contains(index));
        of.map(|(who, ..)| *who).collect()
    }
}

const WRONG: Misfit = Misfit::Count { expected: 4, found: 2 };

fn notes(effects: &[Effect]) -> Vec<&str> {
    let texts = effects.iter().filter_map(|effect| match effect {
        Effect::Note { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn a_misfit_is_tried_elsewhere_at_once_and_once() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 4)]);
    bench.attach(0, 0, 1);
    bench.attach(1, 0, 1);
    bench.misfit(0, &[2], &WRONG);
    assert_eq!(bench.holders_of(2), [0, 1], "while the first is at the others");
    assert_eq!(bench.core.progress().misfits, 1);
    bench.misfit(1, &[2], &WRONG);
    let failures = bench.core.failures();
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].1, IntervalSet::range(2, 3));
    assert_eq!(
        failures[0].2,
        "no result fits the plan: worker w0: 2 entries, where the plan has 4; worker w1: 2 entries, where the plan has 4"
    );
}

#[test]
fn what_is_not_finite_on_two_workers_is_the_models_own_and_bars_nobody() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 4)]);
    bench.attach(0, 0, 1);
    bench.attach(1, 0, 1);
    bench.misfit(0, &[0, 1, 2, 3], &Misfit::NotFinite);
    bench.misfit(1, &[0, 1, 2, 3], &Misfit::NotFinite);
    assert!(bench.core.is_finished());
    let failures = bench.core.failures();
    assert_eq!(failures[0].1.len(), 4);
    assert_eq!(failures[0].2, "the model gives numbers that are not finite (NaN or infinity), on workers w0, w1");
    assert_eq!(bench.core.barred_from_job().count(), 0);
}

#[test]
fn with_one_worker_what_is_not_finite_twice_fails() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 1)]);
    bench.attach(0, 0, 1);
    bench.misfit(0, &[0], &Misfit::NotFinite);
    assert_eq!(bench.holders_of(0), [0, 0], "its second try");
    bench.misfit(0, &[0], &Misfit::NotFinite);
    assert!(bench.core.is_finished());
    let reason = bench.core.failures()[0].2.clone();
    assert_eq!(reason, "the model gives numbers that are not finite (NaN or infinity), 2 times on worker w0");
}

#[test]
fn three_misfits_bar_a_worker_and_its_tasks_go_to_others() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 4), view(1, 0, 4)]);
    bench.attach(0, 0, 1);
    assert_eq!(bench.grants.len(), 2);
    let (_, grant, unit, _) = bench.grants[0].clone();
    let samples = [0, 1, 2].map(|index| unfit(index, &WRONG)).to_vec();
    let effects = bench.apply(Event::Misfits { worker: worker(0), grant, unit, samples });
    let said = notes(&effects);
    let sentence = "worker w0 is barred from this job: 3 of its results do not fit the plan, the last with 2 entries, \
                    where the plan has 4";
    assert!(said.contains(&sentence), "{said:?}");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Disconnect { .. })));
    // It may be at what it holds until its lease is over: no other worker begins that before.
    bench.attach(1, 0, 2);
    assert!(bench.grants[2..].iter().all(|(who, _, _, samples)| *who == 1 && samples.pairs() == [(0, 3)]));
    let mut at = 2;
    bench.now = 29_000;
    bench.apply(Event::Heartbeat { worker: worker(1) });
    bench.now = 31_000;
    bench.apply(Event::Tick);
    while at < bench.grants.len() {
        (0..4).for_each(|_| bench.work(at));
        at += 1;
    }
    assert!(bench.core.is_finished() && bench.core.failures().is_empty());
    // It comes back, and is told.
    let capabilities = Capabilities {
        session: "again".into(),
        slots: 1,
        has_engine: true,
        sandbox: SandboxState::Works,
        ..Capabilities::default()
    };
    let connection = ConnectionId(99);
    let effects = bench.apply(Event::Attached { worker: worker(0), connection, capabilities, held: vec![] });
    let refused = |effect: &Effect| matches!(effect, Effect::Send { message: Message::Refused { reason }, .. } if reason == sentence);
    assert!(effects.iter().any(refused), "{effects:?}");
    assert_eq!(bench.core.barred_from_job().count(), 1);
}

#[test]
fn a_worker_whose_numbers_are_not_finite_where_anothers_are_is_barred() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 3)]);
    bench.attach(0, 0, 1);
    bench.attach(1, 0, 1);
    bench.misfit(0, &[0, 1, 2], &Misfit::NotFinite);
    let at = bench.grants.len() - 1;
    assert_eq!(bench.grants[at].0, 1);
    bench.work(at);
    bench.work(at);
    assert_eq!(bench.core.barred_from_job().count(), 0);
    bench.work(at);
    assert_eq!(bench.core.barred_from_job().map(|(worker, _)| worker.0.as_str()).collect::<Vec<_>>(), ["w0"]);
    assert!(bench.core.is_finished() && bench.core.failures().is_empty());
}

#[test]
fn a_misfit_of_what_another_has_by_now_changes_nothing_but_the_count() {
    let mut bench = Bench::new(Limits::default(), vec![view(0, 0, 2)]);
    bench.attach(0, 0, 1);
    let (grant, unit, _) = bench.grant_of(0);
    bench.now = 40_000;
    bench.apply(Event::Tick);
    bench.attach(1, 0, 1);
    assert_eq!(bench.holders_of(0), [0, 1]);
    bench.apply(Event::Misfits { worker: worker(0), grant, unit, samples: vec![unfit(0, &WRONG)] });
    assert_eq!((bench.holders_of(0), bench.core.progress().misfits), (vec![0, 1], 1));
    let at = bench.grants.len() - 1;
    (0..2).for_each(|_| bench.work(at));
    assert!(bench.core.is_finished() && bench.core.failures().is_empty());
}
