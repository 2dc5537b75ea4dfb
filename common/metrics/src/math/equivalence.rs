//! OpenCompass's `MATHEvaluator`: whether two answers are the same by their strings.

use super::boxed::{last_boxed_lm_eval, remove_boxed_lm_eval};
use super::final_answer::normalize_final_answer;
use super::fraction::Peer;
use super::strip::{strip_v1, strip_v2};
use compass_pyfmt::{float, int};

/// The normaliser that OpenCompass's `MATHEvaluator` uses first.
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

// lm-eval's `hendrycks_math`.

/// lm-eval's `is_equiv`: equal once stripped; where stripping either fails, equal as they are.
pub fn hendrycks_equivalent(left: &str, right: &str) -> bool {
    let peer = Peer { bare_frac_raises: true, slash_words_raise: true };
    match (strip_v1(left, peer), strip_v1(right, peer)) {
        (Ok(left), Ok(right)) => left == right,
        _ => left == right,
    }
}

/// lm-eval's `exact_match` of a completion with a worked solution: what stands between the completion's first and last
/// dollar, else all of it, against the solution's last box. A solution without a box, where lm-eval fails, is unequal.
pub fn hendrycks_math(completion: &str, solution: &str) -> bool {
    let answer = hendrycks_answer(completion);
    last_boxed_lm_eval(solution).and_then(remove_boxed_lm_eval).is_some_and(|gold| hendrycks_equivalent(answer, gold))
}

/// The answer in a completion: what stands between its first and last dollar, else all of it.
pub fn hendrycks_answer(completion: &str) -> &str {
    match (completion.find('$'), completion.rfind('$')) {
        (Some(first), Some(last)) if first < last => &completion[first + 1..last],
        _ => completion,
    }
}

// Numeric equality: GSM8K and MGSM as OpenCompass compares them.

/// `Gsm8kEvaluator.is_equal`: the same text, or a float within 1e-6 of the gold integer.
pub fn gsm8k_equal(prediction: &str, gold: &str) -> bool {
    prediction == gold || matches!((float(prediction), int(gold)), (Some(p), Some(g)) if (p - g).abs() < 1e-6)
}

/// `MGSM_Evaluator`: the same text, once postprocessed.
pub fn mgsm_equal(prediction: &str, gold: &str) -> bool {
    prediction == gold
}
