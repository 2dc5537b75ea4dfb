//! Evidence of few pairs, of few clusters, and of pairs of which none differs.

use super::*;

/// Returns the number of pairs that would tell, of runs in which no pair of `samples` differs.
fn needed(a: UnitData, b: UnitData, margin: f64) -> Option<u64> {
    let found = compare(&run("a", vec![a]), &run("b", vec![b]), &Options { margin: Some(margin), ..options() });
    match row(&found.unwrap(), "d").conclusion {
        Conclusion::Inconclusive { needed } => needed,
        conclusion => unreachable!("{conclusion:?}"),
    }
}

#[test]
fn as_many_pairs_as_would_tell_do_tell() {
    // Where nothing differs Tango's interval reaches z² / (n + z²).
    let same = |samples: usize| hits("d", samples, mostly);
    for (margin, pairs) in [(3.0, 125), (5.0, 73), (15.0, 22)] {
        assert_eq!(needed(same(20), same(20), margin), Some(pairs), "{margin}");
        let found = compare(
            &run("a", vec![same(pairs as usize)]),
            &run("b", vec![same(pairs as usize)]),
            &Options { margin: Some(margin), ..options() },
        );
        assert_eq!(row(&found.unwrap(), "d").conclusion, Conclusion::WithinMargin, "{margin}");
    }
    // Where as many are gained as lost, the interval and the error of its middle fit into the margin.
    let wrong_at = |place: usize| hits("d", 100, move |at| is(at % 20 != place));
    let few = needed(wrong_at(0), wrong_at(5), 5.0).unwrap();
    assert!((300..400).contains(&few), "{few}");
    // What is worse by more than the margin.
    let worse = |at: usize| is(!at.is_multiple_of(10));
    let many = needed(hits("d", 60, is_right), hits("d", 60, worse), 5.0).unwrap();
    assert!((200..600).contains(&many), "{many}");
    // Scores have the t interval.
    let scores = |shift: f64| {
        let values = (0..40).map(|at| f64::from(at * 7 % 13) / 13.0 * shift).collect();
        unit(
            "d",
            40,
            "score",
            Aggregation::Mean { scale: Scale::One, bounds: Bounds::Positive },
            Column::Scores(values),
        )
    };
    let found = needed(scores(0.0), scores(1.0), -0.4).unwrap();
    assert!((200..400).contains(&found), "{found}");
}

/// Questions of ten about each passage.
fn in_passages(mut unit: UnitData) -> UnitData {
    for (at, facts) in unit.samples.iter_mut().enumerate() {
        (facts.shared, facts.length) = (if at % 10 == 0 { 9 } else { 300 }, 320);
    }
    unit
}

#[test]
fn where_nothing_differs_nothing_is_certain() {
    let margin = |margin: f64| Options { margin: Some(margin), ..options() };
    let conclusion = |units: &[UnitData], name: &str, by: f64| {
        let groups = vec![SummaryGroup::naive("both", ["d".to_owned(), "e".to_owned()])];
        let one = RunData { groups, ..run("a", units.to_vec()) };
        let found = compare(&one, &one, &margin(by)).unwrap();
        let row = row(&found, name).clone();
        assert_eq!((row.estimate.detectable, row.estimate.p, row.estimate.difference), (None, 1.0, 0.0), "{name}");
        assert!(row.is_identical(), "{row:?}");
        (row.conclusion, row.estimate.interval.high)
    };
    // Forty clusters count as forty pairs: z² / (40 + z²).
    let clustered = [in_passages(hits("d", 400, mostly))];
    let (told, high) = conclusion(&clustered, "d", 0.01);
    assert!((high - 100.0 * CHI / (40.0 + CHI)).abs() < 1e-9, "{high}");
    assert!(matches!(told, Conclusion::Inconclusive { needed: Some(needed) } if needed > 300_000), "{told:?}");
    assert_eq!(conclusion(&clustered, "d", 9.0).0, Conclusion::WithinMargin);
    // Half of a group's subsets each: their ends as squares.
    let two = [hits("d", 100, mostly), hits("e", 400, mostly)];
    let (told, high) = conclusion(&two, "both", 0.01);
    let end = |n: f64| 50.0 * 3.841458820694124 / (n + 3.841458820694124);
    assert!((high - end(100.0).hypot(end(400.0))).abs() < 1e-9, "{high}");
    let Conclusion::Inconclusive { needed: Some(needed) } = told else { panic!("{told:?}") };
    assert!((90_000..110_000).contains(&needed), "{needed}");
    assert_eq!(conclusion(&two, "both", 2.0).0, Conclusion::WithinMargin);
    // Shares between 0 and 1 are no more certain than right and wrong.
    let shares = vec![0.25; 50];
    let shares = [unit(
        "d",
        50,
        "score",
        Aggregation::Mean { scale: Scale::Percent, bounds: Bounds::Percent },
        Column::Scores(shares),
    )];
    let (_, high) = conclusion(&shares, "d", 0.01);
    assert!((high - 100.0 * CHI / (50.0 + CHI)).abs() < 1e-9, "{high}");
    // A relative margin has no certainty of its own.
    let matches = |pattern: &str, name: &str| pattern == name;
    let perfect = |samples: usize| run("a", vec![hits("d", samples, is_right)]);
    let relative = GateRule { margin: None, relative: Some(5.0), ..rule("d") };
    let judged = |samples: usize| {
        judge(&perfect(samples), &perfect(samples), std::slice::from_ref(&relative), &options(), &matches).unwrap()
    };
    assert_eq!((judged(20).decision, judged(80).decision), (Decision::CannotTell, Decision::Go));
    assert_eq!(judged(20).outcomes[0].needed, Some(77));
}

