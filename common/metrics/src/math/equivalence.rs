//! OpenCompass's `MATHEvaluator`: whether two answers are the same by their strings.

use super::final_answer::normalize_final_answer;
use super::fraction::Peer;
use super::strip::{strip_v1, strip_v2};

/// Which normaliser OpenCompass's `MATHEvaluator` uses first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MathVersion {
    /// Hendrycks's own.
    #[default]
    V1,
    /// OpenCompass's, which most of its configurations name.
    V2,
}

const PEER: Peer = Peer { bare_frac_raises: false, slash_words_raise: true };

/// `MATHEvaluator.is_equiv`: equal once stripped, or stripped and normalised, or normalised, or as they are.
///
/// `false` says "not shown equal": no algebra is done. A missing gold answer equals nothing; the caller says so.
pub fn math_equivalent(prediction: &str, gold: &str, version: MathVersion) -> bool {
    let stripped = |text: &str| match version {
        MathVersion::V1 => strip_v1(text, PEER),
        MathVersion::V2 => strip_v2(text, PEER),
    };
    let same_stripped = match (stripped(prediction), stripped(gold)) {
        (Ok(left), Ok(right)) => left == right || normalize_final_answer(&left) == normalize_final_answer(&right),
        _ => false,
    };
    same_stripped || normalize_final_answer(prediction) == normalize_final_answer(gold)
}
