//! Brackets and quotes that are not closed, or closed by another: CPython's tokenizer's message about a file that is not Python.

use std::ops::Range;

/// A fault of the text, and its place.
pub(crate) struct Fault {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
    /// Set if it is a bracket that is open at the end: an error on its own line comes before it.
    pub(crate) is_open: bool,
}

/// The first bracket or quote that is wrong.
pub(crate) fn fault(source: &str) -> Option<Fault> {
    let bytes = source.as_bytes();
    let line_of = |at: usize| source.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'#' => at += bytes.iter().skip(at).take_while(|byte| **byte != b'\n').count(),
            b'"' | b'\'' => match end_of_text(bytes, at) {
                Ok(end) => at = end,
                Err(end) => {
                    let is_triple = bytes.get(at..at + 3) == Some(&[byte; 3]);
                    let kind = if is_triple { "triple-quoted string" } else { "string" };
                    let line = if is_triple { source.lines().count().max(1) } else { line_of(end) };
                    let text = format!("unterminated {kind} literal (detected at line {line})");
                    return Some(Fault { range: at..at + 1, text, is_open: false });
                }
            },
            b'(' | b'[' | b'{' => {
                open.push((at, byte));
                at += 1;
            }
            b')' | b']' | b'}' => {
                let closed = char::from(byte);
                let Some((from, opening)) = open.pop() else {
                    let text = format!("unmatched '{closed}'");
                    return Some(Fault { range: at..at + 1, text, is_open: false });
                };
                if !matches!((opening, byte), (b'(', b')') | (b'[', b']') | (b'{', b'}')) {
                    let (opening, line) = (char::from(opening), line_of(from));
                    let on = if line == line_of(at) { String::new() } else { format!(" on line {line}") };
                    let text =
                        format!("closing parenthesis '{closed}' does not match opening parenthesis '{opening}'{on}");
                    return Some(Fault { range: at..at + 1, text, is_open: false });
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
    let (from, opening) = open.pop()?;
    let text = format!("'{}' was never closed", char::from(opening));
    Some(Fault { range: from..from + 1, text, is_open: true })
}

/// Returns the end of a text that begins with a quote; as an error, the place where it breaks off.
fn end_of_text(bytes: &[u8], start: usize) -> Result<usize, usize> {
    let quote = bytes.get(start).copied().unwrap_or(b'"');
    let is_triple = bytes.get(start..start + 3) == Some(&[quote; 3]);
    let mut at = start + if is_triple { 3 } else { 1 };
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' if !is_triple => return Err(at),
            _ if is_triple && bytes.get(at..at + 3) == Some(&[quote; 3]) => return Ok(at + 3),
            _ if !is_triple && byte == quote => return Ok(at + 1),
            _ => at += 1,
        }
    }
    Err(bytes.len())
}
