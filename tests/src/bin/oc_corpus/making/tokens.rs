//! Words of Python source, enough to see which keys of a row it asks for.

/// One word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    Number(String),
    Sign(char),
    /// A line begins (from 1).
    Line(usize),
}

impl Token {
    pub(super) fn is(&self, sign: char) -> bool {
        *self == Self::Sign(sign)
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The words of `source`, whose first line is line `first`; comments are left out, and what stands in braces of an f-string
/// counts as code.
pub(super) fn tokens(source: &str, first: usize) -> Vec<Token> {
    let mut found = vec![Token::Line(first)];
    let (mut at, mut line) = (0, first);
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let c = rest.chars().next().unwrap_or(' ');
        let taken = match c {
            '\n' => {
                line += 1;
                found.push(Token::Line(line));
                1
            }
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => {
                let (text, length) = quoted(rest, c);
                line += rest.get(..length).unwrap_or_default().matches('\n').count();
                found.push(Token::Text(text));
                length
            }
            c if c.is_ascii_digit() => {
                let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
                found.push(Token::Number(rest.get(..length).unwrap_or_default().to_owned()));
                length
            }
            c if c.is_alphabetic() || c == '_' => {
                let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                let (name, after) = rest.split_at(length);
                match after.chars().next() {
                    Some(quote @ ('"' | '\'')) if name.len() <= 2 && name.to_lowercase().contains(['f', 'r', 'b']) => {
                        let (text, inner) = quoted(after, quote);
                        if name.to_lowercase().contains('f') {
                            braces(&text).for_each(|code| found.extend(tokens(code, line).into_iter().skip(1)));
                        }
                        line += after.get(..inner).unwrap_or_default().matches('\n').count();
                        found.push(Token::Text(text));
                        length + inner
                    }
                    _ => {
                        found.push(Token::Name(name.to_owned()));
                        length
                    }
                }
            }
            c if c.is_whitespace() || c == '\\' => c.len_utf8(),
            c => {
                found.push(Token::Sign(c));
                c.len_utf8()
            }
        };
        at += taken.max(1);
    }
    found
}

/// Returns the text in the quotes that `rest` begins with, and the number of bytes it takes with them.
fn quoted(rest: &str, quote: char) -> (String, usize) {
    let three = quote.to_string().repeat(3);
    let end = if rest.starts_with(&three) { three } else { quote.to_string() };
    let mut at = end.len();
    let mut text = String::new();
    while let Some(inner) = rest.get(at..).filter(|inner| !inner.is_empty()) {
        if inner.starts_with(&end) {
            return (text, at + end.len());
        }
        let mut chars = inner.chars();
        let c = chars.next().unwrap_or(' ');
        at += c.len_utf8();
        text.push(c);
        if let ('\\', Some(escaped)) = (c, chars.next()) {
            at += escaped.len_utf8();
            text.push(escaped);
        }
    }
    (text, rest.len())
}

/// Returns the texts between single braces.
pub(super) fn braces(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(inside, _)| inside)
}
