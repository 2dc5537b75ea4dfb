//! `rouge_score`'s default tokenizer.

use super::porter::porter_stem;

/// Reduction of words to their stems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stemming {
    /// As they are.
    #[default]
    Off,
    /// Words of more than three letters by Porter's algorithm.
    Porter,
}

/// The runs of ASCII letters and digits of the text in lower case.
pub fn tokenize(text: &str, stemming: Stemming) -> Vec<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words
        .map(|word| match stemming {
            Stemming::Porter if word.len() > 3 => porter_stem(word),
            _ => word.to_string(),
        })
        .collect()
}
