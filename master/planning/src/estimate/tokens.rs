//! Tokens of prompts that never ran, by the model's own tokenizer: a sample of a data set's prompts is tokenised, and the rest is
//! taken to be like it.
//!
//! Read is `tokenizer.json` on this host; where there is none, tokens are estimated from characters elsewhere. What a chat
//! template puts around messages is not counted.

use super::learned::{distinct_characters, shared_characters};
use compass_common::regular_file;
use compass_plan::engine::{BatchSpec, Request};
use compass_plan::prompt::{Prompt, RenderedPrompt};
use compass_plan::{Body, DatasetPlan, InferSpec, ModelPlan, Part};
use compass_run_folder::Planned;
use compass_types::ids::Digest;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tokenizers::Tokenizer;

/// Samples of a data set that are tokenised at most and at least, and the characters at which fewer are.
const MOST: u64 = 200;
const LEAST: u64 = 10;
const CHARACTERS: u64 = 150_000;

/// Measures of a sample of a data set's prompts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    /// Tokens of all texts of a sample of the data set, on average.
    pub(super) submitted_per_sample: f64,
    pub characters_per_token: f64,
}

/// Data sets as a tokenizer and a meta template have them.
type Key = (Digest, Option<String>, usize);

/// Tokenizers of a job's models. Checkpoints of a training share one, which is asked once for a data set.
#[derive(Default)]
pub(super) struct Tokenizers {
    read: BTreeMap<PathBuf, Option<(Digest, Rc<Tokenizer>)>>,
    measured: BTreeMap<Key, Option<Measured>>,
}

impl Tokenizers {
    /// Measures the data set at a position of the plan with the tokenizer in `folder`; `None` where it cannot be read, or the data
    /// set has no prompts.
    pub(super) fn measure(
        &mut self,
        folder: &Path,
        planned: &Planned,
        model: &ModelPlan,
        dataset: usize,
    ) -> Option<Measured> {
        let (digest, tokenizer) = self.read.entry(folder.to_owned()).or_insert_with(|| read(folder)).clone()?;
        let meta = model.meta();
        let key = (digest, meta.as_ref().map(|meta| format!("{meta:?}")), dataset);
        let plan = planned.plan.datasets.get(dataset)?;
        let found = self.measured.entry(key).or_insert_with(|| {
            let batch = BatchSpec {
                infer: plan.infer.clone(),
                shot_format: plan.shot_format.clone(),
                meta_template: meta,
                takes_programs: false,
            };
            let content = |digest: &Digest| serde_json::from_slice(&planned.parts.get(digest)?).ok();
            measured(&tokenizer, plan, &batch, model.max_seq_len, content)
        });
        *found
    }
}

/// A folder's tokenizer with the digest of its file.
fn read(folder: &Path) -> Option<(Digest, Rc<Tokenizer>)> {
    let bytes = regular_file::read(&folder.join("tokenizer.json"), regular_file::LARGE).ok()?;
    let mut tokenizer = Tokenizer::from_bytes(&bytes).ok()?;
    // What the file cuts and fills texts to is not what is evaluated.
    tokenizer.with_truncation(None).ok()?;
    tokenizer.with_padding(None);
    Some((Digest::of(&bytes), Rc::new(tokenizer)))
}

/// Tokenises samples that are evenly spread over the data set.
fn measured(
    tokenizer: &Tokenizer,
    dataset: &DatasetPlan,
    batch: &BatchSpec,
    longest: Option<u32>,
    content: impl Fn(&Digest) -> Option<Part>,
) -> Option<Measured> {
    let longest =
        longest.filter(|_| dataset.infer != InferSpec::Rolling).map_or(usize::MAX, |longest| longest as usize);
    let (mut samples, mut tokens, mut plain, mut characters) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut open: Option<(Digest, Part)> = None;
    for index in picked(dataset) {
        let part = dataset.part_of(index)?;
        if open.as_ref().is_none_or(|(digest, _)| *digest != part.digest) {
            open = Some((part.digest, content(&part.digest)?));
        }
        let (_, part) = open.as_ref()?;
        let sample = part.sample(index)?;
        for text in texts(&Request::new(sample, part.shots_of(sample)), batch) {
            let whole = tokenizer.encode_fast(text.as_str(), true).ok()?;
            let special = whole.get_special_tokens_mask().iter().filter(|special| **special == 1).count();
            tokens += whole.len().min(longest) as u64;
            plain += whole.len().saturating_sub(special) as u64;
            characters += text.chars().count() as u64;
        }
        samples += 1;
    }
    (samples > 0 && plain > 0).then(|| Measured {
        submitted_per_sample: tokens as f64 / samples as f64,
        characters_per_token: characters as f64 / plain as f64,
    })
}

