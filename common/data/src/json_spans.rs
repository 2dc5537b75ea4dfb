//! Positions of the members of a JSON list or object, found without parsing them.
//!
//! Each row is then parsed alone, so that every bad row is named with its own place instead of the first one only, and
//! no more than one is held.

use serde::de::IgnoredAny;

/// An element of a list, or a key with its value, as ranges of bytes with white space around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// The quoted key, in an object.
    pub(crate) key: Option<(usize, usize)>,
    pub(crate) value: (usize, usize),
}

impl Member {
    /// The key as a text.
    pub(crate) fn key(&self, bytes: &[u8]) -> Option<String> {
        let (start, end) = self.key?;
        serde_json::from_slice(&bytes[start..end]).ok()
    }

    /// The first byte of the value that is not white space.
    pub(crate) fn first(&self, bytes: &[u8]) -> Option<u8> {
        bytes[self.value.0..self.value.1].trim_ascii_start().first().copied()
    }
}

/// The members of the list or object that stands in `bytes[start..end]`; `None` when brackets or quotation marks do not
/// match, or something follows.
pub(crate) fn members(bytes: &[u8], (start, end): (usize, usize)) -> Option<Vec<Member>> {
    let mut found = Vec::new();
    let (mut depth, mut from, mut colon) = (0usize, start, None);
    let (mut quoted, mut escaped) = (false, false);
    let member = |from: usize, colon: Option<usize>, to: usize| Member {
        key: colon.map(|colon| (from, colon)),
        value: (colon.map_or(from, |colon| colon + 1), to),
    };
    let is_object = bytes[start..end].trim_ascii_start().first() == Some(&b'{');
    for at in start..end {
        let byte = bytes[at];
        if quoted {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'[' | b'{' => {
                depth += 1;
                from = if depth == 1 { at + 1 } else { from };
            }
            b':' if depth == 1 && is_object && colon.is_none() => colon = Some(at),
            b',' if depth == 1 => {
                found.push(member(from, colon.take(), at));
                from = at + 1;
            }
            b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    let nothing_follows = bytes[at + 1..end].trim_ascii().is_empty();
                    let is_empty = found.is_empty() && bytes[from..at].trim_ascii().is_empty();
                    if !is_empty {
                        found.push(member(from, colon.take(), at));
                    }
                    let closes = if is_object { b'}' } else { b']' };
                    return (byte == closes && nothing_follows).then_some(found);
                }
            }
            _ if depth == 0 && !byte.is_ascii_whitespace() => return None,
            _ => {}
        }
    }
    None
}

/// Returns where and why a parser gives up on the whole: line, column, message.
pub(crate) fn syntax(bytes: &[u8]) -> (usize, usize, String) {
    match serde_json::from_slice::<IgnoredAny>(bytes) {
        Err(error) => {
            let cut_off = if error.is_eof() { "; the file ends here, it may be cut off" } else { "" };
            (error.line(), error.column(), format!("not valid JSON: {}{cut_off}", bare(&error)))
        }
        Ok(_) => (1, 1, "not valid JSON: something follows the list".to_owned()),
    }
}

/// The byte that serde_json's line and column (both from 1) name.
pub(crate) fn offset(text: &[u8], line: usize, column: usize) -> usize {
    let line_start =
        text.split_inclusive(|&byte| byte == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum::<usize>();
    (line_start + column.saturating_sub(1)).min(text.len())
}

/// Lines of bytes that are asked for in order, each newline counted once.
#[derive(Debug, Default)]
pub(crate) struct LineCount {
    at: usize,
    newlines: usize,
}

impl LineCount {
    /// The line of byte `at`, from 1. What lies before the last byte asked for is counted again.
    pub(crate) fn line(&mut self, bytes: &[u8], at: usize) -> usize {
        let at = at.min(bytes.len());
        if at < self.at {
            *self = Self::default();
        }
        self.newlines += bytes[self.at..at].iter().filter(|&&byte| byte == b'\n').count();
        self.at = at;
        self.newlines + 1
    }
}

/// The column of byte `at`, from 1, in characters.
pub(crate) fn column(bytes: &[u8], at: usize) -> usize {
    let before = &bytes[..at.min(bytes.len())];
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    String::from_utf8_lossy(&before[line_start..]).chars().count() + 1
}

/// The message without the position that serde_json appends to it.
pub(crate) fn bare(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    match message.strip_suffix(&position).unwrap_or(&message) {
        "invalid unicode code point" => "a byte is not UTF-8: save the file as UTF-8".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Option<Vec<&str>> {
        let members = members(text.as_bytes(), (0, text.len()))?;
        Some(members.iter().map(|member| text[member.value.0..member.value.1].trim()).collect())
    }

    #[test]
    fn members_are_found_through_quotes_and_brackets() {
        assert_eq!(values(r#" [ {"a": "],{\""} , [1, {}] ] "#).unwrap(), [r#"{"a": "],{\""}"#, "[1, {}]"]);
        assert_eq!(values("{\"a:b\": [1, 2], \"c\": {\"d\": 1}}").unwrap(), ["[1, 2]", "{\"d\": 1}"]);
        assert_eq!(values(" [ ] ").unwrap(), [""; 0]);
        for broken in ["[{\"a\": 1}", "[{\"a\": \"x}]", "[{}] x", "[}", "", "3", "{]"] {
            assert_eq!(values(broken), None, "{broken}");
        }
    }
}
