//! `json.loads`, as far as it succeeds.

use crate::text::strip;
use serde::de::IgnoredAny;

/// Whether the response, without a fence around it, is JSON to CPython, to which `NaN` and `Infinity` are numbers.
pub(super) fn is_json(response: &str) -> bool {
    let mut text = strip(response);
    for fence in ["```json", "```Json", "```JSON", "```"] {
        text = text.strip_prefix(fence).unwrap_or(text);
    }
    let text = strip(text.strip_suffix("```").unwrap_or(text));
    serde_json::from_str::<IgnoredAny>(&with_numbers(text)).is_ok()
}

/// The text with a plain number for every constant outside strings; spaces keep it from joining its neighbours.
fn with_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let constant = ["NaN", "-Infinity", "Infinity"].into_iter().find(|name| rest.starts_with(name));
        let taken = match (in_string, c, constant) {
            (true, '\\', _) => rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at),
            (false, _, Some(name)) => {
                out.push_str(" 0 ");
                rest = &rest[name.len()..];
                continue;
            }
            (_, '"', _) => {
                in_string = !in_string;
                1
            }
            _ => c.len_utf8(),
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out
}