/// Indices of the samples that are tokenised, ascending: fewer where prompts are long.
fn picked(dataset: &DatasetPlan) -> impl Iterator<Item = u32> {
    let samples = u64::from(dataset.samples);
    let labels = u64::from(dataset.labels.unwrap_or(1).max(1));
    let all = (labels * shared_characters(dataset)).max(distinct_characters(dataset));
    let of_one = (all / samples.max(1)).max(1);
    let count = (CHARACTERS / of_one).clamp(LEAST, MOST).min(samples);
    (0..count).map(move |at| (at * samples / count) as u32)
}

/// All texts that a sample asks a model.
fn texts(request: &Request<'_>, batch: &BatchSpec) -> Vec<String> {
    let render = |prompt: &Prompt| match request.render(prompt, request.shots.len(), batch) {
        RenderedPrompt::Text(text) => text,
        RenderedPrompt::Messages(messages) => {
            messages.iter().map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n")
        }
    };
    match &request.sample.body {
        Body::Gen { prompt } | Body::Clp { prompt, .. } | Body::Rolling { text: prompt, .. } => vec![render(prompt)],
        Body::Ppl { options } => options.iter().map(|option| render(&option.prompt)).collect(),
        Body::Loglikelihood { context, options } => {
            let begin = |own: &Option<Prompt>| render(own.as_ref().unwrap_or(context));
            options.iter().map(|option| begin(&option.context) + &option.continuation).collect()
        }
        Body::Chat { turns } => turns.iter().map(|turn| turn.content.clone()).collect(),
        // Slices read the texts together; their tokens follow from the characters.
        Body::Windows { .. } | Body::Execute { .. } => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plan::evaluation::EvaluatorSpec;
    use compass_plan::prompt::{Segment, ShotFormat};
    use compass_plan::{EvalSpec, PartRef, Sample};

    /// A token for each digit, and one that begins every text.
    const DIGITS: &str = r#"{
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "decoder": null,
        "added_tokens": [{"id": 0, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
                          "normalized": false, "special": true}],
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": false},
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
        "model": {"type": "WordLevel", "vocab": {"<s>": 0, "1": 1, "2": 2, "?": 3}, "unk_token": "?"}
    }"#;

    fn dataset(samples: u32, digest: Digest) -> DatasetPlan {
        DatasetPlan {
            abbr: "d".into(),
            version: "000000".into(),
            infer: InferSpec::Gen(compass_plan::GenSpec::default()),
            shot_format: ShotFormat::default(),
            eval: EvalSpec::new(EvaluatorSpec::Acc),
            samples,
            characters: 6 * u64::from(samples),
            prefix_runs: Vec::new(),
            labels: None,
            own_questions: 0,
            entries: Vec::new(),
            parts: vec![PartRef { digest, first: 0, samples, bytes: 0 }],
        }
    }

    #[test]
    fn short_prompts_of_many_tokens_are_counted_by_the_tokenizer() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).is_none(), "there is no tokenizer.json");
        std::fs::write(folder.path().join("tokenizer.json"), DIGITS).unwrap();
        let (_, tokenizer) = read(folder.path()).unwrap();
        let sample = |index| Sample {
            index,
            gold: serde_json::Value::Null,
            shots: Vec::new(),
            body: Body::Gen { prompt: Prompt(vec![Segment::Question("121212".into())]) },
        };
        let part = Part { shots: Vec::new(), samples: (0..400).map(sample).collect() };
        let plan = dataset(400, Digest::of(b"part"));
        let batch = BatchSpec {
            infer: plan.infer.clone(),
            shot_format: plan.shot_format.clone(),
            meta_template: None,
            takes_programs: false,
        };
        let of = |longest| measured(&tokenizer, &plan, &batch, longest, |_| Some(part.clone())).unwrap();
        assert_eq!(of(None), Measured { submitted_per_sample: 7.0, characters_per_token: 1.0 });
        assert_eq!(of(Some(4)).submitted_per_sample, 4.0, "longer ones are cut");
        assert_eq!(measured(&tokenizer, &plan, &batch, None, |_| None), None);
    }

    #[test]
    fn picked_samples_are_spread_and_fewer_where_they_are_long() {
        let short = dataset(1_000, Digest::of(b""));
        let indices: Vec<u32> = picked(&short).collect();
        assert_eq!((indices.len(), indices[0], indices[1], indices[199]), (200, 0, 5, 995));
        let long = DatasetPlan { characters: 10_000 * 1_000, ..short };
        assert_eq!(picked(&long).count(), 15);
        assert_eq!(picked(&dataset(3, Digest::of(b""))).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
