//! Stop strings: detection in new tokens, and cutting of texts.

use super::answer::RunError;
use crate::tokenizer::TextTokenizer;

/// The stop strings of one batch.
#[derive(Clone, Debug)]
pub(super) struct StopStrings {
    strings: Vec<String>,
}

impl StopStrings {
    /// Creates the stop strings of data set and model; empty strings are ignored.
    pub(super) fn new<'a>(strings: impl Iterator<Item = &'a String>) -> Self {
        Self { strings: strings.filter(|string| !string.is_empty()).cloned().collect() }
    }

    /// Returns true if the last of the `generated` tokens completed a stop string, in what `decode` makes of them.
    ///
    /// Special tokens should count with their text here, so that they can be stop strings even if texts are decoded without
    /// them.
    pub(super) fn completed(
        &self,
        decode: impl Fn(&[u32]) -> Result<String, RunError>,
        generated: &[u32],
    ) -> Result<bool, RunError> {
        if self.strings.is_empty() {
            return Ok(false);
        }
        let window = generated.len().saturating_sub(self.window());
        // Decoders drop a space at the very start, so the window is only a hint; the whole text decides.
        let hint = decode(&generated[window..])?;
        Ok(self.occur_in(&hint) && (window == 0 || self.occur_in(&decode(generated)?)))
    }

    /// Returns the number of tokens of the longest stop string.
    pub(super) fn longest(&self, tokenizer: &TextTokenizer) -> Result<usize, RunError> {
        let lengths = self.strings.iter().map(|string| Ok(tokenizer.encode_plain(string)?.len()));
        Ok(lengths.collect::<Result<Vec<_>, String>>()?.into_iter().max().unwrap_or(0))
    }

    /// OpenCompass's criterion: whether a stop string occurs in as many of the last tokens as the longest one has
    /// alone, including the prompt's. So a prompt that ends in a stop string ends the answer after its first token.
    pub(super) fn occur_at_the_end(
        &self,
        tokenizer: &TextTokenizer,
        tokens: &[u32],
        longest: usize,
    ) -> Result<bool, RunError> {
        Ok(longest > 0 && self.occur_in(&tokenizer.decode_whole(&tokens[tokens.len().saturating_sub(longest)..])?))
    }

    /// Returns whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.strings.is_empty()
    }

    /// Returns how many of the last tokens to decode to detect a stop string that the last one completed: a visible
    /// token shows at least a byte, and a few may be parts of characters or invisible special tokens.
    fn window(&self) -> usize {
        self.strings.iter().map(String::len).max().unwrap_or(0) + 8
    }

    /// Whether any stop string occurs in `text`.
    pub(super) fn occur_in(&self, text: &str) -> bool {
        self.strings.iter().any(|string| text.contains(string.as_str()))
    }

    /// Returns the text before the first stop string; cutting at one after the other, as the peers do, gives the same text.
    pub(super) fn cut<'a>(&self, text: &'a str) -> &'a str {
        self.strings.iter().fold(text, |text, string| text.split(string.as_str()).next().unwrap_or(text))
    }
}

/// Returns the stop texts of a chat model in addition to ids: the texts of the end tokens of generation_config.json and
/// of the tokenizer (`_get_potential_stop_words`).
pub(super) fn stop_texts(tokenizer: &TextTokenizer, eos: &[u32]) -> Vec<String> {
    let mut texts: Vec<String> = eos.iter().filter_map(|&id| tokenizer.decode_whole(&[id]).ok()).collect();
    texts.extend(tokenizer.eos_text(None));
    texts.retain(|text| !text.is_empty());
    texts.sort_unstable();
    texts.dedup();
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_before_the_first_stop_string() {
        let stops = StopStrings::new(["\n".to_owned(), "Q:".to_owned(), String::new()].iter());
        assert_eq!(stops.cut("42 Q: next\n"), "42 ");
        assert_eq!(stops.cut("42\nQ: next"), "42");
        assert_eq!(stops.cut("42"), "42");
        assert!(stops.occur_in("a\n") && !stops.occur_in("a Q"));
        assert_eq!(StopStrings::new([String::new()].iter()).cut("a"), "a");
    }
}
