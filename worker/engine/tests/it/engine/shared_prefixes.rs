//! Samples with the same prefix: it is computed once, to the same bits for any batch composition. Needs no data.

use crate::engine::support::{TinyModel, run, tiny_plan};
use compass_engine::DeviceChoice;
use compass_plan::engine::{Engine, Request, TokenCounters};
use compass_plan::prompt::{Prompt, Segment, Shot, ShotFormat};
use compass_plan::{Body, InferSpec, OptionPrompt, OptionText, Sample};
use compass_types::result::{Outcome, SampleResult};
use serde_json::json;
use std::path::Path;

/// Shots; samples use one of two sets of them.
const SHOTS: [&str; 4] = ["1+1=2", "2+2=4;", "a to b", "sky: blue"];

fn shots() -> Vec<Shot> {
    SHOTS.iter().map(|shot| Shot::from(*shot)).collect()
}

fn format() -> ShotFormat {
    ShotFormat { separator: "\n".into(), end: "\n\n".into() }
}

fn prompt(header: &str, question: &str) -> Prompt {
    Prompt(vec![Segment::Header(header.into()), Segment::Shots, Segment::Question(question.into())])
}

/// Returns whether a sample is of the first kind, which decides its header and its shots.
fn is_first(index: usize) -> bool {
    index % 7 < 4
}

/// Questions of several lengths with options that diverge early, late, in one letter, or not at all.
fn body(infer: &InferSpec, index: usize) -> Body {
    let question = format!("{index}: {}{}", "why? ".repeat(1 + index % 2), "x".repeat(index % 5));
    let prompt = |question: &str| prompt(if is_first(index) { "# " } else { "> " }, question);
    let endings = [["A", "B"], ["yes", "yes, sir"], ["no", "no"], ["up", "down"]][index % 4];
    match infer {
        InferSpec::Loglikelihood => {
            let option = |(label, text): (usize, &&str)| OptionText {
                label: json!(label),
                continuation: format!(" {text}"),
                context: None,
                length: text.len() as u32,
                delimiter: 0,
                unconditional: false,
            };
            let options = endings.iter().enumerate().map(option).collect();
            Body::Loglikelihood { context: prompt(&question), options }
        }
        InferSpec::Clp => Body::Clp { prompt: prompt(&question), choices: ["A", "B", "C"].map(String::from).to_vec() },
        InferSpec::PplOnly if index.is_multiple_of(2) => Body::Gen { prompt: prompt(&question) },
        _ => {
            let option = |(label, text): (usize, &&str)| OptionPrompt {
                label: json!(label),
                prompt: prompt(&format!("{question}{text}")),
                answer: Some((*text).to_owned()),
            };
            Body::Ppl { options: endings.iter().enumerate().map(option).collect() }
        }
    }
}

fn samples(infer: &InferSpec) -> Vec<Sample> {
    let sample = |index: usize| {
        let shots = if is_first(index) { vec![0, 1, 2] } else { vec![0, 3] };
        Sample { index: index as u32, gold: json!(0), shots, body: body(infer, index) }
    };
    (0..24).map(sample).collect()
}

fn kinds() -> [InferSpec; 5] {
    [
        InferSpec::Ppl,
        InferSpec::PplOnly,
        InferSpec::PplNormalized { normalizing_str: "Answer: ".into() },
        InferSpec::Loglikelihood,
        InferSpec::Clp,
    ]
}

fn load(directory: &Path) -> Box<dyn Engine> {
    compass_engine::load(&tiny_plan(directory), &DeviceChoice::Cpu, 2).unwrap()
}

/// Runs samples in batches of the given size.
fn in_batches(
    engine: &mut dyn Engine,
    infer: &InferSpec,
    samples: &[&Sample],
    size: usize,
) -> (Vec<SampleResult>, TokenCounters) {
    let shots = shots();
    let (mut results, mut counters) = (Vec::new(), TokenCounters::default());
    for batch in samples.chunks(size) {
        let of = |sample: &Sample| sample.shots.iter().map(|&shot| &shots[shot as usize]).collect();
        let requests: Vec<Request<'_>> = batch.iter().map(|sample| Request::new(sample, of(sample))).collect();
        let (more, counted) = run(engine, infer, &format(), &requests);
        results.extend(more);
        counters.add(&counted);
    }
    (results, counters)
}

