//! Numeric equality: GSM8K and MGSM as OpenCompass compares them.

use compass_pyfmt::{float, int};

/// `Gsm8kEvaluator.is_equal`: the same text, or a float within 1e-6 of the gold integer.
pub fn gsm8k_equal(prediction: &str, gold: &str) -> bool {
    prediction == gold || matches!((float(prediction), int(gold)), (Some(p), Some(g)) if (p - g).abs() < 1e-6)
}

/// `MGSM_Evaluator`: the same text, once postprocessed.
pub fn mgsm_equal(prediction: &str, gold: &str) -> bool {
    prediction == gold
}
