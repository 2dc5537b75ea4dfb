//! `abbr`: the name of a model or data set in tables, in file names and in the configuration itself.

use super::fields::{Fields, text};
use crate::report::check::Check;

/// Characters without width, and those that turn the direction of writing: two names that differ by them look alike.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The abbr of a table, which becomes a file name and so may not leave its folder.
pub(crate) fn read(check: &mut Check, fields: &mut Fields<'_>) -> Option<String> {
    let node = fields.require(check, "abbr", "\"...\"")?;
    let name = text(check, "abbr", node)?;
    let problem = if name.trim().is_empty() {
        "is empty"
    } else if name.starts_with('.') {
        "begins with a dot"
    } else if name.contains(['/', '\\']) || name.chars().any(char::is_control) {
        "holds a slash or a control character"
    } else if name.trim() != name {
        "begins or ends with a space"
    } else if name.contains(is_invisible) {
        "holds an invisible character"
    } else if name.len() > 200 {
        "is longer than 200 bytes"
    } else {
        return Some(name.to_owned());
    };
    let help = "it names files: write letters, digits, `-`, `_` and `.`, as in `abbr = \"piqa_ppl\"`";
    check.error(node.span, format!("`abbr` {problem}"), Some(help.into()));
    None
}
