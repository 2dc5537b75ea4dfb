//! Texts of models and data, as text: what would steer a terminal or turn the direction of writing is shown by its number.

use std::fmt::Write as _;

/// Characters of a text that a page shows.
const CHARACTERS: usize = 100_000;

/// A text whose every character can be seen, up to a bound.
pub(super) fn visible(text: &str) -> String {
    shown(text, CHARACTERS)
}

/// A text that is bounded already, whose every character can be seen.
pub(super) fn all_visible(text: &str) -> String {
    shown(text, usize::MAX)
}

fn shown(text: &str, most: usize) -> String {
    let mut shown = String::with_capacity(text.len());
    for (at, character) in text.chars().enumerate() {
        if at == most {
            let _ = write!(shown, "\n(and {} characters more: see the run's predictions/)", text.chars().count() - at);
            break;
        }
        match character {
            '\n' | '\t' => shown.push(character),
            // Marks of direction, and what has no width.
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{61c}' => {
                let _ = write!(shown, "\u{27e8}U+{:04X}\u{27e9}", u32::from(character));
            }
            other if other.is_control() => {
                let _ = write!(shown, "\u{27e8}U+{:04X}\u{27e9}", u32::from(other));
            }
            other => shown.push(other),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_shown_by_its_number() {
        assert_eq!(visible("a\u{1b}[31mb\u{202e}c\n\td\0"), "a⟨U+001B⟩[31mb⟨U+202E⟩c\n\td⟨U+0000⟩");
        let whole = "é".repeat(CHARACTERS + 7);
        assert_eq!(all_visible(&whole), whole);
        let long = visible(&"é".repeat(CHARACTERS + 7));
        assert!(long.ends_with("(and 7 characters more: see the run's predictions/)"), "{}", &long[long.len() - 80..]);
    }
}
