//! `\boxed{..}` and `\fbox{..}`, in one pass over a text.

use super::folded::constant;
use regex::Regex;
use std::sync::LazyLock;

/// One box: where it begins and ends, and what it holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Boxed<'t> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) content: &'t str,
}

/// A brace that is open: where its content begins, and where its command does if it is a box.
struct Open {
    content: usize,
    command: Option<usize>,
}

/// Finds boxes in the order in which they begin; one that does not close is left out. `\boxed 5` holds one symbol.
pub(super) fn boxes(text: &str) -> Vec<Boxed<'_>> {
    let (mut found, mut open, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(step) = text[at..].find(['\\', '{', '}']) {
        at += step;
        let rest = &text[at..];
        let command = ["\\boxed", "\\fbox", "\\framebox"].iter().find_map(|name| rest.strip_prefix(name));
        if let Some(after) = command {
            let inner = after.trim_start_matches(' ');
            let content = text.len() - inner.len();
            if inner.starts_with('{') {
                open.push(Open { content: content + 1, command: Some(at) });
                at = content + 1;
            } else {
                let end = content + inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inner.len());
                if inner.len() < after.len() && end > content {
                    found.push(Boxed { start: at, end, content: &text[content..end] });
                }
                at = end;
            }
            continue;
        }
        let first = rest.as_bytes().first();
        if first == Some(&b'{') {
            open.push(Open { content: at + 1, command: None });
        } else if first == Some(&b'}')
            && let Some(Open { content, command: Some(start) }) = open.pop()
        {
            found.push(Boxed { start, end: at + 1, content: &text[content..at] });
        }
        // A backslash goes with the character behind it.
        let escaped = rest.strip_prefix('\\').and_then(|rest| rest.chars().next());
        at += 1 + escaped.filter(|c| matches!(c, '{' | '}' | '\\')).map_or(0, char::len_utf8);
    }
    found.sort_by_key(|found| found.start);
    found
}

/// Returns `true` if what stands between two boxes joins them to a list: a comma, and, or, 和.
pub(super) fn joins(between: &str) -> bool {
    static JOINT: LazyLock<Regex> = LazyLock::new(|| {
        constant(r"(?i)^(?:[\s$,、;]|\\[()\[\]]|\\quad|\\text\{|\}|and|or|和|或|与|[a-z](?:_\{?\w\}?)?\s*=)+$")
    });
    static SEPARATOR: LazyLock<Regex> = LazyLock::new(|| constant("(?i)[,、;]|and|or|和|或|与"));
    between.len() <= 40 && JOINT.is_match(between) && SEPARATOR.is_match(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(text: &str) -> Vec<&str> {
        boxes(text).iter().map(|found| found.content).collect()
    }

    #[test]
    fn boxes_with_their_braces() {
        assert_eq!(contents("\\boxed{5} .. \\boxed{\\frac{1}{2}}"), ["5", "\\frac{1}{2}"]);
        assert_eq!(contents("\\boxed{\\{1,2\\}}, \\boxed 7, \\fbox{x}"), ["\\{1,2\\}", "7", "x"]);
        assert_eq!(contents("\\boxed{5"), [""; 0]);
        assert_eq!(contents("} \\boxed{a} {"), ["a"]);
        assert_eq!(contents("\\boxed{\\boxed{4}}"), ["\\boxed{4}", "4"]);
        assert!(joins(", ") && joins("$ and $x_2 = ") && joins(" 和 ") && !joins(" so ") && !joins(" "));
    }
}
