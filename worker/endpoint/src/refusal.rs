//! Meaning of an answer's status: an answer, a server that is busy, a sample that it cannot take, a job that it refuses.

use super::context::Lengths;
use super::pace::Refusal;
use super::stream::{is_stream, whole};
use compass_storage::ApiAnswer;
use serde_json::Value;

/// Characters of a server's message that are kept.
const MESSAGE_CHARACTERS: usize = 300;
/// Most that a server may ask to wait.
const MOST_RETRY_AFTER_MS: f64 = 600_000.0;

/// Classes of samples that have no score: what their reasons begin with.
pub(crate) const TOO_LONG: &str = "too long";
pub(crate) const FILTERED: &str = "filtered";
pub(crate) const EMPTY: &str = "empty answer";
pub(crate) const REJECTED: &str = "rejected";
pub(crate) const UNANSWERED: &str = "unanswered";

/// Meaning of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Meaning {
    /// JSON, with a status of success.
    Answer(Value),
    /// To be asked again later; it may say when, in milliseconds.
    Busy { what: Refusal, retry_after_ms: Option<u64> },
    /// The server failed, and may do better: how.
    Broken(String),
    /// Its context does not hold the prompt with the answer: their lengths; the reason begins with the class.
    Context(Lengths, String),
    /// It cannot take this sample; the reason begins with its class.
    Sample(String),
    /// It takes no request of the job: why, and what to do.
    Refused(String),
}

/// Judges an answer to a request at `url` for `model`.
pub(crate) fn judge(answer: &ApiAnswer, url: &str, model: &str) -> Meaning {
    let body = serde_json::from_slice::<Value>(&answer.body);
    let status = answer.status;
    if (200..300).contains(&status) && is_stream(&answer.body) {
        return whole(&answer.body).map_or_else(Meaning::Broken, Meaning::Answer);
    }
    if (200..300).contains(&status) {
        return match body {
            // Some servers say 200 and mean an error.
            Ok(value) if value.get("error").is_some_and(|error| !error.is_null()) && value.get("choices").is_none() => {
                Meaning::Broken(format!("an error with status {status}: {}", message(&value)))
            }
            Ok(value) => Meaning::Answer(value),
            Err(error) => Meaning::Broken(format!("the answer is not JSON: {error}")),
        };
    }
    let body = body.unwrap_or(Value::Null);
    let said = match message(&body) {
        text if text.is_empty() => format!("status {status}"),
        text => format!("status {status}: {text}"),
    };
    let code = ["code", "type"].iter().filter_map(|key| body.pointer(&format!("/error/{key}")).or(body.get(key)));
    let code: Vec<&str> = code.filter_map(Value::as_str).collect();
    let refused = |help: &str| Meaning::Refused(format!("{url} answers {said}; help: {help}"));
    match status {
        300..=399 => {
            let to = answer.location.as_deref().map(host).unwrap_or_default();
            Meaning::Refused(format!(
                "{url} redirects to `{to}`, where the request and its key are not sent; help: write the address itself as `url`"
            ))
        }
        // No waiting helps while nothing is paid.
        402 => refused("the account has no credit: add some, or use another key"),
        429 if code.contains(&"insufficient_quota") => {
            refused("the account's quota is used up: raise it, or use another key")
        }
        401 => refused("the key is missing or wrong: set it with `key_env` or `key_file` of the endpoint"),
        403 => refused("the key may not use this model: ask for access, or use another key"),
        404 => refused(&format!(
            "check `url` (the path before /chat/completions, most often ending in /v1), `model = \"{model}\"` and `api`"
        )),
        405 => refused("check `url` and `api`: nothing takes requests there"),
        429 => Meaning::Busy { what: Refusal::Rate, retry_after_ms: retry_after(answer) },
        503 | 529 => Meaning::Busy { what: Refusal::Load, retry_after_ms: retry_after(answer) },
        400 | 413 | 422 => match Lengths::read(&full_message(&body), &code, &body) {
            Some(lengths) => Meaning::Context(lengths, format!("{TOO_LONG}: {said}")),
            None => Meaning::Sample(format!("{}: {said}", class(&code, &body))),
        },
        500.. | 408 | 409 | 425 => Meaning::Broken(said),
        _ => Meaning::Sample(format!("{REJECTED}: {said}")),
    }
}

