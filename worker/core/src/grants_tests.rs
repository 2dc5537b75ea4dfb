//! Tests of grants.

use super::*;
use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::prompt::ShotFormat;
use compass_plan::{EvalSpec, InferSpec, PartRef};
use compass_types::ids::GrantId;

/// A data set with parts of 20 samples each.
fn dataset() -> DatasetPlan {
    let part = |n: u8| PartRef { digest: Digest([n; 32]), first: u32::from(n) * 20, samples: 20, bytes: 1 };
    DatasetPlan {
        abbr: "d".into(),
        version: "000000".into(),
        infer: InferSpec::Ppl,
        shot_format: ShotFormat::default(),
        eval: EvalSpec::new(EvaluatorSpec::Acc),
        samples: 60,
        characters: 0,
        prefix_runs: Vec::new(),
        labels: None,
        own_questions: 0,
        entries: Vec::new(),
        parts: vec![part(0), part(1), part(2)],
    }
}

fn key(epoch: u64, task: u32, attempt: u32) -> GrantId {
    GrantId::new(epoch, task, attempt)
}

fn grant(key: GrantId, first: u32, end: u32) -> GrantState {
    GrantState::new(key, UnitId(0), IntervalSet::range(first, end), vec![key.task.0 as u8])
}

#[test]
fn batches_follow_the_order_and_end_with_their_part() {
    let (dataset, mut held) = (dataset(), grant(key(1, 1, 1), 2, 45));
    let mut batches = Vec::new();
    while let Some(batch) = held.next_batch(&dataset, 1) {
        held.started(&batch.samples);
        batches.push((batch.part.0[0], batch.samples[0], batch.samples.len()));
    }
    assert_eq!(batches, [(0, 2, 18), (1, 20, 20), (2, 40, 5)]);
    assert!(!held.is_over());
    (2..45).for_each(|sample| assert!(held.finished(sample)));
    assert!(held.is_over());
    assert!(!held.finished(2), "a second result is not expected");
}

#[test]
fn samples_without_room_are_open_until_they_go_back() {
    let mut held = grant(key(1, 1, 1), 0, 4);
    held.started(&[0, 1, 2, 3]);
    held.has_no_room(1, "not enough memory for 9 tokens".into());
    held.has_no_room(3, "not enough memory for 7 tokens".into());
    held.has_no_room(3, "again".into());
    assert!(held.finished(0) && held.finished(2) && !held.finished(3) && held.is_over());
    assert_eq!(held.open().pairs(), [(1, 2), (3, 4)], "a new leader hears of them");
    assert_eq!(held.why_no_room().as_deref(), Some("not enough memory for 9 tokens (the first of 2 samples)"));
    held.revoke();
    assert_eq!(held.why_no_room(), None, "the master has taken them back");
}

#[test]
fn suspects_run_in_halves_and_the_rest_together() {
    let (dataset, mut held) = (dataset(), grant(key(1, 1, 1), 0, 40));
    let batch = held.next_batch(&dataset, 1).unwrap();
    held.started(&batch.samples);
    (0..13).for_each(|sample| assert!(held.finished(sample)));
    assert!(held.engine_died(&batch.samples).is_empty());
    for suspects in [13..17, 17..20] {
        let batch = held.next_batch(&dataset, 1).unwrap();
        assert_eq!(batch.samples, suspects.clone().collect::<Vec<_>>());
        held.started(&batch.samples);
        suspects.for_each(|suspect| assert!(held.finished(suspect)));
    }
    assert_eq!(held.next_batch(&dataset, 1).unwrap().samples, (20..40).collect::<Vec<_>>());
}

#[test]
fn second_death_alone_gives_up_the_sample() {
    let (dataset, mut held) = (dataset(), grant(key(1, 1, 1), 7, 8));
    for deaths in 1..=2 {
        let batch = held.next_batch(&dataset, 1).unwrap();
        held.started(&batch.samples);
        assert_eq!(held.engine_died(&batch.samples), if deaths == 2 { vec![7] } else { vec![] });
    }
    assert!(!held.has_waiting() && !held.is_over());
    assert!(held.finished(7) && held.is_over());
}

#[test]
fn replayed_grant_is_ignored_even_after_it_finished() {
    let mut grants = Grants::default();
    assert!(grants.offer(grant(key(1, 5, 1), 0, 4)));
    assert!(!grants.offer(grant(key(1, 5, 1), 0, 4)));
    grants.remove(key(1, 5, 1));
    assert!(!grants.offer(grant(key(1, 5, 1), 0, 4)));
    assert!(grants.offer(grant(key(1, 5, 2), 0, 4)));
    assert!(grants.offer(grant(key(2, 5, 1), 0, 4)), "a new leader counts from its own epoch");
    assert_eq!(grants.iter().filter(|held| held.revoked).count(), 1);
}

#[test]
fn revoked_grant_finishes_running_samples_only() {
    let (dataset, mut grants) = (dataset(), Grants::default());
    grants.offer(grant(key(1, 5, 1), 0, 20));
    let held = grants.get_mut(key(1, 5, 1)).unwrap();
    let batch = held.next_batch(&dataset, 1).unwrap();
    held.started(&batch.samples);
    assert!(!grants.revoke(key(2, 5, 1)), "another leader's task of the same number");
    assert!(!grants.revoke(key(1, 5, 2)));
    assert!(grants.revoke(key(1, 5, 1)));
    let wire = grants.to_wire(Vec::new());
    assert_eq!(wire[0].samples, [v1::Interval { first: 0, end: 20 }]);
    let held = grants.get_mut(key(1, 5, 1)).unwrap();
    assert_eq!(held.next_batch(&dataset, 1), None);
    assert!(!held.is_over());
    assert!(held.finished(0));
    assert!(held.engine_died(&batch.samples).is_empty());
    assert!(held.is_over(), "samples of a dead batch are not retried after a revocation");
}

