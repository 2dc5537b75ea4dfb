//! lm-eval's `loglikelihood`: context and continuation encoded together, the continuation's tokens scored.
//!
//! Under OpenCompass's profile it is `HuggingFaceBaseModel.get_loglikelihood` instead: minus the mean loss after as many
//! tokens of the whole text as the continuation alone has.

use super::answer::RunError;
use super::fit::{drop_shots, report};
use super::masked::masked;
use super::runner::Runner;
use super::score::sum;
use super::texts::{Texts, as_text};
use compass_common::engine::{PackSpec, Request};
use compass_common::plan::{NumericProfile, OptionText};
use compass_common::prompt::Prompt;
use compass_common::result::{LoglikelihoodScore, Outcome, PromptFit};

/// Tokens of one option: all of them, and how many at the end are the continuation's.
#[derive(Debug, PartialEq)]
struct Encoded {
    ids: Vec<u32>,
    continuation: usize,
}

/// Scores every option. One token more than the limit fits, because the last one is predicted and never fed.
pub(super) fn run(
    runner: &mut Runner<'_>,
    pack: &PackSpec,
    request: &Request<'_>,
    (context, options): (&Prompt, &[OptionText]),
) -> Result<(PromptFit, Outcome), RunError> {
    let whole = runner.profile == NumericProfile::Opencompass;
    let limit = if whole { runner.texts.limit } else { runner.texts.limit + 1 };
    let (kept, encoded) = drop_shots(request.shots.len(), limit, |kept| {
        let context_of = |prompt: &Prompt| Context::new(&runner.texts, &as_text(request.render(prompt, kept, pack)));
        let shared = context_of(context)?;
        let encoded = options.iter().map(|option| {
            let own = option.context.as_ref().map(context_of).transpose()?;
            let context = own.as_ref().unwrap_or(&shared);
            if whole { encode_whole(&runner.texts, context, option) } else { encode(&runner.texts, context, option) }
        });
        let encoded: Vec<Encoded> = encoded.collect::<Result<_, _>>()?;
        let longest = encoded.iter().map(|option| option.ids.len()).max().unwrap_or(0);
        Ok((encoded, longest))
    })?;
    let fit = report(kept, encoded.iter().map(|option| option.ids.len()).max().unwrap_or(0), limit);
    let mut scores = Vec::with_capacity(encoded.len());
    for (option, encoded) in options.iter().zip(encoded) {
        scores.push(if whole { masked_score(runner, option, encoded)? } else { score(runner, option, encoded)? });
    }
    Ok((fit, Outcome::Loglikelihood(scores)))
}

fn score(runner: &mut Runner<'_>, option: &OptionText, encoded: Encoded) -> Result<LoglikelihoodScore, RunError> {
    let Encoded { mut ids, continuation } = encoded;
    let limit = runner.texts.limit;
    if continuation > limit {
        let label = &option.label;
        let what =
            format!("option {label}: the continuation has {continuation} tokens, more than the limit of {limit}");
        return Err(RunError::Sample(what));
    }
    // Always on the left, whatever `truncation_side` says: the continuation is what is asked for.
    ids.drain(..ids.len().saturating_sub(limit + 1));
    let tokens = runner.score(&ids, ids.len() - continuation)?;
    Ok(LoglikelihoodScore {
        sum: sum(&tokens, runner.precision)?,
        tokens: continuation as u32,
        is_greedy: tokens.iter().all(|token| token.is_argmax),
    })
}

fn masked_score(
    runner: &mut Runner<'_>,
    option: &OptionText,
    encoded: Encoded,
) -> Result<LoglikelihoodScore, RunError> {
    let Encoded { mut ids, continuation } = encoded;
    let limit = runner.texts.limit;
    runner.texts.truncate(&mut ids, limit, true);
    let scored = masked(runner, &ids, continuation, &format!("option {}: the text", option.label))?;
    Ok(LoglikelihoodScore {
        sum: -(scored.nll_sum / f64::from(scored.tokens)),
        tokens: scored.tokens,
        is_greedy: scored.scores.iter().all(|token| token.is_argmax),
    })
}

/// A context that several options may share: without the whitespace at its end, which is theirs.
struct Context {
    kept: String,
    moved: String,
    /// Tokens of `kept`.
    tokens: usize,
}

impl Context {
    fn new(texts: &Texts<'_>, text: &str) -> Result<Self, RunError> {
        let (kept, moved) = split_trailing_whitespace(text);
        let tokens = texts.encode_unless_prefixed(kept)?.len();
        Ok(Self { kept: kept.to_owned(), moved: moved.to_owned(), tokens })
    }
}

/// lm-eval's `_encode_pair` with its treatment of empty contexts.
fn encode(texts: &Texts<'_>, context: &Context, option: &OptionText) -> Result<Encoded, RunError> {
    let label = &option.label;
    let prefix = || texts.prefix(&format!("option {label}: there is no context"));
    let encoded = if context.kept.is_empty() && context.moved.is_empty() {
        let mut ids = texts.encode_plain(&option.continuation)?;
        let prefix = prefix()?;
        if ids.first() != Some(&prefix) {
            ids.insert(0, prefix);
        }
        Encoded { continuation: ids.len() - 1, ids }
    } else {
        let Context { kept, moved, tokens } = context;
        let mut ids = texts.encode_unless_prefixed(&format!("{kept}{moved}{}", option.continuation))?;
        let continuation = ids.len().saturating_sub(*tokens);
        if *tokens == 0 {
            // A context of whitespace alone, and a tokenizer that adds no BOS: lm-eval gives up here.
            ids.insert(0, prefix()?);
        }
        Encoded { ids, continuation }
    };
    if encoded.continuation == 0 {
        return Err(RunError::Sample(format!("option {label}: no tokens of the text belong to the continuation")));
    }
    Ok(encoded)
}

/// The whole text, and the tokens of the continuation alone.
fn encode_whole(texts: &Texts<'_>, context: &Context, option: &OptionText) -> Result<Encoded, RunError> {
    let ids = texts.encode(&format!("{}{}{}", context.kept, context.moved, option.continuation))?;
    Ok(Encoded { ids, continuation: texts.encode_plain(&option.continuation)?.len() })
}

/// Whitespace at the end of a context belongs to the front of what follows, where tokenizers learnt it.
fn split_trailing_whitespace(context: &str) -> (&str, &str) {
    context.split_at(context.trim_end_matches(is_python_space).len())
}

/// What Python's `str.rstrip` strips: Unicode whitespace and the four information separators.
fn is_python_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whitespace_moves_as_python_strips() {
        assert_eq!(split_trailing_whitespace("a b"), ("a b", ""));
        assert_eq!(split_trailing_whitespace("a \n\u{a0}\u{3000}"), ("a", " \n\u{a0}\u{3000}"));
        assert_eq!(split_trailing_whitespace("a\u{1c}\u{1f}\u{85}"), ("a", "\u{1c}\u{1f}\u{85}"));
        assert_eq!(split_trailing_whitespace("a\u{200b}"), ("a\u{200b}", ""), "a zero-width space is no whitespace");
        assert_eq!(split_trailing_whitespace("  "), ("", "  "));
    }
}
