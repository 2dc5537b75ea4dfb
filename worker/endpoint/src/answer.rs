//! Contents of a server's answer: texts with the reason for their end, tokens, and what answered.

use super::refusal::{EMPTY, FILTERED};
use super::stream::REASONING;
use compass_plan::{EndpointApi, Reported};
use compass_postprocess::thinking::{Marks, Opened, split};
use compass_types::result::{Finish, Generation, ThinkingEnd, Thought};
use serde_json::Value;

/// A generation, or the class and reason of its failure.
pub(crate) type Generated = Result<Generation, String>;

/// Tokens that a server counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) prompt: u64,
    pub(crate) generated: u64,
}

/// Most tokens of one answer, or of its prompt, that a server is believed: beyond the longest context of any model.
const MOST_TOKENS: u64 = 1 << 24;

/// Returns a count of `usage`, if the server gives a plausible one.
pub(crate) fn told(answer: &Value, key: &str) -> Option<u64> {
    answer.pointer(&format!("/usage/{key}")).and_then(Value::as_u64).filter(|tokens| *tokens <= MOST_TOKENS)
}

impl Usage {
    /// Returns the `usage` of an answer. Where it is missing or implausible, the counts are estimated from the numbers of characters.
    pub(crate) fn of(answer: &Value, prompt: usize, generated: usize) -> Self {
        Self {
            prompt: told(answer, "prompt_tokens").unwrap_or_else(|| estimated(prompt)),
            generated: told(answer, "completion_tokens").unwrap_or_else(|| estimated(generated)),
        }
    }
}

/// Estimates the number of tokens of a text with this many characters.
pub(crate) fn estimated(characters: usize) -> u64 {
    characters as u64 / 4 + 1
}

/// Returns what the server reports of itself.
pub(crate) fn reported(answer: &Value) -> Reported {
    let text = |key: &str| answer.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    Reported { model: text("model"), fingerprint: text("system_fingerprint") }
}

/// Reading of answers: where they end, and how they are told apart from thinking.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'r> {
    pub(crate) api: EndpointApi,
    /// Answers are cut before the first of these.
    pub(crate) stops: &'r [String],
    /// Marks of thinking; `None` where texts are not split.
    pub(crate) marks: Option<&'r Marks>,
    /// Thinking at the end of the prompt.
    pub(crate) opened: Opened,
}

/// End of a continued text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    AtLength,
    /// At its own end token.
    ByModel,
    /// At this stop string.
    ByText(String),
    /// At a stop string or at the end token: the server does not say which.
    Unsaid,
}

/// Returns how the only answer ended: vLLM says it in `stop_reason`, SGLang in `matched_stop`.
pub(crate) fn stopped_by(answer: &Value) -> Stopped {
    let choice = answer.pointer("/choices/0").unwrap_or(&Value::Null);
    let said = ["stop_reason", "matched_stop"].iter().find_map(|key| choice.get(key));
    match (choice.get("finish_reason").and_then(Value::as_str), said) {
        (Some("length"), _) => Stopped::AtLength,
        (_, Some(Value::String(text))) => Stopped::ByText(text.clone()),
        (_, Some(_)) => Stopped::ByModel,
        (_, None) => Stopped::Unsaid,
    }
}

