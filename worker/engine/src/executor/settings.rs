//! Generation settings of a batch: from the data set, otherwise the model's plan, otherwise the model's own defaults.

use super::answer::RunError;
use super::notes::Notes;
use super::sampling::LogitsRules;
use super::stop::StopStrings;
use super::thinking::ThinkingRules;
use crate::kernels::Warp;
use compass_plan::{Decoding, DropMiddle, GenSpec, GenerationDefaults, NumericProfile, REST, Truncation};

/// transformers' default of top-k.
const DEFAULT_TOP_K: u32 = 50;

/// All settings but the prompt.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) max_out_len: usize,
    pub(super) rules: LogitsRules,
    pub(super) stop: StopStrings,
    /// Ids that end a generation.
    pub(super) eos: Vec<u32>,
    /// Number of answers per prompt.
    pub(super) sequences: u32,
    pub(super) seed: u64,
    /// Maximum number of tokens of a prompt.
    pub(super) limit: usize,
    /// Set if `limit` leaves room for the answer.
    pub(super) reserves_answer: bool,
    /// Set if special tokens stay in the text, as for chat models, whose end tokens are stop strings.
    pub(super) keeps_special: bool,
    /// Thinking before answers; `None` where texts are not split.
    pub(super) thinking: Option<ThinkingRules>,
    /// Maximum number of tokens of a prompt and what follows it, where thinking has a budget or the answer has what is left.
    pub(super) context: usize,
    /// Set if a space before the first word of an answer stays, which the peers drop behind a prompt that the answer continues.
    pub(super) keeps_first_space: bool,
    /// Set if spaces stay that the tokenizer removes from decoded text, as they must in programs.
    pub(super) keeps_spaces: bool,
}

/// Settings of a loaded model.
#[derive(Debug)]
pub(super) struct ModelSide {
    pub(super) profile: NumericProfile,
    pub(super) max_seq_len: usize,
    pub(super) truncation: Truncation,
    pub(super) sums_loglikelihood: bool,
    /// [`super::marked::broken_width`] of the model.
    pub(super) broken_width: usize,
    pub(super) max_out_len: u32,
    pub(super) min_out_len: u32,
    pub(super) decoding: Decoding,
    pub(super) defaults: GenerationDefaults,
    pub(super) stop_words: Vec<String>,
    pub(super) eos: Vec<u32>,
    /// Text of the end token if it is a stop string, as in lm-eval.
    pub(super) eos_text: Option<String>,
    /// Stop strings of the chat template; absent for base models.
    pub(super) chat_stop: Option<Vec<String>>,
    pub(super) thinking: Option<ThinkingRules>,
}

impl ModelSide {
    /// Returns the settings for `spec`.
    ///
    /// # Errors
    /// [`RunError::Sample`] for an invalid distribution, or no room for a prompt.
    pub(super) fn settings(&self, spec: &GenSpec, notes: &mut Notes) -> Result<Settings, RunError> {
        let decoding = spec.decoding.over(&self.decoding);
        let max_out_len = spec.max_out_len.unwrap_or(self.max_out_len) as usize;
        let mut eos = self.eos.clone();
        eos.extend(&decoding.stop_ids);
        let lm_eval = self.profile == NumericProfile::LmEvalHf;
        let chat = self.chat_stop.iter().flatten();
        let strings = spec.stop.iter().chain(&self.stop_words).chain(chat);
        let stop = StopStrings::new(strings.chain(self.eos_text.iter().filter(|_| lm_eval)));
        // lm-eval, and some classes of OpenCompass, reserve room for the answer within the model's length; the others let it
        // exceed the length.
        let asks = self.truncation.reserves_answer;
        // Of an answer that has what is left, one token.
        let reserved = if max_out_len == REST as usize { 1 } else { max_out_len };
        let room = self.max_seq_len.saturating_sub(reserved);
        // `HuggingFacewithChatTemplate` leaves a prompt as it is where no half of it would stay.
        let has_no_half = !lm_eval && room < 2 && self.truncation.middle == Some(DropMiddle::Tokens);
        let reserves_answer = (lm_eval || asks) && !has_no_half;
        let limit = if reserves_answer { room } else { self.max_seq_len };
        if limit == 0 {
            let length = self.max_seq_len;
            let who = if lm_eval { "lm-eval's profile" } else { "`reserve_max_out_len`" };
            return Err(RunError::Sample(format!(
                "max_out_len {max_out_len} leaves no room for a prompt within max_seq_len {length}: {who} wants both to fit"
            )));
        }
        let warp = if decoding.samples() { Some(self.warp(&decoding, notes)?) } else { None };
        let sequences = decoding.sequences();
        if sequences > 1 && warp.is_none() {
            notes.add("num_return_sequences has no use without do_sample: the answers to a prompt are all the same");
        }
        let penalty = decoding.repetition_penalty.or(self.defaults.repetition_penalty).unwrap_or(1.0);
        Ok(Settings {
            max_out_len,
            rules: LogitsRules {
                repetition_penalty: positive(penalty, "repetition_penalty")?,
                min_new_tokens: spec.min_out_len.unwrap_or(self.min_out_len) as usize,
                warp,
            },
            stop,
            eos,
            sequences,
            seed: decoding.seed.unwrap_or(0),
            limit,
            reserves_answer,
            keeps_special: self.chat_stop.is_some(),
            thinking: self.thinking.clone(),
            context: self.max_seq_len,
            keeps_first_space: self.profile == NumericProfile::Canonical && self.chat_stop.is_none(),
            keeps_spaces: false,
        })
    }

    fn warp(&self, decoding: &Decoding, notes: &mut Notes) -> Result<Warp, RunError> {
        let top_k = decoding.top_k.or(self.defaults.top_k);
        if top_k.is_none() {
            notes.add(format!(
                "tokens are drawn from the {DEFAULT_TOP_K} most probable, transformers' default; generation_kwargs.top_k \
                 = 0 lets all"
            ));
        }
        let top_p = decoding.top_p.or(self.defaults.top_p).unwrap_or(1.0);
        if !(0.0..=1.0).contains(&top_p) {
            return Err(RunError::Sample(format!("top_p is {top_p}; it must lie between 0 and 1")));
        }
        let temperature = decoding.temperature.or(self.defaults.temperature).unwrap_or(1.0);
        Ok(Warp {
            temperature: positive(temperature, "temperature")?,
            top_k: top_k.unwrap_or(DEFAULT_TOP_K) as usize,
            top_p,
        })
    }
}

fn positive(number: f64, what: &str) -> Result<f32, RunError> {
    let wrong = || RunError::Sample(format!("{what} is {number}; it must be a number above 0"));
    Some(number as f32).filter(|number| number.is_finite() && *number > 0.0).ok_or_else(wrong)
}
