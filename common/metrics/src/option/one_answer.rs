//! Answers that are one letter or one word: OpenCompass's `MMLUProBaseEvaluator` and `LambadaEvaluator`.

use crate::text::{is_punctuation, strip};
use compass_postprocess::general;

// MMLU-Pro without letters in the prompt: OpenCompass's `MMLUProBaseEvaluator`.

/// Returns whether the first line of the prediction is the letter or the text of the reference, written `B. the text`. A reference
/// of another form, for example one with a second `. `, equals nothing.
pub fn mmlu_pro_equal(prediction: &str, reference: &str) -> bool {
    let line = strip(prediction.split('\n').next().unwrap_or_default());
    let mut parts = reference.split(". ");
    let (Some(letter), Some(text), None) = (parts.next(), parts.next(), parts.next()) else { return false };
    let is_letter = line.len() == 1 && line.bytes().all(|byte| (b'A'..=b'P').contains(&byte));
    (is_letter && line == letter) || strip(text) == line
}

// LAMBADA as OpenCompass scores it (`LambadaEvaluator`).

/// Returns whether the prediction's first word, up to any punctuation, is the reference, both postprocessed.
pub fn lambada_equal(prediction: &str, reference: &str) -> bool {
    let word = strip(prediction).split(' ').next().unwrap_or_default();
    let word = word.split(is_lambada_punctuation).next().unwrap_or_default();
    general(word) == general(reference)
}

/// `f'[{string.punctuation}]'` as a class: in it `+,-./` holds the range from comma to full stop, and `[\]` an escaped
/// bracket, so that the backslash alone is not a separator.
fn is_lambada_punctuation(c: char) -> bool {
    is_punctuation(c) && c != '\\'
}
