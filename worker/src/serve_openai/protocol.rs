//! Requests and answers of OpenAI's protocol, as far as they are served.

use super::compute::ScoredToken;
use compass_plan::prompt::Prompt;
use compass_plan::{Body, ChatMode, ChatTurn, Decoding, GenSpec, InferSpec};
use compass_types::result::{Finish, Generation};
use serde_json::{Map, Value, json};

/// Tokens of an answer if the request gives no number.
const MAX_TOKENS: u32 = 16;
const MOST_ANSWERS: u64 = 128;
/// Stop strings of a request, and bytes of each: every step compares an answer with all of them.
const MOST_STOPS: usize = 32;
const MOST_STOP_BYTES: usize = 1024;
/// Bytes of a token: a longer text is refused before it is tokenised.
const MOST_BYTES_OF_A_TOKEN: usize = 128;
const ASSISTANT: &str = "assistant";

/// Request to the engine.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) body: Body,
    /// Without a seed: requests of other seeds share a batch.
    pub(super) infer: InferSpec,
    pub(super) seed: u64,
    /// Variables of the chat template.
    pub(super) variables: Map<String, Value>,
    /// Set if the text of the prompt holds its special tokens.
    pub(super) is_whole: bool,
}

/// Returns whether a request asks for the scores of its prompt.
pub(super) fn wants_scores(request: &Value) -> bool {
    let is_echo = request.get("echo").and_then(Value::as_bool).unwrap_or(false);
    let logprobs = request.get("logprobs").is_some_and(|wish| !wish.is_null() && wish != false);
    is_echo && logprobs || request.get("prompt_logprobs").is_some_and(Value::is_number)
}

/// Returns the only prompt of a request for texts, for a model whose longest input is `longest` tokens.
///
/// # Errors
/// The reason why the request is invalid.
pub(super) fn prompt(request: &Value, longest: u32) -> Result<String, String> {
    let text = match request.get("prompt") {
        Some(Value::String(text)) => text,
        Some(Value::Array(prompts)) => match prompts.as_slice() {
            [Value::String(text)] => text,
            _ => return Err("`prompt` takes one string".into()),
        },
        _ => return Err("`prompt` is missing".into()),
    };
    fits(text.len(), longest)?;
    Ok(text.clone())
}

/// Refuses texts that are too long whatever their tokens are.
fn fits(bytes: usize, longest: u32) -> Result<(), String> {
    if bytes <= (longest as usize).saturating_mul(MOST_BYTES_OF_A_TOKEN) {
        return Ok(());
    }
    Err(format!("a prompt of {bytes} bytes is longer than this model's maximum context length of {longest} tokens"))
}

/// Converts a request for texts into one to the engine.
///
/// # Errors
/// The reason why the request is invalid.
pub(super) fn text_question(request: &Value, longest: u32) -> Result<Wish, String> {
    let body = Body::Gen { prompt: Prompt::question(prompt(request, longest)?) };
    let (settings, seed) = settings(request, longest)?;
    let is_whole = request.get("add_special_tokens").and_then(Value::as_bool) == Some(false);
    Ok(Wish { body, infer: InferSpec::Gen(settings), seed, variables: Map::new(), is_whole })
}

/// Converts a request with messages into one to the engine.
///
/// # Errors
/// The reason why the request is invalid.
pub(super) fn chat_question(request: &Value, longest: u32) -> Result<Wish, String> {
    let messages = request.get("messages").and_then(Value::as_array).ok_or("`messages` is missing")?;
    let turn = |message: &Value| {
        let text = |key: &str| message.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(ChatTurn { role: text("role")?, content: text("content")? })
    };
    let turns = messages.iter().map(turn).collect::<Option<Vec<_>>>();
    let mut turns = turns.filter(|turns| !turns.is_empty()).ok_or("`messages` takes a list of { role, content }")?;
    fits(turns.iter().map(|turn| turn.content.len()).sum(), longest)?;
    turns.push(ChatTurn { role: ASSISTANT.into(), content: String::new() });
    let (gen_spec, seed) = settings(request, longest)?;
    if gen_spec.decoding.sequences() > 1 {
        return Err("`n` of a chat is 1".into());
    }
    let infer = InferSpec::Chat { infer_mode: ChatMode::Last, gen_spec };
    Ok(Wish { body: Body::Chat { turns }, infer, seed, variables: variables(request)?, is_whole: false })
}

