//! OpenCompass's `InferencePPLOnlyInferencer`: the NLL of the tokens of a text that lie in its marked spans
//! (`HuggingFacewithChatTemplate.get_ppl_tokenwise` at batch size 1).
//!
//! Tokens are matched to characters as there: each is decoded alone and looked for in the text behind the one before it. Tokens
//! that are not found alone, for example the bytes of one character, are counted off by the number of tokens of a character.

use super::answer::RunError;
use super::bordered::Bordered;
use super::fit::report;
use super::prefix_tokens::EncodeMode;
use super::score::{Precision, TokenScore, sum};
use super::scoring::{Scored, ScoringInput};
use super::scoring_request::{ScoringRequest, ScoringRequestBuilder};
use super::texts::Texts;
use crate::tokenizer::Side;
use compass_plan::engine::{BatchSpec, Request};
use compass_plan::{NumericProfile, OptionPrompt};
use compass_types::result::{Outcome, PplScore};
use serde_json::Value;

/// Replacement in a decoded token for bytes that are no character.
const BROKEN: char = '\u{fffd}';

/// Returns the request for the sum of -log p over the marked tokens, with their number as the score's tokens; a text without
/// marked tokens has a sum of 0 of 0.
///
/// A text that is too long is cut at its right side, as there.
pub(super) fn build<'r>(
    builder: &mut ScoringRequestBuilder<'_>,
    spec: &BatchSpec,
    request: &Request<'_>,
    option: &OptionPrompt,
) -> Result<ScoringRequest<'r>, RunError> {
    let limit = builder.texts.limit;
    let text = Bordered::of(request, &option.prompt, request.shots.len(), spec);
    let mut ids = builder.encode(&text, EncodeMode::Framed)?;
    let fit = report(request.shots.len(), ids.len(), limit);
    Texts { truncation_side: Side::Right, drop_middle: None, ..builder.texts }.truncate_side(&mut ids, limit, true);
    if ids.is_empty() {
        return Err(RunError::Sample("the text has no tokens to score, so it has no score".into()));
    }
    let pieces: Vec<String> =
        ids.iter().skip(1).map(|id| builder.texts.tokenizer.decode_whole(&[*id])).collect::<Result<_, _>>()?;
    let is_marked = marked(&pieces, &text.text, &spans(&option.label), builder.broken_width);
    let tokens = is_marked.iter().filter(|marked| **marked).count() as u32;
    // `ignore_index`: a padding token has no loss at any position, and counts all the same.
    let pad = builder.pad.filter(|_| builder.profile == NumericProfile::Opencompass);
    let counts: Vec<bool> = ids.iter().skip(1).zip(is_marked).map(|(id, marked)| marked && Some(*id) != pad).collect();
    let texts = vec![ScoringInput::scores(ids, 1)];
    let finish = move |scores: &[Scored]| {
        let scores = scores.first().map(Vec::as_slice).unwrap_or_default();
        let counted: Vec<TokenScore> =
            scores.iter().zip(&counts).filter(|(_, counts)| **counts).map(|(score, _)| *score).collect();
        let nll_sum = -sum(&counted, Precision::Full)? + 0.0;
        Ok(Outcome::Ppl(vec![PplScore { nll_sum, tokens, normalizer: None }]))
    };
    Ok(ScoringRequest { fit, texts, finish: Box::new(finish) })
}

/// Number of tokens that OpenCompass counts for a character whose bytes are tokens of their own, by the model's path.
pub(super) fn broken_width(path: &str) -> usize {
    let of_two = ["qwen", "Qwen", "Llama-3"].iter().any(|name| path.contains(name));
    let of_three = ["Yi", "Llama-2"].iter().any(|name| path.contains(name));
    if of_two || !of_three && path.contains("deepseek") { 2 } else { 3 }
}

/// `[[start, end, ...], ...]` in characters, the end excluded.
fn spans(label: &Value) -> Vec<(usize, usize)> {
    let span = |span: &Value| {
        let at = |at: usize| span.get(at)?.as_u64().and_then(|at| usize::try_from(at).ok());
        Some((at(0)?, at(1)?))
    };
    label.as_array().into_iter().flatten().filter_map(span).collect()
}

/// Returns true for each token that is marked: some of the characters that it is matched to are.
fn marked(pieces: &[String], text: &str, spans: &[(usize, usize)], broken_width: usize) -> Vec<bool> {
    let text: Vec<char> = text.chars().collect();
    let mut is_marked = vec![false; pieces.len()];
    // Marks of the matches, in turn: tokens take the marks of the matches at their own positions, of which there are
    // fewer where a token matches nothing.
    let mut matches = Vec::new();
    let (mut at, mut from) = (0, 0);
    let holds = |from: usize, to: usize| spans.iter().any(|&(start, end)| start.max(from) < end.min(to));
    while at < pieces.len() && from < text.len() {
        let piece: Vec<char> = pieces[at].chars().collect();
        if piece.is_empty() {
            matches.push(false);
            at += 1;
        } else if piece.contains(&BROKEN) {
            matches.extend(std::iter::repeat_n(holds(from, from + 1), broken_width));
            at += broken_width;
            from += 1;
        } else {
            match text[from..].windows(piece.len()).position(|window| window == piece) {
                Some(skipped) => {
                    let start = from + skipped;
                    from = start + piece.len();
                    matches.push(holds(start, from));
                }
                None => from = text.len(),
            }
            at += 1;
        }
    }
    is_marked.iter_mut().zip(matches).for_each(|(token, of_match)| *token = of_match);
    is_marked
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(pieces: &[&str], text: &str, label: &Value, width: usize) -> Vec<usize> {
        let pieces: Vec<String> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
        let marked = marked(&pieces, text, &spans(label), width);
        marked.into_iter().enumerate().filter_map(|(at, marked)| marked.then_some(at)).collect()
    }

    /// Expected positions were printed by `get_ppl_tokenwise`'s own `align_sequences` and loops, from OpenCompass 0.5.4 under
    /// CPython 3.11.
    #[test]
    fn tokens_are_matched_as_in_opencompass() {
        let cases = include_str!("marked_vectors.json");
        let cases: Vec<Value> = serde_json::from_str(cases).unwrap();
        assert!(cases.len() > 20);
        for case in &cases {
            let texts: Vec<&str> =
                case["pieces"].as_array().unwrap().iter().map(|piece| piece.as_str().unwrap()).collect();
            let width = case["width"].as_u64().unwrap() as usize;
            let ours = found(&texts, case["text"].as_str().unwrap(), &case["label"], width);
            let theirs: Vec<usize> = serde_json::from_value(case["tagged"].clone()).unwrap();
            assert_eq!(ours, theirs, "{case}");
        }
    }

    #[test]
    fn spans_that_are_no_numbers_mark_nothing() {
        assert_eq!(spans(&json!([[0, 3, 1], ["a", 2], [4], 7])), [(0, 3)]);
    }

    #[test]
    fn the_path_says_how_wide_a_broken_character_is() {
        for (path, width) in
            [("Qwen/Qwen-7B", 2), ("Yi-deepseek", 3), ("meta/Llama-3-8B", 2), ("deepseek-llm", 2), ("x", 3)]
        {
            assert_eq!(broken_width(path), width, "{path}");
        }
    }
}
