//! Tokens of the beginnings that many texts share: header and shots are tokenised once, not with every question.

use super::answer::RunError;
use super::scoring::cut_after;
use super::scoring_request::Bordered;
use super::texts::Texts;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Beginnings that are remembered. A data set has a handful, unless every sample has shots of its own.
const REMEMBERED: usize = 256;

/// How a text is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Manner {
    /// [`Texts::encode`].
    Framed,
    /// [`Texts::encode_unless_prefixed`].
    UnlessPrefixed,
}

/// Beginnings with their tokens.
#[derive(Debug, Default)]
pub(super) struct Beginnings(RefCell<Known>);

type Known = HashMap<(String, Manner), Rc<[u32]>>;

impl Manner {
    /// Ids of a text by itself.
    pub(super) fn encode(self, texts: &Texts<'_>, text: &str) -> Result<Vec<u32>, RunError> {
        match self {
            Self::Framed => texts.encode(text),
            Self::UnlessPrefixed => texts.encode_unless_prefixed(text),
        }
    }
}

impl Beginnings {
    /// Tokens of a beginning.
    pub(super) fn ids(&self, texts: &Texts<'_>, text: &str, manner: Manner) -> Result<Rc<[u32]>, RunError> {
        let key = (text.to_owned(), manner);
        if let Some(ids) = self.0.borrow().get(&key) {
            return Ok(ids.clone());
        }
        let ids: Rc<[u32]> = manner.encode(texts, text)?.into();
        let mut known = self.0.borrow_mut();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(key, ids.clone());
        Ok(ids)
    }

    /// Tokens of a whole text: what stands before its last border is looked up, where the tokenizer can take it in two.
    pub(super) fn encode(&self, texts: &Texts<'_>, text: &Bordered, manner: Manner) -> Result<Vec<u32>, RunError> {
        let shared = text.borders.last().and_then(|&border| text.text.get(..border));
        let Some(at) = shared.and_then(|shared| texts.tokenizer.last_border(shared)) else {
            return manner.encode(texts, &text.text);
        };
        let (head, tail) = text.text.split_at(at);
        let head = self.ids(texts, head, manner)?;
        // What stands after a framed text comes after the whole of it.
        let framed = manner == Manner::Framed || !texts.is_prefixed(&text.text);
        let (_, after) = if framed { texts.tokenizer.frame() } else { (0, 0) };
        let (head, end) = head.split_at(head.len().saturating_sub(after));
        let mut ids = head.to_vec();
        ids.extend(texts.encode_plain(tail)?);
        ids.extend(end);
        Ok(ids)
    }

    /// Where the structural borders of a text fall among its tokens, `ids`.
    pub(super) fn cuts(
        &self,
        texts: &Texts<'_>,
        text: &Bordered,
        ids: &[u32],
        manner: Manner,
    ) -> Result<Vec<usize>, RunError> {
        let beginnings = text.borders.iter().filter_map(|&border| text.text.get(..border));
        beginnings.map(|beginning| Ok(cut_after(&self.ids(texts, beginning, manner)?, ids))).collect()
    }
}
