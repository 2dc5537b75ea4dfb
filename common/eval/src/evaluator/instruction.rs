//! IFEval: which instructions of a prompt an answer follows, strictly and loosely.

use super::Unscored;
use super::metric_contribution::{Aggregation, SampleValue};
use super::scored_answer::{AnswerScore, ScoredAnswer};
use compass_metrics::instruction::{IfevalSample, Instruction, follow};
use serde_json::{Map, Value};

/// The four accuracies of OpenCompass's `IFEvaluator`, of prompts and of instructions. The gold answer is a row of the data:
/// `{ instruction_id_list, kwargs }`.
///
/// # Errors
/// The gold answer is not of that form, or names an instruction that IFEval lacks.
pub(super) fn judge(question: &ScoredAnswer<'_>) -> Result<AnswerScore, Unscored> {
    let instructions = instructions(question.gold)?;
    let IfevalSample { strict, loose } = follow(&instructions, &question.text());
    let all = |followed: &[bool]| followed.iter().all(|followed| *followed);
    let each = |followed: &[bool]| {
        let right = followed.iter().filter(|followed| **followed).count();
        SampleValue::Weighted(right as f64, followed.len() as u64)
    };
    let ratio = Aggregation::Ratio;
    let score = AnswerScore { correct: Some(all(&strict)), ..AnswerScore::default() };
    Ok(score
        .series("Prompt-level-strict-accuracy", Aggregation::Proportion, SampleValue::Hit(all(&strict)))
        .series("Inst-level-strict-accuracy", ratio.clone(), each(&strict))
        .series("Prompt-level-loose-accuracy", Aggregation::Proportion, SampleValue::Hit(all(&loose)))
        .series("Inst-level-loose-accuracy", ratio, each(&loose)))
}

fn instructions(gold: &Value) -> Result<Vec<Instruction>, Unscored> {
    let list = |key| {
        let missing = || Unscored(format!("the gold answer has no list `{key}`: give the row of the data set"));
        gold.get(key).and_then(Value::as_array).ok_or_else(missing)
    };
    let (ids, arguments) = (list("instruction_id_list")?, list("kwargs")?);
    let none = Map::new();
    let instruction = |(at, id): (usize, &Value)| {
        let arguments = arguments.get(at).and_then(Value::as_object).unwrap_or(&none);
        Instruction::parse(id.as_str().unwrap_or_default(), arguments).map_err(|error| Unscored(error.to_string()))
    };
    ids.iter().enumerate().map(instruction).collect()
}
