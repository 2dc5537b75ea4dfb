//! lm-eval's `loglikelihood`: context and continuation encoded together, the continuation's tokens scored.
//!
//! If the data set or the profile asks for OpenCompass's number, it is `get_loglikelihood` of the model's class instead:
//! - `HuggingFaceBaseModel`, `VLLM`: minus the mean loss after as many tokens of the whole text as the continuation alone has;
//! - `HuggingFaceCausalLM`, `Llama2`: the sum of log-probabilities after as many tokens as the text has without the
//!   continuation, wherever that occurs in it.

use super::answer::RunError;
use super::bordered::Bordered;
use super::fit::report;
use super::masked::{Masked, masked};
use super::prefix_tokens::EncodeMode;
use super::score::{Precision, TokenScore, sum};
use super::scoring::{Scored, ScoringInput};
use super::scoring_request::{ScoringRequest, ScoringRequestBuilder};
use crate::tokenizer::Side;
use compass_plan::engine::{BatchSpec, Request};
use compass_plan::prompt::{AnswerPrefix, Prompt, prompt_sha};
use compass_plan::{DropMiddle, OptionText};
use compass_types::result::{LoglikelihoodScore, Outcome};
use std::rc::Rc;

/// Tokens of one option: all of them, and how many at the end belong to the continuation.
#[derive(Debug, PartialEq)]
struct Encoded {
    ids: Vec<u32>,
    continuation: usize,
}

/// Peer whose number is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Formula {
    LmEval,
    Mean,
    Sum,
}

/// Returns the request for the scores of every option. One token more than the limit fits, because the last one is
/// predicted and never fed.
pub(super) fn build<'r>(
    builder: &mut ScoringRequestBuilder<'_>,
    spec: &BatchSpec,
    request: &Request<'_>,
    (context, options): (&Prompt, &[OptionText]),
) -> Result<ScoringRequest<'r>, RunError> {
    let formula = match (spec.infer.means(builder.profile), builder.sums_loglikelihood) {
        (false, _) => Formula::LmEval,
        (true, false) => Formula::Mean,
        (true, true) => Formula::Sum,
    };
    let limit = builder.texts.limit + usize::from(formula == Formula::LmEval);
    let begun = std::iter::once(context).chain(options.iter().filter_map(|option| option.context.as_ref()));
    let begun = begun.flat_map(Prompt::prefix).next().cloned();
    let in_chat = builder.chat.is_some();
    if in_chat && options.iter().any(|option| loses_delimiter(option, begun.as_ref())) {
        builder.notes.add(
            "`target_delimiter` has no effect: the chat template parts questions from answers, as in lm-eval"
                .to_owned(),
        );
    }
    let builder = &*builder;
    let text = |option: &'_ OptionText| -> String {
        if in_chat { option.said(begun.as_ref()).to_owned() } else { option.continuation.clone() }
    };
    let (kept, encoded) = builder.fit_shots(request.shots.len(), builder.texts.shot_limit(limit), |kept| {
        let context_of =
            |prompt: &Prompt| Context::new(builder, builder.context(request, prompt, kept, spec)?).map(Rc::new);
        let shared = context_of(context)?;
        let encoded = options.iter().map(|option| {
            let own = option.context.as_ref().map(context_of).transpose()?;
            let context = own.unwrap_or_else(|| shared.clone());
            let text = text(option);
            let encoded = match formula {
                Formula::LmEval => encode(builder, &context, option, &text),
                Formula::Mean => encode_whole(builder, &context, &text),
                Formula::Sum => encode_without(builder, &context, &text),
            };
            Ok((encoded?, context))
        });
        let encoded: Vec<(Encoded, Rc<Context>)> = encoded.collect::<Result<_, RunError>>()?;
        let longest = encoded.iter().map(|(option, _)| option.ids.len()).max().unwrap_or(0);
        Ok((encoded, longest))
    })?;
    let mut fit = report(kept, encoded.iter().map(|(option, _)| option.ids.len()).max().unwrap_or(0), limit);
    if in_chat {
        let asked = options.iter().zip(&encoded).filter(|(option, _)| !option.unconditional);
        let whole: Vec<String> = asked.map(|(option, (_, context))| context.with(&text(option)).text).collect();
        fit.prompt_sha = Some(prompt_sha(whole.iter().map(String::as_str)));
    }
    let mode = if formula == Formula::LmEval { EncodeMode::UnlessPrefixed } else { EncodeMode::Framed };
    let mut texts = Vec::with_capacity(encoded.len());
    let mut rows = Vec::with_capacity(encoded.len());
    for (option, (encoded, context)) in options.iter().zip(encoded) {
        let (mut input, row) = match formula {
            Formula::LmEval => plain_row(builder, option, encoded)?,
            Formula::Mean => masked_row(builder, option, encoded)?,
            Formula::Sum => sum_row(builder, option, encoded)?,
        };
        builder.cut(&mut input, &context.with(&text(option)), mode)?;
        texts.push(input);
        rows.push(row);
    }
    let precision = builder.precision;
    let finish = move |scores: &[Scored]| {
        let options = rows.iter().zip(scores).map(|(row, scores)| row.score(scores, precision));
        Ok(Outcome::Loglikelihood(options.collect::<Result<_, RunError>>()?))
    };
    Ok(ScoringRequest { fit, texts, finish: Box::new(finish) })
}

