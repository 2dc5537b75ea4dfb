//! A JSON file that is one list of objects.
//!
//! The list is cut at its top-level commas first and each row parsed alone, so that every bad row is named with its own
//! place instead of the first one only.

use crate::Row;
use crate::error::{DataError, Faults};
use crate::read::{bare, kind_of};
use serde_json::Value;
use std::path::Path;

/// Reads `[{...}, {...}]`; `bytes` begin with `[` after white space.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<Vec<Row>, Vec<DataError>> {
    let mut faults = Faults::new(path);
    let mut rows = Vec::new();
    let Some(elements) = elements(bytes) else {
        // The brackets do not match: the parser says where it gives up.
        let (line, column, message) = match serde_json::from_slice::<Value>(bytes) {
            Err(error) => (error.line(), error.column(), bare(&error)),
            Ok(_) => (1, 1, "something follows the list".to_owned()),
        };
        faults.add(line, column, format!("not valid JSON: {message}"));
        return faults.or(rows);
    };
    for (start, end) in elements {
        let element = &bytes[start..end];
        let skipped = element.len() - element.trim_ascii_start().len();
        match serde_json::from_slice(element) {
            Ok(Value::Object(row)) => rows.push(row),
            Ok(other) => {
                let (line, column) = place(bytes, start + skipped);
                faults.add(line, column, format!("{}, but a row is an object {{...}}", kind_of(&other)));
            }
            Err(error) => {
                let (line, column) = place(bytes, start + offset(element, error.line(), error.column()));
                faults.add(line, column, format!("not valid JSON: {}", bare(&error)));
            }
        }
    }
    faults.or(rows)
}

/// Where the elements of the outermost list begin and end; `None` when its brackets or quotes do not match.
fn elements(bytes: &[u8]) -> Option<Vec<(usize, usize)>> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0usize, 0usize);
    let (mut quoted, mut escaped) = (false, false);
    for (at, &byte) in bytes.iter().enumerate() {
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
                start = if depth == 1 { at + 1 } else { start };
            }
            b',' if depth == 1 => {
                found.push((start, at));
                start = at + 1;
            }
            b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    let nothing_follows = bytes[at + 1..].trim_ascii().is_empty();
                    let is_empty = found.is_empty() && bytes[start..at].trim_ascii().is_empty();
                    if !is_empty {
                        found.push((start, at));
                    }
                    return (byte == b']' && nothing_follows).then_some(found);
                }
            }
            _ => {}
        }
    }
    None
}

/// The byte that serde_json's line and column (both from 1) name.
fn offset(text: &[u8], line: usize, column: usize) -> usize {
    let line_start =
        text.split_inclusive(|&byte| byte == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum::<usize>();
    (line_start + column.saturating_sub(1)).min(text.len())
}

/// Line and column from 1 of a byte, the column in characters.
fn place(bytes: &[u8], at: usize) -> (usize, usize) {
    let before = &bytes[..at.min(bytes.len())];
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    (line, String::from_utf8_lossy(&before[line_start..]).chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<usize, Vec<String>> {
        let read = read(Path::new("a.json"), text.as_bytes());
        read.map(|rows| rows.len()).map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn lists_are_read() {
        assert_eq!(read_text("[\n {\"a\": \"],{\\\"\"},\n {\"b\": [1, {}]}\n]\n"), Ok(2));
        assert_eq!(read_text(" [ ] "), Ok(0));
    }

    #[test]
    fn every_bad_row_has_its_place() {
        let errors = read_text("[{\"a\": 1},\n  3,\n {\"é\": tru},\n {\"b\": 1}\n,\n]").unwrap_err();
        assert_eq!(
            errors,
            [
                "a.json:2:3: a number, but a row is an object {...}",
                "a.json:3:11: not valid JSON: expected ident",
                "a.json:6:1: not valid JSON: EOF while parsing a value",
            ]
        );
    }

    #[test]
    fn a_broken_list_is_named_once() {
        for text in ["[{\"a\": 1}", "[{\"a\": \"x}]", "[{}] x"] {
            let errors = read_text(text).unwrap_err();
            assert_eq!(errors.len(), 1, "{errors:?}");
            assert!(errors[0].contains("not valid JSON"), "{errors:?}");
        }
    }
}
