//! The tokenizer of one model with its BOS rule fixed.

use super::backend::Backend;
use super::bos::{BosRule, bos_rule};
use super::cleanup::clean_up;
use super::kwargs::Side;
use super::settings::TokenizerSettings;
use super::words::{last_border, parts_at_words};
use crate::fault::file_fault;
use compass_plan::BosPolicy;
use compass_plan::engine::EngineFault;
use serde_json::{Map, Value};
use std::path::Path;

/// Encodes and decodes; has the special tokens.
pub struct TextTokenizer {
    tokenizer: Backend,
    rule: BosRule,
    /// BOS by id and text.
    bos: Option<(u32, String)>,
    /// EOS of tokenizer_config.json by id and text; the model's own files may name more.
    eos: Option<(u32, String)>,
    /// tokenizer_config.json's padding token by id and text.
    pad: Option<(u32, String)>,
    settings: TokenizerSettings,
    /// Number of special tokens that [`TextTokenizer::encode`] adds before and after a text.
    frame: (usize, usize),
    parts_at_words: bool,
    /// Tokens and text of a word, for a tokenizer that drops the space before the first word of a text.
    word: Option<(Vec<u32>, String)>,
}

/// Way to write ids as text. The default is that of transformers with `skip_special_tokens`.
#[derive(Clone, Copy, Debug, Default)]
pub struct DecodeOptions {
    /// Set if special tokens stand there with their own texts.
    pub keeps_special: bool,
    /// Last token of the text that the ids continue: a space before their first word stays.
    pub after: Option<u32>,
    /// Set if spaces stay that `clean_up_tokenization_spaces` of tokenizer_config.json removes.
    pub keeps_spaces: bool,
}

/// Text on which characters per token are measured: prose, a question, digits, code and Chinese, in usual proportions.
const MEASURE: &str = "Once upon a time there was a small village by the river, where everybody knew each other. \
    Question: Which of these statements best explains why the sky is blue?\nAnswer: Because air scatters short waves \
    more than long ones. In 1969, 12 of 35 teams finished with 4,096 points.\n\
    def add(a, b):\n    return a + b\n\u{4eca}\u{5929}\u{5929}\u{6c14}\u{5f88}\u{597d}\u{3002}\n";

impl TextTokenizer {
    /// Reads the tokenizer of `directory`: tokenizer.json, otherwise a SentencePiece model, otherwise vocab.json with
    /// merges.txt; and tokenizer_config.json with its companions. `bos_id` is config.json's, used if no other is given.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when the tokenizer is missing or a file is malformed, or BOS is demanded and missing.
    pub fn read(directory: &Path, policy: BosPolicy, bos_id: Option<u32>) -> Result<Self, EngineFault> {
        let mut settings = TokenizerSettings::read(directory)?;
        let (tokenizer, path, habit) = Backend::read(directory, &mut settings)?;
        let id_of = |text: &str| tokenizer.token_to_id(text).map(|id| (id, text.to_owned()));
        let by_id = |id: u32| tokenizer.id_to_token(id).map(|text| (id, text));
        let bos = settings.text("bos_token").and_then(id_of).or_else(|| bos_id.and_then(by_id));
        let eos = settings.text("eos_token").and_then(id_of);
        let pad = settings.text("pad_token").and_then(id_of);
        let empty = tokenizer.encode("", true).map_err(|what| file_fault(&path, what))?;
        let adds = bos.as_ref().is_some_and(|(id, _)| empty.first() == Some(id));
        // A default applies if possible; a file's setting must be possible.
        let asked = settings.add_bos_token.or(habit.filter(|_| bos.is_some()));
        let rule =
            bos_rule(policy, adds, asked, bos.as_ref().map(|(id, _)| *id)).map_err(|what| file_fault(&path, what))?;
        let parts_at_words = parts_at_words(&tokenizer);
        let mut this = Self { tokenizer, rule, bos, eos, pad, settings, frame: (0, 0), parts_at_words, word: None };
        this.frame = this.measure_frame().map_err(|what| file_fault(&path, what))?;
        this.word = this.word_after_dropped_space();
        Ok(this)
    }

    fn measure_frame(&self) -> Result<(usize, usize), String> {
        let (whole, plain) = (self.encode("a")?, self.encode_plain("a")?);
        let before = (0..=whole.len()).find(|&at| whole[at..].starts_with(&plain)).unwrap_or(0);
        Ok((before, whole.len().saturating_sub(before + plain.len())))
    }

    fn word_after_dropped_space(&self) -> Option<(Vec<u32>, String)> {
        let word = "a";
        let (once, twice) = (self.encode_plain(word).ok()?, self.encode_plain("a a").ok()?);
        let is_dropped = self.decode(twice.strip_prefix(once.as_slice())?).ok()? == word;
        (is_dropped && self.decode(&once).ok()? == word).then(|| (once, word.to_owned()))
    }

    /// Number of special tokens that [`TextTokenizer::encode`] adds before and after a text.
    pub fn frame(&self) -> (usize, usize) {
        self.frame
    }

