//! The executor: runs batches on a model with its tokenizer and rules.

use super::answer::RunError;
use super::batching::Slots;
use super::building::tokenizing_threads;
use super::corpus_tokens::CorpusTokens;
use super::generate;
use super::marked;
use super::notes::Notes;
use super::prefix_tokens::PrefixTokens;
use super::prompting::Prompting;
use super::score::Precision;
use super::scoring::{Scorer, Work};
use super::scoring_batch::{self, Building};
use super::scoring_request::ScoringRequestBuilder;
use super::settings::ModelSide;
use super::stop::stop_texts;
use super::texts::Texts;
use super::thinking::ThinkingRules;
use crate::fault::device_fault;
use crate::kv::Arena;
use crate::models::CausalLm;
use crate::tokenizer::{TextTokenizer, TokenizerKwargs};
use compass_chat::ChatFormat;
use compass_plan::engine::{Added, BatchSpec, Engine, EngineFault, ModelFacts, PrefixSegment, Request, TokenCounters};
use compass_plan::{DropMiddle, Dtype, GenerationDefaults, ModelPlan, NumericProfile};
use compass_postprocess::thinking::Marks;
use compass_types::result::{Outcome, PromptFit, SampleResult};
use std::path::Path;
use tch::Kind;

/// A model with its tokenizer and rules.
pub(crate) struct Executor {
    model: Box<dyn CausalLm>,
    tokenizer: TextTokenizer,
    kwargs: TokenizerKwargs,
    facts: ModelFacts,
    side: ModelSide,
    /// Maximum number of tokens of a text, and of a text with shots to drop: shots beyond that are dropped. The second is
    /// `None` unless the plan limits the length of an input.
    limits: (usize, Option<usize>),
    chat: Option<ChatFormat>,
    precision: Precision,
    pad: Option<u32>,
    notes: Notes,
    arena: Arena,
    slots: Slots,
    scorer: Scorer,
    /// Number of threads that make requests of samples.
    tokenizing_threads: usize,
    /// Kind of work that the arena holds.
    last_work: LastWork,
    prefix_tokens: PrefixTokens,
    corpus_tokens: CorpusTokens,
}

/// Kind of work whose keys and values are in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastWork {
    Scoring,
    Generation,
}

impl Executor {
    /// Returns an executor of a loaded model. `eos` are the ids that end a generation, `defaults` the model's
    /// generation settings; notes on the model's files are added to `facts`.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if a chat template is required and missing.
    pub(crate) fn new(
        plan: &ModelPlan,
        model: Box<dyn CausalLm>,
        (tokenizer, kwargs): (TextTokenizer, TokenizerKwargs),
        mut facts: ModelFacts,
        eos: Vec<u32>,
        defaults: GenerationDefaults,
    ) -> Result<Self, EngineFault> {
        facts.notes.extend(kwargs.notes.iter().cloned());
        let read = |notes: &mut Vec<String>| {
            let format = ChatFormat::read(plan, tokenizer.special_tokens_map(), notes);
            format.map_err(|fault| fault.of_model(Path::new(&plan.tokenizer_path)))
        };
        let chat = if plan.chat { Some(read(&mut facts.notes)?) } else { None };
        if plan.profile == NumericProfile::Opencompass {
            let note = "profile opencompass gives the numbers of batch_size = 1: larger batches, padded on the left, shift \
                        OpenCompass's own";
            facts.notes.push(note.to_owned());
        }
        let precision = match (plan.profile, plan.dtype) {
            (NumericProfile::LmEvalHf, Dtype::Float32) => Precision::Model(Kind::Float),
            (NumericProfile::LmEvalHf, Dtype::Bfloat16) => Precision::Model(Kind::BFloat16),
            (NumericProfile::LmEvalHf, Dtype::Float16) => Precision::Model(Kind::Half),
            (NumericProfile::Canonical | NumericProfile::Opencompass, _) => Precision::Full,
        };
        let limit =
            plan.truncation.max_prompt_len.map_or(facts.max_seq_len, |most| most.min(facts.max_seq_len)) as usize;
        let limits = (limit, plan.max_seq_len.map(|longest| longest as usize));
        // A peer's profile gives the peer's numbers, and peers split no text here.
        let marks = chat.as_ref().and_then(ChatFormat::marks).filter(|_| plan.profile == NumericProfile::Canonical);
        let rules = |marks: &Marks| {
            ThinkingRules::new(marks.clone(), &plan.thinking, &tokenizer, Path::new(&plan.tokenizer_path))
        };
        let thinking = marks.map(rules).transpose()?;
        let side = ModelSide {
            thinking,
            profile: plan.profile,
            max_seq_len: limit,
            truncation: plan.truncation.clone(),
            sums_loglikelihood: plan.sums_loglikelihood,
            broken_width: marked::broken_width(&plan.path),
            max_out_len: plan.max_out_len,
            min_out_len: plan.min_out_len,
            decoding: plan.decoding.clone(),
            stop_words: plan.stop_words.clone(),
            eos,
            eos_text: facts.eos_token.clone(),
            chat_stop: chat.as_ref().map(|_| stop_texts(&tokenizer, &defaults.eos)),
            defaults,
        };
        let is_cpu = facts.device == "cpu";
        let pad = tokenizer.pad_id(side.defaults.pad);
        let slots = Slots::new(facts.sequences as usize, !is_cpu);
        Ok(Self {
            model,
            tokenizer,
            kwargs,
            facts,
            side,
            limits,
            chat,
            precision,
            pad,
            notes: Notes::default(),
            arena: Arena::none(),
            slots,
            scorer: Scorer::new(!is_cpu),
            tokenizing_threads: tokenizing_threads(is_cpu),
            last_work: LastWork::Scoring,
            prefix_tokens: PrefixTokens::default(),
            corpus_tokens: CorpusTokens::default(),
        })
    }
}