#[test]
fn requested_samples_that_have_not_started_are_returned() {
    let (dataset, mut held) = (dataset(), grant(key(1, 5, 1), 0, 40));
    let batch = held.next_batch(&dataset, 1).unwrap();
    held.started(&batch.samples[..16]);
    assert_eq!(held.return_unstarted(&IntervalSet::range(10, 30)), IntervalSet::range(16, 30));
    assert_eq!((held.samples.pairs(), held.open().pairs()), (&[(0, 16), (30, 40)][..], &[(0, 16), (30, 40)][..]));
    assert!(held.return_unstarted(&IntervalSet::range(10, 30)).is_empty(), "requested a second time");
}

#[test]
fn only_grants_kept_by_the_welcome_start_under_new_names() {
    let (dataset, mut grants) = (dataset(), Grants::default());
    grants.offer(grant(key(1, 5, 1), 0, 40));
    grants.offer(grant(key(1, 6, 1), 40, 60));
    let held = grants.get_mut(key(1, 5, 1)).unwrap();
    let batch = held.next_batch(&dataset, 1).unwrap();
    held.started(&batch.samples[..16]);
    let unacknowledged = |grant: GrantId, samples: Vec<u32>| {
        let assignment = Assignment { samples: IntervalSet::range(0, 60), proof: vec![grant.task.0 as u8] };
        Unacknowledged { grant, unit: UnitId(0), samples, assignment: assignment.into() }
    };
    let wire = grants.to_wire(vec![unacknowledged(key(1, 5, 1), vec![3]), unacknowledged(key(1, 2, 9), vec![50, 51])]);
    assert_eq!(
        (wire.len(), wire[0].id.unwrap().task, &wire[0].samples[..]),
        (3, 2, &[v1::Interval { first: 50, end: 52 }][..])
    );
    assert_eq!((&wire[0].granted[..], &wire[0].proof[..]), (&[v1::Interval { first: 0, end: 60 }][..], &[2][..]));
    assert_eq!((wire[1].granted.len(), &wire[1].proof[..]), (0, &[5][..]), "every sample is open");
    let samples = IntervalSet::range(0, 20);
    let kept = KeptGrant { held: key(1, 5, 1), now: key(2, 0, 3), samples, proof: vec![77] };
    assert_eq!(grants.keep(&[kept]), [(key(1, 5, 1), key(2, 0, 3))]);
    let held = grants.get(key(2, 0, 3)).unwrap();
    assert_eq!(held.next_batch(&dataset, 1).unwrap().samples, [16, 17, 18, 19]);
    assert_eq!(held.samples, IntervalSet::range(0, 20));
    let wire = grants.to_wire(vec![unacknowledged(key(1, 5, 1), vec![3])]);
    let names: Vec<_> =
        wire.iter().map(|held| (held.id.unwrap().epoch, held.id.unwrap().task, held.proof[0])).collect();
    assert!(names.contains(&(1, 5, 5)) && names.contains(&(2, 0, 77)), "each name with its own proof: {names:?}");
    assert!(!grants.offer(grant(key(2, 0, 2), 0, 20)), "an older attempt of a current grant");
    assert!(grants.get(key(1, 6, 1)).unwrap().is_over(), "grants that the welcome does not name do not start");
}

#[test]
fn sample_beyond_the_plan_makes_no_batch() {
    assert_eq!(grant(key(1, 1, 1), 60, 61).next_batch(&dataset(), 1), None);
}

#[test]
fn a_sample_of_which_an_engine_died_before_has_one_try_alone() {
    let dataset = dataset();
    let mut held = grant(key(1, 1, 1), 0, 6).suspecting(&IntervalSet::range(2, 3));
    let mut batches = Vec::new();
    while let Some(batch) = held.next_batch(&dataset, 1) {
        held.started(&batch.samples);
        let given_up = held.engine_died(if batch.samples == [2] { &batch.samples } else { &[] });
        assert_eq!(given_up, if batch.samples == [2] { vec![2] } else { vec![] });
        batches.push(batch.samples.clone());
        batch.samples.iter().for_each(|sample| assert!(held.finished(*sample)));
    }
    assert_eq!(batches, [vec![0, 1], vec![2], vec![3, 4, 5]]);
}

#[test]
fn the_engine_is_told_how_many_answers_were_drawn_before() {
    let held = grant(key(1, 1, 1), 0, 6).with_drawn(BTreeMap::from([(1, 8), (2, 8), (4, 3)]));
    let interval = |first, end| vec![v1::Interval { first, end }];
    let drawn = |answers, samples| v1::Drawn { answers, samples };
    assert_eq!(held.drawn(&[0, 1, 2, 3, 4]), [drawn(3, interval(4, 5)), drawn(8, interval(1, 3))]);
    assert_eq!(held.drawn(&[0, 2]), [drawn(8, interval(2, 3))]);
    assert_eq!(held.drawn(&[0, 5]), []);
}
