//! A small plan and results of it, for the tests of packages that read plans.
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "only tests use it")]

use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::prompt::{Prompt, ShotFormat};
use compass_plan::*;
use compass_run_folder::{PlanFiles, Planned};
use compass_types::ids::Digest;
use compass_types::result::{Outcome, PplScore, PromptFit, SampleResult};

/// A question with two options.
pub fn sample(index: u32) -> Sample {
    let option = |label: u32| OptionPrompt {
        label: label.into(),
        prompt: Prompt::question(format!("{index} {label}")),
        answer: None,
    };
    Sample { index, gold: 0.into(), shots: vec![], body: Body::Ppl { options: vec![option(0), option(1)] } }
}

/// Option `best` has the least perplexity.
pub fn result(index: u32, best: usize) -> SampleResult {
    let score = |at| PplScore { nll_sum: if at == best { 1.0 } else { 2.0 }, tokens: 1, normalizer: None };
    SampleResult { index, fit: PromptFit::default(), outcome: Outcome::Ppl(vec![score(0), score(1)]) }
}

/// A plan of one model and one data set, `d`, of two samples.
pub fn planned() -> Planned {
    planned_of(Part { shots: vec![], samples: vec![sample(0), sample(1)] })
}

/// As [`planned`], of this part.
pub fn planned_of(part: Part) -> Planned {
    let bytes = serde_json::to_vec(&part).unwrap();
    let digest = Digest::of(&bytes);
    let eval = EvalSpec::new(EvaluatorSpec::Acc);
    let dataset = DatasetPlan {
        abbr: "d".into(),
        version: "000000".into(),
        infer: InferSpec::Ppl,
        shot_format: ShotFormat::default(),
        eval,
        samples: 2,
        characters: 12,
        prefix_runs: Vec::new(),
        labels: Some(2),
        own_questions: 0,
        entries: Vec::new(),
        parts: vec![PartRef { digest, first: 0, samples: 2, bytes: bytes.len() as u64 }],
    };
    let model = ModelPlan { max_out_len: 8, ..ModelPlan::new("m", ModelKind::Echo, "") };
    let config = Digest::of(b"config");
    let plan = Plan {
        format: PLAN_FORMAT,
        config,
        models: vec![model],
        datasets: vec![dataset],
        duplicates: None,
        left_out: Default::default(),
    };
    let head = serde_json::to_vec(&plan).unwrap();
    let mut parts = PlanFiles::default();
    parts.add(&bytes).unwrap();
    Planned { plan, head, parts, duplicates: DuplicateGroups::default() }
}
