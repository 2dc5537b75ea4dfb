//! Properties of every evaluator: any split, merged in any order, is one fold, to the bit.

use super::fixture::*;
use super::{Accumulator, Counts, EVAL_VERSION, MergeError, Metrics};
use compass_plan::evaluation::{
    BleuTokenizer, ChoiceMetric, EvaluatorSpec, ExactMatchSpec, F1Average, GaokaoQuestion, Language, Orders, Stemming,
    TextCheck, TextScore,
};
use compass_plan::prompt::Prompt;
use compass_plan::{Body, EvalSpec, Sample};
use compass_types::result::{Outcome, RollingScore, SampleResult};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Makes the sample at an index, and the model's answer to it.
type Draw = fn(u32, &Drawn) -> (Sample, SampleResult);

/// One of every kind, with samples that it can judge.
fn specs() -> Vec<(EvalSpec, Draw)> {
    let spec = EvalSpec::new;
    let metrics = vec![
        ChoiceMetric::BrierScore,
        ChoiceMetric::Acc,
        ChoiceMetric::AccNorm,
        ChoiceMetric::AccBytes,
        ChoiceMetric::ExactMatch,
        ChoiceMetric::Mc2,
        ChoiceMetric::Mcc,
    ];
    let stemming = Stemming::default();
    let (tokenizer, language) = (BleuTokenizer::default(), Language::Zh);
    vec![
        (spec(EvaluatorSpec::Acc), options),
        (spec(EvaluatorSpec::AccWithDetails), options),
        (spec(EvaluatorSpec::MultipleChoice { metrics }), options),
        (spec(EvaluatorSpec::Em), texts),
        (spec(EvaluatorSpec::Gsm8k), texts),
        (spec(EvaluatorSpec::Circular), rotations),
        (spec(EvaluatorSpec::CircularEval { pattern: Orders::AllPossible }), orders),
        (spec(EvaluatorSpec::Perplexity), continuation),
        (spec(EvaluatorSpec::Perplexity), whole_text),
        (spec(EvaluatorSpec::Bpc), whole_text),
        (spec(EvaluatorSpec::AveragePpl), mean_score),
        (spec(EvaluatorSpec::AucRoc), pairs),
        (spec(EvaluatorSpec::SentencePair), pairs),
        (spec(EvaluatorSpec::Acc), choices),
        (spec(EvaluatorSpec::Mcc), texts),
        (spec(EvaluatorSpec::F1 { average: F1Average::Macro }), texts),
        (spec(EvaluatorSpec::CrowsPairs), texts),
        (spec(EvaluatorSpec::Rouge { stemming }), texts),
        (spec(EvaluatorSpec::Bleu { tokenizer }), texts),
        (spec(EvaluatorSpec::Chrf { word_order: 2 }), texts),
        (spec(EvaluatorSpec::Score { score: TextScore::Squad }), texts),
        (spec(EvaluatorSpec::Score { score: TextScore::DropBags }), texts),
        (spec(EvaluatorSpec::Score { score: TextScore::LongbenchF1(language) }), texts),
        (spec(EvaluatorSpec::Check { check: TextCheck::MinervaMath }), texts),
        (spec(EvaluatorSpec::Check { check: TextCheck::MathV2 }), texts),
        (spec(EvaluatorSpec::ExactMatch(ExactMatchSpec::default())), texts),
        (spec(EvaluatorSpec::Gaokao { question: GaokaoQuestion::MultiChoice }), texts),
        (EvalSpec { k: vec![1, 2], ..spec(EvaluatorSpec::Em) }, several),
        (EvalSpec { k: vec![1, 2], ..spec(EvaluatorSpec::Score { score: TextScore::Squad }) }, several),
    ]
}

/// Scores from a small set, so that ties, non-finite values and failures are frequent.
#[derive(Clone, Debug)]
struct Drawn {
    kind: usize,
    gold: usize,
    scores: Vec<f64>,
}

prop_compose! {
    fn drawn()(kind in 0..6usize, gold in 0..3usize, scores in proptest::collection::vec(
        proptest::sample::select(vec![-1.0, -2.0, -2.5, -0.1, -1e-3, f64::NAN, f64::NEG_INFINITY]), 3)) -> Drawn {
        Drawn { kind, gold, scores }
    }
}

fn options(index: u32, drawn: &Drawn) -> (Sample, SampleResult) {
    let gold = drawn.gold;
    match drawn.kind {
        0 => (generate(index, json!("A")), failed(index, "poison")),
        1 => {
            let scores: Vec<_> = drawn.scores.iter().map(|score| (-score, 2)).collect();
            (ppl(index, json!(gold), &[json!(0), json!(1), json!(2)]), ppl_result(index, &scores))
        }
        _ => (loglikelihood(index, json!(gold), &["a", "bcd", "éf"]), loglikelihood_result(index, &drawn.scores)),
    }
}

