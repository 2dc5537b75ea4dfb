//! lm-eval's `hendrycks_math`.

use super::boxed::{last_boxed_lm_eval, remove_boxed_lm_eval};
use super::fraction::Peer;
use super::strip::strip_v1;

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
    let answer = match (completion.find('$'), completion.rfind('$')) {
        (Some(first), Some(last)) if first < last => &completion[first + 1..last],
        _ => completion,
    };
    last_boxed_lm_eval(solution).and_then(remove_boxed_lm_eval).is_some_and(|gold| hendrycks_equivalent(answer, gold))
}
