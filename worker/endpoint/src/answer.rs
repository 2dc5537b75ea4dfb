//! What an answer of the server says: texts with the reason for their end, tokens, and what answered.

use super::refusal::{EMPTY, FILTERED};
use compass_plan::{EndpointApi, Reported};
use compass_types::result::{Finish, Generation};
use serde_json::Value;

/// A generation, or the class and reason for which there is none.
pub(crate) type Generated = Result<Generation, String>;

/// Tokens that a server counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) prompt: u64,
    pub(crate) generated: u64,
}

/// Most tokens of one answer, or of its prompt, that a server is believed: beyond the longest context of any model.
const MOST_TOKENS: u64 = 1 << 24;

/// A count of `usage`, if the server tells one that can be.
pub(crate) fn told(answer: &Value, key: &str) -> Option<u64> {
    answer.pointer(&format!("/usage/{key}")).and_then(Value::as_u64).filter(|tokens| *tokens <= MOST_TOKENS)
}

impl Usage {
    /// `usage` of an answer; where there is none to believe, about as many as the texts have, which are of so many characters.
    pub(crate) fn of(answer: &Value, prompt: usize, generated: usize) -> Self {
        Self {
            prompt: told(answer, "prompt_tokens").unwrap_or_else(|| estimated(prompt)),
            generated: told(answer, "completion_tokens").unwrap_or_else(|| estimated(generated)),
        }
    }
}

/// About how many tokens a text of so many characters has.
pub(crate) fn estimated(characters: usize) -> u64 {
    characters as u64 / 4 + 1
}

/// What the server says of itself.
pub(crate) fn reported(answer: &Value) -> Reported {
    let text = |key: &str| answer.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    Reported { model: text("model"), fingerprint: text("system_fingerprint") }
}

/// The only answer to a prompt, cut before the first of `stops`.
///
/// # Errors
/// What came is not what was asked for; another try may bring it.
pub(crate) fn generation(answer: &Value, api: EndpointApi, stops: &[String]) -> Result<Generated, String> {
    let choices = answer.get("choices").and_then(Value::as_array).ok_or("an answer without `choices`")?;
    let [choice] = choices.as_slice() else {
        return Err(format!("{} choices in place of 1", choices.len()));
    };
    let finish = choice.get("finish_reason").and_then(Value::as_str).unwrap_or_default();
    if finish == "content_filter" {
        return Ok(Err(format!("{FILTERED}: the endpoint ended the answer with finish_reason `content_filter`")));
    }
    let text = match api {
        EndpointApi::Completions => choice.get("text").ok_or("a choice without `text`")?,
        EndpointApi::Chat => {
            let message = choice.get("message").ok_or("a choice without `message`")?;
            if let Some(refusal) = message.get("refusal").and_then(Value::as_str) {
                return Ok(Err(format!("{FILTERED}: the endpoint gives a refusal in place of an answer: {refusal}")));
            }
            message.get("content").unwrap_or(&Value::Null)
        }
    };
    let text = match text {
        Value::String(text) => text.as_str(),
        Value::Null => "",
        _ => return Err("a text that is not a string".into()),
    };
    if text.is_empty() && finish != "stop" {
        let of = if finish.is_empty() {
            "without a finish_reason".to_owned()
        } else {
            format!("with finish_reason `{finish}`")
        };
        return Ok(Err(format!("{EMPTY}: no text {of}; help: where it ends at its length, raise max_out_len")));
    }
    let tokens = Usage::of(answer, 0, text.chars().count()).generated;
    let end = stops.iter().filter(|stop| !stop.is_empty()).filter_map(|stop| text.find(stop.as_str())).min();
    // vLLM and SGLang name the string that ended it.
    let named = choice.get("stop_reason").is_some_and(Value::is_string);
    let finish = match (end, finish) {
        (Some(_), _) => Finish::Stop,
        (None, "length") => Finish::Length,
        (None, _) if named => Finish::Stop,
        (None, _) => Finish::Eos,
    };
    let text = text[..end.unwrap_or(text.len())].to_owned();
    Ok(Ok(Generation::new(text, u32::try_from(tokens).unwrap_or(u32::MAX), finish)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn chat(choices: Value) -> Result<Generated, String> {
        let answer = json!({"choices": choices, "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
        generation(&answer, EndpointApi::Chat, &["\n\n".into()])
    }

    fn said(content: &str, finish: &str) -> Value {
        json!([{"message": {"role": "assistant", "content": content}, "finish_reason": finish}])
    }

    #[test]
    fn texts_end_for_a_reason() {
        let of = |content: &str, finish: &str| chat(said(content, finish)).unwrap().unwrap();
        assert_eq!(of("four", "stop"), Generation::new("four", 2, Finish::Eos));
        assert_eq!(of("four", "length").finish, Finish::Length);
        assert_eq!((of("a\n\nb", "length").text, of("a\n\nb", "length").finish), ("a".into(), Finish::Stop));
        assert_eq!(of("", "stop").text, "");
    }

    #[test]
    fn an_empty_text_is_an_answer_only_where_the_model_ended_it() {
        for finish in ["length", "", "tool_calls"] {
            assert!(chat(said("", finish)).unwrap().unwrap_err().starts_with(EMPTY), "{finish}");
        }
        assert!(chat(said("some", "content_filter")).unwrap().unwrap_err().starts_with(FILTERED));
        let refusal = json!([{"message": {"content": null, "refusal": "I cannot"}, "finish_reason": "stop"}]);
        assert!(chat(refusal).unwrap().unwrap_err().contains("I cannot"));
    }

    #[test]
    fn counts_beyond_any_context_are_not_believed() {
        let usage = |prompt: u64, generated: u64| {
            let answer = json!({"usage": {"prompt_tokens": prompt, "completion_tokens": generated}});
            Usage::of(&answer, 40, 8)
        };
        assert_eq!(usage(3, 2), Usage { prompt: 3, generated: 2 });
        let estimated = Usage { prompt: 11, generated: 3 };
        assert_eq!(usage(10u64.pow(18), u64::MAX), estimated);
        assert_eq!(Usage::of(&json!({"usage": {"prompt_tokens": -1, "completion_tokens": "2"}}), 40, 8), estimated);
        let answer = json!({"choices": said("four", "stop"), "usage": {"completion_tokens": 10u64.pow(18)}});
        assert_eq!(generation(&answer, EndpointApi::Chat, &[]).unwrap().unwrap().tokens, 2);
    }

    #[test]
    fn wrong_counts_and_kinds_are_no_answers() {
        let two = json!([said("a", "stop")[0], said("b", "stop")[0]]);
        assert_eq!(chat(two).unwrap_err(), "2 choices in place of 1");
        assert_eq!(chat(json!([])).unwrap_err(), "0 choices in place of 1");
        assert!(chat(json!([{"text": "a"}])).is_err());
        assert!(generation(&json!({}), EndpointApi::Chat, &[]).is_err());
        let number = json!([{"message": {"content": 7}, "finish_reason": "stop"}]);
        assert!(chat(number).is_err());
    }
}
