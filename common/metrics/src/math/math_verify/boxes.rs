//! Boxes of a formula, as latex2sympy2_extended's `extract_boxed_content` takes their contents.

/// Boxes whose contents count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Boxes {
    /// The last one, with those before it that are close or joined to it.
    Last,
    All,
}

/// Characters between two boxes that are close, and between two that a separator joins.
const CLOSE: usize = 10;
const JOINED: usize = 70;

/// Returns the contents of the boxes in `text`, joined by commas; the text itself without a box.
pub(super) fn contents(text: &str, boxes: Boxes) -> String {
    let mut found: Vec<&str> = Vec::new();
    let (mut end, mut next_box) = (text.len(), None);
    loop {
        let before = &text[..next_box.unwrap_or(text.len())];
        let last =
            ["\\boxed", "\\fbox"].iter().filter_map(|command| Some((before.rfind(command)?, command.len()))).max();
        let Some((start, command)) = last else { break };
        let spaces = text[start + command..end].len() - text[start + command..end].trim_start().len();
        let inner = start + command + spaces;
        if inner >= end {
            break;
        }
        let closing = if text[inner..].starts_with('{') { closing(&text[inner..end]) } else { None };
        let Some(closing) = closing else {
            if found.is_empty() {
                found.push(&text[inner..]);
            }
            break;
        };
        let content = text[inner + 1..inner + closing].trim();
        if let Some(next) = next_box.filter(|_| boxes == Boxes::Last)
            && !belongs(&text[inner + closing + 1..next], content, found.last().copied().unwrap_or_default())
        {
            break;
        }
        if found.last() != Some(&content) {
            found.push(content);
        }
        (end, next_box) = (start, Some(start));
    }
    if found.is_empty() {
        return text.to_owned();
    }
    found.reverse();
    found.join(",")
}

/// Place of the brace that closes the first one.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns whether a box counts beside the one that follows it.
fn belongs(between: &str, content: &str, next: &str) -> bool {
    let length = between.chars().count();
    let is_word = |word: &str| between.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|one| one == word);
    let is_separated = between.contains([',', ';']) || is_word("and") || is_word("or");
    length < CLOSE || next != content && length < JOINED && is_separated
}

#[cfg(test)]
mod tests {
    //! Expected values were printed by latex2sympy2_extended 1.11.0.
    use super::*;

    #[test]
    fn boxes_are_those_of_the_peer() {
        for (text, last, all) in [
            ("\\boxed{5} is wrong; it is \\boxed{7}", "5,7", "5,7"),
            ("\\boxed{5}. That was said before the check: \\boxed{7}", "7", "5,7"),
            ("\\boxed{3}, \\fbox {3}", "3", "3"),
            ("\\boxed{\\boxed{4}}", "4", "4"),
            ("\\boxed{3} and then \\boxed{}", "3,", "3,"),
            ("x + 1", "x + 1", "x + 1"),
            ("\\boxed{4", "{4", "{4"),
            ("\\boxed 4", "4", "4"),
        ] {
            assert_eq!(
                (contents(text, Boxes::Last).as_str(), contents(text, Boxes::All).as_str()),
                (last, all),
                "{text}"
            );
        }
    }
}
