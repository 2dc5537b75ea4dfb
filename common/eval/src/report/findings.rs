//! Contents of a results document beside the metrics: every score, and the samples that something happened to.

use super::answers::answers_document;
use super::reading::SecondReading;
use crate::evaluator::{
    ACC_NORM, AnswerFigures, AnswerSummary, MetricContribution, READ_ACCURACY, SampleScore, SampleValue, classes,
    judge, read_again, second_answers,
};
use compass_plan::{EvalSpec, Sample};
use compass_postprocess::AnswerKind;
use compass_pyfmt::python_str;
use compass_types::result::{Outcome, SampleResult};
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Before the label in the keys of a record.
const LABEL: &str = "label: ";

/// Presence of a line for every sample in a results document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Details {
    /// As OpenCompass does by default.
    #[default]
    Include,
    Omit,
}

/// Findings of one model on one data set, ordered by sample whatever the order of observation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// A line of JSON each: as values these would take ten times the memory.
    sample_scores: BTreeMap<u32, Box<str>>,
    failed: BTreeMap<u32, String>,
    too_long: Vec<u32>,
    fewer_shots: Vec<u32>,
    empty_right: Vec<u32>,
    gold_unread: Vec<u32>,
    answers: AnswerSummary,
    reading: SecondReading,
    /// Kind of the answers that were read a second time.
    kind: Option<AnswerKind>,
}

impl Findings {
    /// Takes note of one sample; the caller hands each one once. `record` is its record in `predictions/`, from which
    /// details say what was asked and answered.
    pub fn observe(&mut self, sample: &Sample, result: &SampleResult, spec: &EvalSpec, record: Option<&Value>) {
        let index = sample.index;
        let (judged, second) = (judge(sample, result, spec), second_answers(result, spec));
        if let Outcome::Generated(answers) = &result.outcome {
            let decisions = judged.as_ref().map_or(&[][..], |score| score.correct.as_slice());
            self.answers.observe(answers, &classes(answers, second.as_deref(), judged.as_ref().ok()), decisions);
        }
        match judged {
            Ok(score) => {
                if score.empty_right {
                    note(&mut self.empty_right, index);
                }
                if let Some(Ok(read)) = second.map(|answers| read_again(sample, &answers, spec)) {
                    self.reading.observe(&read, &score.correct);
                    self.kind = self.kind.take().or_else(|| spec.read_as());
                }
                if score.gold_unread {
                    note(&mut self.gold_unread, index);
                }
                // Evaluators that run programs have keys of their own.
                let origin = record.filter(|_| score.details.is_none()).map(origin);
                let mut line = origin.unwrap_or_default();
                line.extend(detail(score));
                self.sample_scores.insert(index, Value::Object(line).to_string().into());
            }
            Err(unscored) => {
                self.failed.insert(index, unscored.to_string());
            }
        }
        let fitted = !matches!(result.outcome, Outcome::Failed { .. }) || result.fit.tokens > 0;
        if result.fit.truncated_from > 0 {
            note(&mut self.too_long, index);
        }
        if fitted && (result.fit.shots_kept as usize) < sample.shots.len() {
            note(&mut self.fewer_shots, index);
        }
    }

    /// Returns the figures of all answers; `None` where nothing was generated.
    pub fn answers(&self) -> Option<AnswerFigures> {
        self.answers.figures()
    }

    /// Samples without a score and why, by index.
    pub fn failed(&self) -> &BTreeMap<u32, String> {
        &self.failed
    }

    /// Appends what was found to `document`, each key only when there is something: too_long, fewer_shots, empty_right (empty
    /// answers that count as right) and gold_unread (gold answers that the postprocessors find nothing in), as indices;
    /// answers (of texts that were generated: by class, with their lengths and the lengths of thinking) and bounds (see
    /// [`AnswerFigures::bounds`]); reading (the second one, where the
    /// kind of answers is known: [`SecondReading::document`]); failed_samples (index to reason).
    pub(super) fn append(&self, document: &mut Map<String, Value>) {
        let listed = [
            ("too_long", &self.too_long),
            ("fewer_shots", &self.fewer_shots),
            ("empty_right", &self.empty_right),
            ("gold_unread", &self.gold_unread),
        ];
        for (key, indices) in listed.into_iter().filter(|(_, indices)| !indices.is_empty()) {
            document.insert(key.into(), json!(indices));
        }
        if let Some(figures) = self.answers.figures() {
            answers_document(&figures, document);
        }
        if let Some(reading) = self.reading.document(self.kind.as_ref()) {
            document.insert("reading".into(), reading);
        }
        if !self.failed.is_empty() {
            let failed = self.failed.iter().map(|(index, reason)| (index.to_string(), json!(reason)));
            document.insert("failed_samples".into(), Value::Object(failed.collect()));
        }
    }

