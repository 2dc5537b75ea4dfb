//! Texts with folded widths, and bounded pieces of them: a look behind a marker costs the same wherever it stands.

use regex::Regex;

/// Bytes that are looked at behind a marker, and before a candidate.
pub(super) const WINDOW: usize = 512;

/// Folds full-width characters (U+FF01 to U+FF5E) to ASCII and the ideographic space (U+3000) to a space. Other characters stay: `²` is not 2.
pub(super) fn fold(text: &str) -> String {
    let folded = |c: char| match c {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        '\u{3000}' => ' ',
        c => c,
    };
    text.chars().map(folded).collect()
}

/// Boxes, markers and tags of a text that are read, its last ones. A text that repeats itself has more; none of them is read twice.
pub(super) const MOST: usize = 1000;

/// Returns the last [`MOST`] of a list.
pub(super) fn last_ones<T>(mut list: Vec<T>) -> Vec<T> {
    list.split_off(list.len().saturating_sub(MOST))
}

/// Compiles a constant pattern.
#[expect(clippy::expect_used, reason = "constant patterns that every test compiles")]
pub(super) fn constant(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}

/// Returns the first `bytes` of a text, or less where a character would be split.
pub(super) fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or_default()]
}

/// Returns the last `bytes` of a text, or less where a character would be split.
pub(super) fn ending(text: &str, bytes: usize) -> &str {
    let start = (text.len().saturating_sub(bytes)..=text.len()).find(|&at| text.is_char_boundary(at));
    &text[start.unwrap_or_default()..]
}

/// Returns a text up to the end of its first sentence: a line's end, `!`, `?`, `;`, 。 or a full stop before white space.
pub(super) fn sentence(text: &str) -> &str {
    let ends = |(at, c): &(usize, char)| match c {
        '\n' | '!' | '?' | ';' | '。' => true,
        '.' => {
            let ends = |next: char| next.is_whitespace() || "*\"”)".contains(next);
            text[at + 1..].chars().next().is_none_or(ends)
                && !["i.e", "e.g"].iter().any(|word| text[..*at].ends_with(word))
        }
        _ => false,
    };
    text.char_indices().find(ends).map_or(text, |(at, _)| &text[..at])
}

/// Splits a text at the ends of its sentences, without what is blank.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let first = sentence(rest);
        found.push(first);
        rest = &rest[first.len()..];
        rest = rest.chars().next().map_or("", |end| &rest[end.len_utf8()..]);
    }
    found.retain(|sentence| !sentence.trim().is_empty());
    found
}

/// Characters that close what stands around an answer.
const CLOSERS: &[char] = &[')', ']', '}', '*', '_', '`', '"', '\'', '”', '’', '」', '』', '】', '》', '$', '\\'];

/// Skips brackets, quotes and marks of emphasis that close, and spaces between them.
pub(super) fn after_closers(rest: &str) -> &str {
    rest.trim_start_matches(|c: char| c == ' ' || CLOSERS.contains(&c))
}

/// Returns `true` if a clause ends here, or a bracket does.
pub(super) fn ends_clause(rest: &str) -> bool {
    let next = after_closers(rest).chars().next();
    next.is_none_or(|c| ".,;:!?。、\n—–<(|".contains(c)) || rest.starts_with([')', ']', '】'])
}

/// Returns `true` for letters of words that are set apart by spaces: not for Chinese, Japanese and Korean.
pub(super) fn is_latin(c: char) -> bool {
    c.is_alphabetic() && c < '\u{2E80}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_folded_and_nothing_else() {
        assert_eq!(fold("Ａ：Ｂ　（１２）ｘ²，。、Ⅷ"), "A:B (12)x²,。、Ⅷ");
    }

    #[test]
    fn pieces_end_at_characters() {
        assert_eq!((beginning("答案", 4), ending("答案", 4)), ("答", "案"));
        assert_eq!((beginning("ab", 9), ending("ab", 9)), ("ab", "ab"));
        assert_eq!(sentences("It is 3.5. No!\n是。x"), ["It is 3.5", " No", "是", "x"]);
    }
}
