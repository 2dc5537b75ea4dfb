//! Share of an answer that is in the reference: SQuAD, TriviaQA, Natural Questions, DROP and LongBench.

mod drop;
mod edit_distance;
mod exact_match;
mod longbench;
mod question_answering;
mod sequence_matcher;

pub use drop::{DropScore, drop_bags, drop_fuzzy};
pub use edit_distance::{edit_ratio_percent, levenshtein, nearest_candidate};
pub use exact_match::{ExactMatch, general_exact_match, normalize_answer, normalize_zh_answer};
pub use longbench::{
    longbench_classification, longbench_code_similarity, longbench_count, longbench_f1, longbench_retrieval,
};
pub use question_answering::{
    natural_questions, needle_found, ruler_any, ruler_share, squad_exact_match, squad_f1, squad20, trivia_qa, tydi_qa,
};
pub use sequence_matcher::sequence_ratio;