#[test]
fn clusters_are_no_more_certain_than_their_pairs() {
    // One pair of four hundred is lost.
    let of = |lost: bool| in_passages(hits("d", 400, |at| is(!(lost && at == 7))));
    let (a, b) = (run("a", vec![of(false)]), run("b", vec![of(true)]));
    let clustered = compare(&a, &b, &options()).unwrap();
    let naive = compare(&a, &b, &Options { cluster: ClusterBy::Nothing, ..options() }).unwrap();
    let (clustered, naive) = (&row(&clustered, "d").estimate, &row(&naive, "d").estimate);
    assert!(clustered.interval.low <= naive.interval.low && clustered.interval.high >= naive.interval.high);
}

#[test]
fn a_leaderboard_is_not_certain_of_what_is_always_right() {
    let cell = |unit: UnitData| {
        let board = compass_compare::leaderboard::board(&[run("a", vec![unit])], &|_| None);
        board.entries[0].cells["d"][0].interval.unwrap()
    };
    let wilson = |n: f64| 100.0 * n / (n + 3.841458820694124);
    for (unit, n) in [
        (hits("d", 400, is_right), 400.0),
        (in_passages(hits("d", 400, is_right)), 40.0),
        (
            unit(
                "d",
                50,
                "score",
                Aggregation::Mean { scale: Scale::Percent, bounds: Bounds::Percent },
                Column::Scores(vec![1.0; 50]),
            ),
            50.0,
        ),
    ] {
        let (low, high) = cell(unit);
        assert!((low - wilson(n)).abs() < 1e-9 && high == 100.0, "{n}: {low} to {high}");
    }
}

#[test]
fn a_few_samples_of_a_corpus_metric_are_no_evidence() {
    let of = |samples| {
        let (a, b) = (classes(samples, |_| false), classes(samples, |_| true));
        compare(&run("a", vec![a]), &run("b", vec![b]), &options())
    };
    let refused = of(1).unwrap_err();
    assert!(refused[0].message.contains("d f1: one pair has no error"), "{refused:?}");
    for samples in [2, 3, 5] {
        let found = of(samples).unwrap();
        let (row, least) = (row(&found, "d"), 0.5_f64.powi(samples as i32 - 1));
        assert!(row.estimate.p >= least && row.conclusion == Conclusion::Undecided, "{row:?}");
        // All of them differ alike, which says little of others.
        assert!(row.estimate.interval.low < 60.0 && row.estimate.interval.high == 100.0, "{row:?}");
        assert_eq!(row.estimate.detectable, None);
    }
    // What varies among five has the interval of Student's t with four degrees of freedom at least.
    let (a, b) = (classes(5, |at| at > 1), classes(5, |at| at > 0));
    let found = compare(&run("a", vec![a]), &run("b", vec![b]), &options()).unwrap();
    let estimate = &row(&found, "d").estimate;
    let high = (estimate.difference + 2.776 * estimate.stderr).min(100.0);
    assert!(estimate.interval.high >= high && estimate.interval.high <= 100.0, "{estimate:?}");
}

#[test]
fn what_no_test_could_find_is_not_called_detectable() {
    let scores = |samples: usize, spread: f64| {
        let values = (0..samples).map(|at| if at.is_multiple_of(2) { 0.5 + spread } else { 0.5 - spread }).collect();
        unit(
            "d",
            samples,
            "score",
            Aggregation::Mean { scale: Scale::Percent, bounds: Bounds::Percent },
            Column::Scores(values),
        )
    };
    let of = |samples, spread| {
        let found =
            compare(&run("a", vec![scores(samples, 0.0)]), &run("b", vec![scores(samples, spread)]), &options());
        row(&found.unwrap(), "d").estimate.clone()
    };
    // Of five pairs the smallest p-value is 1/16.
    assert_eq!(of(5, 0.1).detectable, None);
    let six = of(6, 0.1);
    // (t of 97.5 % + t of 80 %) of five degrees of freedom, times the standard error.
    assert!((six.detectable.unwrap() - (2.570_582 + 0.919_544) * six.stderr).abs() < 1e-4, "{six:?}");
    // Beyond 100 points nothing is.
    let wide = of(6, 0.5);
    assert!(wide.detectable.is_none_or(|points| points <= 100.0), "{wide:?}");
    assert!(wide.interval.low >= -100.0 && wide.interval.high <= 100.0, "{wide:?}");
    let hits = |right: bool| hits("d", 5, move |at| is(right || at > 0));
    let found = compare(&run("a", vec![hits(false)]), &run("b", vec![hits(true)]), &options()).unwrap();
    assert_eq!(row(&found, "d").estimate.detectable, None);
}

#[test]
fn clustered_intervals_of_shares_end_at_all_or_nothing() {
    let of = |is_first: bool| {
        let mut unit = hits("d", 60, |at| is(if at < 40 { is_first } else { !is_first }));
        for (at, facts) in unit.samples.iter_mut().enumerate() {
            facts.column = 1 + (at / 40) as u64;
        }
        unit
    };
    let options = Options { cluster: ClusterBy::Column("c".into()), ..options() };
    let found = compare(&run("a", vec![of(true)]), &run("b", vec![of(false)]), &options).unwrap();
    let estimate = &row(&found, "d").estimate;
    assert_eq!((estimate.clusters, estimate.interval.low, estimate.interval.high), (Some(2), -100.0, 100.0));
    assert_eq!(estimate.detectable, None);
}
