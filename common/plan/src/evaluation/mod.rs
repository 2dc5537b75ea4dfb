//! The evaluation of a data set's answers, as data: the evaluator with its parameters, and the filters that come before it.
//!
//! Not here: judging itself, and every metric.

mod filter_pipeline;
mod gold;
mod orders;
mod parameters;
mod reading;
mod spec;
mod text_check;
mod text_score;

pub use filter_pipeline::FilterPipeline;
pub use gold::{CIRCULAR_ANSWER, CIRCULAR_FIRST, CIRCULAR_PATTERN, CIRCULAR_QUESTION, TASK_KEY};
pub use orders::Orders;
pub use parameters::{BleuTokenizer, GaokaoQuestion, Language, Stemming};
pub use reading::Reading;
pub use spec::{ChoiceMetric, EvaluatorSpec, ExactMatchSpec, F1Average, MbppAnswer};
pub use text_check::TextCheck;
pub use text_score::TextScore;
