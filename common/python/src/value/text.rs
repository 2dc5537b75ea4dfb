//! Texts by characters, as Python counts them.

/// The characters of `text` that a slice with these bounds and this step takes.
pub(crate) fn slice_chars(text: &str, indices: impl Iterator<Item = usize>) -> String {
    if text.is_ascii() {
        let bytes = text.as_bytes();
        return indices.filter_map(|at| bytes.get(at).map(|byte| char::from(*byte))).collect();
    }
    let chars: Vec<char> = text.chars().collect();
    indices.filter_map(|at| chars.get(at)).collect()
}

/// The number of characters before byte `at`.
pub(crate) fn find_char(text: &str, at: usize) -> usize {
    text.get(..at).map_or(0, |before| before.chars().count())
}
