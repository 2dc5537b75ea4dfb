//! A sample that one run answers right and the other wrong, as it is shown.

use serde::Serialize;

/// Characters of a text that are shown.
pub(crate) const SHOWN: usize = 400;

/// A flip with its texts. They are a data set's and two models': hostile until escaped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flip {
    pub dataset: String,
    pub model_a: String,
    pub model_b: String,
    /// Indices of the sample in both runs.
    pub index_a: u32,
    pub index_b: u32,
    /// Set if the second run is the right one.
    pub gained: bool,
    pub question: String,
    pub gold: String,
    pub answer_a: String,
    pub answer_b: String,
}

impl Flip {
    /// The beginning of a text, with a mark where it is cut.
    pub fn cut(text: &str) -> String {
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        }
    }
}
