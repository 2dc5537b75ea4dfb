//! Thinking in the record of a sample.

use crate::evaluator::AnswerClass;
use compass_types::result::{Finish, Generation};
use serde_json::{Map, Value};

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
    match (AnswerClass::by_end(answer), answer.finish) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use compass_types::result::{ThinkingEnd, Thought};
    use serde_json::json;

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
}