/// Returns true if an option in a chat loses a delimiter that the user wrote; a space is the default.
fn loses_delimiter(option: &OptionText, begun: Option<&AnswerPrefix>) -> bool {
    let delimiter = option.continuation.get(..option.delimiter as usize).unwrap_or_default();
    !["", " "].contains(&delimiter) && option.said(begun).len() < option.continuation.len()
}

/// Conversion of an option's scores into its result.
enum OptionScoring {
    /// The sum over this many tokens of the continuation.
    Plain(u32),
    /// OpenCompass's mean loss.
    Masked(Masked),
}

impl OptionScoring {
    fn score(&self, scores: &[TokenScore], precision: Precision) -> Result<LoglikelihoodScore, RunError> {
        match self {
            Self::Plain(tokens) => Ok(LoglikelihoodScore {
                sum: sum(scores, precision)?,
                tokens: *tokens,
                is_greedy: scores.iter().all(|token| token.is_argmax),
            }),
            Self::Masked(masked) => Ok(LoglikelihoodScore {
                sum: -(masked.nll_sum(scores)? / f64::from(masked.tokens)),
                tokens: masked.tokens,
                is_greedy: masked.counted(scores).iter().all(|token| token.is_argmax),
            }),
        }
    }
}

fn plain_row(
    builder: &ScoringRequestBuilder<'_>,
    option: &OptionText,
    encoded: Encoded,
) -> Result<(ScoringInput, OptionScoring), RunError> {
    let Encoded { mut ids, continuation } = encoded;
    let limit = builder.texts.limit;
    if continuation > limit {
        let label = &option.label;
        let what =
            format!("option {label}: the continuation has {continuation} tokens, more than the limit of {limit}");
        return Err(RunError::Sample(what));
    }
    // Always on the left, whatever `truncation_side` is: the continuation is scored.
    ids.drain(..ids.len().saturating_sub(limit + 1));
    let first = ids.len() - continuation;
    Ok((ScoringInput::scores(ids, first), OptionScoring::Plain(continuation as u32)))
}

fn masked_row(
    builder: &ScoringRequestBuilder<'_>,
    option: &OptionText,
    encoded: Encoded,
) -> Result<(ScoringInput, OptionScoring), RunError> {
    let Encoded { mut ids, continuation } = encoded;
    let limit = builder.texts.limit;
    builder.texts.truncate(&mut ids, limit, true);
    let mut masked = masked(builder, ids, continuation, &format!("option {}: the text", option.label))?;
    Ok((std::mem::take(&mut masked.input), OptionScoring::Masked(masked)))
}

fn sum_row(
    builder: &ScoringRequestBuilder<'_>,
    option: &OptionText,
    encoded: Encoded,
) -> Result<(ScoringInput, OptionScoring), RunError> {
    let Encoded { mut ids, continuation } = encoded;
    let texts = &builder.texts;
    let context = ids.len() - continuation;
    texts.truncate(&mut ids, texts.limit, true);
    // The end of the text stays unless tokens go at the right.
    let cuts_end = texts.drop_middle != Some(DropMiddle::Tokens) && texts.truncation_side == Side::Right;
    let first = if cuts_end { context } else { ids.len().saturating_sub(continuation) }.max(1);
    let scored = ids.len().saturating_sub(first);
    if scored == 0 {
        return Err(no_continuation(&option.label));
    }
    Ok((ScoringInput::scores(ids, first), OptionScoring::Plain(scored as u32)))
}

