//! Executors that launch a step before they read the one before give what others give, on the demo's model.

use super::{Executor, sequences_at_once};
use crate::config::ModelConfig;
use crate::load::{LoadedModel, Spread, load_model, open};
use crate::tokenizer::{TextTokenizer, TokenizerKwargs};
use compass_plan::engine::{BatchSpec, Engine, ModelFacts, Request, TokenCounters};
use compass_plan::prompt::{Prompt, Segment, ShotFormat};
use compass_plan::{
    Body, BosPolicy, Decoding, Dtype, GenSpec, GenerationDefaults, InferSpec, ModelKind, ModelPlan, OptionPrompt,
    Sample, Thinking,
};
use compass_postprocess::thinking::Marks;
use compass_types::result::{Outcome, SampleResult, ThinkingEnd, Thought};
use serde_json::Value;
use std::path::Path;
use tch::Device;

const LONGEST: u32 = 160;

/// Returns an executor of the demo's model on the CPU, which waits for each step unless `is_ahead`.
fn executor(is_ahead: bool) -> Executor {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/demo/model");
    let plan =
        ModelPlan { max_seq_len: Some(LONGEST), ..ModelPlan::new("demo", ModelKind::Hf, folder.display().to_string()) };
    of_plan(is_ahead, &plan, &folder)
}

/// As [`executor`], for the model in `folder`.
fn of_plan(is_ahead: bool, plan: &ModelPlan, folder: &Path) -> Executor {
    let config = ModelConfig::read(folder, plan.kind).unwrap();
    let tokenizer = TextTokenizer::read(folder, BosPolicy::Auto, config.bos_token_id).unwrap();
    let on = Spread::ByMemory { devices: &[Device::Cpu], colocated_engines: 1 };
    let opened = open(folder, plan.kind, &config, Dtype::Float32, Device::Cpu).unwrap();
    let mut notes = Vec::new();
    let LoadedModel { model, .. } = load_model(opened, &config, on, LONGEST, &mut notes).unwrap();
    let facts = ModelFacts {
        max_seq_len: LONGEST,
        characters_per_token: 3.0,
        bos_token: tokenizer.bos_text(),
        eos_token: None,
        device: if is_ahead { "a device of its own" } else { "cpu" }.into(),
        sequences: sequences_at_once(Device::Cpu) as u32,
        notes,
        remarks: Vec::new(),
        pin: None,
    };
    let eos = config.eos_token_ids.clone();
    let kwargs = TokenizerKwargs::default();
    Executor::new(plan, model, (tokenizer, kwargs), facts, eos, GenerationDefaults::default()).unwrap()
}

/// Samples after one header, some of whose prompts are too long, with a question of their own.
fn samples(count: u32, options: usize) -> Vec<Sample> {
    let words =
        |seed: u32, count: u32| -> String { (0..count).map(|at| format!("{} ", (seed * 37 + at * at) % 90)).collect() };
    let header = Segment::Header(words(1, 40));
    let prompt = |index: u32| Prompt(vec![header.clone(), Segment::Question(words(index, 3 + index * 7 % 60))]);
    let option = |index: u32, at: usize| {
        let mut prompt = prompt(index);
        prompt.0.push(Segment::Option(words(index + 100 * at as u32, 2)));
        OptionPrompt { label: at.into(), prompt, answer: None }
    };
    let body = |index: u32| match options {
        0 => Body::Gen { prompt: prompt(index) },
        _ => Body::Ppl { options: (0..options).map(|at| option(index, at)).collect() },
    };
    (0..count).map(|index| Sample { index, gold: Value::Null, shots: Vec::new(), body: body(index) }).collect()
}

/// Returns the number of answers to a sample that were drawn before.
fn there_of(sample: &Sample) -> u32 {
    sample.index % 3
}

/// Runs samples, the second half of which is added while the first is run.
fn results(executor: &mut Executor, infer: &InferSpec, samples: &[Sample]) -> (Vec<SampleResult>, TokenCounters) {
    let request = |sample| Request { drawn: there_of(sample), ..Request::new(sample, Vec::new()) };
    let (first, second) = samples.split_at(samples.len() / 2);
    let (first, mut later) = (first.iter().map(request).collect::<Vec<_>>(), second.chunks(30));
    let spec = BatchSpec {
        infer: infer.clone(),
        shot_format: ShotFormat::default(),
        meta_template: None,
        takes_programs: false,
    };
    let (mut results, mut asked) = (Vec::new(), 0);
    let added = &mut |take: &mut dyn FnMut(&Request<'_>)| {
        asked += 1;
        if asked % 3 == 0 {
            later.next().into_iter().flatten().for_each(|sample| take(&request(sample)));
        }
    };
    let mut counters = executor.run_open(&spec, &first, added, &mut |result| results.push(result)).unwrap();
    // Samples that were not requested by the end of the batch remain for the next one.
    let rest: Vec<Request<'_>> = later.flatten().map(request).collect();
    counters.add(&executor.run(&spec, &rest, &mut |result| results.push(result)).unwrap());
    results.sort_by_key(|result| result.index);
    (results, counters)
}

