//! Thinking in reports: in the record of a sample, and over all answers of a data set.

use compass_types::result::{Finish, Generation, Outcome, SampleResult, ThinkingEnd, Thought};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Class of an answer by the way its generation went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AnswerClass {
    /// Thinking met its budget and was closed for the model.
    Forced,
    /// Tokens ran out within thinking.
    Unfinished,
    /// The model ended within thinking.
    ThoughtOnly,
    /// The answer met its length.
    Cut,
    /// There is no text.
    Empty,
}

impl AnswerClass {
    fn classify(answer: &Generation) -> Option<Self> {
        let end = answer.thinking.as_ref().map(|thought| thought.end);
        match (end, answer.finish) {
            (Some(ThinkingEnd::Cut), _) => Some(Self::Unfinished),
            (Some(ThinkingEnd::Ended), _) => Some(Self::ThoughtOnly),
            _ if answer.text.trim().is_empty() => Some(Self::Empty),
            (Some(ThinkingEnd::Forced), _) => Some(Self::Forced),
            (_, Finish::Length) => Some(Self::Cut),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Forced => "forced",
            Self::Unfinished => "unfinished",
            Self::ThoughtOnly => "thought_only",
            Self::Cut => "cut",
            Self::Empty => "empty",
        }
    }
}

/// Adds to a record of `predictions/` what its answers say of thinking, each key a list where there are several answers: thinking
/// (at most `keep` characters of it, half of them from each end), thinking_tokens, answer_tokens and ended. Nothing where no
/// answer thinks.
pub(super) fn add_to_record(record: &mut Map<String, Value>, answers: &[Generation], keep: Option<u32>) {
    if answers.iter().all(|answer| answer.thinking.is_none()) {
        return;
    }
    let mut add = |key: &str, value: &dyn Fn(&Generation) -> Value| {
        let mut values: Vec<Value> = answers.iter().map(value).collect();
        let value = if values.len() == 1 { values.remove(0) } else { values.into() };
        record.insert(key.to_owned(), value);
    };
    let thought = |answer: &Generation| answer.thinking.clone();
    add("thinking", &|answer| thought(answer).map(|thought| kept(&thought.text, keep)).into());
    add("thinking_tokens", &|answer| thought(answer).map(|thought| thought.tokens).into());
    add("answer_tokens", &|answer| answer.tokens.into());
    add("ended", &|answer| ended(answer).into());
}

/// The end of an answer in a word: that of its class, or of its generation.
fn ended(answer: &Generation) -> &'static str {
    match (AnswerClass::classify(answer), answer.finish) {
        (Some(class), _) => class.name(),
        (None, Finish::Stop) => "stop",
        (None, Finish::Eos | Finish::Length) => "eos",
    }
}

/// Returns both ends of a text of more than `most` characters.
fn kept(text: &str, most: Option<u32>) -> String {
    let (length, most) = (text.chars().count(), most.map_or(usize::MAX, |most| most as usize));
    if length <= most {
        return text.to_owned();
    }
    let (front, back) = (most.div_ceil(2), most / 2);
    let begin: String = text.chars().take(front).collect();
    let end: String = text.chars().skip(length - back).collect();
    format!("{begin}\n[{} characters left out]\n{end}", length - most)
}

/// Answers of a data set whose model thinks, by class and by length.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answers {
    answers: u64,
    thinking: bool,
    classes: BTreeMap<AnswerClass, u64>,
    thinking_tokens: BTreeMap<u32, u64>,
    answer_tokens: BTreeMap<u32, u64>,
}

impl Answers {
    pub(super) fn observe(&mut self, result: &SampleResult) {
        let Outcome::Generated(answers) = &result.outcome else { return };
        for answer in answers {
            self.answers += 1;
            if let Some(class) = AnswerClass::classify(answer) {
                *self.classes.entry(class).or_default() += 1;
            }
            *self.answer_tokens.entry(answer.tokens).or_default() += 1;
            if let Some(Thought { tokens, .. }) = answer.thinking {
                self.thinking = true;
                *self.thinking_tokens.entry(tokens).or_default() += 1;
            }
        }
    }

    /// Counts of answers by class, and the median and 95th percentile of the lengths; `None` where no answer thinks.
    pub(super) fn document(&self) -> Option<Value> {
        if !self.thinking {
            return None;
        }
        let mut document = Map::from_iter([("answers".to_owned(), json!(self.answers))]);
        document.extend(self.classes.iter().map(|(class, count)| (class.name().to_owned(), json!(count))));
        for (key, lengths) in [("thinking_tokens", &self.thinking_tokens), ("answer_tokens", &self.answer_tokens)] {
            let at = |share: f64| quantile(lengths, share);
            document.insert(key.to_owned(), json!({"median": at(0.5), "p95": at(0.95)}));
        }
        Some(document.into())
    }
}

/// Returns the least length that at least a share of all lengths do not exceed.
fn quantile(lengths: &BTreeMap<u32, u64>, share: f64) -> u32 {
    let all: u64 = lengths.values().sum();
    let rank = (all as f64 * share).ceil().max(1.0) as u64;
    let mut before = 0;
    let reached = lengths.iter().find(|(_, count)| {
        before += **count;
        before >= rank
    });
    reached.map_or(0, |(length, _)| *length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::fixture::result;

    fn answer(text: &str, tokens: u32, end: ThinkingEnd) -> Generation {
        let thought = Thought { text: "0123456789".into(), tokens, end };
        Generation { thinking: Some(thought), ..Generation::new(text, 2, Finish::Length) }
    }

    #[test]
    fn a_record_tells_thinking_apart() {
        let record = |answers: &[Generation], keep| {
            let mut record = Map::new();
            add_to_record(&mut record, answers, keep);
            Value::Object(record)
        };
        let plain = Generation::new("4", 1, Finish::Eos);
        assert_eq!(record(std::slice::from_ref(&plain), None), json!({}));
        let one = answer("4", 7, ThinkingEnd::Forced);
        let expected = json!({"thinking": "0123456789", "thinking_tokens": 7, "answer_tokens": 2, "ended": "forced"});
        assert_eq!(record(std::slice::from_ref(&one), None), expected);
        let short = record(std::slice::from_ref(&one), Some(5));
        assert_eq!(short["thinking"], "012\n[5 characters left out]\n89");
        let both = record(&[one, plain], None);
        assert_eq!((&both["thinking_tokens"], &both["ended"]), (&json!([7, null]), &json!(["forced", "eos"])));
    }

    #[test]
    fn answers_are_counted_by_class_and_length() {
        let mut answers = Answers::default();
        answers.observe(&result(0, Outcome::Generated(vec![Generation::new("4", 1, Finish::Length)])));
        assert_eq!(answers.document(), None);
        let ends = [ThinkingEnd::Closed, ThinkingEnd::Forced, ThinkingEnd::Cut, ThinkingEnd::Ended];
        for (at, end) in (1..).zip(ends) {
            let text = if at < 3 { "4" } else { "" };
            answers.observe(&result(at, Outcome::Generated(vec![answer(text, at * 10, end)])));
        }
        answers.observe(&result(9, Outcome::Generated(vec![answer(" ", 50, ThinkingEnd::Closed)])));
        let expected = json!({
            "answers": 6, "forced": 1, "unfinished": 1, "thought_only": 1, "cut": 2, "empty": 1,
            "thinking_tokens": {"median": 30, "p95": 50}, "answer_tokens": {"median": 2, "p95": 2},
        });
        assert_eq!(answers.document(), Some(expected));
    }
}