/// Returns the variables of the chat template that a request sets, by vLLM's fields.
fn variables(request: &Value) -> Result<Map<String, Value>, &'static str> {
    let mut variables = match request.get("chat_template_kwargs") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(variables)) => variables.clone(),
        Some(_) => return Err("`chat_template_kwargs` takes a table"),
    };
    if ["messages", "add_generation_prompt", "tools"].iter().any(|name| variables.contains_key(*name)) {
        return Err(
            "messages, tools and the start of the answer are no `chat_template_kwargs`: the renderer sets them",
        );
    }
    if let Some(effort) = request.get("reasoning_effort").filter(|effort| !effort.is_null()) {
        variables.insert("reasoning_effort".to_owned(), effort.clone());
    }
    Ok(variables)
}

/// Returns the settings by which answers to a request are generated, and the seed of their draws.
fn settings(request: &Value, longest: u32) -> Result<(GenSpec, u64), String> {
    if request.get("stream").and_then(Value::as_bool).unwrap_or(false) {
        return Err("`stream` is not served".into());
    }
    let number = |key: &str| request.get(key).filter(|value| !value.is_null());
    let whole = |key: &str| match number(key) {
        None => Ok(None),
        Some(value) => value.as_u64().map(Some).ok_or_else(|| format!("`{key}` takes a whole number")),
    };
    let real = |key: &str| match number(key) {
        None => Ok(None),
        Some(value) => value.as_f64().map(Some).ok_or_else(|| format!("`{key}` takes a number")),
    };
    let length = match whole("max_completion_tokens")? {
        Some(length) => Some(length),
        None => whole("max_tokens")?,
    };
    if let Some(length) = length.filter(|length| *length > u64::from(longest)) {
        return Err(format!(
            "an answer of {length} tokens is longer than this model's maximum context length of {longest} tokens"
        ));
    }
    let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let stop = match request.get("stop") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(texts)) => texts.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect(),
        Some(_) => return Err("`stop` takes strings".into()),
    };
    if stop.len() > MOST_STOPS || stop.iter().any(|text| text.len() > MOST_STOP_BYTES) {
        return Err(format!("`stop` takes up to {MOST_STOPS} strings of up to {MOST_STOP_BYTES} bytes"));
    }
    let temperature = real("temperature")?.unwrap_or(1.0);
    let answers = whole("n")?.unwrap_or(1);
    if !(1..=MOST_ANSWERS).contains(&answers) {
        return Err(format!("`n` is from 1 to {MOST_ANSWERS}"));
    }
    let draws = temperature > 0.0;
    let settings = GenSpec {
        max_out_len: Some(length.map_or(MAX_TOKENS, narrow).max(1)),
        min_out_len: whole("min_tokens")?.map(narrow),
        stop,
        decoding: Decoding {
            do_sample: Some(draws),
            temperature: draws.then_some(temperature),
            top_p: real("top_p")?.filter(|_| draws),
            top_k: whole("top_k")?.map(narrow).or(Some(0)).filter(|_| draws),
            repetition_penalty: real("repetition_penalty")?,
            num_return_sequences: Some(narrow(answers)).filter(|_| draws),
            seed: None,
            stop_ids: Vec::new(),
            card: false,
        },
    };
    Ok((settings, whole("seed")?.unwrap_or(0)))
}

/// Form of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form<'r> {
    pub(super) is_chat: bool,
    /// Stop strings of the request.
    pub(super) stops: &'r [String],
}

/// The answer to a request.
pub(super) fn answer(model: &str, fingerprint: &str, form: Form<'_>, (read, answers): (u32, Vec<Generation>)) -> Value {
    let Form { is_chat, stops } = form;
    let thought: u64 = answers.iter().filter_map(|answer| Some(u64::from(answer.thinking.as_ref()?.tokens))).sum();
    let generated = thought + answers.iter().map(|answer| u64::from(answer.tokens)).sum::<u64>();
    let choice = |(index, answer): (usize, Generation)| {
        let finish = if answer.finish == Finish::Length { "length" } else { "stop" };
        // Of several stop strings the engine does not say which one it was.
        let reason = match (answer.finish, stops) {
            (Finish::Stop, [only]) => Some(json!(only)),
            (Finish::Stop, _) => None,
            _ => Some(Value::Null),
        };
        let mut choice = match is_chat {
            true => {
                let mut message = json!({"role": ASSISTANT, "content": answer.text});
                if let Some(thought) = answer.thinking {
                    message["reasoning"] = thought.text.as_str().into();
                    message["reasoning_content"] = thought.text.into();
                }
                json!({"index": index, "message": message, "logprobs": null, "finish_reason": finish})
            }
            false => json!({"index": index, "text": answer.text, "logprobs": null, "finish_reason": finish}),
        };
        if let Some(reason) = reason {
            choice["stop_reason"] = reason;
        }
        choice
    };
    let choices = answers.into_iter().enumerate().map(choice).collect();
    let mut answer = whole(model, fingerprint, is_chat, choices, (u64::from(read), generated));
    if thought > 0 {
        answer["usage"]["completion_tokens_details"] = json!({"reasoning_tokens": thought});
    }
    answer
}

