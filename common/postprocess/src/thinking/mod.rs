//! Thinking of a model and its answer, told apart in a text by the marks of the model's family.

mod families;
mod marks;
mod split;

pub use families::{FAMILIES, Family};
pub use marks::{AnswerMarks, Marks, Opened};
pub use split::{Split, begun_answer, split};
