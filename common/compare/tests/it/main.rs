//! Comparisons, groups and gates of made values: what is missing, what is withheld, what is lower and better.

#![warn(clippy::disallowed_methods)]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod evidence;
mod gates;

use compass_compare::gate::{Decision, judge};
use compass_compare::{
    ClusterBy, Column, Comparison, Conclusion, Facts, Hit, Options, Row, RunData, SampleFacts, Series, UnitData,
    compare,
};
use compass_diagnostic::Origin;
use compass_eval::evaluator::{Aggregation, Bounds, SampleValue, Scale};
use compass_plan::evaluation::F1Average;
use compass_plan::summary::{Average, SummaryGroup};
use compass_settings::{Correction, GateRule, GateTier};

fn options() -> Options {
    Options {
        models: Vec::new(),
        metrics: Vec::new(),
        first_metric: true,
        relative: 0.0,
        cluster: ClusterBy::Passage,
        margin: None,
        correction: Correction::Holm,
        confidence: 0.95,
        allow_partial: false,
        flips: 0,
        may_be_empty: false,
    }
}

fn unit(dataset: &str, samples: usize, name: &str, rule: Aggregation, column: Column) -> UnitData {
    let facts = |at: usize| SampleFacts {
        index: at as u32,
        question: at as u128 * 977 % 10_007,
        gold: 1,
        has_result: true,
        column: 0,
        shared: 0,
        shared_end: 0,
        length: 10,
    };
    UnitData {
        model: "m".into(),
        dataset: dataset.into(),
        mode: "gen",
        samples: (0..samples).map(facts).collect(),
        series: vec![Series { name: name.into(), rule, column }],
    }
}

fn hits(dataset: &str, samples: usize, hit: impl Fn(usize) -> Hit) -> UnitData {
    let column = Column::Hits((0..samples).map(hit).collect());
    unit(dataset, samples, "accuracy", Aggregation::Proportion, column)
}

fn run(name: &str, units: Vec<UnitData>) -> RunData {
    RunData { name: name.into(), models: [("m".to_owned(), Facts::new())].into(), units, ..RunData::default() }
}

fn row<'c>(found: &'c Comparison, dataset: &str) -> &'c Row {
    found.rows.iter().find(|row| row.dataset == dataset).unwrap()
}

fn is(right: bool) -> Hit {
    if right { Hit::Right } else { Hit::Wrong }
}

/// Three answers of four are right, and at `lost` none is.
fn mostly(at: usize) -> Hit {
    is(!at.is_multiple_of(4))
}

/// The square of the normal quantile of a 95 % interval.
const CHI: f64 = 3.841_458_820_694_124;

#[test]
fn answers_without_a_score_are_bounded_and_no_conclusion_hides_them() {
    let a = run("a", vec![hits("d", 400, mostly)]);
    let b = run("b", vec![hits("d", 400, |at| if at < 40 { Hit::None } else { mostly(at) })]);
    let margin = Options { margin: Some(3.0), ..options() };
    let found = compare(&a, &b, &margin).unwrap();
    let estimate = &row(&found, "d").estimate;
    assert_eq!((estimate.pairs, estimate.unscored, estimate.left_out), (360, (0, 40), 40));
    assert_eq!((estimate.difference, estimate.p), (0.0, 1.0));
    // Were all forty wrong, thirty right answers of the first run would be lost.
    let bounds = estimate.bounds.unwrap();
    assert!(bounds.low < -7.5 && bounds.high >= 2.5, "{bounds:?}");
    assert!(estimate.interval.low > -3.0, "without them it would be no worse");
    assert_eq!(row(&found, "d").conclusion, Conclusion::Inconclusive { needed: None });
    let whole = compare(&a, &run("b", vec![hits("d", 400, mostly)]), &margin).unwrap();
    assert_eq!(row(&whole, "d").conclusion, Conclusion::WithinMargin);
}

#[test]
fn a_score_is_better_when_it_is_lower_where_the_metric_says_so() {
    let scores = |shift: f64| {
        let values = (0..200).map(|at| f64::from(at % 17) / 10.0 + shift * f64::from(at % 3)).collect();
        let rule = Aggregation::Mean { scale: Scale::One, bounds: Bounds::Positive };
        unit("d", 200, "brier_score", rule, Column::Scores(values))
    };
    let found = compare(&run("a", vec![scores(0.0)]), &run("b", vec![scores(-0.1)]), &options()).unwrap();
    let better = row(&found, "d");
    assert!(better.estimate.difference < 0.0 && better.conclusion == Conclusion::Better, "{better:?}");
    assert!(better.estimate.interval.high < 0.0 && better.estimate.p < 1e-4, "{better:?}");
    let found = compare(&run("a", vec![scores(0.0)]), &run("b", vec![scores(0.1)]), &options()).unwrap();
    assert_eq!(row(&found, "d").conclusion, Conclusion::Worse);
}