    /// A line for every sample with a score, in OpenCompass's form: "type", then per index origin_prediction (of a generation the
    /// answer before postprocessors, after its prompt; of scored options each one's prompt and score), predictions and references
    /// (as postprocessed texts) and correct; then what the sample gives to each further metric, by the metric's name (of
    /// `acc_norm` it is correct_norm). `None` where no sample has a score.
    pub(super) fn details(&self, mode: &str) -> Option<SampleLines<'_>> {
        let lines = &self.sample_scores;
        (!lines.is_empty()).then(|| SampleLines { mode: mode.to_uppercase(), lines })
    }
}

/// Lines of a results document, serialised one at a time.
#[derive(Clone, Debug)]
pub(super) struct SampleLines<'f> {
    mode: String,
    lines: &'f BTreeMap<u32, Box<str>>,
}

impl Serialize for SampleLines<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.lines.len() + 1))?;
        map.serialize_entry("type", &self.mode)?;
        for (index, line) in self.lines {
            let line: Value = serde_json::from_str(line).map_err(S::Error::custom)?;
            map.serialize_entry(&index.to_string(), &line)?;
        }
        map.end()
    }
}

/// Returns what OpenCompass's `format_details` keeps of a record.
fn origin(record: &Value) -> Map<String, Value> {
    let Some(record) = record.as_object() else { return Map::new() };
    let mut line = Map::new();
    if !record.keys().any(|key| key.starts_with(LABEL)) {
        for (key, from) in [("prompt", "origin_prompt"), ("origin_prediction", "prediction")] {
            if let Some(value) = record.get(from) {
                line.insert(key.into(), value.clone());
            }
        }
        return line;
    }
    let mut kept = Map::new();
    // Labels follow what else the record says.
    let (labels, others): (Vec<_>, Vec<_>) = record.iter().partition(|(key, _)| key.starts_with(LABEL));
    for (key, value) in others.into_iter().filter(|(key, _)| ["origin_prompt", "gold"].contains(&key.as_str())) {
        kept.insert(key.clone(), value.clone());
    }
    for (key, value) in labels {
        let mut scores = value.as_object().cloned().unwrap_or_default();
        scores.shift_remove("testing input");
        kept.insert(key.strip_prefix(LABEL).unwrap_or(key).to_owned(), scores.into());
    }
    line.insert("origin_prediction".into(), kept.into());
    line
}

/// One line of the details.
fn detail(score: SampleScore) -> Map<String, Value> {
    if let Some(details) = score.details {
        return details;
    }
    let SampleScore { processed, answers, correct, contributions, .. } = score;
    let mut line = Map::new();
    if !processed.is_null() {
        line.insert("predictions".into(), as_texts(processed));
    }
    match answers.as_slice() {
        [] => None,
        [only] => line.insert("references".into(), json!(only)),
        several => line.insert("references".into(), json!(several)),
    };
    match correct.as_slice() {
        [] => None,
        &[only] => line.insert("correct".into(), only.into()),
        several => line.insert("correct".into(), json!(several)),
    };
    // The first line of a right or wrong answer says what `correct` says, unless that is the second reading's.
    let is_read = |contribution: &MetricContribution| contribution.name == READ_ACCURACY;
    let said = u16::from(contributions.iter().any(is_read));
    let is_said = |contribution: &MetricContribution| !correct.is_empty() && contribution.rank == said;
    let further = contributions.into_iter().filter(|contribution| contribution.replica <= 1 && !is_said(contribution));
    line.extend(further.filter_map(|MetricContribution { name, item, .. }| {
        let key = if name == ACC_NORM { "correct_norm".into() } else { name };
        Some((key, shown(item)?))
    }));
    line
}

fn as_texts(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(as_texts).collect(),
        value => python_str(&value).into(),
    }
}

/// Returns what one sample gives, where that is of use to a reader.
fn shown(item: SampleValue) -> Option<Value> {
    match item {
        SampleValue::Hit(hit) => Some(hit.into()),
        SampleValue::Score(score) => Some(score.into()),
        SampleValue::Weighted(sum, weight) => Some(json!([sum, weight])),
        SampleValue::Scores(scores) => Some(json!(scores)),
        SampleValue::Ranked(_, score) => Some(score.into()),
        SampleValue::Counts(_)
        | SampleValue::Classes(..)
        | SampleValue::Member { .. }
        | SampleValue::Attempts { .. } => None,
    }
}

/// Keeps `indices` sorted; they arrive in order as a rule.
fn note(indices: &mut Vec<u32>, index: u32) {
    let at = indices.partition_point(|&other| other < index);
    indices.insert(at, index);
}
