//! Plans, samples and runs.

use compass_plan::engine::{BatchSpec, Engine, Request, TokenCounters};
use compass_plan::prompt::{Prompt, ShotFormat};
use compass_plan::{
    Body, BosPolicy, ChatTurn, GenSpec, InferSpec, ModelKind, ModelPlan, OptionPrompt, OptionText, Sample,
};
use compass_types::result::{Generation, Outcome, SampleResult};
use serde_json::json;
use std::path::Path;

/// A plan for the model in `directory`, in fp32.
pub(crate) fn plan(directory: &Path, bos: BosPolicy, max_seq_len: Option<u32>) -> ModelPlan {
    let path = directory.to_str().unwrap().to_owned();
    ModelPlan { max_seq_len, bos, ..ModelPlan::new("under-test", ModelKind::Hf, path) }
}

/// Generation of at most `max_out_len` tokens.
pub(crate) fn gen_spec(max_out_len: u32, stop: &[&str]) -> InferSpec {
    let stop = stop.iter().map(ToString::to_string).collect();
    InferSpec::Gen(GenSpec { max_out_len: Some(max_out_len), stop, ..GenSpec::default() })
}

fn sample(index: usize, body: Body) -> Sample {
    Sample { index: index as u32, gold: json!(0), shots: Vec::new(), body }
}

/// A `ppl` sample of whole texts.
pub(crate) fn ppl_sample(index: usize, texts: &[&str]) -> Sample {
    let option = |(label, text): (usize, &&str)| OptionPrompt {
        label: json!(label),
        prompt: Prompt::question(*text),
        answer: None,
    };
    sample(index, Body::Ppl { options: texts.iter().enumerate().map(option).collect() })
}

/// A `loglikelihood` sample of one context and its continuations.
pub(crate) fn loglikelihood_sample(index: usize, context: &str, continuations: &[&str]) -> Sample {
    let option = |(label, text): (usize, &&str)| OptionText {
        label: json!(label),
        continuation: (*text).to_owned(),
        context: None,
        delimiter: 0,
        unconditional: false,
        length: text.chars().count() as u32,
    };
    let options = continuations.iter().enumerate().map(option).collect();
    sample(index, Body::Loglikelihood { context: Prompt::question(context), options })
}

/// A sample to generate from.
pub(crate) fn prompt_sample(index: usize, text: &str) -> Sample {
    sample(index, Body::Gen { prompt: Prompt::question(text) })
}

/// A `clp` sample of a text and the possible answers.
pub(crate) fn clp_sample(index: usize, prompt: &str, choices: &[&str]) -> Sample {
    let choices = choices.iter().map(ToString::to_string).collect();
    sample(index, Body::Clp { prompt: Prompt::question(prompt), choices })
}

/// A text to score as a whole.
pub(crate) fn rolling_sample(index: usize, text: &str) -> Sample {
    let words = text.split_whitespace().count() as u32;
    sample(index, Body::Rolling { text: Prompt::question(text), words, bytes: text.len() as u32 })
}

/// A conversation of (role, content).
pub(crate) fn chat_sample(index: usize, turns: &[(&str, &str)]) -> Sample {
    let turn = |(role, content): &(&str, &str)| ChatTurn { role: (*role).into(), content: (*content).into() };
    sample(index, Body::Chat { turns: turns.iter().map(turn).collect() })
}

/// Returns the only answer of a result.
#[track_caller]
pub(crate) fn generated(result: &SampleResult) -> &Generation {
    match &result.outcome {
        Outcome::Generated(generations) if generations.len() == 1 => &generations[0],
        other => panic!("{other:?}"),
    }
}

/// Runs samples without shots; returns results in the order of the samples.
pub(crate) fn run_all(
    engine: &mut dyn Engine,
    infer: &InferSpec,
    samples: &[Sample],
) -> (Vec<SampleResult>, TokenCounters) {
    let requests = samples.iter().map(|sample| Request::new(sample, Vec::new())).collect::<Vec<_>>();
    run(engine, infer, &ShotFormat::default(), &requests)
}

/// Runs requests; returns results in the order of the requests.
pub(crate) fn run(
    engine: &mut dyn Engine,
    infer: &InferSpec,
    shot_format: &ShotFormat,
    requests: &[Request<'_>],
) -> (Vec<SampleResult>, TokenCounters) {
    let spec = BatchSpec {
        infer: infer.clone(),
        shot_format: shot_format.clone(),
        meta_template: None,
        takes_programs: false,
    };
    let mut results = Vec::new();
    let counters = engine.run(&spec, requests, &mut |result| results.push(result)).unwrap();
    let place = |result: &SampleResult| requests.iter().position(|request| request.sample.index == result.index);
    results.sort_by_key(place);
    assert_eq!(results.len(), requests.len());
    (results, counters)
}