fn no_continuation(label: impl std::fmt::Display) -> RunError {
    RunError::Sample(format!("option {label}: no tokens of the text belong to the continuation"))
}

/// Context that several options may share; whitespace at its end belongs to the options.
struct Context {
    kept: String,
    moved: String,
    /// Structural borders of context and continuation together, in bytes.
    borders: Vec<usize>,
    /// Tokens of `kept` alone.
    ids: Vec<u32>,
}

impl Context {
    fn new(builder: &ScoringRequestBuilder<'_>, Bordered { text, borders }: Bordered) -> Result<Self, RunError> {
        let (kept, moved) = split_trailing_whitespace(&text);
        let alone = Bordered { text: kept.to_owned(), borders: borders.clone() };
        let ids = builder.encode(&alone, EncodeMode::UnlessPrefixed)?;
        Ok(Self { kept: alone.text, moved: moved.to_owned(), borders, ids })
    }

    /// Returns the context with a continuation.
    fn with(&self, continuation: &str) -> Bordered {
        Bordered { text: format!("{}{}{continuation}", self.kept, self.moved), borders: self.borders.clone() }
    }
}

/// lm-eval's `_encode_pair` with its treatment of empty contexts: the tokens of the context alone, then the tokens of
/// the whole text after as many, even if a token of the whole crosses the border.
fn encode(
    builder: &ScoringRequestBuilder<'_>,
    context: &Context,
    option: &OptionText,
    text: &str,
) -> Result<Encoded, RunError> {
    let texts = &builder.texts;
    let label = &option.label;
    let prefix = || texts.prefix(&format!("option {label}: there is no context"));
    let encoded = if context.kept.is_empty() && context.moved.is_empty() {
        let mut ids = texts.encode_plain(text)?;
        let prefix = prefix()?;
        if ids.first() != Some(&prefix) {
            ids.insert(0, prefix);
        }
        Encoded { continuation: ids.len() - 1, ids }
    } else {
        let whole = builder.encode(&context.with(text), EncodeMode::UnlessPrefixed)?;
        let rest = whole.get(context.ids.len()..).unwrap_or_default();
        let mut ids = context.ids.clone();
        if ids.is_empty() {
            // A context of whitespace only, and a tokenizer without BOS: lm-eval fails here.
            ids.push(prefix()?);
        }
        ids.extend(rest);
        Encoded { ids, continuation: rest.len() }
    };
    if encoded.continuation == 0 {
        return Err(no_continuation(label));
    }
    Ok(encoded)
}

/// Returns the tokens of the whole text, and the number of tokens of the continuation alone.
fn encode_whole(builder: &ScoringRequestBuilder<'_>, context: &Context, text: &str) -> Result<Encoded, RunError> {
    let ids = builder.encode(&context.with(text), EncodeMode::Framed)?;
    Ok(Encoded { ids, continuation: builder.texts.encode_plain(text)?.len() })
}

/// Returns the tokens of the whole text, and by how many they exceed the tokens of the text without the continuation, as
/// `HuggingFaceCausalLM` counts: `inputs.replace(conts, '')`.
fn encode_without(builder: &ScoringRequestBuilder<'_>, context: &Context, text: &str) -> Result<Encoded, RunError> {
    let whole = context.with(text);
    let ids = builder.encode(&whole, EncodeMode::Framed)?;
    let rest = if text.is_empty() { whole.text.clone() } else { whole.text.replace(text, "") };
    // Borders are places in the text as long as nothing before them is gone.
    let borders = if whole.text.starts_with(&rest) { whole.borders } else { Vec::new() };
    let before = builder.encode(&Bordered { text: rest, borders }, EncodeMode::Framed)?;
    Ok(Encoded { continuation: ids.len().saturating_sub(before.len()), ids })
}

/// Whitespace at the end of a context moves to the start of the continuation, where tokenizers learnt it.
fn split_trailing_whitespace(context: &str) -> (&str, &str) {
    context.split_at(context.trim_end_matches(is_python_space).len())
}

/// Returns whether Python's `str.rstrip` strips the character: Unicode whitespace and the four information separators.
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
        assert_eq!(split_trailing_whitespace("a\u{200b}"), ("a\u{200b}", ""), "a zero-width space is not whitespace");
        assert_eq!(split_trailing_whitespace("  "), ("", "  "));
    }
}
