//! MMLU-Pro without letters in the prompt: OpenCompass's `MMLUProBaseEvaluator`.

use crate::text::strip;

/// Whether the first line of the prediction is the letter or the text of the reference, written `B. the text`. A reference
/// of another form, such as one with a second `. `, equals nothing.
pub fn mmlu_pro_equal(prediction: &str, reference: &str) -> bool {
    let line = strip(prediction.split('\n').next().unwrap_or_default());
    let mut parts = reference.split(". ");
    let (Some(letter), Some(text), None) = (parts.next(), parts.next(), parts.next()) else { return false };
    let is_letter = line.len() == 1 && line.bytes().all(|byte| (b'A'..=b'P').contains(&byte));
    (is_letter && line == letter) || strip(text) == line
}