impl Engine for Executor {
    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn run(
        &mut self,
        spec: &BatchSpec,
        requests: &[Request<'_>],
        emit: &mut dyn FnMut(SampleResult),
    ) -> Result<TokenCounters, EngineFault> {
        self.run_open(spec, requests, &mut |_| {}, emit)
    }

    fn run_open(
        &mut self,
        spec: &BatchSpec,
        requests: &[Request<'_>],
        added: &mut Added<'_>,
        emit: &mut dyn FnMut(SampleResult),
    ) -> Result<TokenCounters, EngineFault> {
        let _no_grad = tch::no_grad_guard();
        let mut counters = TokenCounters::default();
        let work = if spec.infer.generation().is_some() { LastWork::Generation } else { LastWork::Scoring };
        if self.last_work != work {
            // One arena serves both, in turn.
            self.scorer.forget(&mut self.arena);
            self.slots.forget(&mut self.arena);
            self.last_work = work;
        }
        if work == LastWork::Generation {
            self.generate(spec, (requests, added), &mut counters, emit)?;
        } else {
            self.score(spec, (requests, added), &mut counters, emit)?;
        }
        Ok(counters)
    }

    fn begin_job(&mut self) {
        self.scorer.begin_job();
        self.slots.begin_job();
    }

    fn take_notes(&mut self) -> Vec<String> {
        self.notes.take()
    }

    fn take_prefix_segments(&mut self) -> Vec<PrefixSegment> {
        let mut segments = self.scorer.take_prefix_segments();
        segments.append(&mut self.slots.take_prefix_segments());
        segments
    }
}

impl Executor {
    fn score(
        &mut self,
        spec: &BatchSpec,
        (requests, added): (&[Request<'_>], &mut Added<'_>),
        counters: &mut TokenCounters,
        emit: &mut dyn FnMut(SampleResult),
    ) -> Result<(), EngineFault> {
        let through_template = spec.infer.scores_continuations() && !spec.infer.means(self.side.profile);
        if self.chat.is_some() && !through_template {
            let mode = spec.infer.mode();
            self.notes.add(format!(
                "`{mode}` on a chat model: texts are scored as they are, without the chat template, which such a model \
                 was not made for; OpenCompass cannot do this at all"
            ));
        }
        if through_template && self.chat.as_ref().is_some_and(ChatFormat::switches_off) {
            self.notes.add(
                "continuations are scored behind prompts whose thinking is switched off: what is scored is an answer",
            );
        }
        let drop_middle = self.side.truncation.middle;
        let texts = texts((&self.tokenizer, &self.kwargs), self.limits, drop_middle, self.model.vocabulary());
        let (profile, precision, pad) = (self.side.profile, self.precision, self.pad);
        let (chat, prefix_tokens) = (self.chat.as_ref().filter(|_| through_template), &self.prefix_tokens);
        let notes = Notes::default();
        let (sums_loglikelihood, broken_width) = (self.side.sums_loglikelihood, self.side.broken_width);
        let builder = ScoringRequestBuilder {
            texts,
            profile,
            precision,
            pad,
            sums_loglikelihood,
            broken_width,
            chat,
            prefix_tokens,
            corpus_tokens: &self.corpus_tokens,
            notes,
        };
        let building = Building { builder, threads: self.tokenizing_threads, spec, notes: &mut self.notes };
        let work = Work { model: self.model.as_mut(), precision: self.precision, counters };
        scoring_batch::run((&mut self.scorer, &mut self.arena), work, building, (requests, added), emit)
    }

    /// Returns whether programs keep the spaces that the tokenizer removes from other texts; notes it either way.
    fn keeps_spaces_of_programs(&mut self) -> bool {
        if !self.tokenizer.cleans_up() {
            return false;
        }
        let is_canonical = self.side.profile == NumericProfile::Canonical;
        self.notes.add(match is_canonical {
            true => "programs keep the spaces that clean_up_tokenization_spaces of tokenizer_config.json removes before `.` and `,`",
            false => {
                "clean_up_tokenization_spaces of tokenizer_config.json removes spaces from programs, too, as the peers do; \
                 profile = \"canonical\" leaves them"
            }
        });
        is_canonical
    }

    fn generate(
        &mut self,
        spec: &BatchSpec,
        (requests, added): (&[Request<'_>], &mut Added<'_>),
        counters: &mut TokenCounters,
        emit: &mut dyn FnMut(SampleResult),
    ) -> Result<(), EngineFault> {
        let settings = spec.infer.generation().map(|spec| self.side.settings(spec, &mut self.notes)).transpose();
        let keeps_spaces = spec.takes_programs && self.keeps_spaces_of_programs();
        let ran = settings.and_then(|settings| {
            let Some(mut settings) = settings else { return Ok(()) };
            settings.keeps_spaces = keeps_spaces;
            settings.eos.extend(spec.meta_template.as_ref().and_then(|meta| meta.eos_token_id));
            let drop_middle = self.side.truncation.middle;
            let texts = texts((&self.tokenizer, &self.kwargs), self.limits, drop_middle, self.model.vocabulary());
            let (profile, chat) = (self.side.profile, self.chat.as_ref());
            let prefix_tokens = &self.prefix_tokens;
            let prompting = Prompting { texts: &texts, profile, spec, settings: &settings, chat, prefix_tokens };
            let keys_and_values = (&mut self.slots, &mut self.arena);
            let prompting = (&prompting, self.tokenizing_threads);
            generate::run(self.model.as_mut(), keys_and_values, prompting, (requests, added), counters, emit)
        });
        match ran {
            Ok(()) => Ok(()),
            // An error in the settings applies to every sample.
            Err(RunError::Sample(reason) | RunError::NoRoom(reason)) => {
                for request in requests {
                    let outcome = Outcome::Failed { reason: reason.clone() };
                    emit(SampleResult { index: request.sample.index, fit: PromptFit::default(), outcome });
                }
                Ok(())
            }
            Err(RunError::Torch(error)) => Err(device_fault(&error)),
        }
    }
}

fn texts<'a>(
    (tokenizer, kwargs): (&'a TextTokenizer, &TokenizerKwargs),
    (limit, shots_within): (usize, Option<usize>),
    drop_middle: Option<DropMiddle>,
    vocabulary: usize,
) -> Texts<'a> {
    let truncation_side = kwargs.truncation_side.unwrap_or_else(|| tokenizer.truncation_side());
    Texts { tokenizer, limit, shots_within, truncation_side, drop_middle, vocabulary }
}