/// Returns the scores of a result bit by bit.
fn bits(result: &SampleResult) -> Vec<u64> {
    match &result.outcome {
        Outcome::Ppl(scores) => {
            let of = |nll_sum: f64, tokens: u32| [nll_sum.to_bits(), u64::from(tokens)];
            let scores = scores.iter().flat_map(|score| {
                let normalizer = score.normalizer.as_ref().map(|normalizer| of(normalizer.nll_sum, normalizer.tokens));
                of(score.nll_sum, score.tokens).into_iter().chain(normalizer.into_iter().flatten())
            });
            scores.collect()
        }
        Outcome::Loglikelihood(scores) => {
            scores.iter().flat_map(|score| [score.sum.to_bits(), u64::from(score.is_greedy)]).collect()
        }
        Outcome::Clp(scores) => scores.iter().map(|score| score.to_bits()).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn scores_are_batch_invariant() {
    let directory = tempfile::tempdir().unwrap();
    TinyModel::default().write(directory.path());
    for infer in kinds() {
        let samples = samples(&infer);
        let all: Vec<&Sample> = samples.iter().collect();
        let (together, _) = in_batches(load(directory.path()).as_mut(), &infer, &all, all.len());
        let together: Vec<Vec<u64>> = together.iter().map(bits).collect();
        for (seed, size) in [(1usize, 24), (5, 1), (7, 3), (11, 5), (13, 16)] {
            let mut order: Vec<usize> = (0..samples.len()).collect();
            order.sort_by_key(|&index| (index * 7919 * seed) % 104_729);
            let shuffled: Vec<&Sample> = order.iter().map(|&index| &samples[index]).collect();
            let (results, _) = in_batches(load(directory.path()).as_mut(), &infer, &shuffled, size);
            for (&index, result) in order.iter().zip(&results) {
                assert_eq!(bits(result), together[index], "{}, order {seed}, batches of {size}", infer.mode());
            }
        }
    }
}

#[test]
fn every_distinct_prefix_is_computed_once() {
    let directory = tempfile::tempdir().unwrap();
    TinyModel::default().write(directory.path());
    for infer in kinds() {
        let samples = samples(&infer);
        let all: Vec<&Sample> = samples.iter().collect();
        let mut distinct = Vec::new();
        for size in [24, 6, 1] {
            let (_, counters) = in_batches(load(directory.path()).as_mut(), &infer, &all, size);
            assert!(counters.distinct * 2 < counters.submitted, "{} {counters:?}", infer.mode());
            // The stacks that stay between batches hold prefixes of both kinds. `Answer: yes` and similar texts, which
            // this kind scores too, are more than there are stacks.
            let more = matches!(infer, InferSpec::PplNormalized { .. }) && size < 24;
            assert_eq!(counters.computed == counters.distinct, !more, "{} {counters:?}, {size}", infer.mode());
            distinct.push(counters.distinct);
        }
        assert!(distinct.iter().all(|&tokens| tokens == distinct[0]), "{distinct:?}");
    }
}

/// Whole texts without borders, each in its own batch: the expected result of the shared computation.
#[test]
fn scores_equal_those_of_whole_texts() {
    let directory = tempfile::tempdir().unwrap();
    TinyModel::default().write(directory.path());
    let samples = samples(&InferSpec::Ppl);
    let all: Vec<&Sample> = samples.iter().collect();
    let (results, _) = in_batches(load(directory.path()).as_mut(), &InferSpec::Ppl, &all, all.len());
    let shots = shots();
    for (sample, result) in samples.iter().zip(&results) {
        let (Outcome::Ppl(scores), Body::Ppl { options }) = (&result.outcome, &sample.body) else {
            panic!("{result:?}")
        };
        for (score, option) in scores.iter().zip(options) {
            let shown: Vec<&Shot> = sample.shots.iter().map(|&shot| &shots[shot as usize]).collect();
            let text = option.prompt.render(&shown, &format());
            let whole = OptionPrompt { label: json!(0), prompt: Prompt::question(text), answer: None };
            let alone = Sample { body: Body::Ppl { options: vec![whole] }, shots: Vec::new(), ..sample.clone() };
            let (whole, _) = in_batches(load(directory.path()).as_mut(), &InferSpec::Ppl, &[&alone], 1);
            let Outcome::Ppl(whole) = &whole[0].outcome else { panic!("{whole:?}") };
            let off = (score.nll_sum - whole[0].nll_sum).abs() / whole[0].nll_sum;
            assert!(off < 1e-6 && score.tokens == whole[0].tokens, "{off:.1e}: {score:?}, {:?}", whole[0]);
        }
    }
}