/// Returns the only answer to a prompt.
///
/// # Errors
/// What came is not what was asked for; another try may bring it.
pub(crate) fn generation(answer: &Value, reading: Reading<'_>) -> Result<Generated, String> {
    let Reading { api, stops, marks, opened } = reading;
    let choices = answer.get("choices").and_then(Value::as_array).ok_or("an answer without `choices`")?;
    let [choice] = choices.as_slice() else {
        return Err(format!("{} choices in place of 1", choices.len()));
    };
    let finish = choice.get("finish_reason").and_then(Value::as_str).unwrap_or_default();
    if finish == "content_filter" {
        return Ok(Err(format!("{FILTERED}: the endpoint ended the answer with finish_reason `content_filter`")));
    }
    let mut said_apart = None;
    let text = match api {
        EndpointApi::Completions => text_of(choice.get("text").ok_or("a choice without `text`")?),
        EndpointApi::Chat => {
            let message = choice.get("message").ok_or("a choice without `message`")?;
            if let Some(refusal) = message.get("refusal").and_then(Value::as_str) {
                return Ok(Err(format!("{FILTERED}: the endpoint gives a refusal in place of an answer: {refusal}")));
            }
            said_apart = marks.and_then(|_| reasoning(message));
            text_of(message.get("content").unwrap_or(&Value::Null))
        }
    };
    let text = text.ok_or("a text that is not a string")?;
    let counted =
        Usage::of(answer, 0, text.chars().count() + said_apart.as_ref().map_or(0, |said| said.chars().count()));
    let hidden =
        answer.pointer("/usage/completion_tokens_details/reasoning_tokens").and_then(Value::as_u64).unwrap_or(0);
    if said_apart.is_none() && hidden > 0 && marks.is_some() {
        said_apart = Some(String::new());
    }
    let (thinking, text) = told_apart(said_apart, &text, marks.map(|marks| (marks, opened)));
    if thinking.is_none() && text.is_empty() && finish != "stop" {
        let of = if finish.is_empty() {
            "without a finish_reason".to_owned()
        } else {
            format!("with finish_reason `{finish}`")
        };
        return Ok(Err(format!("{EMPTY}: no text {of}; help: where it ends at its length, raise max_out_len")));
    }
    let end = stops.iter().filter(|stop| !stop.is_empty()).filter_map(|stop| text.find(stop.as_str())).min();
    // vLLM and SGLang name the string that ended it.
    let named = matches!(stopped_by(answer), Stopped::ByText(_));
    let finish = match (end, finish) {
        (Some(_), _) => Finish::Stop,
        (None, "length") => Finish::Length,
        (None, _) if named => Finish::Stop,
        (None, _) => Finish::Eos,
    };
    let text = text[..end.unwrap_or(text.len())].to_owned();
    let Some((thinking, is_closed)) = thinking else {
        return Ok(Ok(Generation::new(text, saturated(counted.generated), finish)));
    };
    let end = match (is_closed || !text.is_empty(), finish) {
        (true, _) => ThinkingEnd::Closed,
        (false, Finish::Length) => ThinkingEnd::Cut,
        (false, _) => ThinkingEnd::Ended,
    };
    // Servers count both together; some say the part of the thinking.
    let (thought, said) = (thinking.chars().count() as u64, text.chars().count() as u64);
    let share = (counted.generated.saturating_mul(thought)).checked_div(thought + said).unwrap_or(0);
    let thinking_tokens = if hidden > 0 { hidden.min(counted.generated) } else { share };
    let thought = Thought { text: thinking, tokens: saturated(thinking_tokens), end };
    let answer = Generation::new(text, saturated(counted.generated - thinking_tokens), finish);
    Ok(Ok(Generation { thinking: Some(thought), ..answer }))
}

fn saturated(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

/// Returns the text of a message: a string, or the parts of a list that are text.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null => Some(String::new()),
        Value::Array(parts) => {
            let texts = parts.iter().filter(|part| part.get("type").is_none_or(|kind| kind == "text"));
            Some(texts.filter_map(|part| part.get("text")?.as_str()).collect())
        }
        _ => None,
    }
}

/// Returns the thinking that a server tells apart: `reasoning` (vLLM), `reasoning_content` (SGLang, DeepSeek), or the parts of the
/// content that are thinking (Mistral).
fn reasoning(message: &Value) -> Option<String> {
    let fields = REASONING.iter().filter_map(|key| message.get(key)?.as_str());
    let mut said = fields.filter(|text| !text.is_empty()).map(str::to_owned);
    said.next().or_else(|| {
        let parts = message.get("content")?.as_array()?.iter().filter_map(|part| part.get("thinking"));
        let texts: Vec<String> = parts.filter_map(text_of).collect();
        (!texts.is_empty()).then(|| texts.concat())
    })
}

