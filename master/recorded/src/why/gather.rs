//! The answers of a run by their classes.

use crate::runs::{Key, OpenedRun};
use compass_compare::question_text;
use compass_eval::evaluator::{AnswerClass, Classes, SecondAnswer, classes, judge, read_again, second_answers};
use compass_plan::{EvalSpec, Sample, Unit};
use compass_postprocess::AnswerKind;
use compass_pyfmt::python_str;
use compass_scoring::ScoreError;
use compass_types::result::{Generation, Outcome, SampleResult};
use serde::Serialize;
use serde_json::Value;

/// Characters of each end of an answer that are shown.
const CHARACTERS: usize = 160;

/// Verdicts of the second reading that differ from the evaluator's: right as `answer` reads and wrong for the evaluator, and the
/// other way round.
const READ_RIGHT: &str = "read_right";
const READ_WRONG: &str = "read_wrong";

/// Query of a run's answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WhyQuery {
    /// Abbr of a model or data set; empty for all.
    pub model: String,
    pub dataset: String,
    /// Name of a class; empty for all.
    pub class: String,
    /// Answers of each class that are shown.
    pub number: usize,
}

/// The answers of a model to a data set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitAnswers {
    pub model: String,
    pub dataset: String,
    /// Kind of the answers that are read a second time; `None` where they are not.
    pub reading: Option<AnswerKind>,
    pub answers: u64,
    /// Answers that the evaluator judged, and those that it found right.
    pub judged: u64,
    pub right: u64,
    /// Classes with answers, in their order.
    pub classes: Vec<ClassOfAnswers>,
}

/// The answers of one class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassOfAnswers {
    pub class: &'static str,
    pub answers: u64,
    pub judged: u64,
    pub right: u64,
    /// The first of them.
    pub first: Vec<SelectedAnswer>,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelectedAnswer {
    pub key: Key,
    /// Number of the answer among those to its question.
    pub answer: usize,
    pub question: String,
    /// Both ends of its text, or of its thinking where that did not end; the second is empty where the first is all.
    pub begin: String,
    pub end: String,
    /// Text that the evaluator compared, and the one that `answer` reads.
    pub processed: String,
    pub read: Option<String>,
    pub gold: String,
    pub right: Option<bool>,
}

/// Returns the names of all classes, in their order.
pub(super) fn class_names() -> Vec<&'static str> {
    AnswerClass::ALL.into_iter().map(AnswerClass::name).chain([READ_RIGHT, READ_WRONG]).collect()
}

/// Gathers the answers of each unit that a query takes; units without generated answers are left out. Scores every sample, and waits
/// for the disk.
///
/// # Errors
/// The run is damaged.
pub fn gather(run: &OpenedRun, query: &WhyQuery) -> Result<Vec<UnitAnswers>, ScoreError> {
    let is_asked = |name: &str, asked: &str| asked.is_empty() || asked == name;
    let units = run.recorded.plan.units();
    let units =
        units.filter(|unit| is_asked(&unit.model.abbr, &query.model) && is_asked(&unit.dataset.abbr, &query.dataset));
    let gathered = units.map(|unit| of_unit(run, unit, query)).collect::<Result<Vec<_>, _>>()?;
    Ok(gathered.into_iter().filter(|unit| unit.answers > 0).collect())
}