fn texts(index: u32, drawn: &Drawn) -> (Sample, SampleResult) {
    let golds: [Value; 3] = [json!("7"), json!(["7", "the 8"]), json!(null)];
    let answer = ["7", "7.0", "the 8", "", "é\n8", "8"][drawn.kind];
    (generate(index, golds[drawn.gold].clone()), generated(index, answer))
}

fn rotations(index: u32, drawn: &Drawn) -> (Sample, SampleResult) {
    let pattern = ["ABCD", "BCDA", "CDAB", "DABC"][index as usize % 4];
    let gold = format!("{}--{}--{pattern}", index / 4, ["A", "B", "C"][drawn.gold]);
    (generate(index, json!(gold)), generated(index, ["A", "B", "C", "D", "", "A B"][drawn.kind]))
}

fn orders(index: u32, drawn: &Drawn) -> (Sample, SampleResult) {
    let pattern = [["A", "B", "C"], ["B", "C", "A"], ["C", "B", "A"]][index as usize % 3];
    let answer = ["A", "B", "C"][drawn.gold];
    let gold = json!({
        "answer": answer, "qid": index / 3, "circular_pattern": pattern, "first_pattern": ["A", "B", "C"],
    });
    (generate(index, gold), generated(index, ["A", "B", "C", "D", "", "A B"][drawn.kind]))
}

fn continuation(index: u32, drawn: &Drawn) -> (Sample, SampleResult) {
    (loglikelihood(index, json!(null), &["a"]), loglikelihood_result(index, &drawn.scores[..1]))
}

fn whole_text(index: u32, drawn: &Drawn) -> (Sample, SampleResult) {
    let body = Body::Rolling { text: Prompt::question("so é\n"), words: 3, bytes: 6 };
    let sample = Sample { index, gold: Value::Null, shots: Vec::new(), body };
    (sample, result(index, Outcome::Rolling(RollingScore { sum: drawn.scores[0] * 7.3, tokens: 3 })))
}

fn mean_score(index: u32, drawn: &Drawn) -> (Sample, SampleResult) {
    (generate(index, Value::Null), ppl_result(index, &[(-drawn.scores[0], 3)]))
}

/// Both classes of gold answers, so that every rank statistic exists once two samples are scored.
fn pairs(index: u32, drawn: &Drawn) -> (Sample, SampleResult) {
    let gold = json!(index % 2);
    (loglikelihood(index, gold, &["a", "b"]), loglikelihood_result(index, &drawn.scores[..2]))
}

fn choices(index: u32, drawn: &Drawn) -> (Sample, SampleResult) {
    let choices = ["A", "B", "C"].map(String::from);
    let gold = [json!("A"), json!(1), json!("B")][drawn.gold].clone();
    let body = Body::Clp { prompt: Prompt::question("so"), choices: choices.to_vec() };
    (Sample { index, gold, shots: Vec::new(), body }, result(index, Outcome::Clp(drawn.scores.clone())))
}