#[test]
fn results_are_those_of_an_executor_that_waits() {
    let (mut waiting, mut ahead) = (executor(false), executor(true));
    let generation = |decoding: Decoding, most: u32| {
        let stop = vec!["7".to_owned(), "12 ".to_owned()];
        InferSpec::Gen(GenSpec { max_out_len: Some(most), min_out_len: None, stop, decoding })
    };
    let drawn = Decoding {
        do_sample: Some(true),
        temperature: Some(1.3),
        top_k: Some(40),
        top_p: Some(0.9),
        seed: Some(7),
        ..Decoding::default()
    };
    let several = Decoding { num_return_sequences: Some(3), ..drawn.clone() };
    let penalised = Decoding { repetition_penalty: Some(1.2), ..Decoding::default() };
    for (name, infer, options) in [
        ("greedy", generation(Decoding::default(), 12), 0),
        ("drawn", generation(drawn, 8), 0),
        ("several", generation(several, 5), 0),
        ("penalised", generation(penalised, 6), 0),
        ("one token", generation(Decoding::default(), 1), 0),
        ("scored", InferSpec::Ppl, 3),
    ] {
        let samples = samples(150, options);
        let (wanted, of_waiting) = results(&mut waiting, &infer, &samples);
        let (got, of_ahead) = results(&mut ahead, &infer, &samples);
        assert_eq!(wanted.len(), samples.len(), "{name}");
        let different = wanted.iter().zip(&got).filter(|(one, other)| one != other).count();
        assert!(got.len() == wanted.len() && different == 0, "{name}: {different} are others");
        assert_eq!(of_ahead.generated, of_waiting.generated, "{name}");
        let count = |sample: &Sample| if name == "several" { 3 - there_of(sample) as usize } else { 1 };
        let is_asked =
            |(sample, result): (&Sample, &SampleResult)| options > 0 || result.answers().len() == count(sample);
        assert!(samples.iter().zip(&got).all(is_asked), "{name}: those of samples that are added too");
    }
}

/// No row of a model's own token is fed where the host puts another token in its place.
#[test]
fn thinking_ends_at_its_budget_as_with_an_executor_that_waits() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/demo/model");
    for entry in std::fs::read_dir(demo).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    std::fs::write(folder.path().join("chat_template.jinja"), "{% for m in messages %}{{ m.content }}{% endfor %}<")
        .unwrap();
    let (path, max_seq_len) = (folder.path().display().to_string(), Some(LONGEST));
    for (budget, extend, ends) in [(1, 0, 1), (4, 0, 2), (9, 1, 2)] {
        let thinking =
            Thinking { marks: Some(Marks::new("<", "=")), budget: Some(budget), extend, ..Thinking::default() };
        let model = ModelPlan::new("demo", ModelKind::Hf, path.clone());
        let plan = ModelPlan { max_seq_len, chat: true, thinking, ..model };
        let spec = GenSpec { max_out_len: Some(5), ..GenSpec::default() };
        let question = |index: u32| Prompt::question(format!("{} and {}", index % 7, index * 3 % 11));
        let sample = |index: u32| Sample {
            index,
            gold: Value::Null,
            shots: Vec::new(),
            body: Body::Gen { prompt: question(index) },
        };
        let samples: Vec<Sample> = (0..60).map(sample).collect();
        let run = |is_ahead: bool| {
            results(&mut of_plan(is_ahead, &plan, folder.path()), &InferSpec::Gen(spec.clone()), &samples).0
        };
        let (wanted, got) = (run(false), run(true));
        let different = wanted.iter().zip(&got).filter(|(one, other)| one != other).count();
        assert!(got.len() == samples.len() && different == 0, "budget {budget}: {different} are others");
        let thoughts = wanted.iter().filter_map(|result| match &result.outcome {
            Outcome::Generated(answers) => answers[0].thinking.clone(),
            _ => None,
        });
        let thoughts: Vec<Thought> = thoughts.collect();
        assert_eq!(thoughts.len(), samples.len());
        for thought in &thoughts {
            assert!(
                thought.tokens <= budget && (thought.end != ThinkingEnd::Forced || thought.tokens == budget),
                "{thought:?}"
            );
        }
        let kinds: std::collections::BTreeSet<String> =
            thoughts.iter().map(|thought| format!("{:?}", thought.end)).collect();
        assert!(kinds.len() >= ends, "budget {budget}: {kinds:?}");
    }
}
