//! One answer to be judged, and the score.

use super::Unscored;
use super::metric_contribution::{Aggregation, Bounds, MetricContribution, SampleValue};
use super::metrics::READ_ACCURACY;
use super::parsed_output::{Options, ParsedOutput};
use compass_postprocess::{Postprocessor, apply_all};
use compass_pyfmt::python_str;
use serde_json::Value;

/// Input of an evaluator: one answer of one sample, and its gold answer.
#[derive(Debug)]
pub(super) struct ScoredAnswer<'a> {
    pub(super) output: &'a ParsedOutput<'a>,
    /// The chosen label with its type, or the text, after the postprocessors.
    pub(super) prediction: Value,
    /// The gold answer after the postprocessors.
    pub(super) gold: &'a Value,
    pub(super) pred_postprocessors: &'a [Postprocessor],
}

/// The class of a gold answer that could not be read.
const UNREAD: &str = "(gold answer not read)";

/// Output of an evaluator.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AnswerScore {
    /// The accepted answers as texts.
    pub(super) answers: Vec<String>,
    /// Correctness of the answer, where right and wrong exist.
    pub(super) correct: Option<bool>,
    pub(super) contributions: Vec<MetricContribution>,
}

impl<'a> ScoredAnswer<'a> {
    /// The prediction as Python prints it.
    pub(super) fn text(&self) -> String {
        python_str(&self.prediction)
    }

    /// The accepted answers: the items of a list, else the gold itself.
    pub(super) fn golds(&self) -> &'a [Value] {
        match self.gold {
            Value::Array(golds) => golds,
            one => std::slice::from_ref(one),
        }
    }

    /// The accepted answers as Python prints them.
    pub(super) fn gold_texts(&self) -> Vec<String> {
        self.golds().iter().map(python_str).collect()
    }

    /// The scored options.
    ///
    /// # Errors
    /// The question has none.
    pub(super) fn options(&self) -> Result<&'a Options<'a>, Unscored> {
        match self.output {
            ParsedOutput::Options(options) => Ok(options),
            _ => Err(Unscored("this evaluator needs scored options".into())),
        }
    }

    /// An option's label after the postprocessors.
    ///
    /// # Errors
    /// As [`processed`].
    pub(super) fn processed(&self, label: &Value) -> Result<Value, Unscored> {
        processed(self.pred_postprocessors, label)
    }
}

/// Returns what the postprocessors make of `value`: the value itself when there are none, else a text; of a list, of every item.
///
/// # Errors
/// A pattern takes too many steps: whether the answer is right stays undecided.
pub fn processed(postprocessors: &[Postprocessor], value: &Value) -> Result<Value, Unscored> {
    match value {
        value if postprocessors.is_empty() || value.is_null() => Ok(value.clone()),
        Value::Array(items) => items.iter().map(|item| processed(postprocessors, item)).collect(),
        value => match apply_all(postprocessors, python_str(value)) {
            Ok(text) => Ok(text.into()),
            Err(undecided) => Err(Unscored(undecided.to_string())),
        },
    }
}

/// A list of texts in a gold answer that is a table.
///
/// # Errors
/// There is none at `key`.
pub(super) fn texts_of<'a>(gold: &'a Value, key: &str) -> Result<Vec<&'a str>, Unscored> {
    let missing = || Unscored(format!("the gold answer has no list of texts `{key}`"));
    let items = gold.get(key).and_then(Value::as_array).ok_or_else(missing)?;
    items.iter().map(|item| item.as_str().ok_or_else(missing)).collect()
}

impl AnswerScore {
    /// A score that is right or wrong, shown in percent under `name`.
    pub(super) fn proportion(name: &str, rule: Aggregation, correct: bool, answers: Vec<String>) -> Self {
        Self { answers, correct: Some(correct), contributions: Vec::new() }.series(
            name,
            rule,
            SampleValue::Hit(correct),
        )
    }

    /// The score against a gold answer that could not be read: nothing is right, and nothing like it.
    #[must_use]
    pub(super) fn equal_to_nothing(mut self) -> Self {
        self.correct = self.correct.map(|_| false);
        for contribution in &mut self.contributions {
            let likeness = matches!(contribution.rule, Aggregation::Mean { bounds: Bounds::Percent, .. });
            match &mut contribution.item {
                SampleValue::Hit(hit) => *hit = false,
                SampleValue::Score(score) if likeness => *score = 0.0,
                SampleValue::Weighted(points, _) => *points = 0.0,
                SampleValue::Attempts { right, .. } => *right = 0,
                SampleValue::Classes(gold, _) => *gold = UNREAD.into(),
                _ => {}
            }
        }
        self
    }

    /// The score of an answer as it is read a second time, above the others.
    #[must_use]
    pub(super) fn read_first(mut self, right: bool) -> Self {
        self.contributions.iter_mut().for_each(|contribution| contribution.rank += 1);
        let mut score = self.line_at(0, READ_ACCURACY, Aggregation::Proportion, SampleValue::Hit(right));
        score.contributions.rotate_right(1);
        score
    }

    /// One more line below those there are.
    pub(super) fn series(self, name: &str, rule: Aggregation, item: SampleValue) -> Self {
        let rank = self.contributions.len() as u16;
        self.line_at(rank, name, rule, item)
    }

    /// One more line at `rank`, for evaluators that may leave out one before it. An item that is not a number is left out.
    pub(super) fn line_at(mut self, rank: u16, name: &str, rule: Aggregation, item: SampleValue) -> Self {
        if item.is_finite() {
            self.contributions.push(MetricContribution { replica: 0, rank, name: name.into(), rule, item });
        }
        self
    }
}
