//! A plan of one echo model and one generation data set, in parts of ten samples.

use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::prompt::{Prompt, ShotFormat};
use compass_plan::{
    Body, DatasetPlan, EvalSpec, GenSpec, InferSpec, ModelKind, ModelPlan, PLAN_FORMAT, Part, PartRef, Plan, Sample,
};
use compass_types::ids::Digest;
use std::collections::BTreeMap;

const PART_SAMPLES: usize = 10;

/// The digest of the head, and every file by digest.
#[derive(Clone, Debug)]
pub(crate) struct TestPlan {
    pub(crate) digest: Digest,
    pub(crate) files: BTreeMap<Digest, Vec<u8>>,
    pub(crate) prompts: Vec<String>,
}

impl TestPlan {
    /// Prompts `question 0` and so on.
    pub(crate) fn questions(count: usize) -> Self {
        Self::of((0..count).map(|n| format!("question {n}")).collect())
    }

    pub(crate) fn of(prompts: Vec<String>) -> Self {
        let mut files = BTreeMap::new();
        let mut parts = Vec::new();
        for (n, chunk) in prompts.chunks(PART_SAMPLES).enumerate() {
            let first = (n * PART_SAMPLES) as u32;
            let sample = |(index, text): (u32, &String)| Sample {
                index,
                gold: text.clone().into(),
                shots: Vec::new(),
                body: Body::Gen { prompt: Prompt::question(text) },
            };
            let samples = (first..).zip(chunk).map(sample).collect();
            let bytes = serde_json::to_vec(&Part { shots: Vec::new(), samples }).unwrap();
            let digest = Digest::of(&bytes);
            parts.push(PartRef { digest, first, samples: chunk.len() as u32, bytes: bytes.len() as u64 });
            files.insert(digest, bytes);
        }
        let plan = Plan {
            format: PLAN_FORMAT,
            config: Digest::of(b"a configuration"),
            models: vec![ModelPlan { max_seq_len: Some(512), ..ModelPlan::new("echo", ModelKind::Echo, "") }],
            datasets: vec![DatasetPlan {
                abbr: "questions".into(),
                version: "000000".into(),
                infer: InferSpec::Gen(GenSpec::default()),
                shot_format: ShotFormat::default(),
                eval: EvalSpec::new(EvaluatorSpec::Acc),
                samples: prompts.len() as u32,
                characters: 0,
                prefix_runs: Vec::new(),
                labels: None,
                own_questions: 0,
                entries: Vec::new(),
                parts,
            }],
            duplicates: None,
            left_out: Default::default(),
        };
        let head = serde_json::to_vec(&plan).unwrap();
        let digest = Digest::of(&head);
        files.insert(digest, head);
        Self { digest, files, prompts }
    }

    /// Returns the echo engine's answer to sample `index`.
    pub(crate) fn answer(&self, index: u32) -> String {
        let prompt = &self.prompts[index as usize];
        let last = prompt.split_whitespace().next_back().unwrap_or_default();
        format!("{} {last}", &Digest::of(prompt.as_bytes()).to_string()[..8])
    }
}
