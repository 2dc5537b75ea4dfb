//! Python's pattern syntax in the syntax of Rust's engines, where the two differ.
//!
//! - `\w`, `\W`, `\s`, `\S` mean Python's sets of characters, see `is_word` and `is_space`. `\b` keeps Rust's notion of a word,
//!   which counts combining marks in.
//! - `$` also matches before a newline that ends the text; `\Z` is the very end.
//! - A brace that is not a quantifier is literal, `{,n}` is `{0,n}`; in a set `[`, `&` and `~` are literal.
//! - Any punctuation may be escaped.

use std::iter::Peekable;
use std::str::Chars;

/// Translation of a `$` outside a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dollar {
    /// Python's: the end, or before a newline at the end. Needs look-ahead.
    BeforeLastNewline,
    /// The very end, for texts that do not end in a newline.
    End,
}

const WORD: &str = r"\p{L}\p{N}_";
const SPACE: &str = r"\s\x1c-\x1f";

/// `pattern` for Rust.
pub fn translate(pattern: &str, dollar: Dollar) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern.chars().peekable();
    // With the flag `m`, Rust's `$` is Python's.
    let multi_line = pattern.split("(?").skip(1).any(|flags| {
        flags.split([')', ':', '-']).next().is_some_and(|set| set.chars().all(char::is_alphabetic) && set.contains('m'))
    });
    while let Some(c) = rest.next() {
        match c {
            '\\' => escape(&mut out, &mut rest, false),
            '[' => set(&mut out, &mut rest),
            '$' if multi_line => out.push('$'),
            '$' if dollar == Dollar::End => out.push_str(r"\z"),
            '$' => out.push_str(r"(?=\n?\z)"),
            '{' => brace(&mut out, &mut rest),
            '}' => out.push_str(r"\}"),
            c => out.push(c),
        }
    }
    out
}

/// A set after its `[`.
fn set(out: &mut String, rest: &mut Peekable<Chars<'_>>) {
    out.push('[');
    if rest.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    if rest.next_if_eq(&']').is_some() {
        out.push_str(r"\]");
    }
    while let Some(c) = rest.next() {
        match c {
            ']' => return out.push(']'),
            '\\' => escape(out, rest, true),
            '[' | '&' | '~' => out.extend(['\\', c]),
            '-' if rest.peek() == Some(&'-') => out.push_str(r"\-"),
            c => out.push(c),
        }
    }
}

/// A brace: a quantifier when it reads as one.
fn brace(out: &mut String, rest: &mut Peekable<Chars<'_>>) {
    let body: String = rest.clone().take_while(|&c| c != '}').collect();
    let closed = rest.clone().nth(body.chars().count()) == Some('}');
    let (low, high) = body.split_once(',').unwrap_or((&body, &body));
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !closed || !number(low) || !number(high) || (low.is_empty() && high.is_empty()) {
        return out.push_str(r"\{");
    }
    for _ in 0..=body.chars().count() {
        rest.next();
    }
    let low = if low.is_empty() { "0" } else { low };
    match body.contains(',') {
        true => out.push_str(&format!("{{{low},{high}}}")),
        false => out.push_str(&format!("{{{low}}}")),
    }
}

/// An escape after its backslash.
fn escape(out: &mut String, rest: &mut Peekable<Chars<'_>>, in_set: bool) {
    let Some(c) = rest.next() else { return out.push('\\') };
    let chars = |out: &mut String, set: &str, negated: bool| match (in_set, negated) {
        (true, false) => out.push_str(set),
        (_, true) => out.push_str(&format!("[^{set}]")),
        (false, false) => out.push_str(&format!("[{set}]")),
    };
    match c {
        'w' => chars(out, WORD, false),
        'W' => chars(out, WORD, true),
        's' => chars(out, SPACE, false),
        'S' => chars(out, SPACE, true),
        'Z' => out.push_str(r"\z"),
        'b' if in_set => out.push_str(r"\x08"),
        '0' => out.push_str(r"\x00"),
        'u' | 'U' => match code_point(rest, if c == 'u' { 4 } else { 8 }) {
            Some(literal) => out.push_str(&regex::escape(&literal.to_string())),
            None => out.extend(['\\', c]),
        },
        c if c.is_ascii_alphanumeric() => out.extend(['\\', c]),
        '[' | ']' | '^' | '-' | '&' | '~' if in_set => out.extend(['\\', c]),
        c => out.push_str(&regex::escape(&c.to_string())),
    }
}

fn code_point(rest: &mut Peekable<Chars<'_>>, digits: usize) -> Option<char> {
    let text: String = rest.clone().take(digits).collect();
    let point = u32::from_str_radix(&text, 16).ok().filter(|_| text.len() == digits)?;
    let literal = char::from_u32(point)?;
    for _ in 0..digits {
        rest.next();
    }
    Some(literal)
}
