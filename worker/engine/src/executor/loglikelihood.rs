//! lm-eval's `loglikelihood`: context and continuation encoded together, the continuation's tokens scored.

use super::answer::{RunError, text};
use super::fit::{drop_shots, report, truncate_left};
use super::plain::Texts;
use super::score::{score_from, sum};
use crate::models::CausalLm;
use compass_common::engine::{PackSpec, Request, TokenCounters};
use compass_common::plan::OptionText;
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
    model: &mut dyn CausalLm,
    texts: &Texts<'_>,
    pack: &PackSpec,
    request: &Request<'_>,
    (context, options): (&Prompt, &[OptionText]),
    counters: &mut TokenCounters,
) -> Result<(PromptFit, Outcome), RunError> {
    let limit = texts.limit + 1;
    let (kept, encoded) = drop_shots(request.shots.len(), limit, |kept| {
        let context = text(request.render(context, kept, pack))?;
        let encoded = options.iter().map(|option| encode(texts, &context, option));
        let encoded: Vec<Encoded> = encoded.collect::<Result<_, _>>()?;
        let longest = encoded.iter().map(|option| option.ids.len()).max().unwrap_or(0);
        Ok((encoded, longest))
    })?;
    let fit = report(kept, encoded.iter().map(|option| option.ids.len()).max().unwrap_or(0), limit);
    let mut scores = Vec::with_capacity(encoded.len());
    for (option, Encoded { mut ids, continuation }) in options.iter().zip(encoded) {
        let label = &option.label;
        if continuation > texts.limit {
            let limit = texts.limit;
            let what =
                format!("option {label}: the continuation has {continuation} tokens, more than the limit of {limit}");
            return Err(RunError::Sample(what));
        }
        truncate_left(&mut ids, limit);
        let tokens = score_from(model, &ids, ids.len() - continuation, counters)?;
        scores.push(LoglikelihoodScore {
            sum: sum(&tokens),
            tokens: continuation as u32,
            is_greedy: tokens.iter().all(|token| token.is_argmax),
        });
    }
    Ok((fit, Outcome::Loglikelihood(scores)))
}

/// lm-eval's `_encode_pair` with its treatment of empty contexts.
fn encode(texts: &Texts<'_>, context: &str, option: &OptionText) -> Result<Encoded, RunError> {
    let label = &option.label;
    let prefix = || {
        let none =
            || format!("option {label}: there is no context, and the model names neither BOS nor EOS to begin with");
        texts.tokenizer.prefix().map(|(id, _)| id).ok_or_else(none)
    };
    let encoded = if context.is_empty() {
        let mut ids = texts.encode_plain(&option.continuation)?;
        let prefix = prefix()?;
        if ids.first() != Some(&prefix) {
            ids.insert(0, prefix);
        }
        Encoded { continuation: ids.len() - 1, ids }
    } else {
        let (context, continuation) = move_trailing_whitespace(context, &option.continuation);
        let mut ids = texts.encode_unless_prefixed(&format!("{context}{continuation}"))?;
        let context_tokens = texts.encode_unless_prefixed(context)?.len();
        let continuation = ids.len().saturating_sub(context_tokens);
        if context_tokens == 0 {
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

/// Whitespace at the end of the context moves to the front of the continuation, where tokenizers learnt it.
fn move_trailing_whitespace<'a>(context: &'a str, continuation: &str) -> (&'a str, String) {
    let kept = context.trim_end_matches(is_python_space);
    (kept, format!("{}{continuation}", &context[kept.len()..]))
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
        let moved = |context| move_trailing_whitespace(context, "x");
        assert_eq!(moved("a b"), ("a b", "x".into()));
        assert_eq!(moved("a \n\u{a0}\u{3000}"), ("a", " \n\u{a0}\u{3000}x".into()));
        assert_eq!(moved("a\u{1c}\u{1f}\u{85}"), ("a", "\u{1c}\u{1f}\u{85}x".into()));
        assert_eq!(moved("a\u{200b}"), ("a\u{200b}", "x".into()), "a zero-width space is no whitespace");
        assert_eq!(moved("  "), ("", "  x".into()));
    }
}