fn several(index: u32, drawn: &Drawn) -> (Sample, SampleResult) {
    let (sample, first) = texts(index, drawn);
    let (_, second) = texts(index, &Drawn { kind: (drawn.kind + 1) % 6, ..drawn.clone() });
    let answers = [first, second].into_iter().filter_map(|result| match result.outcome {
        Outcome::Generated(answers) => Some(answers),
        _ => None,
    });
    let answers = answers.flatten().collect();
    (sample, result(index, Outcome::Generated(answers)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_split_in_any_order_is_one_fold(
        drawn in proptest::collection::vec(drawn(), 0..40),
        shards in proptest::collection::vec(0usize..5, 40),
        order in Just((0..40usize).collect::<Vec<_>>()).prop_shuffle(),
        merges in Just((0..5usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        for (spec, pair) in specs() {
            let pairs: Vec<_> = drawn.iter().enumerate().map(|(at, drawn)| pair(at as u32, drawn)).collect();
            let mut whole = Accumulator::new(&spec);
            for (sample, result) in &pairs {
                prop_assert!(whole.observe(sample, result));
            }
            let mut parts = vec![Accumulator::new(&spec); 5];
            for &at in order.iter().filter(|&&at| at < pairs.len()) {
                parts[shards[at]].observe(&pairs[at].0, &pairs[at].1);
            }
            // left to right in a random order
            let mut left = Accumulator::new(&spec);
            for &at in &merges {
                left.merge(&parts[at]).unwrap();
            }
            // and grouped the other way round
            let mut right = parts[merges[4]].clone();
            for &at in merges[..4].iter().rev() {
                let mut outer = parts[at].clone();
                outer.merge(&right).unwrap();
                right = outer;
            }
            prop_assert_eq!(&left, &whole);
            prop_assert_eq!(&right, &whole);
            prop_assert_eq!((left.digest(), right.digest()), (whole.digest(), whole.digest()));
            // And of other samples, or other counts, it is another.
            prop_assert_eq!(parts[0].digest() == whole.digest(), parts[0] == whole);
            // across the wire, where a float is text
            let text = serde_json::to_string(&left).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Accumulator>(&text).unwrap(), &whole);
            let metrics = whole.running();
            prop_assert_eq!(bits(&metrics), bits(&left.running()));
            prop_assert_eq!(metrics.counts.scored + metrics.counts.failed, pairs.len() as u64);
            prop_assert!(metrics.values.iter().all(|metric| metric.value.is_finite()));
            // A corpus of one class has no area under a curve, and nothing else may be withheld.
            let one_class = spec.evaluator == EvaluatorSpec::AucRoc;
            prop_assert!(!metrics.values.is_empty() || metrics.counts.scored == 0 || one_class, "{:?}", spec);
        }
    }
}

/// Every number as its bits: -0.0 is not 0.0 here.
fn bits(metrics: &Metrics) -> Vec<(String, [Option<u64>; 4])> {
    let read = |metric: &super::Metric| {
        let ends = metric.ci95.unzip();
        let numbers = [Some(metric.value), metric.stderr, ends.0, ends.1];
        (metric.name.clone(), numbers.map(|number| number.map(f64::to_bits)))
    };
    metrics.values.iter().map(read).collect()
}

fn of_40(right: u32, spec: &EvalSpec) -> Metrics {
    let mut accumulator = Accumulator::new(spec);
    for index in 0..40 {
        let text = if index < right { "X" } else { "Y" };
        accumulator.observe(&generate(index, json!("X")), &generated(index, text));
    }
    accumulator.finish()
}

#[test]
fn numbers_as_the_peer_prints_them() {
    let metrics = of_40(22, &EvalSpec::new(EvaluatorSpec::Em));
    assert_eq!((metrics.values[0].name.as_str(), metrics.values[0].value), ("score", 55.00000000000001));
    let metrics = of_40(22, &EvalSpec::new(EvaluatorSpec::Gsm8k));
    assert_eq!((metrics.values[0].name.as_str(), metrics.values[0].value), ("accuracy", 55.0));
}

#[test]
fn nothing_scored_withholds_the_metric() {
    let mut accumulator = Accumulator::new(&acc());
    assert_eq!(accumulator.finish(), Metrics::default());
    accumulator.observe(&generate(0, json!("A")), &failed(0, "poison"));
    let metrics = accumulator.finish();
    assert!(metrics.values.is_empty());
    assert_eq!(metrics.counts, Counts { failed: 1, ..Counts::default() });
}

#[test]
fn a_sample_counts_once() {
    let mut accumulator = Accumulator::new(&acc());
    assert!(accumulator.observe(&generate(3, json!("A")), &generated(3, "A")));
    assert!(!accumulator.observe(&generate(3, json!("A")), &generated(3, "B")));
    let before = accumulator.clone();
    assert_eq!(accumulator.merge(&before), Err(MergeError::Overlap { samples: 1 }));
    assert_eq!(accumulator, before);
    let other = Accumulator::new(&EvalSpec::new(EvaluatorSpec::Em));
    assert_eq!(accumulator.merge(&other), Err(MergeError::DifferentSpec));
    assert_eq!(accumulator.finish().values[0].value, 100.0);
}

/// Every build of this version of the evaluators makes the same bytes of the same samples, in whatever profile: a digest
/// that changes asks for another [`EVAL_VERSION`].
#[test]
fn the_canonical_bytes_are_those_of_every_build() {
    let mut all = Vec::new();
    for (spec, pair) in specs() {
        let mut accumulator = Accumulator::new(&spec);
        for at in 0..24_u32 {
            let scores = [-1.0, -2.5, -0.1, -1e-3].iter().cycle().skip(at as usize % 4).take(3).copied().collect();
            let drawn = Drawn { kind: at as usize % 6, gold: at as usize % 3, scores };
            let (sample, result) = pair(at, &drawn);
            accumulator.observe(&sample, &result);
        }
        all.extend(accumulator.digest().0);
    }
    let digest = compass_types::ids::Digest::of(&all).to_string();
    assert_eq!(
        (EVAL_VERSION, digest.as_str()),
        (4, "63a15d8d3483fc4a2957797db379e23f3f4d961213914377457a1cb4ce9496a2")
    );
}
