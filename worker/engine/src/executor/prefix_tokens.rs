//! Tokens of the prefixes that many texts share: header and shots are tokenised once, not with every question.

use super::answer::RunError;
use super::scoring::cut_after;
use super::scoring_request::Bordered;
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
    /// Returns the tokens of a prefix.
    pub(super) fn ids(&self, texts: &Texts<'_>, text: &str, mode: EncodeMode) -> Result<Arc<[u32]>, RunError> {
        let key = (text.to_owned(), mode);
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ids) = known().get(&key) {
            return Ok(ids.clone());
        }
        // Two threads may do the same once.
        let ids: Arc<[u32]> = mode.encode(texts, text)?.into();
        let mut known = known();
        if known.len() >= MAX_CACHED {
            known.clear();
        }
        known.insert(key, ids.clone());
        Ok(ids)
    }

    /// Returns the tokens of a whole text; the part before its last border comes from the cache if the tokenizer can
    /// split there.
    pub(super) fn encode(&self, texts: &Texts<'_>, text: &Bordered, mode: EncodeMode) -> Result<Vec<u32>, RunError> {
        let shared = text.borders.last().and_then(|&border| text.text.get(..border));
        let Some(at) = shared.and_then(|shared| texts.tokenizer.last_border(shared)) else {
            return mode.encode(texts, &text.text);
        };
        let (head, tail) = text.text.split_at(at);
        let head = self.ids(texts, head, mode)?;
        // Tokens after a framed text come after all of it.
        let framed = mode == EncodeMode::Framed || !texts.is_prefixed(&text.text);
        let (_, after) = if framed { texts.tokenizer.frame() } else { (0, 0) };
        let (head, end) = head.split_at(head.len().saturating_sub(after));
        let mut ids = head.to_vec();
        ids.extend(texts.encode_plain(tail)?);
        ids.extend(end);
        Ok(ids)
    }

    /// Returns the positions of a text's structural borders among its tokens, `ids`.
    pub(super) fn cuts(
        &self,
        texts: &Texts<'_>,
        text: &Bordered,
        ids: &[u32],
        mode: EncodeMode,
    ) -> Result<Vec<usize>, RunError> {
        let prefixes = text.borders.iter().filter_map(|&border| text.text.get(..border));
        prefixes.map(|prefix| Ok(cut_after(&self.ids(texts, prefix, mode)?, ids))).collect()
    }
}
