//! The second reading of a data set's answers in its results: how many are right, and how many decisions differ from the evaluator's.

use crate::evaluator::{Proportion, Z_95};
use compass_metrics::statistics::mean_stderr;
use compass_postprocess::AnswerKind;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Verdicts on answers that were read a second time. Integers, so that any order of observation agrees.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SecondReading {
    /// Questions by their right answers and all their answers.
    questions: BTreeMap<(u64, u64), u64>,
    /// Answers that are right as they are read and wrong for the evaluator.
    up: u64,
    /// Answers that are wrong as they are read and right for the evaluator.
    down: u64,
}

impl SecondReading {
    /// Takes note of the answers to a question, as they are read, and as the evaluator judged each; the latter may be empty.
    pub(super) fn observe(&mut self, read: &[bool], judged: &[bool]) {
        let right = read.iter().filter(|right| **right).count() as u64;
        *self.questions.entry((right, read.len() as u64)).or_default() += 1;
        for pair in read.iter().zip(judged) {
            self.up += u64::from(pair == (&true, &false));
            self.down += u64::from(pair == (&false, &true));
        }
    }

    /// Returns accuracy in percent with its standard error and interval, the number of decisions, those that differ each way, and
    /// the kind that was read; `None` where nothing was.
    pub(super) fn document(&self, kind: Option<&AnswerKind>) -> Option<Value> {
        let total = |of: fn(&(u64, u64)) -> u64| -> u64 {
            self.questions.iter().map(|(counts, questions)| of(counts) * questions).sum()
        };
        let counts = Proportion { hits: total(|(right, _)| *right), total: total(|(_, all)| *all) };
        let (kind, accuracy) = (kind?, 100.0 * counts.hits as f64 / counts.total as f64);
        let (stderr, ci95) = if self.questions.keys().all(|(_, answers)| *answers == 1) {
            (counts.stderr(), counts.wilson())
        } else {
            let stderr = mean_stderr(&self.means()).map(|stderr| 100.0 * stderr);
            let around = |stderr: f64| ((accuracy - Z_95 * stderr).max(0.0), (accuracy + Z_95 * stderr).min(100.0));
            (stderr, stderr.map(around))
        };
        let mut document = Map::from_iter([("accuracy".to_owned(), json!(accuracy))]);
        document.extend(stderr.map(|stderr| ("stderr".to_owned(), json!(stderr))));
        document.extend(ci95.map(|(low, high)| ("ci95".to_owned(), json!([low, high]))));
        document.insert("decisions".into(), counts.total.into());
        document.insert("differs".into(), json!({"up": self.up, "down": self.down}));
        if let Ok(Value::Object(kind)) = serde_json::to_value(kind) {
            document.extend(kind);
        }
        (counts.total > 0).then(|| document.into())
    }

    /// The share of right answers to each question: answers to one question are no independent ones.
    fn means(&self) -> Vec<f64> {
        let mean = |(&(right, all), &questions): (&(u64, u64), &u64)| {
            std::iter::repeat_n(right as f64 / all as f64, questions as usize)
        };
        self.questions.iter().flat_map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_that_differ_are_counted_each_way() {
        let mut reading = SecondReading::default();
        assert_eq!(reading.document(Some(&AnswerKind::Number)), None);
        for (read, judged) in [(true, true), (true, false), (true, false), (false, true), (false, false)] {
            reading.observe(&[read], &[judged]);
        }
        let document = reading.document(Some(&AnswerKind::Number)).unwrap();
        assert_eq!((&document["accuracy"], &document["decisions"]), (&json!(60.0), &json!(5)));
        assert_eq!((&document["differs"], &document["kind"]), (&json!({"up": 2, "down": 1}), &json!("number")));
        let counts = Proportion { hits: 3, total: 5 };
        let (low, high) = counts.wilson().unwrap();
        assert_eq!((&document["stderr"], &document["ci95"]), (&json!(counts.stderr()), &json!([low, high])));
        assert_eq!(reading.document(None), None);
    }

    #[test]
    fn the_error_of_several_answers_is_that_of_questions() {
        let mut reading = SecondReading::default();
        reading.observe(&[true, true], &[]);
        reading.observe(&[false, false], &[]);
        let document = reading.document(Some(&AnswerKind::Math)).unwrap();
        // statistics.stdev([1, 0]) / sqrt(2)
        assert_eq!((&document["accuracy"], &document["stderr"]), (&json!(50.0), &json!(50.0)));
        assert_eq!((&document["ci95"], &document["differs"]), (&json!([0.0, 100.0]), &json!({"up": 0, "down": 0})));
    }
}
