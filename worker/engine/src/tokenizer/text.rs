//! The tokenizer of one model with its BOS rule fixed.

use super::anchors::match_at_lines;
use super::bos::{BosRule, bos_rule};
use super::cleanup::clean_up;
use super::settings::TokenizerSettings;
use crate::fault::file_fault;
use compass_common::engine::EngineFault;
use compass_common::plan::BosPolicy;
use std::path::Path;
use tokenizers::Tokenizer;

/// Encodes and decodes; holds the special tokens.
pub(crate) struct TextTokenizer {
    tokenizer: Tokenizer,
    rule: BosRule,
    /// BOS by id and text.
    bos: Option<(u32, String)>,
    /// tokenizer_config.json's EOS by id and text; the model's own files may name more.
    eos: Option<(u32, String)>,
    clean_up: bool,
    model_max_length: Option<u32>,
}

/// Text on which characters per token are measured: prose, a question, digits, code and Chinese, in plain proportions.
const MEASURE: &str = "Once upon a time there was a small village by the river, where everybody knew each other. \
    Question: Which of these statements best explains why the sky is blue?\nAnswer: Because air scatters short waves \
    more than long ones. In 1969, 12 of 35 teams finished with 4,096 points.\n\
    def add(a, b):\n    return a + b\n\u{4eca}\u{5929}\u{5929}\u{6c14}\u{5f88}\u{597d}\u{3002}\n";

impl TextTokenizer {
    /// Reads tokenizer.json and tokenizer_config.json of `directory`. `bos_id` is config.json's, for want of better.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when tokenizer.json is missing or malformed, or BOS is demanded and there is none.
    pub(crate) fn read(directory: &Path, policy: BosPolicy, bos_id: Option<u32>) -> Result<Self, EngineFault> {
        let path = directory.join("tokenizer.json");
        let bytes = std::fs::read(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => file_fault(
                &path,
                "no such file; a tokenizer.json is needed (transformers' `save_pretrained` writes one), \
                 or `tokenizer_path` must name a directory that has it",
            ),
            _ => file_fault(&path, error),
        })?;
        let damaged = |error| file_fault(&path, format!("not a tokenizer: {error}; fetch the file again"));
        let mut tokenizer = Tokenizer::from_bytes(&bytes).map_err(damaged)?;
        match_at_lines(&mut tokenizer, &bytes).map_err(|error| file_fault(&path, error))?;
        // A length stored by whoever saved the file is not ours; transformers resets both for every call.
        tokenizer.with_truncation(None).map_err(|error| file_fault(&path, error))?;
        tokenizer.with_padding(None);
        let settings = TokenizerSettings::read(directory)?;
        let id_of = |text: &String| tokenizer.token_to_id(text).map(|id| (id, text.clone()));
        let by_id = |id: u32| tokenizer.id_to_token(id).map(|text| (id, text));
        let bos = settings.bos_token.as_ref().and_then(id_of).or_else(|| bos_id.and_then(by_id));
        let eos = settings.eos_token.as_ref().and_then(id_of);
        let empty = tokenizer.encode_fast("", true).map_err(|error| file_fault(&path, error))?;
        let adds = bos.as_ref().is_some_and(|(id, _)| empty.get_ids().first() == Some(id));
        let rule = bos_rule(policy, adds, settings.add_bos_token, bos.as_ref().map(|(id, _)| *id))
            .map_err(|what| file_fault(&path, what))?;
        let clean_up = settings.clean_up_tokenization_spaces;
        Ok(Self { tokenizer, rule, bos, eos, clean_up, model_max_length: settings.model_max_length })
    }

    /// Ids of a text with the special tokens that the rule adds.
    ///
    /// # Errors
    /// What the tokenizer says when it cannot encode the text.
    pub(crate) fn encode(&self, text: &str) -> Result<Vec<u32>, String> {
        match self.rule {
            BosRule::None => self.encode_plain(text),
            BosRule::Tokenizer => self.encode_with(text, true),
            BosRule::Prepend(bos) => {
                let mut ids = self.encode_with(text, true)?;
                if ids.first() != Some(&bos) {
                    ids.insert(0, bos);
                }
                Ok(ids)
            }
        }
    }

    /// Ids of a text alone, without special tokens.
    ///
    /// # Errors
    /// What the tokenizer says when it cannot encode the text.
    pub(crate) fn encode_plain(&self, text: &str) -> Result<Vec<u32>, String> {
        self.encode_with(text, false)
    }

    fn encode_with(&self, text: &str, special: bool) -> Result<Vec<u32>, String> {
        let encoding = self.tokenizer.encode_fast(text, special);
        encoding.map(|encoding| encoding.get_ids().to_vec()).map_err(|error| format!("cannot be tokenized: {error}"))
    }

    /// Text of ids, special tokens skipped.
    ///
    /// # Errors
    /// What the tokenizer says when it cannot decode them.
    pub(crate) fn decode(&self, ids: &[u32]) -> Result<String, String> {
        let text = self.tokenizer.decode(ids, true).map_err(|error| format!("cannot be decoded: {error}"))?;
        Ok(if self.clean_up { clean_up(&text) } else { text })
    }

    /// What stands before a continuation without context: BOS, else EOS (lm-eval's `prefix_token_id`).
    pub(crate) fn prefix(&self) -> Option<(u32, &str)> {
        self.bos.as_ref().or(self.eos.as_ref()).map(|(id, text)| (*id, text.as_str()))
    }

    /// The id of tokenizer_config.json's EOS.
    pub(crate) fn eos_id(&self) -> Option<u32> {
        self.eos.as_ref().map(|(id, _)| *id)
    }

    /// The text of BOS.
    pub(crate) fn bos_text(&self) -> Option<String> {
        self.bos.as_ref().map(|(_, text)| text.clone())
    }

    /// The text of EOS; `fallback` is the model's own first EOS id.
    pub(crate) fn eos_text(&self, fallback: Option<u32>) -> Option<String> {
        let named = self.eos.as_ref().map(|(_, text)| text.clone());
        named.or_else(|| fallback.and_then(|id| self.tokenizer.id_to_token(id)))
    }

    /// tokenizer_config.json's length limit.
    pub(crate) fn model_max_length(&self) -> Option<u32> {
        self.model_max_length
    }

    /// Characters per token on a fixed text; a prior for costs.
    pub(crate) fn characters_per_token(&self) -> f64 {
        let tokens = self.encode_plain(MEASURE).map_or(0, |ids| ids.len());
        MEASURE.chars().count() as f64 / tokens.max(1) as f64
    }
}
