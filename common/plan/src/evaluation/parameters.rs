//! Parameters of metrics, in the words that a plan keeps. The metrics' own types may change; these and their names do not.

use serde::{Deserialize, Serialize};

/// In which language a metric cuts texts into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// English: words are set apart by spaces.
    En,
    /// Chinese: words are jieba's.
    Zh,
}

/// Reduction of words to their stems by ROUGE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stemming {
    /// As they are.
    #[default]
    Off,
    /// Words of more than three letters by Porter's algorithm.
    Porter,
}

/// BLEU's way to cut a segment into tokens: sacrebleu's tokenizers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BleuTokenizer {
    /// `mteval-v13a`, for Western languages.
    #[default]
    #[serde(rename = "13a")]
    V13a,
    /// `mteval-v14 --international-tokenization`: at all Unicode punctuation and symbols.
    Intl,
    /// Chinese characters one by one, everything else as `13a`.
    Zh,
    /// Every character.
    Char,
    /// White space only.
    None,
}

/// The kinds of question of GAOKAO-Bench that have a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GaokaoQuestion {
    /// One of A to D: the last letter written.
    SingleChoice,
    /// Several of A to D: two points for all, one for some and none wrong.
    MultiChoice,
    /// Several questions, each with one letter.
    MultiQuestionChoice,
    /// Five gaps, seven letters.
    FiveOutOfSeven,
}
