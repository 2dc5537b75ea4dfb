//! How much of an answer is in the reference: SQuAD, TriviaQA, Natural Questions, DROP and LongBench.

mod contained;
mod counter;
mod drop_bags;
mod drop_fuzzy;
mod edit_distance;
mod exact_match;
mod longbench;
mod longbench_code;
mod longbench_number;
mod normalize;
mod open_qa;
mod sequence_matcher;
mod squad;
mod tydi_qa;

pub use contained::{needle_found, ruler_any, ruler_share};
pub use drop_bags::{DropScore, drop_bags};
pub use drop_fuzzy::drop_fuzzy;
pub use edit_distance::{edit_ratio_percent, levenshtein, nearest_candidate};
pub use exact_match::{ExactMatch, general_exact_match};
pub use longbench::{longbench_classification, longbench_f1};
pub use longbench_code::longbench_code_similarity;
pub use longbench_number::{longbench_count, longbench_retrieval};
pub use normalize::{normalize_answer, normalize_zh_answer};
pub use open_qa::{natural_questions, squad20, trivia_qa};
pub use sequence_matcher::sequence_ratio;
pub use squad::{squad_exact_match, squad_f1};
pub use tydi_qa::tydi_qa;
