//! Answers that come as server-sent events although the request asked for no stream (`transformers serve` always streams).
//!
//! Events are read as the HTML standard has it (9.2.6), except that one which the end of the body cuts counts: its JSON shows
//! whether it is whole.

use serde_json::{Map, Value, json};
use std::iter;

/// Fields of a message, or of its parts, for the thinking before it: vLLM's, and SGLang's and DeepSeek's.
pub(crate) const REASONING: [&str; 2] = ["reasoning", "reasoning_content"];

/// Content of a stream's last event, in place of JSON.
const DONE: &str = "[DONE]";

/// Names of the fields of events; a comment has none.
const FIELDS: [&str; 5] = ["data", "event", "id", "retry", ""];

/// Returns true for a stream of events: JSON has no lines of their kind.
pub(crate) fn is_stream(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    lines(&text).any(|line| line.split_once(':').is_some_and(|(name, _)| FIELDS.contains(&name)))
}

/// The lines of a stream, which end with CR LF, LF or CR.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

/// The data of every event that has some.
fn events(text: &str) -> impl Iterator<Item = String> {
    let mut lines = lines(text).chain(iter::once(""));
    iter::from_fn(move || {
        let mut data: Vec<&str> = Vec::new();
        for line in lines.by_ref() {
            match line.split_once(':').unwrap_or((line, "")) {
                ("", "") if line.is_empty() && !data.is_empty() => return Some(data.join("\n")),
                ("data", value) => data.push(value.strip_prefix(' ').unwrap_or(value)),
                _ => {}
            }
        }
        None
    })
}

/// Assembles the events of a stream into the answer that the server would have sent whole.
///
/// # Errors
/// It is not UTF-8, an event is not JSON, or the stream ended before its choice did: another try may bring the rest.
pub(crate) fn whole(body: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(body).map_err(|_| "a stream that is not UTF-8")?;
    let mut answer = Map::new();
    let (mut written, mut is_chat) = (String::new(), false);
    let (mut choice, mut finish) = (None, None);
    let mut reasoning = REASONING.map(|key| (key, String::new()));
    for event in events(text).filter(|data| !["", DONE].contains(&data.trim())) {
        let event: Value =
            serde_json::from_str(&event).map_err(|error| format!("an event that is not JSON: {error}"))?;
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return Err(format!("the stream ended with an error: {}", event["error"]));
        }
        for key in ["model", "system_fingerprint", "usage"] {
            if let Some(value) = event.get(key).filter(|value| !value.is_null()) {
                answer.insert(key.to_owned(), value.clone());
            }
        }
        for part in event.get("choices").and_then(Value::as_array).into_iter().flatten() {
            let index = part.get("index").and_then(Value::as_u64).unwrap_or(0);
            if *choice.get_or_insert(index) != index {
                return Err("a stream of several choices in place of 1".into());
            }
            is_chat |= part.get("delta").is_some();
            let said = part.pointer("/delta/content").or_else(|| part.get("text")).and_then(Value::as_str);
            written.push_str(said.unwrap_or_default());
            for (key, thought) in &mut reasoning {
                thought.push_str(part.pointer(&format!("/delta/{key}")).and_then(Value::as_str).unwrap_or_default());
            }
            finish = part.get("finish_reason").and_then(Value::as_str).map(str::to_owned).or(finish);
        }
    }
    let finish = finish.ok_or("a stream that ended before its answer did")?;
    let choice = match is_chat {
        true => {
            let mut message = json!({"role": "assistant", "content": written});
            for (key, thought) in reasoning.into_iter().filter(|(_, thought)| !thought.is_empty()) {
                message[key] = thought.into();
            }
            json!({"message": message, "finish_reason": finish})
        }
        false => json!({"text": written, "finish_reason": finish}),
    };
    answer.insert("choices".to_owned(), json!([choice]));
    Ok(Value::Object(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGUN: &str = concat!(
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"},\"index\":0}],\"model\":\"m@main\",\"system_fingerprint\":\"\"}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"there \"},\"index\":0}],\"model\":\"m@main\"}\n\n",
        ": a comment\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"was\"},\"index\":0}],\"model\":\"m@main\"}\n\n",
    );
    const ENDED: &str = "data: {\"choices\":[{\"delta\":{},\"index\":0,\"finish_reason\":\"stop\"}]}\n\n";

    #[test]
    fn events_are_one_answer() {
        let stream =
            format!("{BEGUN}{ENDED}data: {{\"choices\":[],\"usage\":{{\"completion_tokens\":2}}}}\n\ndata: [DONE]\n\n");
        assert!(is_stream(stream.as_bytes()));
        let answer = whole(stream.as_bytes()).unwrap();
        assert_eq!(answer["choices"][0]["message"]["content"], "there was");
        assert_eq!(answer["choices"][0]["finish_reason"], "stop");
        assert_eq!((&answer["model"], &answer["usage"]["completion_tokens"]), (&json!("m@main"), &json!(2)));
        let text = "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":null}]}\n\ndata: {\"choices\":[{\"text\":\"b\",\"finish_reason\":\"length\"}]}\n";
        let answer = whole(text.as_bytes()).unwrap();
        assert_eq!(answer["choices"], json!([{"text": "ab", "finish_reason": "length"}]));
    }

    /// The examples of the standard, beside others.
    #[test]
    fn events_are_read_as_the_standard_has_it() {
        let read = |text: &str| events(text).collect::<Vec<_>>();
        assert_eq!(read("data: YHOO\ndata: +2\ndata: 10\n\n"), ["YHOO\n+2\n10"]);
        let fields = ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n";
        assert_eq!(read(fields), ["first event", "second event", " third event"]);
        assert_eq!(read("data\n\ndata\ndata\n\ndata:"), ["", "\n", ""]);
        assert_eq!(read("data:test\n\ndata: test\n\n"), ["test", "test"]);
        for end in ["\n", "\r\n", "\r"] {
            let stream = "\u{feff}retry: 9\nid: 1\nevent: message\ndata: a\nnone: b\ndatas: c\n: d\ndata: e\n\n\nid: 2\ndata:f\n";
            assert_eq!(read(&stream.replace('\n', end)), ["a\ne", "f"], "{end:?}");
        }
    }

    #[test]
    fn a_stream_is_known_by_its_lines() {
        for first in [
            "data: x",
            "data:x",
            "id: 1",
            "event: message",
            "retry: 1000",
            ": a comment",
            "\u{feff}id:1",
            "\r\n\ndata:x",
        ] {
            assert!(is_stream(format!("{first}\r\n").as_bytes()), "{first}");
        }
        for body in
            ["{\"data\": 1}", "{\n\"id\": 1,\n  \"data\": [\n]}", "", "<html>id: 1</html>", "upstream error: none"]
        {
            assert!(!is_stream(body.as_bytes()), "{body}");
        }
    }

    #[test]
    fn what_is_cut_or_damaged_is_no_answer() {
        assert!(whole(BEGUN.as_bytes()).unwrap_err().contains("ended before its answer did"));
        assert!(whole(format!("{BEGUN}data: {{\"choi\n").as_bytes()).unwrap_err().contains("not JSON"));
        assert!(whole(b"data: {\"error\":{\"message\":\"no memory\"}}\n").unwrap_err().contains("no memory"));
        let two = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"index\":0},{\"delta\":{\"content\":\"b\"},\"index\":1}]}\n";
        assert!(whole(two.as_bytes()).unwrap_err().contains("several choices"));
        assert!(!is_stream(b"{\"choices\": []}") && !is_stream(b""));
    }
}
