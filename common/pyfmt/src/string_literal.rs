//! Python's string literals, wherever they occur: in files that hold `repr`s, and as answers, which some interfaces return so.

/// The value of a text that is nothing but one or more string literals; `None` for anything else.
///
/// Prefixes `r`, `u` and, without braces, `f`; single and triple quotes; all escapes but `\N{...}`.
pub fn string_literal(text: &str) -> Option<String> {
    // CPython takes white space at the start of an unfinished last line for an indented block.
    let last_line = text.rsplit_once('\n').map_or("", |(_, line)| line);
    if last_line.trim_start_matches('\x0c').starts_with([' ', '\t']) && last_line.trim().is_empty() {
        return None;
    }
    let mut rest =
        text.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']).trim_end_matches(['\n', '\r', ' ', '\t', '\x0c']);
    let mut value = String::new();
    while !rest.is_empty() {
        let (piece, after) = literal(rest)?;
        value += &piece;
        rest = after.trim_start_matches([' ', '\t']);
        if rest.starts_with('#') && !rest.contains('\n') {
            rest = "";
        }
    }
    (!text.trim().is_empty()).then_some(value)
}

/// One literal and what follows it.
fn literal(text: &str) -> Option<(String, &str)> {
    let quote = text.find(['\'', '"'])?;
    let prefix = text[..quote].to_ascii_lowercase();
    let (raw, formatted) = match prefix.as_str() {
        "" | "u" => (false, false),
        "r" => (true, false),
        "f" => (false, true),
        "rf" | "fr" => (true, true),
        _ => return None,
    };
    let body = &text[quote..];
    let mark = &body[..1];
    let long = mark.repeat(3);
    let mark = if body.starts_with(&long) { long.as_str() } else { mark };
    let body = &body[mark.len()..];
    let end = closing(body, mark)?;
    let content = &body[..end];
    if (mark.len() == 1 && content.replace("\\\n", "").contains('\n')) || (formatted && content.contains(['{', '}'])) {
        return None;
    }
    let value = if raw { content.to_owned() } else { unescape(content).ok()? };
    Some((value, &body[end + mark.len()..]))
}

/// One literal without a prefix, and what follows it. Lines may end within it, whatever its quotes: files hold them so.
///
/// # Errors
/// The fault, in words.
pub(super) fn plain(text: &str) -> Result<(String, &str), &'static str> {
    let quote = text.get(..1).ok_or(UNENDED)?;
    let long = quote.repeat(3);
    let mark = if text.starts_with(&long) { long.as_str() } else { quote };
    let body = text.get(mark.len()..).ok_or(UNENDED)?;
    let end = closing(body, mark).ok_or(UNENDED)?;
    Ok((unescape(&body[..end])?, &body[end + mark.len()..]))
}

const UNENDED: &str = "a string does not end";
const NO_CHARACTER: &str = "an escape names no character";

/// Returns the position of the first unescaped `mark`.
fn closing(body: &str, mark: &str) -> Option<usize> {
    let mut escaped = false;
    body.char_indices().find_map(|(at, c)| {
        let closes = !escaped && body[at..].starts_with(mark);
        escaped = !escaped && c == '\\';
        closes.then_some(at)
    })
}

fn unescape(content: &str) -> Result<String, &'static str> {
    let mut out = String::with_capacity(content.len());
    let mut rest = content.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next().ok_or(UNENDED)? {
            '\n' => {}
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'a' => out.push('\x07'),
            'b' => out.push('\x08'),
            'f' => out.push('\x0c'),
            'v' => out.push('\x0b'),
            c @ ('\\' | '\'' | '"') => out.push(c),
            'x' => out.push(hexadecimal(&mut rest, 2)?),
            'u' => out.push(hexadecimal(&mut rest, 4)?),
            'U' => out.push(hexadecimal(&mut rest, 8)?),
            'N' => return Err("characters by name are not read"),
            digit @ '0'..='7' => {
                let mut point = digit.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(next) = rest.clone().next().and_then(|c| c.to_digit(8)) else { break };
                    point = point * 8 + next;
                    rest.next();
                }
                out.push(char::from_u32(point).ok_or(NO_CHARACTER)?);
            }
            other => out.extend(['\\', other]),
        }
    }
    Ok(out)
}

fn hexadecimal(rest: &mut std::str::Chars<'_>, digits: usize) -> Result<char, &'static str> {
    let text: String = rest.by_ref().take(digits).collect();
    let valid = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let code = u32::from_str_radix(&text, 16).ok().filter(|_| valid);
    code.and_then(char::from_u32).ok_or(NO_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_not_evaluated() {
        for text in ["'a' + 'b'", "1 + 1", "__import__('os')", "f'{x}'", "b'x'", "['a']", ""] {
            assert_eq!(string_literal(text), None, "{text}");
        }
        assert_eq!(string_literal(r#"'a\x41' r"\n""#).as_deref(), Some(r"aA\n"));
    }
}
