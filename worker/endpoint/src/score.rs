//! Log-probabilities of texts, by `/completions` with `echo` and `logprobs`: the server's numbers for every token, checked.
//!
//! Servers differ in what they return, and some give only the token that they generated: a sum over nothing would make every
//! option equal. So an answer counts only where it has a log-probability for every token after the first.

use super::answer::{Usage, told as counted};
use super::asker::{Asker, Unanswered};
use super::refusal::REJECTED;
use compass_chat::{ChatError, ChatFormat};
use compass_plan::engine::{BatchSpec, Request};
use compass_plan::prompt::{Prompt, RenderedPrompt};
use compass_plan::{OptionPrompt, OptionText};
use compass_types::result::{LoglikelihoodScore, Outcome, PplScore};
use serde_json::{Value, json};

/// A log-probability may be above 0 by rounding.
const ABOVE_ZERO: f64 = 1e-3;
/// Distance from the largest log-probability within which a token counts as the likeliest.
const AS_LIKELY: f64 = 1e-6;
/// Marks with which servers write tokens that are not whole characters.
const NO_CHARACTERS: [&str; 2] = ["\u{fffd}", "bytes:"];

/// A token of a text that was scored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) text: String,
    /// Natural logarithm; `None` for the first.
    pub(crate) log_prob: Option<f64>,
    /// Set if no other token was likelier.
    is_top: bool,
}

/// Texts to score, by kind of request.
#[derive(Debug)]
pub(crate) enum Scoring {
    /// The NLL of each whole text.
    Ppl(Vec<String>),
    /// Pairs of context and continuation.
    Loglikelihood(Vec<(String, String)>),
}

impl Scoring {
    /// # Errors
    /// The chat template rejects the messages.
    pub(crate) fn ppl(
        request: &Request<'_>,
        batch: &BatchSpec,
        options: &[OptionPrompt],
        format: Option<&ChatFormat>,
    ) -> Result<Self, ChatError> {
        let texts = options.iter().map(|option| text(request, batch, &option.prompt, format));
        Ok(Self::Ppl(texts.collect::<Result<_, _>>()?))
    }

    /// # Errors
    /// As [`Scoring::ppl`].
    pub(crate) fn one(
        request: &Request<'_>,
        batch: &BatchSpec,
        prompt: &Prompt,
        format: Option<&ChatFormat>,
    ) -> Result<Self, ChatError> {
        Ok(Self::Ppl(vec![text(request, batch, prompt, format)?]))
    }

    /// # Errors
    /// As [`Scoring::ppl`].
    pub(crate) fn loglikelihood(
        request: &Request<'_>,
        batch: &BatchSpec,
        context: &Prompt,
        options: &[OptionText],
        format: Option<&ChatFormat>,
    ) -> Result<Self, ChatError> {
        let shared = text(request, batch, context, format)?;
        let pair = |option: &OptionText| {
            let context = match &option.context {
                Some(own) => text(request, batch, own, format)?,
                None => shared.clone(),
            };
            // White space at the end of a context is the continuation's, as lm-eval has it.
            let kept = context.trim_end_matches(is_python_space).len();
            Ok((context[..kept].to_owned(), format!("{}{}", &context[kept..], option.continuation)))
        };
        Ok(Self::Loglikelihood(options.iter().map(pair).collect::<Result<_, _>>()?))
    }

    /// Scores every text; with the tokens that were read for all of them.
    ///
    /// # Errors
    /// As [`score`].
    pub(crate) async fn run(&self, asker: &Asker) -> Result<(Outcome, u64), Unanswered> {
        let mut read = 0;
        let mut of = async |text: &str| {
            let tokens = score(asker, text).await?;
            read += tokens.len() as u64;
            Ok::<_, Unanswered>(tokens)
        };
        let outcome = match self {
            Self::Ppl(texts) => {
                let mut scores = Vec::with_capacity(texts.len());
                for text in texts {
                    let tokens = of(text).await?;
                    let nll_sum = -tokens.iter().skip(1).filter_map(|token| token.log_prob).sum::<f64>();
                    scores.push(PplScore { nll_sum, tokens: tokens.len() as u32, normalizer: None });
                }
                Outcome::Ppl(scores)
            }
            Self::Loglikelihood(pairs) => {
                let (mut scores, mut known): (_, Option<(&str, usize)>) = (Vec::with_capacity(pairs.len()), None);
                for (context, continuation) in pairs {
                    let first = match known.filter(|(text, _)| text == context) {
                        Some((_, tokens)) => tokens,
                        None if context.is_empty() => 0,
                        None => of(context).await?.len(),
                    };
                    known = Some((context, first));
                    let whole = format!("{context}{continuation}");
                    let tokens = of(&whole).await?;
                    scores.push(continued(&tokens, first, &whole).map_err(Unanswered::Sample)?);
                }
                Outcome::Loglikelihood(scores)
            }
        };
        Ok((outcome, read))
    }
}

