//! Answers that are programs: which program an answer makes, and what the outcomes of a sandbox are worth.
//!
//! Nothing is run here. A first stage generates answers; [`programs`] makes of them what a second stage runs; [`executed`]
//! puts both results together again, to be judged.

use super::metric_contribution::{Aggregation, MetricContribution, SampleValue};
use super::sample_score::{one_or_list, replicas};
use super::scored_answer::{AnswerScore, processed};
use super::{SampleScore, Unscored};
use compass_plan::evaluation::{EvaluatorSpec, MbppAnswer, TASK_KEY};
use compass_plan::{EvalSpec, Program, Sample};
use compass_postprocess::{mbpp, mbpp_v2};
use compass_pyfmt::python_str;
use compass_types::result::{Execution, ExecutionClass, Outcome, SampleResult};
use serde_json::{Map, Value, json};

/// Key of MBPP's tests in a gold answer that is a table: OpenCompass's column.
const TESTS: &str = "test_list_2";

/// The task that answers are grouped by.
fn task(evaluator: &EvaluatorSpec, gold: &Value) -> String {
    match evaluator {
        EvaluatorSpec::HumanEval { .. } | EvaluatorSpec::MbppPassK { .. } => {
            python_str(gold.get(TASK_KEY).unwrap_or(gold))
        }
        _ => python_str(gold),
    }
}

/// The completion or code that is run, of an answer after the postprocessors.
fn code(evaluator: &EvaluatorSpec, answer: &str) -> String {
    match evaluator {
        EvaluatorSpec::Mbpp { answer: MbppAnswer::Block } => mbpp_v2(answer),
        EvaluatorSpec::Mbpp { .. } | EvaluatorSpec::MbppPassK { .. } => mbpp(answer),
        _ => answer.to_owned(),
    }
}

fn program(evaluator: &EvaluatorSpec, gold: &Value, answer: &str) -> Result<Program, Unscored> {
    let part = |name: &str| {
        let missing = || Unscored(format!("the gold answer has no text `{name}`, which the program is made of"));
        gold.get(name).and_then(Value::as_str).ok_or_else(missing)
    };
    let code = code(evaluator, answer);
    match evaluator {
        EvaluatorSpec::HumanEval { .. } => {
            Ok(Program::human_eval(part("prompt")?, &code, part("test")?, part("entry_point")?))
        }
        EvaluatorSpec::MbppPassK { .. } => Ok(Program::mbpp(&code, part(TESTS)?)),
        _ => Ok(Program::mbpp(&code, &python_str(gold))),
    }
}

/// The answer was generated and its program was not run.
pub(super) fn not_run() -> Unscored {
    Unscored("its program was not run".into())
}

/// The programs that the answers of `result` are, one per answer in their order; none when the sample has no answer.
///
/// # Errors
/// The gold answer lacks what a program is made of.
pub fn programs(sample: &Sample, result: &SampleResult, spec: &EvalSpec) -> Result<Vec<Program>, Unscored> {
    let Outcome::Generated(answers) = &result.outcome else { return Ok(Vec::new()) };
    let answers = answers.iter().map(|answer| completion(spec, &answer.text));
    answers.map(|answer| program(&spec.evaluator, &sample.gold, &answer?)).collect()
}

fn completion(spec: &EvalSpec, answer: &str) -> Result<String, Unscored> {
    Ok(python_str(&processed(&spec.pred_postprocessors, &answer.into())?))
}

/// The result that is judged: the answers of `generated` with what became of them as programs. A sample whose answer is
/// missing keeps its reason; one whose programs were not all run has none but that.
pub fn executed(generated: &SampleResult, execution: Option<&SampleResult>) -> SampleResult {
    let outcome = match (&generated.outcome, execution.map(|result| &result.outcome)) {
        (Outcome::Generated(answers), Some(Outcome::Executed(executions))) if answers.len() == executions.len() => {
            let paired = answers.iter().zip(executions);
            let paired =
                paired.map(|(answer, execution)| Execution { answer: answer.text.clone(), ..execution.clone() });
            Outcome::Executed(paired.collect())
        }
        (Outcome::Generated(_), Some(failed @ Outcome::Failed { .. })) => failed.clone(),
        (Outcome::Generated(_), _) => Outcome::Failed { reason: not_run().0 },
        (other, _) => other.clone(),
    };
    SampleResult { outcome, ..generated.clone() }
}