/// The class of a sample that the server does not take, where its context is not the reason.
fn class(code: &[&str], body: &Value) -> &'static str {
    let text = full_message(body).to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word) || code.contains(word));
    let too_long =
        ["string_above_max_length", "too long", "too many tokens", "exceeds the maximum", "maximum number of tokens"];
    let filtered = ["content_filter", "invalid_prompt", "content management policy", "safety system", "moderation"];
    match (says(&too_long), says(&filtered)) {
        (true, _) => TOO_LONG,
        (_, true) => FILTERED,
        _ => REJECTED,
    }
}

/// The message of an error, shortened.
fn message(body: &Value) -> String {
    let said = full_message(body);
    match said.char_indices().nth(MESSAGE_CHARACTERS) {
        Some((end, _)) => format!("{}...", &said[..end]),
        None => said,
    }
}

fn full_message(body: &Value) -> String {
    let places = ["/error/message", "/message", "/detail", "/error"];
    let said = places.iter().find_map(|place| match body.pointer(place)? {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other if *place == "/detail" => Some(other.to_string()),
        _ => None,
    });
    said.unwrap_or_default().replace(char::is_control, " ")
}

/// `Retry-After` in seconds; a date says nothing that can be trusted, since clocks differ.
fn retry_after(answer: &ApiAnswer) -> Option<u64> {
    let seconds: f64 = answer.retry_after.as_deref()?.trim().parse().ok()?;
    (seconds >= 0.0).then(|| (seconds * 1_000.0).min(MOST_RETRY_AFTER_MS) as u64)
}

/// Scheme and host of an address: the rest of it may hold secrets.
fn host(address: &str) -> String {
    address.splitn(4, '/').take(3).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(status: u16, body: &str) -> Meaning {
        let (retry_after, location) = (Some("2".into()), Some("https://other.example/v1?token=s3cret".into()));
        let answer = ApiAnswer { status, retry_after, location, body: body.to_owned().into() };
        judge(&answer, "http://h/v1/chat/completions", "m")
    }

    #[test]
    fn statuses_are_told_apart() {
        assert!(matches!(judged(200, "{\"choices\": []}"), Meaning::Answer(_)));
        assert!(matches!(judged(200, "{\"choices\""), Meaning::Broken(why) if why.contains("not JSON")));
        assert!(matches!(judged(200, "{\"error\": {\"message\": \"x\"}}"), Meaning::Broken(_)));
        assert_eq!(judged(429, ""), Meaning::Busy { what: Refusal::Rate, retry_after_ms: Some(2_000) });
        assert_eq!(judged(529, ""), Meaning::Busy { what: Refusal::Load, retry_after_ms: Some(2_000) });
        assert!(matches!(judged(500, ""), Meaning::Broken(why) if why == "status 500"));
        for (status, remedy) in
            [(401, "key_env"), (403, "another key"), (404, "`url`"), (402, "credit"), (405, "`api`")]
        {
            assert!(matches!(judged(status, ""), Meaning::Refused(why) if why.contains(remedy)), "{status}");
        }
        let quota = judged(429, "{\"error\": {\"code\": \"insufficient_quota\", \"message\": \"no\"}}");
        assert!(matches!(quota, Meaning::Refused(why) if why.contains("quota")));
    }

    #[test]
    fn a_redirect_is_refused_and_names_the_host_alone() {
        let Meaning::Refused(why) = judged(307, "") else { panic!("followed") };
        assert!(why.contains("`https://other.example`") && !why.contains("s3cret"), "{why}");
    }

    #[test]
    fn samples_that_are_not_taken_have_classes() {
        let openai = r#"{"error": {"message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded"}}"#;
        let llama = r#"{"error": {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error"}}"#;
        let azure = r#"{"error": {"message": "The response was filtered due to the prompt triggering Azure's content management policy.", "code": "content_filter"}}"#;
        let other = r#"{"detail": [{"loc": ["body", "top_k"], "msg": "extra fields not permitted"}]}"#;
        let string = r#"{"error": {"message": "string too long", "code": "string_above_max_length"}}"#;
        for (body, class) in [(string, TOO_LONG), (azure, FILTERED), (other, REJECTED)] {
            assert!(matches!(judged(400, body), Meaning::Sample(why) if why.starts_with(class)), "{body}");
        }
        for (body, context) in [(openai, Some(8_192)), (llama, None)] {
            let Meaning::Context(lengths, why) = judged(400, body) else { panic!("{body}") };
            assert!(lengths.context == context && why.starts_with(TOO_LONG), "{lengths:?} {why}");
        }
    }
}