/// lm-eval's sum over what follows the tokens of the context alone. Without a context it begins after the token that the
/// server put before the text.
fn continued(tokens: &[Token], first: usize, whole: &str) -> Result<LoglikelihoodScore, String> {
    let is_framed = tokens.first().is_some_and(|token| !whole.starts_with(token.text.as_str()));
    let first = match first {
        0 if !is_framed => {
            return Err(format!("{REJECTED}: there is no context, and the server puts no token before a text"));
        }
        first => first.max(1),
    };
    let scored = tokens.get(first..).filter(|scored| !scored.is_empty());
    let scored = scored.ok_or_else(|| format!("{REJECTED}: no tokens of the text belong to the continuation"))?;
    Ok(LoglikelihoodScore {
        sum: scored.iter().filter_map(|token| token.log_prob).sum(),
        tokens: scored.len() as u32,
        is_greedy: scored.iter().all(|token| token.is_top),
    })
}

/// Scores every token of a text.
///
/// # Errors
/// The server does not return what is needed, or has no answer.
pub(crate) async fn score(asker: &Asker, text: &str) -> Result<Vec<Token>, Unanswered> {
    let mut body = json!({
        "model": asker.endpoint.model, "prompt": text, "echo": true, "logprobs": 1, "max_tokens": 1, "temperature": 0
    });
    let characters = text.chars().count();
    let read = |answer: &Value| Ok((tokens(answer, text)?, Usage::of(answer, characters, 1)));
    asker.ask(&mut body, super::answer::estimated(characters) + 1, read).await
}

/// The tokens of `text` in an answer to its echo.
fn tokens(answer: &Value, text: &str) -> Result<Vec<Token>, String> {
    let choices = answer.get("choices").and_then(Value::as_array).ok_or("an answer without `choices`")?;
    let [choice] = choices.as_slice() else { return Err(format!("{} choices in place of 1", choices.len())) };
    let told = choice.get("logprobs").filter(|told| told.is_object()).ok_or("no `logprobs`")?;
    let list = |key: &str| told.get(key).and_then(Value::as_array).ok_or_else(|| format!("no `logprobs.{key}`"));
    let (texts, log_probs) = (list("tokens")?, list("token_logprobs")?);
    if texts.len() != log_probs.len() {
        return Err(format!("{} log-probabilities for {} tokens", log_probs.len(), texts.len()));
    }
    let generated = counted(answer, "completion_tokens").unwrap_or(1);
    let count = match counted(answer, "prompt_tokens") {
        Some(prompt) => prompt as usize,
        None => texts.len().saturating_sub(generated as usize),
    };
    if texts.len() < count || texts.len() > count + generated as usize {
        return Err(format!("log-probabilities of {} tokens, where the text has {count}", texts.len()));
    }
    let top = told.get("top_logprobs").and_then(Value::as_array);
    let mut tokens = Vec::with_capacity(count);
    for (at, (token, log_prob)) in texts.iter().zip(log_probs).take(count).enumerate() {
        let token = token.as_str().ok_or("a token that is not a string")?;
        let log_prob = log_prob.as_f64();
        match log_prob {
            None if at > 0 => return Err(format!("no log-probability of token {at}")),
            Some(value) if !value.is_finite() || value > ABOVE_ZERO => {
                return Err(format!("{value} as the log-probability of token {at}"));
            }
            _ => {}
        }
        let best = top.and_then(|top| top.get(at)).and_then(Value::as_object);
        let best = best.and_then(|best| best.values().filter_map(Value::as_f64).reduce(f64::max));
        let is_top = log_prob.zip(best).is_some_and(|(own, best)| own >= best - AS_LIKELY);
        tokens.push(Token { text: token.to_owned(), log_prob, is_top });
    }
    spells(&tokens, text)?;
    Ok(tokens)
}

/// Checks that the tokens spell the text, behind one that the server may have put before it.
fn spells(tokens: &[Token], text: &str) -> Result<(), String> {
    if tokens.iter().any(|token| NO_CHARACTERS.iter().any(|mark| token.text.contains(mark))) {
        return Ok(());
    }
    let joined = |from: usize| tokens.iter().skip(from).map(|token| token.text.as_str()).collect::<String>();
    let is_text = |joined: &str| joined == text || joined.strip_prefix(' ') == Some(text);
    match is_text(&joined(0)) || is_text(&joined(1)) {
        true => Ok(()),
        false => Err("tokens that do not spell the text".into()),
    }
}

/// Returns a prompt as one text, by the chat template where there is one. Thinking is off: what is scored is an answer.
fn text(
    request: &Request<'_>,
    batch: &BatchSpec,
    prompt: &Prompt,
    format: Option<&ChatFormat>,
) -> Result<String, ChatError> {
    match (request.render(prompt, request.shots.len(), batch), format) {
        (RenderedPrompt::Text(text), _) => Ok(text),
        // An empty prompt is not a message.
        (RenderedPrompt::Messages(_), Some(_)) if prompt.0.is_empty() => Ok(String::new()),
        (RenderedPrompt::Messages(messages), Some(format)) if prompt.is_rounds() => format.scored_text(&messages),
        (RenderedPrompt::Messages(messages), Some(format)) => Ok(format.bordered(&messages)?.0),
        (RenderedPrompt::Messages(messages), None) => Ok(messages.into_iter().map(|message| message.content).collect()),
    }
}

/// Returns whether Python's `str.rstrip` strips the character.
fn is_python_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

#[cfg(test)]
#[path = "score_tests.rs"]
mod tests;