#[test]
fn corpus_metrics_are_resampled_in_pairs() {
    let classes = |wrong: usize| {
        let class = |at: usize| ["x", "y", "z"][at % 3].to_owned();
        let item = |at: usize| {
            let predicted = if at % 10 < wrong { class(at + 1) } else { class(at) };
            Some(SampleValue::Classes(class(at), predicted))
        };
        let rule = Aggregation::F1 { average: F1Average::Macro };
        unit("d", 300, "f1", rule, Column::Items((0..300).map(item).collect()))
    };
    let (a, b) = (run("a", vec![classes(2)]), run("b", vec![classes(1)]));
    let found = compare(&a, &b, &options()).unwrap();
    let estimate = &row(&found, "d").estimate;
    // scikit-learn: f1_score(average="macro") is 0.8 and 0.9.
    assert!((estimate.a - 80.0).abs() < 1e-9 && (estimate.b - 90.0).abs() < 1e-9, "{estimate:?}");
    // One in ten differs, always to the better: the error of the difference is near sqrt(0.09 / 300).
    assert!((1.4..2.1).contains(&estimate.stderr) && estimate.interval.low > 5.0, "{estimate:?}");
    assert_eq!(row(&found, "d").conclusion, Conclusion::Better);
    let same = compare(&a, &a, &options()).unwrap();
    assert!(row(&same, "d").is_identical() && row(&same, "d").estimate.p == 1.0);
}

#[test]
fn questions_about_one_passage_have_the_error_of_passages() {
    // Forty passages of ten questions, all of a passage lost or kept together.
    let of = |lost: bool| {
        let mut unit = hits("d", 400, |at| is(!(lost && (at / 10) % 8 == 0)));
        for (at, facts) in unit.samples.iter_mut().enumerate() {
            (facts.shared, facts.length) = (if at % 10 == 0 { 9 } else { 300 }, 320);
        }
        unit
    };
    let (a, b) = (run("a", vec![of(false)]), run("b", vec![of(true)]));
    let clustered = compare(&a, &b, &options()).unwrap();
    let naive = compare(&a, &b, &Options { cluster: ClusterBy::Nothing, ..options() }).unwrap();
    let (clustered, naive) = (&row(&clustered, "d").estimate, &row(&naive, "d").estimate);
    assert_eq!((clustered.clusters, naive.clusters), (Some(40), None));
    assert_eq!((clustered.difference, naive.difference), (-12.5, -12.5));
    assert!(clustered.stderr > 3.0 * naive.stderr && clustered.p > 0.05 && naive.p < 1e-6, "{clustered:?} {naive:?}");
}

#[test]
fn a_group_weighs_its_subsets_and_has_their_errors() {
    let group = |name: &str, subsets: [&str; 2], average| SummaryGroup {
        average,
        ..SummaryGroup::naive(name, subsets.map(str::to_owned))
    };
    let groups = vec![
        group("inner", ["d", "e"], Average::Naive),
        group("outer", ["inner", "e"], Average::Weighted(vec![3.0, 1.0])),
        group("odd", ["d", "e"], Average::Harmonic),
        group("elsewhere", ["d", "f"], Average::Naive),
    ];
    let of = |name: &str, shift: usize| {
        let units =
            vec![hits("d", 200, |at| is(at % 10 < 5 + shift)), hits("e", 800, |at| is(at % 10 < 3 + 2 * shift))];
        RunData { groups: groups.clone(), ..run(name, units) }
    };
    let found = compare(&of("a", 0), &of("b", 1), &options()).unwrap();
    let (d, e) = (&row(&found, "d").estimate, &row(&found, "e").estimate);
    let (inner, outer) = (&row(&found, "inner").estimate, &row(&found, "outer").estimate);
    assert!((inner.a - 40.0).abs() < 1e-9 && (inner.b - 55.0).abs() < 1e-9 && (inner.difference - 15.0).abs() < 1e-9);
    let error = ((d.stderr * d.stderr + e.stderr * e.stderr) / 4.0).sqrt();
    assert!((inner.stderr - error).abs() < 1e-12, "{inner:?}");
    // 3/4 of the half of each, and 1/4 of e again: its weights add up.
    assert!((outer.difference - (0.375 * 10.0 + 0.625 * 20.0)).abs() < 1e-9, "{outer:?}");
    let error = (0.375 * d.stderr).hypot(0.625 * e.stderr);
    assert!((outer.stderr - error).abs() < 1e-12, "{outer:?}");
    assert_eq!(found.rows.len(), 4);
    assert!(found.left_out.iter().any(|why| why.starts_with("odd: only means")), "{:?}", found.left_out);
    assert!(!found.left_out.iter().any(|why| why.contains("elsewhere")), "a group of other data sets is not meant");
}