    /// Encodes a text with the special tokens of the rule.
    ///
    /// # Errors
    /// The tokenizer's message if it cannot encode the text.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, String> {
        match self.rule {
            BosRule::None => self.encode_plain(text),
            BosRule::Tokenizer => self.tokenizer.encode(text, true),
            BosRule::Prepend(bos) => {
                let mut ids = self.tokenizer.encode(text, true)?;
                if ids.first() != Some(&bos) {
                    ids.insert(0, bos);
                }
                Ok(ids)
            }
        }
    }

    /// Returns the last position in `text`, in bytes, at which it can be split: [`TextTokenizer::encode_plain`] of both
    /// halves equals that of any text that starts with `text`. `None` if no position is safe.
    pub fn last_border(&self, text: &str) -> Option<usize> {
        if self.parts_at_words { last_border(text) } else { None }
    }

    /// Encodes a text without special tokens.
    ///
    /// # Errors
    /// The tokenizer's message if it cannot encode the text.
    pub fn encode_plain(&self, text: &str) -> Result<Vec<u32>, String> {
        self.tokenizer.encode(text, false)
    }

    /// Decodes ids, special tokens skipped.
    ///
    /// # Errors
    /// The tokenizer's message if it cannot decode them.
    pub fn decode(&self, ids: &[u32]) -> Result<String, String> {
        self.decode_as(ids, DecodeOptions::default())
    }

    /// Decodes ids, special tokens with their own texts.
    ///
    /// # Errors
    /// The tokenizer's message if it cannot decode them.
    pub fn decode_whole(&self, ids: &[u32]) -> Result<String, String> {
        self.decode_as(ids, DecodeOptions { keeps_special: true, ..DecodeOptions::default() })
    }

    /// Decodes ids as `options` say.
    ///
    /// # Errors
    /// The tokenizer's message if it cannot decode them.
    pub fn decode_as(&self, ids: &[u32], options: DecodeOptions) -> Result<String, String> {
        let cleans_up = self.cleans_up() && !options.keeps_spaces;
        let decoded = |ids: &[u32]| {
            let text = self.tokenizer.decode(ids, !options.keeps_special);
            text.map(|text| if cleans_up { clean_up(&text) } else { text })
        };
        let Some(((tokens, word), last)) = self.word.as_ref().zip(options.after) else { return decoded(ids) };
        // Behind a token that shows nothing, as BOS, the space is the tokenizer's own.
        if self.decode(&[tokens, [last].as_slice()].concat())? == *word {
            return decoded(ids);
        }
        let text = decoded(&[tokens, ids].concat())?;
        match text.strip_prefix(word) {
            Some(text) => Ok(text.to_owned()),
            None => decoded(ids),
        }
    }

    /// Returns true if tokenizer_config.json sets `clean_up_tokenization_spaces`.
    pub fn cleans_up(&self) -> bool {
        self.settings.clean_up_tokenization_spaces
    }

    /// Returns the token before a continuation without context: BOS, otherwise EOS (lm-eval's `prefix_token_id`).
    pub fn prefix(&self) -> Option<(u32, &str)> {
        self.bos.as_ref().or(self.eos.as_ref()).map(|(id, text)| (*id, text.as_str()))
    }

    /// Returns the id of tokenizer_config.json's EOS.
    pub fn eos_id(&self) -> Option<u32> {
        self.eos.as_ref().map(|(id, _)| *id)
    }

    /// Returns the padding id: the padding token's, otherwise generation_config.json's, otherwise EOS's, as in the
    /// peers.
    pub fn pad_id(&self, of_generation_config: Option<u32>) -> Option<u32> {
        self.pad.as_ref().map(|(id, _)| *id).or(of_generation_config).or_else(|| self.eos_id())
    }

    /// Returns `special_tokens_map`: special tokens by role, the variables of chat templates.
    pub fn special_tokens_map(&self) -> Map<String, Value> {
        self.settings.special_tokens_map()
    }

    /// Returns the text of BOS.
    pub fn bos_text(&self) -> Option<String> {
        self.bos.as_ref().map(|(_, text)| text.clone())
    }

    /// Returns the text of EOS; `fallback` is the model's own first EOS id.
    pub fn eos_text(&self, fallback: Option<u32>) -> Option<String> {
        let named = self.eos.as_ref().map(|(_, text)| text.clone());
        named.or_else(|| fallback.and_then(|id| self.tokenizer.id_to_token(id)))
    }

    /// Returns the side at which tokenizer_config.json has long texts truncated.
    pub fn truncation_side(&self) -> Side {
        if self.settings.truncates_left { Side::Left } else { Side::Right }
    }

    /// Returns the length limit of tokenizer_config.json.
    pub fn model_max_length(&self) -> Option<u32> {
        self.settings.model_max_length
    }

    /// Returns characters per token on a fixed text; a prior for costs.
    pub fn characters_per_token(&self) -> f64 {
        let tokens = self.encode_plain(MEASURE).map_or(0, |ids| ids.len());
        MEASURE.chars().count() as f64 / tokens.max(1) as f64
    }
}
