//! A sample's bits do not depend on the batch composition, its index, or the number of threads. Needs no data.

use crate::engine::support::{
    TinyModel, chat_sample, clp_sample, gen_spec, loglikelihood_sample, ppl_sample, prompt_sample, rolling_sample,
    run_all, tiny_plan,
};
use compass_engine::DeviceChoice;
use compass_plan::engine::{BatchSpec, Engine, Request};
use compass_plan::prompt::ShotFormat;
use compass_plan::{ChatMode, GenSpec, InferSpec, Sample};
use compass_types::result::{Outcome, SampleResult};

/// Texts of many lengths around the minimum number of rows and the model's limit of 64.
fn text(seed: usize) -> String {
    let length = [1, 2, 5, 13, 14, 15, 16, 17, 30, 31, 47, 62, 63, 64, 90][seed % 15];
    (0..length).map(|i| char::from(b'a' + ((i * 7 + seed * 11 + i * i * seed) % 26) as u8)).collect()
}

fn samples(infer: &InferSpec) -> Vec<Sample> {
    let whole = matches!(infer, InferSpec::Ppl | InferSpec::Loglikelihood);
    (0..if whole { 45 } else { 15 })
        .map(|index| match infer {
            InferSpec::Ppl => ppl_sample(index, &[&text(index), &text(index + 1), &text(index)]),
            InferSpec::Loglikelihood => loglikelihood_sample(index, &text(index), &[&text(index + 2), " no", " yes"]),
            InferSpec::Clp => clp_sample(index, &text(index), &["a", "b", "c"]),
            InferSpec::Rolling => rolling_sample(index, &text(index).repeat(3)),
            InferSpec::Chat { .. } => {
                let (ask, again) = (text(index), text(index + 1));
                chat_sample(index, &[("user", &ask), ("assistant", "yes"), ("user", &again), ("assistant", "no")])
            }
            _ => prompt_sample(index, &text(index)),
        })
        .collect()
}

/// Formats a result to the bit, which `==` on floats does not always compare.
fn bits(result: &SampleResult) -> String {
    let scores = match &result.outcome {
        Outcome::Ppl(scores) => scores.iter().map(|score| score.nll_sum.to_bits()).collect(),
        Outcome::Loglikelihood(scores) => scores.iter().map(|score| score.sum.to_bits()).collect(),
        Outcome::Clp(log_probs) => log_probs.iter().map(|log_prob| log_prob.to_bits()).collect(),
        Outcome::Rolling(score) => vec![score.sum.to_bits()],
        _ => Vec::new(),
    };
    format!("{result:?} {scores:?}")
}

fn load(directory: &std::path::Path, threads: u32) -> Box<dyn Engine> {
    compass_engine::load(&tiny_plan(directory), &DeviceChoice::Cpu, threads).unwrap()
}

#[test]
fn results_are_batch_invariant() {
    let directory = tempfile::tempdir().unwrap();
    TinyModel::default().write(directory.path());
    let mut drawn = GenSpec { max_out_len: Some(6), min_out_len: Some(2), ..GenSpec::default() };
    drawn.decoding.do_sample = Some(true);
    drawn.decoding.repetition_penalty = Some(1.1);
    let chat = InferSpec::Chat { infer_mode: ChatMode::Every, gen_spec: drawn.clone() };
    let scores = [InferSpec::Ppl, InferSpec::Loglikelihood, InferSpec::Clp, InferSpec::Rolling, InferSpec::PplOnly];
    for infer in scores.into_iter().chain([gen_spec(20, &["q"]), InferSpec::Gen(drawn), chat]) {
        let samples = samples(&infer);
        let mut engine = load(directory.path(), 2);
        let together: Vec<String> = run_all(engine.as_mut(), &infer, &samples).0.iter().map(bits).collect();
        let scored = together.iter().filter(|result| !result.contains("Failed")).count();
        assert!(scored * 9 >= samples.len() * 8, "{scored} of {} have a result in {}", samples.len(), infer.mode());
        for seed in 1..3 {
            let mut order: Vec<usize> = (0..samples.len()).collect();
            order.sort_by_key(|&index| (index * 7919 * seed) % 104_729);
            let shuffled: Vec<Sample> = order.iter().map(|&index| samples[index].clone()).collect();
            let (results, _) = run_all(engine.as_mut(), &infer, &shuffled);
            for (&index, result) in order.iter().zip(&results) {
                assert_eq!(bits(result), together[index], "{} order {seed}", infer.mode());
            }
        }
        let mut other = load(directory.path(), 1);
        for (sample, expected) in samples.iter().zip(&together) {
            let (alone, _) = run_all(other.as_mut(), &infer, std::slice::from_ref(sample));
            assert_eq!(&bits(&alone[0]), expected, "{} alone, one thread", infer.mode());
        }
    }
}

#[test]
fn equal_options_have_equal_scores() {
    let directory = tempfile::tempdir().unwrap();
    TinyModel::default().write(directory.path());
    let mut engine = load(directory.path(), 2);
    let (results, _) = run_all(engine.as_mut(), &InferSpec::Ppl, &samples(&InferSpec::Ppl));
    for result in results {
        let Outcome::Ppl(scores) = result.outcome else { panic!("{result:?}") };
        assert_eq!(scores[0], scores[2]);
    }
}

/// Samples that are added to a running batch join the sequences that it generates, or are scored after those before them.
#[test]
fn samples_that_are_added_have_the_same_results() {
    let directory = tempfile::tempdir().unwrap();
    TinyModel::default().write(directory.path());
    let mut drawn = GenSpec { max_out_len: Some(12), ..GenSpec::default() };
    drawn.decoding.do_sample = Some(true);
    for infer in [InferSpec::Gen(drawn), gen_spec(12, &["q"]), InferSpec::Ppl, InferSpec::Loglikelihood] {
        let samples = samples(&infer);
        let mut engine = load(directory.path(), 1);
        let together: Vec<String> = run_all(engine.as_mut(), &infer, &samples).0.iter().map(bits).collect();
        let requests: Vec<Request<'_>> = samples.iter().map(|sample| Request::new(sample, Vec::new())).collect();
        let (first, others) = requests.split_at(4);
        let mut portions = others.chunks(others.len().div_ceil(3));
        let spec = BatchSpec {
            infer: infer.clone(),
            shot_format: ShotFormat::default(),
            meta_template: None,
            takes_programs: false,
        };
        let mut results = Vec::new();
        let mut added = |each: &mut dyn FnMut(&Request<'_>)| portions.next().into_iter().flatten().for_each(each);
        let counters = engine.run_open(&spec, first, &mut added, &mut |result| results.push(result)).unwrap();
        assert_eq!((results.len(), portions.count()), (samples.len(), 0), "{}", infer.mode());
        for result in &results {
            assert_eq!(bits(result), together[result.index as usize], "{}", infer.mode());
        }
        let generated: u64 = results.iter().map(tokens).sum();
        assert_eq!(counters.generated, generated);
    }
}

fn tokens(result: &SampleResult) -> u64 {
    match &result.outcome {
        Outcome::Generated(answers) => answers.iter().map(|answer| u64::from(answer.tokens)).sum(),
        _ => 0,
    }
}
