//! Positions at which a text can be split and encoded half by half, with the same tokens as the whole.
//!
//! Tokenizers that first split a text into words, by patterns that only look ahead, start a new word at every space
//! between two letters. Whether a tokenizer is of that kind is seen from its parts, and then tested.

use super::backend::Backend;

/// Prose with difficult cases: capitals, digits, contractions, other scripts, combining marks.
const PROBE: &str = "The cat's hat isn't There Are 12 cats of ABC def Gh i J k lm e\u{301} n a\u{308}b caf\u{e9} au lait \
    x y zz the end of the day and so on; Question: which one Is it\nAnswer: the second one of them all  or not a b c";

/// Returns the last position in `text` at which words are sure to be split: at the space of a letter, a space and a
/// letter, all ASCII.
pub(super) fn last_border(text: &str) -> Option<usize> {
    text.as_bytes().windows(3).rposition(is_border).map(|before| before + 1)
}

fn is_border(three: &[u8]) -> bool {
    matches!(three, [a, b' ', c] if a.is_ascii_alphabetic() && c.is_ascii_alphabetic())
}

/// Returns whether a tokenizer encodes the two halves of a text at a last border as it encodes the whole.
pub(super) fn parts_at_words(backend: &Backend) -> bool {
    let Backend::Json(tokenizer) = backend else { return false };
    let joins = |token: &str| {
        last_border(token).is_some()
            || token.strip_suffix(' ').is_some_and(|rest| rest.ends_with(char::is_alphanumeric))
    };
    let added = tokenizer.get_added_tokens_decoder();
    // An added token may include the white space around it.
    let greedy = |lstrip: bool, rstrip: bool, token: &str| {
        (lstrip && token.starts_with(char::is_alphanumeric)) || (rstrip && token.ends_with(char::is_alphanumeric))
    };
    if tokenizer.get_pre_tokenizer().is_none()
        || added.values().any(|token| joins(&token.content) || greedy(token.lstrip, token.rstrip, &token.content))
    {
        return false;
    }
    let Ok(whole) = backend.encode(PROBE, false) else { return false };
    let borders = PROBE.as_bytes().windows(3).enumerate().filter(|(_, three)| is_border(three));
    borders.map(|(before, _)| PROBE.split_at(before + 1)).all(|(head, tail)| {
        let halves = backend.encode(head, false).and_then(|mut ids| {
            ids.extend(backend.encode(tail, false)?);
            Ok(ids)
        });
        halves.is_ok_and(|ids| ids == whole)
    })
}
