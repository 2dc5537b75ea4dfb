//! Answers of a data set in its results: how many are of each class, how long they are, and the bounds of the score.

use crate::evaluator::{AnswerClass, AnswerFigures, Lengths, OpenBounds};
use serde_json::{Map, Value, json};

/// Appends `answers`, and `bounds` where answers are open, to a results document.
pub(super) fn answers_document(figures: &AnswerFigures, document: &mut Map<String, Value>) {
    let mut answers = Map::from_iter([("answers".to_owned(), json!(figures.answers))]);
    let counts = AnswerClass::ALL.into_iter().zip(figures.classes).filter(|(_, count)| *count > 0);
    answers.extend(counts.map(|(class, count)| (class.name().to_owned(), json!(count))));
    let lengths = [("thinking_tokens", figures.thinking), ("answer_tokens", figures.answer)];
    answers.extend(lengths.into_iter().filter_map(|(key, lengths)| {
        let Lengths { median, p95 } = lengths?;
        Some((key.to_owned(), json!({"median": median, "p95": p95})))
    }));
    document.insert("answers".into(), answers.into());
    if let Some(OpenBounds { if_right, low, high }) = figures.bounds {
        document.insert("bounds".into(), json!({"if_right": if_right, "low": low, "high": high}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_said_with_its_bounds() {
        let shown = |figures: &AnswerFigures| {
            let mut document = Map::new();
            answers_document(figures, &mut document);
            Value::Object(document)
        };
        let answer = Some(Lengths { median: 1, p95: 4 });
        let plain = AnswerFigures { answers: 9, classes: [0; 11], thinking: None, answer, bounds: None };
        assert_eq!(shown(&plain), json!({"answers": {"answers": 9, "answer_tokens": {"median": 1, "p95": 4}}}));
        let (mut classes, bounds) = ([0; 11], Some(OpenBounds { if_right: 60.0, low: 20.0, high: 90.0 }));
        (classes[1], classes[6]) = (2, 1);
        let open = AnswerFigures { classes, thinking: answer, bounds, ..plain };
        let lengths = json!({"median": 1, "p95": 4});
        let answers = json!({
            "answers": 9, "unfinished": 2, "looping": 1, "thinking_tokens": lengths, "answer_tokens": lengths
        });
        let bounds = json!({"if_right": 60.0, "low": 20.0, "high": 90.0});
        assert_eq!(shown(&open), json!({"answers": answers, "bounds": bounds}));
    }
}
