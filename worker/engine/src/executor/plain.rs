//! The plain executor: sample after sample, text after text.

use super::answer::RunError;
use super::generate::{self, Limits};
use super::stop::StopStrings;
use super::{loglikelihood, ppl};
use crate::fault::device_fault;
use crate::models::CausalLm;
use crate::tokenizer::TextTokenizer;
use compass_common::engine::{Engine, EngineFault, ModelFacts, PackSpec, Request, TokenCounters};
use compass_common::plan::{Body, GenSpec, InferSpec};
use compass_common::result::{Outcome, PromptFit, SampleResult};

/// A model with its tokenizer and limits.
pub(crate) struct PlainExecutor {
    pub(crate) model: Box<dyn CausalLm>,
    pub(crate) tokenizer: TextTokenizer,
    pub(crate) facts: ModelFacts,
    /// Ids that end a generation.
    pub(crate) eos: Vec<u32>,
    /// Strings that end a generation, beside the data set's own.
    pub(crate) stop_words: Vec<String>,
    /// Tokens to generate when the data set does not say.
    pub(crate) max_out_len: u32,
}

/// The tokenizer and its bounds, as the kinds of inference need them.
pub(super) struct Texts<'a> {
    pub(super) tokenizer: &'a TextTokenizer,
    /// Most tokens that the model is given at once.
    pub(super) limit: usize,
    vocabulary: usize,
}

impl Texts<'_> {
    /// Ids of a text with the special tokens that the plan's BOS policy adds.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, RunError> {
        self.checked(self.tokenizer.encode(text)?)
    }

    /// Ids of a text alone.
    pub(super) fn encode_plain(&self, text: &str) -> Result<Vec<u32>, RunError> {
        self.checked(self.tokenizer.encode_plain(text)?)
    }

    /// lm-eval's rule: a text that itself begins with the BOS string gets no second one.
    pub(super) fn encode_unless_prefixed(&self, text: &str) -> Result<Vec<u32>, RunError> {
        let prefixed =
            self.tokenizer.prefix().is_some_and(|(_, prefix)| !prefix.is_empty() && text.starts_with(prefix));
        if prefixed { self.encode_plain(text) } else { self.encode(text) }
    }

    /// A tokenizer may know more tokens than the model has rows.
    fn checked(&self, ids: Vec<u32>) -> Result<Vec<u32>, RunError> {
        match ids.iter().find(|&&id| id as usize >= self.vocabulary) {
            None => Ok(ids),
            Some(id) => {
                let vocabulary = self.vocabulary;
                Err(RunError::Sample(format!(
                    "token {id} of the tokenizer is beyond the model's vocabulary of {vocabulary}"
                )))
            }
        }
    }
}

impl Engine for PlainExecutor {
    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn run(
        &mut self,
        pack: &PackSpec,
        requests: &[Request<'_>],
        emit: &mut dyn FnMut(SampleResult),
    ) -> Result<TokenCounters, EngineFault> {
        let _no_grad = tch::no_grad_guard();
        let mut counters = TokenCounters::default();
        for request in requests {
            let (fit, outcome) = match self.run_one(pack, request, &mut counters) {
                Ok(done) => done,
                Err(RunError::Sample(reason)) => (PromptFit::default(), Outcome::Failed { reason }),
                Err(RunError::Torch(error)) => return Err(device_fault(&error)),
            };
            emit(SampleResult { index: request.sample.index, fit, outcome });
        }
        Ok(counters)
    }
}

impl PlainExecutor {
    fn run_one(
        &mut self,
        pack: &PackSpec,
        request: &Request<'_>,
        counters: &mut TokenCounters,
    ) -> Result<(PromptFit, Outcome), RunError> {
        let texts = Texts {
            tokenizer: &self.tokenizer,
            limit: self.facts.max_seq_len as usize,
            vocabulary: self.model.vocabulary(),
        };
        let model = self.model.as_mut();
        match (&pack.infer, &request.sample.body) {
            (InferSpec::Ppl, Body::Ppl { options }) => ppl::run(model, &texts, pack, request, options, counters),
            (InferSpec::Loglikelihood, Body::Loglikelihood { context, options }) => {
                loglikelihood::run(model, &texts, pack, request, (context, options), counters)
            }
            (InferSpec::Gen(GenSpec { max_out_len, stop, .. }), Body::Gen { prompt }) => {
                let stop = StopStrings::new(stop.iter().chain(&self.stop_words));
                let max_out_len = max_out_len.unwrap_or(self.max_out_len) as usize;
                let limits = Limits { max_out_len, stop: &stop, eos: &self.eos };
                generate::run(model, &texts, pack, request, prompt, &limits, counters)
            }
            (infer, _) => {
                let mode = infer.mode();
                Err(RunError::Sample(format!("the plan asks for `{mode}`, but the sample's prompt is of another kind")))
            }
        }
    }
}