#[test]
fn withheld_and_differing_metrics_are_named() {
    let none = |name: &str| run(name, vec![hits("d", 10, mostly), hits("e", 10, |_| Hit::None)]);
    let found = compare(&none("a"), &none("b"), &options()).unwrap();
    assert_eq!(found.left_out, ["e accuracy: no pair has a value in both runs"]);
    let scores = unit(
        "d",
        10,
        "score",
        Aggregation::Mean { scale: Scale::One, bounds: Bounds::Positive },
        Column::Scores(vec![1.0; 10]),
    );
    let errors = compare(&none("a"), &run("b", vec![scores]), &options()).unwrap_err();
    assert!(errors[0].message.contains("d accuracy: b does not have it"), "{errors:?}");
    let single = |value: f64| {
        unit(
            "d",
            1,
            "score",
            Aggregation::Mean { scale: Scale::One, bounds: Bounds::Positive },
            Column::Scores(vec![value]),
        )
    };
    let errors = compare(&run("a", vec![single(1.0)]), &run("b", vec![single(2.0)]), &options()).unwrap_err();
    assert!(errors[0].message.contains("one pair has no error"), "{errors:?}");
    let binary = compare(&run("a", vec![hits("d", 1, is_right)]), &run("b", vec![hits("d", 1, is_right)]), &options());
    assert_eq!(row(&binary.unwrap(), "d").conclusion, Conclusion::Undecided);
}

fn is_right(_: usize) -> Hit {
    Hit::Right
}

#[test]
fn pairs_that_are_left_out_are_counted_once() {
    let without = |from: usize, to: usize| {
        hits("d", 300, move |at| if (from..to).contains(&at) { Hit::None } else { mostly(at) })
    };
    // Seventeen of the first run, twenty-one of the second, one of them in both.
    let found = compare(&run("a", vec![without(0, 17)]), &run("b", vec![without(16, 37)]), &options()).unwrap();
    let estimate = &row(&found, "d").estimate;
    assert_eq!((estimate.pairs, estimate.unscored, estimate.left_out), (263, (17, 21), 37));
    let shown = compass_compare::report::text(&found, &[], None);
    assert!(shown.contains("263 (37 unscored)"), "{shown}");
    let (bounds, interval) = (estimate.bounds.unwrap(), estimate.interval);
    assert!(bounds.low <= interval.low && bounds.high >= interval.high, "{bounds:?} {interval:?}");
}

#[test]
fn bounds_hold_the_interval_where_what_is_missing_all_points_one_way() {
    // Nearly everything that the second run lacks is wrong in the first, so that it can only gain.
    let a = hits("d", 300, |at| is(at >= 160));
    let b = hits("d", 300, |at| if at < 150 { Hit::None } else { is(at >= 160) });
    let found = compare(&run("a", vec![a]), &run("b", vec![b]), &options()).unwrap();
    let estimate = &row(&found, "d").estimate;
    let (bounds, interval) = (estimate.bounds.unwrap(), estimate.interval);
    assert!(interval.low < -2.0 && bounds.low <= interval.low && bounds.high > 50.0, "{bounds:?} {interval:?}");
}

/// Four answers to each of sixty questions.
fn several(answer: impl Fn(usize, usize) -> bool) -> UnitData {
    let answers: Vec<f32> = (0..240).map(|at| f32::from(u8::from(answer(at / 4, at % 4)))).collect();
    let means = answers.chunks(4).map(|all| f64::from(all.iter().sum::<f32>()) / 4.0).collect();
    let column = Column::Several { means, answers, of: 4 };
    unit("d", 60, "accuracy (4 runs average)", Aggregation::Proportion, column)
}

#[test]
fn the_share_of_several_answers_is_that_of_their_differences() {
    let chance = |question: usize, answer: usize| (question * 7 + answer * 3).is_multiple_of(4);
    let of = |b: UnitData| {
        let found = compare(&run("a", vec![several(chance)]), &run("b", vec![b]), &options()).unwrap();
        let estimate = &row(&found, "d").estimate;
        (estimate.stderr, estimate.variance.unwrap())
    };
    // The same seeds give the same answers: nothing differs, neither among questions nor among answers.
    assert_eq!(of(several(chance)), (0.0, (0.0, 0.0)));
    // One question has one answer more: its four differences 1, 0, 0, 0 have a variance of 1/4.
    let (stderr, (questions, answers)) =
        of(several(|question, answer| question == 1 && answer == 0 || chance(question, answer)));
    assert!((questions + answers - stderr * stderr).abs() < 1e-12, "{questions} {answers} {stderr}");
    assert!(answers > 0.0 && (answers - 1e4 / 16.0 / 3600.0).abs() < 1e-9, "{answers}");
    // A part is never larger than the whole.
    let (stderr, (_, answers)) = of(several(|question, answer| chance(question, (answer + 1) % 4)));
    assert!(answers <= stderr * stderr, "{answers} {stderr}");
}

