//! Lists of options that an answer repeats: `A) cat  B) dog`. Their letters are no answers.

use super::folded::beginning;

/// Bytes within which the next options follow.
const REACH: usize = 400;
/// Words behind a later option by which the list is a discussion of it instead.
const DISCUSSED: [&str; 8] = ["wrong", "incorrect", "is not", "isn't", "不对", "错误", "不正确", "does not"];

/// Returns `true` if `text` begins with the first option and a mark behind it, and the next ones follow with the same mark.
pub(super) fn begins_list(text: &str, options: &str) -> bool {
    let mut letters = options.chars();
    let Some(rest) = text.strip_prefix(|c| Some(c) == letters.next()) else { return false };
    let Some(mark) = rest.chars().next().filter(|mark| ".):、,]".contains(*mark)) else { return false };
    let rest = &rest[mark.len_utf8()..];
    let mut rest = beginning(rest, REACH).split("\n\n").next().unwrap_or_default();
    letters.take(2).all(|letter| match item(rest, letter, mark) {
        Some(after) => {
            // Where a sentence ends within it, what follows is not a list.
            let option = &rest[..rest.len() - after.len() - mark.len_utf8() - letter.len_utf8()];
            let option = option.trim_end_matches(|c: char| c.is_whitespace() || "([*.!".contains(c));
            if option.contains(". ") {
                return false;
            }
            rest = after;
            let line = rest.split('\n').next().unwrap_or_default();
            !DISCUSSED.iter().any(|word| line.contains(word))
        }
        None => false,
    })
}

/// Finds ` B)`, `\nB.`, `(B)` and returns what is behind it.
fn item(text: &str, letter: char, mark: char) -> Option<&str> {
    let items = text.match_indices(letter);
    items.map(|(at, _)| text.split_at(at)).find_map(|(before, item)| {
        let after = item[letter.len_utf8()..].strip_prefix(mark)?;
        before.ends_with([' ', '\n', '(', '[', '*', '\t']).then_some(after)
    })
}

/// Returns `true` if a line is one of a list of options, with the line before or behind it.
pub(super) fn is_item(line: &str, neighbours: &[&str], options: &str) -> bool {
    let letter = item_letter(line, options);
    letter.is_some()
        && neighbours.iter().filter_map(|line| item_letter(line, options)).any(|other| Some(other) != letter)
}

/// Returns the option that a line begins with, before a mark.
fn item_letter(line: &str, options: &str) -> Option<char> {
    let inner = line.trim_start_matches([' ', '(', '[', '*', '-']);
    let inner = ["选项", "Option ", "option "].iter().find_map(|word| inner.strip_prefix(word)).unwrap_or(inner);
    let letter = inner.chars().next().filter(|c| options.contains(*c))?;
    let rest = inner[letter.len_utf8()..].trim_start_matches('*');
    rest.starts_with(['.', ')', ':', '、', ']']).then_some(letter)
}

/// Returns the only option whose line of a list calls it right.
pub(super) fn affirmed_item(text: &str, options: &str) -> Option<char> {
    let is_right = |line: &&str| {
        let line = line.to_lowercase();
        let wrong = ["wrong", "incorrect", "not correct", "not right", "不正确", "错", "不对", "不符合", "✗", "❌"];
        let right = ["correct", "right", "正确", "对", "符合", "✓", "✔", "✅"];
        right.iter().any(|word| line.contains(word)) && !wrong.iter().any(|word| line.contains(word))
    };
    let mut letters = text.lines().filter(is_right).filter_map(|line| item_letter(line, options));
    letters.next().filter(|_| letters.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_answers() {
        assert!(begins_list("A) cat B) dog C) cow", "ABC"));
        assert!(begins_list("A. cat\nB. dog\nC. cow\nD. hen", "ABCD"));
        assert!(begins_list("A. yes\nB. no", "AB"));
        assert!(!begins_list("A) cat", "ABC"));
        assert!(!begins_list("A) cat\n\nB) is wrong. C) too", "ABC"));
        assert!(!begins_list("A) cat\nB) is wrong\nC) is wrong", "ABC"));
        assert!(is_item("D. hen", &["C. cow"], "ABCD"));
        assert!(!is_item("D. hen", &["so"], "ABCD"));
    }
}
