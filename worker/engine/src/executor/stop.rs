//! Stop strings: where a text ends, and whether the newest tokens completed one.

use super::answer::RunError;
use crate::tokenizer::TextTokenizer;

/// The stop strings of one batch.
#[derive(Clone, Debug)]
pub(super) struct StopStrings {
    strings: Vec<String>,
}

impl StopStrings {
    /// The data set's and the model's; empty strings stop nothing.
    pub(super) fn new<'a>(strings: impl Iterator<Item = &'a String>) -> Self {
        Self { strings: strings.filter(|string| !string.is_empty()).cloned().collect() }
    }

    /// Whether the newest of `generated` completed one.
    ///
    /// Special tokens count with their text here, so that one of them can be a stop string even where texts are decoded
    /// without them.
    pub(super) fn completed(&self, tokenizer: &TextTokenizer, generated: &[u32]) -> Result<bool, RunError> {
        if self.strings.is_empty() {
            return Ok(false);
        }
        let window = generated.len().saturating_sub(self.window());
        // Decoders drop a space at the very start, so the window is only a hint; the whole text decides.
        let hint = tokenizer.decode_whole(&generated[window..])?;
        Ok(self.occur_in(&hint) && (window == 0 || self.occur_in(&tokenizer.decode_whole(generated)?)))
    }

    /// Tokens of the longest one.
    pub(super) fn longest(&self, tokenizer: &TextTokenizer) -> Result<usize, RunError> {
        let lengths = self.strings.iter().map(|string| Ok(tokenizer.encode_plain(string)?.len()));
        Ok(lengths.collect::<Result<Vec<_>, String>>()?.into_iter().max().unwrap_or(0))
    }

    /// OpenCompass's criterion: whether one occurs in as many of the last tokens as the longest has alone, the prompt's
    /// included. A prompt that ends in a stop string therefore ends the answer after its first token.
    pub(super) fn occur_at_the_end(
        &self,
        tokenizer: &TextTokenizer,
        tokens: &[u32],
        longest: usize,
    ) -> Result<bool, RunError> {
        Ok(longest > 0 && self.occur_in(&tokenizer.decode_whole(&tokens[tokens.len().saturating_sub(longest)..])?))
    }

    /// How many of the last tokens to decode in order to see a stop string that the newest one completed: a token that
    /// shows anything shows a byte, and a few may be halves of characters or unseen special tokens.
    fn window(&self) -> usize {
        self.strings.iter().map(String::len).max().unwrap_or(0) + 8
    }

    /// Whether any occurs in `text`.
    fn occur_in(&self, text: &str) -> bool {
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
        assert!(stops.occur_in("a\n") && !stops.occur_in("a Q"));
        assert_eq!(StopStrings::new([String::new()].iter()).cut("a"), "a");
    }
}
