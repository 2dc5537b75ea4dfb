//! The two languages that peers' metrics tell apart.

/// In which language a metric cuts texts into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// English: words are set apart by spaces.
    En,
    /// Chinese: words are jieba's.
    Zh,
}
