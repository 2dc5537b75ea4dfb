//! Words at the head of a text: a phrase up to the end of its sentence, or what is bold.

use super::dress::strip_any;
use super::folded::is_latin;

/// Longest phrase in bytes.
pub(super) const LONGEST: usize = 240;
/// First words of a line of thought instead of an answer.
#[rustfmt::skip]
const THOUGHTS: [&str; 14] = [
    "let's", "let’s", "let us", "we need", "we can", "we have", "first,", "to find", "to solve", "i need", "okay", "sure", "step ",
    "let me",
];
const ABBREVIATIONS: [&str; 12] = ["st", "dr", "mr", "mrs", "ms", "mt", "jr", "sr", "vs", "no", "ft", "prof"];

/// Reads a phrase at the head of a text.
pub(super) fn phrase_at(text: &str) -> Option<&str> {
    let mut rest = text.trim_start_matches(is_lead);
    while let Some(next) = strip_any(rest, &["应该", "应", "是", "为"]) {
        rest = next.trim_start_matches(is_lead);
    }
    let bold = ["**", "*"].iter().find_map(|mark| Some(rest.strip_prefix(mark)?.split_once(*mark)?.0));
    let bold = bold.filter(|inside| !inside.trim().is_empty());
    let found = tidy(bold.unwrap_or_else(|| phrase(rest.trim_start_matches('*'))));
    let lower = found.to_lowercase();
    let decided = ["yes", "no", "true", "false"].iter().find(|word| lower.starts_with(&format!("{word},")));
    let found = decided.map_or(found, |word| &found[..word.len()]);
    let is_thought = THOUGHTS.iter().any(|thought| lower.starts_with(thought));
    let has_text = found.chars().any(|c| c.is_alphanumeric() || "()[]{}<>".contains(c));
    (has_text && found.len() <= LONGEST && !is_thought).then_some(found)
}

fn is_lead(c: char) -> bool {
    c.is_whitespace() || ":=_`】".contains(c)
}

/// Returns a text up to the end of its sentence; a full stop behind an abbreviation or an initial ends none.
fn phrase(text: &str) -> &str {
    let ends = |(at, c): &(usize, char)| match c {
        '\n' | '。' | '!' | '?' => true,
        '.' => {
            text[at + 1..].chars().next().is_none_or(|c| c.is_whitespace() || "*\"”)'<".contains(c))
                && !is_abbreviated(&text[..*at])
        }
        _ => false,
    };
    text.char_indices().find(ends).map_or(text, |(at, _)| &text[..at])
}

fn is_abbreviated(before: &str) -> bool {
    let word = before.rsplit(|c: char| !is_latin(c)).next().unwrap_or_default();
    let is_initial =
        word.chars().count() == 1 && word.chars().all(char::is_uppercase) && word.len() < before.trim().len();
    is_initial || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

/// Strips quotes, brackets, marks and full stops around a phrase.
pub(super) fn tidy(text: &str) -> &str {
    let mut text = text.trim();
    for (open, close) in [
        ("\\text{", "}"),
        ("\\textbf{", "}"),
        ("$", "$"),
        ("\"", "\""),
        ("“", "”"),
        ("「", "」"),
        ("'", "'"),
        ("**", "**"),
        ("`", "`"),
    ] {
        let inner = text.strip_prefix(open).and_then(|inner| inner.trim_end_matches('.').strip_suffix(close));
        text = inner.unwrap_or(text).trim();
    }
    text.trim_end_matches(['.', '。', ',', ';', ':', '*', ' ']).trim_start_matches('*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases() {
        for (text, phrase) in [
            (" Paris. It is large.", "Paris"),
            (" **St. Louis**, of course", "St. Louis"),
            (" St. Louis. It is", "St. Louis"),
            (": \"yes\".", "yes"),
            ("北京。因为", "北京"),
            (" 3.5 million\nx", "3.5 million"),
            (" \\text{Monday}", "Monday"),
        ] {
            assert_eq!(phrase_at(text), Some(phrase), "{text}");
        }
        assert_eq!(phrase_at(" Let's think."), None);
        assert_eq!(phrase_at(" ."), None);
    }
}