/// Makes the answer to a request for the scores of its prompt: nothing is generated.
pub(super) fn scores(model: &str, fingerprint: &str, prompt: &str, tokens: &[ScoredToken]) -> Value {
    let mut offset = 0;
    let offsets: Vec<usize> = tokens
        .iter()
        .map(|token| {
            let at = offset;
            offset += token.text.chars().count();
            at
        })
        .collect();
    let top = |token: &ScoredToken| match &token.top {
        Some((_, text, value)) => json!({ text.as_str(): value }),
        None => Value::Null,
    };
    let told = |token: &ScoredToken| match (token.log_prob, &token.top) {
        (Some(own), Some((best, text, value))) => {
            let mut ranks = Map::new();
            ranks.insert(best.to_string(), json!({"logprob": value, "rank": 1, "decoded_token": text}));
            if *best != token.id {
                ranks.insert(token.id.to_string(), json!({"logprob": own, "decoded_token": token.text}));
            }
            Value::Object(ranks)
        }
        _ => Value::Null,
    };
    let choice = json!({
        "index": 0, "text": prompt, "finish_reason": "length",
        "logprobs": {
            "tokens": tokens.iter().map(|token| token.text.as_str()).collect::<Vec<_>>(),
            "token_logprobs": tokens.iter().map(|token| token.log_prob).collect::<Vec<_>>(),
            "top_logprobs": tokens.iter().map(top).collect::<Vec<_>>(),
            "text_offset": offsets
        },
        "prompt_logprobs": tokens.iter().map(told).collect::<Vec<_>>()
    });
    whole(model, fingerprint, false, vec![choice], (tokens.len() as u64, 0))
}

fn whole(model: &str, fingerprint: &str, is_chat: bool, choices: Vec<Value>, (read, generated): (u64, u64)) -> Value {
    let object = if is_chat { "chat.completion" } else { "text_completion" };
    json!({
        "id": "compass", "object": object, "created": 0, "model": model, "system_fingerprint": fingerprint,
        "choices": choices,
        "usage": {"prompt_tokens": read, "completion_tokens": generated, "total_tokens": read + generated}
    })
}

/// An error as clients know it.
pub(super) fn error(message: &str, code: &str) -> Value {
    json!({"error": {"message": message, "type": code, "code": code}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_judged_before_anything_is_tokenised() {
        let refused = |request: &Value| text_question(request, 10).unwrap_err();
        let long = "a".repeat(10 * MOST_BYTES_OF_A_TOKEN + 1);
        for request in [json!({"prompt": long}), json!({"prompt": [long]}), json!({"prompt": "a", "max_tokens": 11})] {
            assert!(refused(&request).contains("maximum context length of 10 tokens"), "{}", refused(&request));
        }
        let half = json!({"role": "user", "content": "a".repeat(5 * MOST_BYTES_OF_A_TOKEN + 1)});
        let messages = json!({"messages": [half, half]});
        assert!(chat_question(&messages, 10).unwrap_err().contains("maximum context length of 10 tokens"));
        assert!(chat_question(&messages, 11).is_ok());
        for stop in [json!(vec!["a"; 33]), json!("a".repeat(1025))] {
            assert_eq!(
                refused(&json!({"prompt": "a", "stop": stop})),
                "`stop` takes up to 32 strings of up to 1024 bytes"
            );
        }
    }

    #[test]
    fn requests_of_other_seeds_ask_the_same_of_the_engine() {
        let wish = |seed: u64| text_question(&json!({"prompt": "a", "seed": seed}), 10).unwrap();
        assert_eq!((wish(1).infer, wish(1).seed, wish(2).seed), (wish(2).infer, 1, 2));
    }
}
