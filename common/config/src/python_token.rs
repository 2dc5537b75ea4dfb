//! Python's tokens, as far as plain values have them. Line ends count outside brackets alone.

/// A token and the bytes it has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Name(String),
    Number(String),
    /// A string without its quotes and escapes.
    Text(String),
    /// A string with something to compute in it, or of bytes.
    Computed,
    Symbol(char),
    /// The end of a statement.
    End,
}

impl Token {
    pub(super) fn is(&self, symbol: char) -> bool {
        self.kind == Kind::Symbol(symbol)
    }

    /// A name's letters; nothing of anything else.
    pub(super) fn text(&self) -> &str {
        match &self.kind {
            Kind::Name(name) => name,
            _ => "",
        }
    }
}

/// All tokens of a file.
///
/// # Errors
/// Where a string or a bracket begins that does not end, and that it does not.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, (usize, &'static str)> {
    let mut found: Vec<Token> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let start = at;
        let kind = match first {
            '#' => {
                at = text[at..].find('\n').map_or(text.len(), |end| at + end);
                continue;
            }
            '\\' if text[at + 1..].starts_with('\n') => {
                at += 2;
                continue;
            }
            '\n' | ';' => {
                at += 1;
                if !open.is_empty() && first == '\n' {
                    continue;
                }
                Kind::End
            }
            _ if first.is_whitespace() || first == '\u{feff}' => {
                at += first.len_utf8();
                continue;
            }
            '"' | '\'' => string(text, &mut at, "").ok_or((start, "this string does not end"))?,
            _ if first.is_ascii_digit() => {
                at += run(&text[at..], |c| c.is_alphanumeric() || c == '.' || c == '_');
                Kind::Number(text[start..at].into())
            }
            _ if first.is_alphabetic() || first == '_' => {
                at += run(&text[at..], |c| c.is_alphanumeric() || c == '_');
                let name = &text[start..at];
                let is_prefix = name.len() <= 2 && name.chars().all(|c| "rRbBfFuU".contains(c));
                if is_prefix && text[at..].starts_with(['"', '\'']) {
                    string(text, &mut at, name).ok_or((start, "this string does not end"))?
                } else {
                    Kind::Name(name.into())
                }
            }
            _ => {
                at += first.len_utf8();
                match first {
                    '(' | '[' | '{' => open.push(start),
                    ')' | ']' | '}' => drop(open.pop()),
                    _ => {}
                }
                Kind::Symbol(first)
            }
        };
        found.push(Token { kind, start, end: at });
    }
    match open.first() {
        Some(start) => Err((*start, "this bracket is not closed")),
        None => Ok(found),
    }
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// The string whose quote is at `at`, which is moved behind it; `None` when it does not end.
fn string(text: &str, at: &mut usize, prefix: &str) -> Option<Kind> {
    let rest = &text[*at..];
    let quote = &rest[..1];
    let triple = quote.repeat(3);
    let fence = if rest.starts_with(&triple) { triple.as_str() } else { quote };
    let raw = prefix.contains(['r', 'R']);
    let mut value = String::new();
    let mut inner = fence.len();
    loop {
        if rest[inner..].starts_with(fence) {
            *at += inner + fence.len();
            break;
        }
        let c = rest[inner..].chars().next()?;
        inner += c.len_utf8();
        match c {
            '\n' if fence.len() == 1 => return None,
            '\\' => {
                let escaped = rest[inner..].chars().next()?;
                inner += escaped.len_utf8();
                match (raw, escaped) {
                    (true, _) => value.extend(['\\', escaped]),
                    (false, '\n') => {}
                    (false, 'n') => value.push('\n'),
                    (false, 't') => value.push('\t'),
                    (false, 'r') => value.push('\r'),
                    (false, '\\' | '\'' | '"') => value.push(escaped),
                    // Of the others Python knows some; what they are is not for us to compute.
                    (false, 'a' | 'b' | 'f' | 'v' | 'x' | 'u' | 'U' | 'N' | '0'..='7') => {
                        skip_string(rest, &mut inner, fence)?;
                        *at += inner;
                        return Some(Kind::Computed);
                    }
                    (false, _) => value.extend(['\\', escaped]),
                }
            }
            _ => value.push(c),
        }
    }
    let formatted = prefix.contains(['f', 'F']) && value.contains(['{', '}']);
    Some(if formatted || prefix.contains(['b', 'B']) { Kind::Computed } else { Kind::Text(value) })
}

/// Moves `inner` behind the end of a string.
fn skip_string(rest: &str, inner: &mut usize, fence: &str) -> Option<()> {
    while !rest[*inner..].starts_with(fence) {
        let c = rest[*inner..].chars().next()?;
        *inner += c.len_utf8();
        if c == '\\' {
            *inner += rest[*inner..].chars().next()?.len_utf8();
        }
    }
    *inner += fence.len();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn strings_lose_their_quotes_and_keep_what_is_in_them() {
        for (written, value) in [
            ("'a b'", "a b"),
            (r#""it's""#, "it's"),
            (r"'it\'s\n'", "it's\n"),
            (r"r'\d\''", r"\d\'"),
            ("'''two\nlines'''", "two\nlines"),
            ("u'é'", "é"),
            ("f'plain'", "plain"),
            (r"'a\qb'", r"a\qb"),
        ] {
            assert_eq!(kinds(written), [Kind::Text(value.into())], "{written}");
        }
        for computed in ["f'{x}'", "b'x'", r"'\x41'", r"'\u00e9 tail'"] {
            assert_eq!(kinds(computed), [Kind::Computed], "{computed}");
        }
    }

    #[test]
    fn line_ends_count_outside_brackets_and_comments_never() {
        let line = kinds("a = [1, # one\n 2]\nb = 'x' # end");
        assert_eq!(line.iter().filter(|kind| **kind == Kind::End).count(), 1);
        assert_eq!(tokens("a = 'x\nb").unwrap_err(), (4, "this string does not end"));
        assert_eq!(tokens("a = dict(b=[1,\n").unwrap_err(), (8, "this bracket is not closed"));
    }
}