/// Returns the thinking of an answer, with whether something closes it, and the rest.
fn told_apart<'t>(
    said_apart: Option<String>,
    text: &'t str,
    marks: Option<(&Marks, Opened)>,
) -> (Option<(String, bool)>, &'t str) {
    let Some((marks, opened)) = marks else { return (None, text) };
    // A server that tells thinking apart closes what the template opened.
    let opened = if said_apart.is_some() { Opened::No } else { opened };
    let parts = split(text, marks, opened);
    match (said_apart, parts.thinking) {
        (Some(said), Some(more)) => (Some((said + more, parts.closed)), parts.answer),
        (Some(said), None) => (Some((said, false)), text),
        (None, Some(thinking)) => (Some((thinking.to_owned(), parts.closed)), parts.answer),
        (None, None) => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::LazyLock;

    fn chat(choices: Value) -> Result<Generated, String> {
        let answer = json!({"choices": choices, "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
        generation(&answer, reading(&["\n\n".into()]))
    }

    static MARKS: LazyLock<Marks> = LazyLock::new(|| Marks::new("<think>", "</think>"));

    fn reading(stops: &[String]) -> Reading<'_> {
        Reading { api: EndpointApi::Chat, stops, marks: Some(&MARKS), opened: Opened::Unknown }
    }

    #[test]
    fn thinking_is_told_apart_wherever_a_server_puts_it() {
        let thought = |message: Value, finish: &str| {
            let choices = json!([{"message": message, "finish_reason": finish}]);
            let answer = json!({"choices": choices, "usage": {"completion_tokens": 10}});
            let generation = generation(&answer, reading(&["\n\n".into()])).unwrap().unwrap();
            let thinking = generation.thinking.map(|thought| (thought.text, thought.end));
            (thinking, generation.text, generation.finish)
        };
        let so = |end: ThinkingEnd| Some(("so\n\nit".to_owned(), end));
        let parts = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "so\n\nit"}]}, {"type": "text", "text": "4"}]);
        for message in [
            json!({"content": "<think>so\n\nit</think>\n\n4"}),
            json!({"content": "so\n\nit</think>4"}),
            json!({"content": "4", "reasoning": "so\n\nit"}),
            json!({"content": "4", "reasoning_content": "so\n\nit"}),
            json!({"content": "4", "reasoning": null, "reasoning_content": "so\n\nit"}),
            json!({"content": "<think>it</think>4", "reasoning": "so\n\n"}),
            json!({"content": parts}),
        ] {
            assert_eq!(
                thought(message.clone(), "stop"),
                (so(ThinkingEnd::Closed), "4".into(), Finish::Eos),
                "{message}"
            );
        }
        for content in [json!(null), json!("")] {
            let message = json!({"content": content, "reasoning_content": "so\n\nit"});
            assert_eq!(thought(message.clone(), "stop"), (so(ThinkingEnd::Ended), String::new(), Finish::Eos));
            assert_eq!(thought(message, "length"), (so(ThinkingEnd::Cut), String::new(), Finish::Length));
        }
        let open = json!({"content": "<think>so\n\nit"});
        assert_eq!(thought(open, "length"), (so(ThinkingEnd::Cut), String::new(), Finish::Length));
        assert_eq!(thought(json!({"content": "4"}), "stop"), (None, "4".into(), Finish::Eos));
    }

    #[test]
    fn tokens_of_thinking_are_counted_apart() {
        let tokens = |details: Value| {
            let choices = json!([{"message": {"content": "4444", "reasoning": "so it is"}, "finish_reason": "stop"}]);
            let usage = json!({"completion_tokens": 12, "completion_tokens_details": details});
            let generation = generation(&json!({"choices": choices, "usage": usage}), reading(&[])).unwrap().unwrap();
            (generation.thinking.unwrap().tokens, generation.tokens)
        };
        assert_eq!(tokens(json!({"reasoning_tokens": 9})), (9, 3));
        assert_eq!(tokens(Value::Null), (8, 4), "by their characters");
        let choices = json!([{"message": {"content": ""}, "finish_reason": "length"}]);
        let usage = json!({"completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 7}});
        let hidden = generation(&json!({"choices": choices, "usage": usage}), reading(&[])).unwrap().unwrap();
        assert_eq!(hidden.thinking, Some(Thought { text: String::new(), tokens: 7, end: ThinkingEnd::Cut }));
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
        assert_eq!(generation(&answer, reading(&[])).unwrap().unwrap().tokens, 2);
    }

    #[test]
    fn wrong_counts_and_kinds_are_no_answers() {
        let two = json!([said("a", "stop")[0], said("b", "stop")[0]]);
        assert_eq!(chat(two).unwrap_err(), "2 choices in place of 1");
        assert_eq!(chat(json!([])).unwrap_err(), "0 choices in place of 1");
        assert!(chat(json!([{"text": "a"}])).is_err());
        assert!(generation(&json!({}), reading(&[])).is_err());
        let number = json!([{"message": {"content": 7}, "finish_reason": "stop"}]);
        assert!(chat(number).is_err());
    }
}