/// Score of a sample whose programs were run.
///
/// # Errors
/// The evaluator runs no programs.
pub(super) fn score(sample: &Sample, executions: &[Execution], spec: &EvalSpec) -> Result<SampleScore, Unscored> {
    let evaluator = &spec.evaluator;
    if !evaluator.executes() {
        return Err(Unscored("this evaluator does not judge programs".into()));
    }
    let correct: Vec<bool> = executions.iter().map(|one| one.class == ExecutionClass::Passed).collect();
    let task = task(evaluator, &sample.gold);
    // pass@k of a whole evaluator takes all answers at once; a data set's own `k` takes them as so many runs.
    let at_once = executions.len() == 1
        || spec.k.is_empty() && matches!(evaluator, EvaluatorSpec::HumanEval { .. } | EvaluatorSpec::MbppPassK { .. });
    let contributions = match at_once {
        true => contributions(evaluator, &task, executions),
        false => {
            let one = |execution| AnswerScore {
                contributions: contributions(evaluator, &task, execution),
                ..AnswerScore::default()
            };
            replicas(executions.chunks(1).map(one).collect(), &correct, None, &spec.k)
        }
    };
    let answers: Vec<Value> = executions.iter().map(|one| one.answer.as_str().into()).collect();
    let completions: Vec<String> =
        executions.iter().map(|one| completion(spec, &one.answer)).collect::<Result<_, _>>()?;
    let details = details(sample, executions, &completions, spec);
    Ok(SampleScore {
        prediction: one_or_list(answers),
        processed: one_or_list(completions.into_iter().map(Value::from).collect()),
        answers: vec![python_str(evaluator.reference(&sample.gold))],
        tie: false,
        correct,
        gold_unread: false,
        empty_right: false,
        contributions,
        details: Some(details),
    })
}

/// Returns what answers to one task give to each line.
fn contributions(evaluator: &EvaluatorSpec, task: &str, executions: &[Execution]) -> Vec<MetricContribution> {
    let passed = executions.iter().filter(|one| one.class == ExecutionClass::Passed).count() as u64;
    let attempts = || SampleValue::Attempts { group: task.to_owned(), right: passed, of: executions.len() as u64 };
    let first = |name: &str, rule, item| MetricContribution { replica: 0, rank: 0, name: name.into(), rule, item };
    let mut contributions = match evaluator {
        EvaluatorSpec::HumanEval { k } => {
            let rule = Aggregation::PassAtK { prefix: "humaneval_".into(), k: k.clone() };
            return vec![first("pass@k", rule, attempts())];
        }
        EvaluatorSpec::MbppPassK { k } => {
            vec![first("pass@k", Aggregation::PassAtK { prefix: String::new(), k: k.clone() }, attempts())]
        }
        _ => vec![first("score", Aggregation::Proportion, SampleValue::Hit(passed > 0))],
    };
    for (at, name) in ["pass", "timeout", "failed", "wrong_answer"].into_iter().enumerate() {
        contributions.extend(executions.iter().map(|one| {
            let item = SampleValue::Hit(one.class.mbpp() == name);
            MetricContribution { replica: 0, rank: at as u16 + 1, name: name.into(), rule: Aggregation::Count, item }
        }));
    }
    contributions
}

/// The keys that the peer's evaluator writes for a sample; of several answers lists.
///
/// `HumanEvalEvaluator`: task_id, completion, result, passed, is_correct, prompt. `MBPPEvaluator`: origin, programs, result,
/// is_correct.
fn details(sample: &Sample, executions: &[Execution], completions: &[String], spec: &EvalSpec) -> Map<String, Value> {
    let evaluator = &spec.evaluator;
    let list = |of: &dyn Fn(&Execution, &String) -> Value| {
        one_or_list(
            executions.iter().zip(completions).map(|(execution, completion)| of(execution, completion)).collect(),
        )
    };
    let passed = list(&|one, _| (one.class == ExecutionClass::Passed).into());
    let details = match evaluator {
        EvaluatorSpec::HumanEval { .. } => vec![
            ("task_id", evaluator.reference(&sample.gold).clone()),
            ("completion", list(&|_, completion| completion.as_str().into())),
            ("result", list(&|one, _| one.result.as_str().into())),
            ("passed", passed.clone()),
            ("is_correct", passed),
            ("prompt", sample.gold.get("prompt").cloned().unwrap_or_default()),
        ],
        _ => {
            let tests = match evaluator {
                EvaluatorSpec::MbppPassK { .. } => sample.gold.get(TESTS).cloned().unwrap_or_default(),
                _ => sample.gold.clone(),
            };
            vec![
                ("origin", list(&|_, completion| completion.as_str().into())),
                ("programs", list(&|_, completion| json!([code(evaluator, completion), tests]))),
                ("result", list(&|one, _| one.class.mbpp().into())),
                ("reason", list(&|one, _| one.result.as_str().into())),
                ("is_correct", passed),
            ]
        }
    };
    details.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
#[path = "execution_tests.rs"]
mod tests;
