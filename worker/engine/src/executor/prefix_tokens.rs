//! Tokens of the prefixes that many texts share: header and shots are tokenised once, not with every question.

use super::answer::RunError;
use super::bordered::Bordered;
use super::scoring::cut_after;
use super::texts::Texts;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of cached prefixes. A data set has a handful, unless every sample has its own shots.
const MAX_CACHED: usize = 256;

/// Mode of encoding a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum EncodeMode {
    /// [`Texts::encode`].
    Framed,
    /// [`Texts::encode_unless_prefixed`].
    UnlessPrefixed,
}

/// Tokens by the text of a shared prefix.
#[derive(Debug, Default)]
pub(super) struct PrefixTokens(Mutex<TokensByText>);

/// Position at which a text can be split, and the tokens before it.
type Head = (usize, Arc<[u32]>);

type TokensByText = HashMap<(String, EncodeMode), Arc<[u32]>>;

impl EncodeMode {
    /// Returns the tokens of a text.
    pub(super) fn encode(self, texts: &Texts<'_>, text: &str) -> Result<Vec<u32>, RunError> {
        match self {
            Self::Framed => texts.encode(text),
            Self::UnlessPrefixed => texts.encode_unless_prefixed(text),
        }
    }
}

impl PrefixTokens {
    /// Returns the tokens of a whole text; the part before its last border comes from the cache if the tokenizer can
    /// split there.
    pub(super) fn encode(&self, texts: &Texts<'_>, text: &Bordered, mode: EncodeMode) -> Result<Vec<u32>, RunError> {
        self.up_to(texts, text, (text.borders.len(), text.text.len()), mode)
    }

    /// Returns the positions of a text's structural borders among its tokens, `ids`.
    pub(super) fn cuts(
        &self,
        texts: &Texts<'_>,
        text: &Bordered,
        ids: &[u32],
        mode: EncodeMode,
    ) -> Result<Vec<usize>, RunError> {
        let cut = |(number, &border): (usize, &usize)| {
            let prefix = text.text.get(..border)?;
            let alone = || self.up_to(texts, text, (number + 1, border), mode);
            Some(self.cached(prefix, mode, alone).map(|alone| cut_after(&alone, ids)))
        };
        text.borders.iter().enumerate().filter_map(cut).collect()
    }

    /// Returns the tokens of the first `end` bytes of a text, which include this many of its borders.
    fn up_to(
        &self,
        texts: &Texts<'_>,
        text: &Bordered,
        (borders, end): (usize, usize),
        mode: EncodeMode,
    ) -> Result<Vec<u32>, RunError> {
        let Some(whole) = text.text.get(..end) else { return Ok(Vec::new()) };
        match self.head(texts, text, borders, mode)? {
            Some((at, head)) => extended(texts, &head, &whole[at..], is_framed(texts, whole, mode)),
            None => mode.encode(texts, whole),
        }
    }

    /// Returns the last position among the first `borders` borders of a text at which it can be split, and the tokens before
    /// it: the tokens before an earlier border, and those after that.
    fn head(
        &self,
        texts: &Texts<'_>,
        text: &Bordered,
        borders: usize,
        mode: EncodeMode,
    ) -> Result<Option<Head>, RunError> {
        let split = |number: &usize| {
            let prefix = text.text.get(..*text.borders.get(*number)?)?;
            let at = texts.tokenizer.last_border(prefix)?;
            // Both parts are framed, or neither is.
            (is_framed(texts, &prefix[..at], mode) == is_framed(texts, &text.text, mode)).then_some(at)
        };
        let Some((number, at)) = (0..borders).rev().find_map(|number| Some((number, split(&number)?))) else {
            return Ok(None);
        };
        let head = &text.text[..at];
        Ok(Some((at, self.cached(head, mode, || self.up_to(texts, text, (number, at), mode))?)))
    }

    /// Returns the tokens of a prefix, which `make` makes if they are not known.
    fn cached(
        &self,
        prefix: &str,
        mode: EncodeMode,
        make: impl FnOnce() -> Result<Vec<u32>, RunError>,
    ) -> Result<Arc<[u32]>, RunError> {
        let key = (prefix.to_owned(), mode);
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ids) = known().get(&key) {
            return Ok(ids.clone());
        }
        // Two threads may do the same once.
        let ids: Arc<[u32]> = make()?.into();
        let mut known = known();
        if known.len() >= MAX_CACHED {
            known.clear();
        }
        known.insert(key, ids.clone());
        Ok(ids)
    }
}

/// Returns whether special tokens are put around a text.
fn is_framed(texts: &Texts<'_>, text: &str, mode: EncodeMode) -> bool {
    mode == EncodeMode::Framed || !texts.is_prefixed(text)
}

/// Returns the tokens of a text from `head`, the tokens of its first part, and `tail`, its rest.
fn extended(texts: &Texts<'_>, head: &[u32], tail: &str, framed: bool) -> Result<Vec<u32>, RunError> {
    // Tokens after a framed text come after all of it.
    let (_, after) = if framed { texts.tokenizer.frame() } else { (0, 0) };
    let (head, end) = head.split_at(head.len().saturating_sub(after));
    let mut ids = head.to_vec();
    if !tail.is_empty() {
        ids.extend(texts.encode_plain(tail)?);
    }
    ids.extend(end);
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::{Side, TextTokenizer};
    use compass_plan::BosPolicy;
    use std::path::Path;

    /// Texts of samples with five shots, of which each has its own question and two options.
    fn samples() -> Vec<Bordered> {
        let words = |seed: usize, count: usize| {
            let word = |place: usize| ["one", "two", "three", "seven", "larger of"][(seed * 7 + place * place) % 5];
            (0..count).map(word).collect::<Vec<_>>().join(" ")
        };
        let text = |sample: usize, option: usize| {
            let (mut text, mut borders) = (String::new(), Vec::new());
            for shot in 0..5 {
                text.push_str(&format!("Q {} A {}\n", words(shot, 9), words(shot + 3, 2)));
                borders.push(text.len());
            }
            text.push_str(&format!("Q {} A ", words(sample + 11, 4 + sample % 5)));
            borders.push(text.len());
            text.push_str(&words(option + sample, 3));
            Bordered { text, borders }
        };
        (0..200).flat_map(|sample| [0, 1].map(|option| text(sample, option))).collect()
    }

    #[test]
    fn tokens_and_cuts_are_those_of_the_whole_texts() {
        let demo = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/demo/model"));
        let tokenizer = TextTokenizer::read(demo, BosPolicy::Auto, None).unwrap();
        assert!(tokenizer.last_border("one two three").is_some(), "nothing is tried otherwise");
        let (limit, shots_within, drop_middle, vocabulary) = (1000, None, None, usize::MAX);
        let texts =
            Texts { tokenizer: &tokenizer, limit, shots_within, truncation_side: Side::Left, drop_middle, vocabulary };
        let known = PrefixTokens::default();
        for mode in [EncodeMode::Framed, EncodeMode::UnlessPrefixed] {
            for text in samples() {
                let ids = known.encode(&texts, &text, mode).unwrap();
                assert_eq!(ids, mode.encode(&texts, &text.text).unwrap(), "{}", text.text);
                let alone = |&border: &usize| cut_after(&mode.encode(&texts, &text.text[..border]).unwrap(), &ids);
                let cuts: Vec<usize> = text.borders.iter().map(alone).collect();
                assert_eq!(known.cuts(&texts, &text, &ids, mode).unwrap(), cuts, "{}", text.text);
            }
        }
        assert!(known.0.lock().unwrap().len() <= MAX_CACHED);
    }
}
