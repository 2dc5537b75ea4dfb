//! Contexts of servers, and their refusals of requests that are longer.

/// A context that does not hold every request; a word of a prompt is a token.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Tokens of prompt and answer together.
    pub tokens: u64,
    pub refusal: ContextRefusal,
    /// Set if `GET /models` tells it.
    pub is_listed: bool,
}

/// The text of a refusal of a request that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextRefusal {
    /// vLLM at first.
    VllmOld,
    /// vLLM, later.
    VllmTooLarge,
    /// vLLM where it stops counting the prompt's tokens where the request is too long.
    VllmAtLeast,
    /// SGLang, which in addition leaves one token of the context unused.
    Sglang,
    OpenAi,
    /// llama.cpp, which refuses a prompt, and never an answer.
    LlamaCpp,
    /// A server that names no number.
    NoNumbers,
}

impl ContextRefusal {
    /// Every text.
    pub const ALL: [Self; 7] = [
        Self::VllmOld,
        Self::VllmTooLarge,
        Self::VllmAtLeast,
        Self::Sglang,
        Self::OpenAi,
        Self::LlamaCpp,
        Self::NoNumbers,
    ];

    /// Refuses `prompt` tokens with an answer of `asked`, unless a context of `context` tokens holds them.
    pub(crate) fn message(self, context: u64, prompt: u64, asked: u64) -> Option<String> {
        let total = prompt + asked;
        let fits = match self {
            Self::Sglang => total < context,
            Self::LlamaCpp => prompt < context,
            _ => total <= context,
        };
        if fits {
            return None;
        }
        let own = "This model's maximum context length is";
        let message = match self {
            Self::VllmOld => format!(
                "{own} {context} tokens. However, you requested {total} tokens ({prompt} in the messages, {asked} in the completion). \
                 Please reduce the length of the messages or completion."
            ),
            Self::VllmTooLarge => format!(
                "'max_tokens' or 'max_completion_tokens' is too large: {asked}. {own} {context} tokens and your request has {prompt} \
                 input tokens ({asked} > {context} - {prompt})."
            ),
            Self::VllmAtLeast => format!(
                "{own} {context} tokens. However, you requested {asked} output tokens and your prompt contains at least {} input \
                 tokens, for a total of at least {} tokens. Please reduce the length of the input prompt.",
                (context + 1).saturating_sub(asked),
                context + 1
            ),
            Self::Sglang => format!(
                "Requested token count exceeds the model's maximum context length of {context} tokens. You requested a total of {total} \
                 tokens: {prompt} tokens from the input messages and {asked} tokens for the completion."
            ),
            Self::OpenAi => format!(
                "{own} {context} tokens, however you requested {total} tokens ({prompt} in your prompt; {asked} for the completion). \
                 Please reduce your prompt; or completion length."
            ),
            Self::LlamaCpp => {
                format!(
                    "request ({prompt} tokens) exceeds the available context size ({context} tokens), try increasing it"
                )
            }
            Self::NoNumbers => "the request exceeds the maximum context of the model".to_owned(),
        };
        Some(message)
    }
}
