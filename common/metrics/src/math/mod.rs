//! Mathematics: is this answer that number, or that formula? By normalising strings, as the peers do.

mod agieval;
mod boxed;
mod equivalence;
mod expression;
mod final_answer;
mod fraction;
mod hendrycks;
mod minerva;
mod number;
mod polynomial;
mod rational;
mod strip;
mod theorem_qa;

pub use agieval::{agieval_equivalent, parse_math_answer};
pub use boxed::{extract_boxed_answer, last_boxed, last_boxed_lm_eval, remove_boxed, remove_boxed_lm_eval};
pub use equivalence::{MathVersion, math_equivalent};
pub use final_answer::normalize_final_answer;
pub use hendrycks::{hendrycks_equivalent, hendrycks_math};
pub use minerva::{MinervaResult, minerva_answer, minerva_math, normalize_final_answer_minerva};
pub use number::{gsm8k_equal, mgsm_equal};
pub use theorem_qa::{TheoremAnswer, TheoremResult, theorem_qa};
