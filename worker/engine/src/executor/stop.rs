//! Stop strings: where a text ends, and whether the newest tokens completed one.

/// The stop strings of one pack.
pub(super) struct StopStrings {
    strings: Vec<String>,
}

impl StopStrings {
    /// The data set's and the model's; empty strings stop nothing.
    pub(super) fn new<'a>(strings: impl Iterator<Item = &'a String>) -> Self {
        Self { strings: strings.filter(|string| !string.is_empty()).cloned().collect() }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.strings.is_empty()
    }

    /// How many of the last tokens to decode in order to see a stop string that the newest one completed: a token that
    /// shows anything shows a byte, and a few may be halves of characters or unseen special tokens.
    pub(super) fn window(&self) -> usize {
        self.strings.iter().map(String::len).max().unwrap_or(0) + 8
    }

    /// Whether any occurs in `text`.
    pub(super) fn occur_in(&self, text: &str) -> bool {
        self.strings.iter().any(|string| text.contains(string.as_str()))
    }

    /// The text before the first of them; cutting at one after the other, as the peers do, ends at the same place.
    pub(super) fn cut<'a>(&self, text: &'a str) -> &'a str {
        self.strings.iter().fold(text, |text, string| text.split(string.as_str()).next().unwrap_or(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_before_the_first_of_any() {
        let stops = StopStrings::new(["\n".to_owned(), "Q:".to_owned(), String::new()].iter());
        assert_eq!(stops.cut("42 Q: next\n"), "42 ");
        assert_eq!(stops.cut("42\nQ: next"), "42");
        assert_eq!(stops.cut("42"), "42");
        assert!(stops.occur_in("a\n") && !stops.occur_in("a Q") && !stops.is_empty());
        assert!(StopStrings::new([String::new()].iter()).is_empty());
    }
}
