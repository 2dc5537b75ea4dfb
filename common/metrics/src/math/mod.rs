//! Mathematics: is this answer that number, or that formula? By normalising strings, as the peers do.

mod agieval;
mod boxed;
pub mod equal;
mod equivalence;
mod expression;
mod final_answer;
mod fraction;
mod math_verify;
mod minerva;
mod polynomial;
mod rational;
mod strip;
mod theorem_qa;

pub use agieval::{agieval_equivalent, parse_math_answer};
pub use boxed::{extract_boxed_answer, last_boxed, last_boxed_lm_eval, remove_boxed, remove_boxed_lm_eval};
pub use equivalence::{
    MathVersion, gsm8k_equal, hendrycks_answer, hendrycks_equivalent, hendrycks_math, math_equivalent, mgsm_equal,
};
pub use final_answer::normalize_final_answer;
pub use math_verify::math_verify;
pub use minerva::{INVALID_ANSWER, MinervaResult, minerva_answer, minerva_math, normalize_final_answer_minerva};
pub use theorem_qa::{TheoremAnswer, TheoremResult, theorem_qa};
