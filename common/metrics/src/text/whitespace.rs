//! `str.split()`, `str.strip()` and `string.punctuation`.

use compass_pyfmt::is_space;

/// `text.split()`: the runs without white space.
pub(crate) fn split(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// `text.strip()`.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `' '.join(text.split())`.
pub(crate) fn collapse(text: &str) -> String {
    split(text).collect::<Vec<_>>().join(" ")
}

/// Whether `c` is in Python's `string.punctuation`, which is ASCII only.
pub(crate) fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
}
