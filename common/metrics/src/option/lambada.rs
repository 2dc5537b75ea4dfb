//! LAMBADA as OpenCompass scores it (`LambadaEvaluator`).

use crate::text::{is_punctuation, strip};
use compass_postprocess::general;

/// Whether the prediction's first word, up to any punctuation, is the reference, both postprocessed.
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
