//! The lengths in a server's refusal of a request that its context does not hold: of the context, and of the prompt.
//!
//! Most refusals count prompt and answer together: the prompt itself may fit. Every server says it in its own way; the
//! vectors of the tests list those that are read.

use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// Words of a refusal that names the context, in lower case; codes are among them.
const NAMES: [&str; 10] = [
    "context_length_exceeded",
    "exceed_context_size",
    "context length",
    "context window",
    "context size",
    "context limit",
    "maximum context",
    "maximum model length",
    "max_model_len",
    "`max_new_tokens` must be <=",
];

static SUM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(\d+) \+ \d+ > (\d+)").ok());
static CONTEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "context (?:length|window|size|limit)|model length|max_model_len|must be <=";
    Regex::new(&format!(r"(?:{names})[^\d.]{{0,30}}(\d+)|(\d+) (?:tokens )?maximum context")).ok()
});
static PROMPT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let behind =
        "(?:tokens )?(?:in (?:the|your) (?:messages|prompt|input)|from the input|input tokens|`inputs` tokens)";
    let before = r"(?:messages resulted in|prompt contains|(?:input|prompt|request)(?: length)? \((?:length )?)";
    Regex::new(&format!(r"(at least )?(\d+) {behind}|{before} ?(\d+)")).ok()
});

/// Lengths in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lengths {
    /// Most tokens of prompt and answer together.
    pub(crate) context: Option<u64>,
    /// Tokens of the prompt.
    pub(crate) prompt: Option<u64>,
    /// Set if the prompt may have more tokens than `prompt`: the server stopped counting.
    pub(crate) is_least: bool,
}

impl Lengths {
    /// Reads a refusal's `message` and `body`; `codes` are its codes. `None` if it does not name the context.
    pub(crate) fn read(message: &str, codes: &[&str], body: &Value) -> Option<Self> {
        let message = message.to_lowercase();
        let is_named = |name: &&str| message.contains(*name) || codes.iter().any(|code| code.contains(*name));
        NAMES.iter().any(is_named).then(|| Self::counted(&message, body))
    }

    fn counted(message: &str, body: &Value) -> Self {
        let captures = |pattern: &'static LazyLock<Option<Regex>>| pattern.as_ref()?.captures(message);
        let field = |key: &str| body.pointer(&format!("/error/{key}")).and_then(Value::as_u64);
        let mut lengths = Self { context: field("n_ctx"), prompt: field("n_prompt_tokens"), is_least: false };
        if let Some(sum) = captures(&SUM) {
            (lengths.prompt, lengths.context) = (number(&sum, 1), number(&sum, 2));
        }
        if let Some(found) = captures(&CONTEXT).filter(|_| lengths.context.is_none()) {
            lengths.context = number(&found, 1).or_else(|| number(&found, 2));
        }
        if let Some(found) = captures(&PROMPT).filter(|_| lengths.prompt.is_none()) {
            lengths.is_least = found.get(1).is_some();
            lengths.prompt = number(&found, 2).or_else(|| number(&found, 3));
        }
        lengths
    }

    /// Returns true if the prompt alone fills the context, as far as both are known.
    pub(crate) fn is_full(&self) -> bool {
        self.prompt.zip(self.context).is_some_and(|(prompt, context)| prompt >= context)
    }
}

fn number(captures: &regex::Captures<'_>, group: usize) -> Option<u64> {
    captures.get(group)?.as_str().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(message: &str) -> Option<(Option<u64>, Option<u64>, bool)> {
        let lengths = Lengths::read(message, &[], &Value::Null)?;
        Some((lengths.context, lengths.prompt, lengths.is_least))
    }

    #[test]
    fn refusals_name_the_context_and_the_prompt() {
        let exact = [
            // vLLM, by version.
            "'max_tokens' or 'max_completion_tokens' is too large: 64. This model's maximum context length is 64 tokens and your request \
             has 4 input tokens (64 > 64 - 4).",
            "This model's maximum context length is 64 tokens. However, you requested 68 tokens (4 in the messages, 64 in the completion). \
             Please reduce the length of the messages or completion.",
            "You passed 4 input tokens and requested 64 output tokens. However, the model's context length is only 64 tokens, resulting in \
             a maximum input length of 0 tokens. Please reduce the length of the input prompt.",
            // SGLang.
            "Requested token count exceeds the model's maximum context length of 64 tokens. You requested a total of 68 tokens: 4 tokens \
             from the input messages and 64 tokens for the completion. Please reduce the number of tokens in the input messages or the \
             completion to fit within the limit.",
            // OpenAI.
            "This model's maximum context length is 64 tokens, however you requested 68 tokens (4 in your prompt; 64 for the completion). \
             Please reduce your prompt; or completion length.",
            // TGI, and Anthropic behind a proxy.
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 64. Given: 4 `inputs` tokens and 64 `max_new_tokens`",
            "input length and `max_tokens` exceed context limit: 4 + 64 > 64, decrease input length or `max_tokens` and try again",
        ];
        for message in exact {
            assert_eq!(read(message), Some((Some(64), Some(4), false)), "{message}");
        }
        let least = "This model's maximum context length is 64 tokens. However, you requested 60 output tokens and your prompt contains at \
                     least 5 input tokens, for a total of at least 65 tokens. Please reduce the length of the input prompt.";
        assert_eq!(read(least), Some((Some(64), Some(5), true)));
    }

    #[test]
    fn prompts_that_fill_the_context_are_known() {
        for message in [
            "The input (70 tokens) is longer than the model's context length (64 tokens).",
            "The decoder prompt (length 70) is longer than the maximum model length of 64.",
            "Input length (70) exceeds model's maximum context length (64).",
            "This model's maximum context length is 64 tokens. However, your messages resulted in 70 tokens.",
            "This model's maximum context length is 64 tokens. However, your request has 70 input tokens.",
            "request (70 tokens) exceeds the available context size (64 tokens), try increasing it",
            "Prompt contains 70 tokens and 0 draft tokens, too large for model with 64 maximum context length",
        ] {
            assert_eq!(read(message), Some((Some(64), Some(70), false)), "{message}");
            assert!(Lengths::read(message, &[], &Value::Null).unwrap().is_full());
        }
        let llama = json!({"error": {"message": "", "n_prompt_tokens": 1407, "n_ctx": 256}});
        let read = Lengths::read("the request exceeds", &["exceed_context_size_error"], &llama);
        assert_eq!(read, Some(Lengths { context: Some(256), prompt: Some(1407), is_least: false }));
    }

    #[test]
    fn other_refusals_are_left_alone() {
        assert_eq!(
            read("This model's maximum context length is exceeded. You asked for 70."),
            Some((None, None, false))
        );
        assert_eq!(read("max_tokens is too large: 9000. This model supports at most 4096 completion tokens"), None);
        assert_eq!(read("string too long. Expected a string with maximum length 1048576"), None);
        assert_eq!(read(""), None);
        let beyond = read("maximum context length is 99999999999999999999999 tokens");
        assert_eq!(beyond, Some((None, None, false)));
    }
}
