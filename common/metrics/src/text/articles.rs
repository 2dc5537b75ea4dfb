//! `re.sub(r'\b(a|an|the)\b', ...)`, which every normaliser of English answers starts from.

use compass_pyfmt::is_word;

/// `text` with each word a, an, the (lower case only) replaced; a word is an unbroken run of Python's `\w`.
pub(crate) fn replace_articles(text: &str, replacement: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let word_end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end);
        out.push_str(if matches!(word, "a" | "an" | "the") { replacement } else { word });
        let gap_end = after.find(is_word).unwrap_or(after.len());
        let (gap, next) = after.split_at(gap_end);
        out.push_str(gap);
        rest = next;
    }
    out
}