fn of_unit(run: &OpenedRun, unit: Unit<'_>, query: &WhyQuery) -> Result<UnitAnswers, ScoreError> {
    let (spec, kind) = (unit.eval(), unit.eval().read_as());
    let empty = |class| ClassOfAnswers { class, answers: 0, judged: 0, right: 0, first: Vec::new() };
    let mut all = UnitAnswers {
        model: unit.model.abbr.clone(),
        dataset: unit.dataset.abbr.clone(),
        reading: kind.clone(),
        answers: 0,
        judged: 0,
        right: 0,
        classes: class_names().into_iter().map(empty).collect(),
    };
    run.recorded.samples(unit, |_, sample, result| {
        let Some(result) = result else { return };
        let Outcome::Generated(answers) = &result.outcome else { return };
        for (at, judged) in judged(sample, result, answers, &spec).into_iter().enumerate() {
            all.answers += 1;
            all.judged += u64::from(judged.right.is_some());
            all.right += u64::from(judged.right == Some(true));
            for class in &mut all.classes {
                if !judged.names.contains(&class.class) {
                    continue;
                }
                class.answers += 1;
                class.judged += u64::from(judged.right.is_some());
                class.right += u64::from(judged.right == Some(true));
                let is_shown = query.class.is_empty() || query.class == class.class;
                if is_shown && class.first.len() < query.number {
                    let key = Key { unit: unit.id.0, index: sample.index };
                    class.first.push(selected(key, at, sample, &answers[at], &judged));
                }
            }
        }
    })?;
    all.classes.retain(|class| class.answers > 0 && (query.class.is_empty() || query.class == class.class));
    Ok(all)
}

/// An answer with its decision.
struct Judged {
    names: Vec<&'static str>,
    processed: Value,
    second: SecondAnswer,
    golds: Vec<String>,
    right: Option<bool>,
}

fn judged(sample: &Sample, result: &SampleResult, answers: &[Generation], spec: &EvalSpec) -> Vec<Judged> {
    let score = judge(sample, result, spec).ok();
    let second = second_answers(result, spec);
    let read = second.as_ref().and_then(|second| read_again(sample, second, spec).ok()).unwrap_or_default();
    let classes = classes(answers, second.as_deref(), score.as_ref());
    let mut second = second.unwrap_or_default().into_iter();
    let mut judged = |(at, classes): (usize, &Classes)| {
        let of_each = |values: &[bool]| (values.len() == answers.len()).then(|| values[at]);
        let right = score.as_ref().and_then(|score| of_each(&score.correct));
        let mut names: Vec<&'static str> = classes.iter().map(AnswerClass::name).collect();
        match (right, of_each(&read)) {
            (Some(false), Some(true)) => names.push(READ_RIGHT),
            (Some(true), Some(false)) => names.push(READ_WRONG),
            _ => {}
        }
        let processed = match score.as_ref().map(|score| &score.processed) {
            Some(Value::Array(each)) if answers.len() > 1 => each.get(at).cloned().unwrap_or_default(),
            Some(one) => one.clone(),
            None => Value::Null,
        };
        let golds = score.as_ref().map_or_else(Vec::new, |score| score.answers.clone());
        Judged { names, processed, second: second.next().flatten(), golds, right }
    };
    classes.iter().enumerate().map(&mut judged).collect()
}

fn selected(key: Key, at: usize, sample: &Sample, said: &Generation, judged: &Judged) -> SelectedAnswer {
    let text = match &said.thinking {
        Some(thought) if said.is_unfinished() => &thought.text,
        _ => &said.text,
    };
    let (begin, end) = ends(text);
    let gold = match judged.golds.as_slice() {
        [] if sample.gold.is_null() => String::new(),
        [] => python_str(&sample.gold),
        golds => golds.join(" | "),
    };
    SelectedAnswer {
        key,
        answer: at,
        question: ends(&question_text(sample)).0,
        begin,
        end,
        processed: if judged.processed.is_null() { String::new() } else { python_str(&judged.processed) },
        read: judged.second.as_ref().map(|found| found.text.clone()),
        gold,
        right: judged.right,
    }
}

/// Returns the beginning of a text, and its end where that is another part.
fn ends(text: &str) -> (String, String) {
    let length = text.chars().count();
    if length <= 2 * CHARACTERS {
        return (text.to_owned(), String::new());
    }
    let begin = text.chars().take(CHARACTERS).collect();
    (begin, text.chars().skip(length - CHARACTERS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_shown_by_both_ends() {
        assert_eq!(ends("short"), ("short".into(), String::new()));
        let long: String = ('a'..='z').cycle().take(1000).collect();
        let (begin, end) = ends(&long);
        assert_eq!((begin.len(), end.len()), (CHARACTERS, CHARACTERS));
        assert!(long.starts_with(&begin) && long.ends_with(&end));
    }
}