/// Runs of two data sets whose names begin alike, of which the second one lost a little.
fn two_runs() -> (RunData, RunData) {
    let text = |right: usize| hits("text", 500, move |at| is(at % 100 < right));
    let bleu = |right: usize| hits("text_bleu", 500, move |at| is(at % 100 < right));
    let with_dtype = |run: RunData, dtype: &str| {
        let facts = Facts::from([("dtype", dtype.to_owned())]);
        RunData { models: [("m".to_owned(), facts)].into(), ..run }
    };
    let a = with_dtype(run("a", vec![text(86), bleu(60)]), "float16");
    (a, with_dtype(run("b", vec![text(83), bleu(60)]), "bfloat16"))
}

#[test]
fn one_of_a_thing_is_not_many() {
    let (a, b) = (run("a", vec![hits("d", 1, is_right)]), run("b", vec![hits("d", 1, is_right)]));
    let shown = compass_compare::report::text(&compare(&a, &b, &options()).unwrap(), &[], None);
    assert!(shown.contains("corrected for 1 test by Holm"), "{shown}");
    let matches = |pattern: &str, name: &str| pattern == name;
    let few = GateRule { min_samples: 5, ..rule("d") };
    let gate = judge(&a, &b, &[few], &options(), &matches).unwrap();
    assert_eq!(gate.outcomes[0].why, "1 pair is fewer than the 5 of the rule");
}

#[test]
fn reports_for_a_terminal_are_no_wider_than_it() {
    use compass_compare::leaderboard::{board, board_text};
    use compass_compare::report::{gate_text, text};
    let matches = |pattern: &str, name: &str| pattern == "*" || pattern == name;
    let units = |shift: usize| {
        let of = |at: usize| {
            hits(&format!("lukaemon_mmlu_subject_{at}"), 60, move |sample| is((sample + shift) % 7 > at % 4))
        };
        (0..12).map(of).collect::<Vec<_>>()
    };
    let (a, b) = (run("outputs/default/20260101_030000", units(0)), run("outputs/default/20260102_030000", units(1)));
    let compared = compare(&a, &b, &Options { margin: Some(3.0), ..options() }).unwrap();
    let both = GateRule { relative: Some(5.0), ..rule("*") };
    let gate = judge(&a, &b, &[both], &options(), &matches).unwrap();
    let board = board(&[a, b], &|_| None);
    for width in [60, 80, 120] {
        let wide = [text(&compared, &[], Some(width)), gate_text(&gate, Some(width)), board_text(&board, Some(width))];
        for shown in wide {
            assert!(shown.lines().all(|line| line.chars().count() <= width), "{width}:\n{shown}");
            assert!(shown.contains("subject_11"), "{shown}");
        }
    }
    let pipe = text(&compared, &[], None);
    assert!(pipe.lines().any(|line| line.chars().count() > 100), "{pipe}");
}

#[test]
fn a_metric_that_no_data_set_has_is_named_with_those_there_are() {
    let groups = vec![SummaryGroup::naive("both", ["d".to_owned(), "e".to_owned()])];
    let one = RunData { groups, ..run("a", vec![hits("d", 20, mostly), hits("e", 20, mostly)]) };
    let asked = |metrics: &[&str]| {
        let metrics = metrics.iter().map(|name| (*name).to_owned()).collect();
        compare(&one, &one, &Options { metrics, first_metric: false, ..options() })
    };
    let error = asked(&["zzz"]).unwrap_err().remove(0);
    assert_eq!(error.message, "nothing of the two runs can be compared: no data set has the metric `zzz`");
    assert_eq!(error.help, "d has accuracy; e has accuracy");
    assert_eq!(asked(&["zzz", "accuracy"]).unwrap().left_out, ["no data set has the metric `zzz`"]);
}

/// F1 over two classes; `b` answers rightly where `a` does not.
fn classes(samples: usize, is_right: impl Fn(usize) -> bool) -> UnitData {
    let item = |at: usize| {
        let (gold, other) = if at.is_multiple_of(2) { ("x", "y") } else { ("y", "x") };
        Some(SampleValue::Classes(gold.into(), if is_right(at) { gold } else { other }.into()))
    };
    let rule = Aggregation::F1 { average: F1Average::Macro };
    unit("d", samples, "f1", rule, Column::Items((0..samples).map(item).collect()))
}

fn rule(dataset: &str) -> GateRule {
    GateRule {
        origin: Origin { file: "gate.toml".into(), line: 1, column: 1 },
        dataset: dataset.into(),
        metric: None,
        tier: GateTier::Critical,
        margin: Some(2.0),
        relative: None,
        min_samples: 1,
        required: true,
    }
}
