//! The golden files, and plans and results made of them.
//!
//! They stand beside the repository in `shared/golden` (or `$COMPASS_SHARED/golden`); without them the tests say loudly that
//! they are skipped.

use compass_plan::prompt::ShotFormat;
use compass_plan::{DatasetPlan, EvalSpec, InferSpec};
use compass_types::result::{Finish, Generation, Outcome, PromptFit, SampleResult};
use serde_json::{Map, Value};

/// A golden file's text; `None`, loudly, when the golden files are not here.
pub(crate) fn read(path: &str) -> Option<String> {
    let golden = compass_needs::shared("golden")?;
    Some(std::fs::read_to_string(golden.join(path)).unwrap())
}

pub(crate) fn read_json(path: &str) -> Option<Map<String, Value>> {
    read(path).map(|text| serde_json::from_str(&text).unwrap())
}

pub(crate) fn dataset(infer: InferSpec, eval: EvalSpec, samples: usize) -> DatasetPlan {
    DatasetPlan {
        abbr: "golden".into(),
        version: "000000".into(),
        infer,
        shot_format: ShotFormat::default(),
        eval,
        samples: samples as u32,
        characters: 0,
        prefix_runs: Vec::new(),
        labels: None,
        own_questions: 0,
        entries: Vec::new(),
        parts: Vec::new(),
    }
}

pub(crate) fn result(index: u32, outcome: Outcome) -> SampleResult {
    SampleResult {
        index,
        fit: PromptFit { shots_kept: u32::MAX, tokens: 1, truncated_from: 0, ..PromptFit::default() },
        outcome,
    }
}

pub(crate) fn generated(index: u32, answer: &str) -> SampleResult {
    let generation = Generation::new(answer, 1, Finish::Length);
    result(index, Outcome::Generated(vec![generation]))
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
