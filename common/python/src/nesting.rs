//! Depth of the brackets and prefixes of a text inside each other, before it is parsed: a parser goes down a level for each.

use std::ops::Range;

/// Far above what people write, and below what the stack of an evaluation holds.
const DEEPEST: u32 = 10_000;

/// Returns the place where a text is nested too deeply, and CPython's message about it. Texts within quotes are not told apart from
/// others: none has that many brackets that are not closed.
pub(crate) fn too_deep(text: &str) -> Option<(Range<usize>, &'static str)> {
    const BRACKETS: &str = "too many nested parentheses";
    const PREFIXES: &str = "maximum recursion depth exceeded during compilation";
    let (mut brackets, mut run, mut chained) = (0_u32, 0_u32, 0_u32);
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let length = match byte {
            b'a'..=b'z' => {
                bytes.iter().skip(at).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
            }
            _ => 1,
        };
        match bytes.get(at..at + length).unwrap_or_default() {
            b"(" | b"[" | b"{" => brackets += 1,
            b")" | b"]" | b"}" => brackets = brackets.saturating_sub(1),
            b"-" | b"+" | b"~" | b"not" | b"await" | b"lambda" | b"yield" => run += 1,
            // Each of them takes the rest of the expression as its own.
            b"else" => chained += 1,
            b"*" if bytes.get(at + 1) == Some(&b'*') => chained += 1,
            b" " | b"\t" | b"\n" | b"\r" | b"\\" | b":" => {}
            _ => run = 0,
        }
        if brackets > DEEPEST {
            return Some((at..at + 1, BRACKETS));
        }
        if run > DEEPEST || chained > 2 * DEEPEST {
            return Some((at..at + length, PREFIXES));
        }
        at += length;
    }
    None
}
