//! Tokens of all texts of a data set, which every slice of their windows reads: made once for all of them.

use super::answer::RunError;
use super::texts::Texts;
use compass_plan::engine::note_progress;
use compass_types::ids::Digest;
use std::sync::{Arc, Mutex, PoisonError};

/// Tokens of the latest corpus, which all its slices read.
#[derive(Debug, Default)]
pub(super) struct CorpusTokens(Mutex<Option<(Digest, Arc<[u32]>)>>);

impl CorpusTokens {
    /// Returns the tokens of all texts, one after the other. Threads that want them meanwhile wait.
    pub(super) fn of(&self, texts: &Texts<'_>, corpus: &[&str]) -> Result<Arc<[u32]>, RunError> {
        let digests: Vec<u8> = corpus.iter().flat_map(|text| Digest::of(text.as_bytes()).0).collect();
        let digest = Digest::of(&digests);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, tokens)) = kept.as_ref().filter(|(of, _)| *of == digest) {
            return Ok(tokens.clone());
        }
        let mut tokens = Vec::new();
        for text in corpus {
            tokens.append(&mut texts.encode(text)?);
            note_progress();
        }
        let tokens: Arc<[u32]> = tokens.into();
        *kept = Some((digest, tokens.clone()));
        Ok(tokens)
    }
}
