//! The samples of one batch that generate: their prompts, and their answers so far.
//!
//! A sample has one prompt with one or several answers, or a conversation whose later prompts contain earlier answers.
//! Its result is emitted as soon as its last answer is known.

use super::answer::RunError;
use super::batching::{Changes, Choice, DecodeCallback, Prediction, SequenceRequest, StepOutcome};
use super::building::{Upcoming, prompt_all};
use super::conversation::Conversation;
use super::decode::BatchDecoder;
use super::prompting::{Prompted, Prompting};
use super::sampling::Draw;
use super::thinking::{Lengths, NextToken, Tracker};
use crate::known_faults::lacks_memory;
use compass_plan::engine::{Caller, Request, TokenCounters};
use compass_plan::prompt::{kept_prompt, prompt_sha};
use compass_plan::{Body, InferSpec, REST};
use compass_types::result::{Finish, Generation, Outcome, PromptFit, PromptSha, SampleResult};
use std::sync::Arc;
use tch::TchError;

/// Identifies a sequence: its request, and which of the request's sequences it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct SequenceId {
    request: usize,
    sequence: u32,
    /// Most tokens to generate.
    max_tokens: usize,
}

/// All generation requests of a batch.
pub(super) struct GenerationBatch<'a> {
    prompting: &'a Prompting<'a>,
    /// Number of threads that tokenise additions.
    threads: usize,
    decoder: BatchDecoder<'a>,
    /// Number of positions, for models with learnt ones.
    most_positions: Option<usize>,
    requests: Vec<GenerationRequest>,
    /// Samples that are not begun; `None` while some of them are.
    upcoming: Option<Upcoming<'a>>,
    /// Sequences that were made ready.
    ready: Vec<SequenceRequest<SequenceId>>,
    counters: TokenCounters,
    emit: &'a mut dyn FnMut(SampleResult),
}

/// Generation for one sample.
struct GenerationRequest {
    index: u32,
    caller: Option<Arc<Caller>>,
    fit: PromptFit,
    /// Texts of the chat template, one for each prompt so far.
    rendered: Vec<String>,
    /// Number of its first answers that were drawn before: sequences are counted from the next one.
    drawn: u32,
    /// Answers by sequence.
    answers: Vec<Option<Generation>>,
    /// State of thinking by sequence, for those that are begun.
    trackers: Vec<Tracker>,
    conversation: Option<Conversation>,
    over: bool,
}

impl GenerationRequest {
    /// Digest of the chat template's output, over all prompts so far.
    fn prompt_sha(&self) -> Option<PromptSha> {
        (!self.rendered.is_empty()).then(|| prompt_sha(self.rendered.iter().map(String::as_str)))
    }
}

impl<'a> GenerationBatch<'a> {
    /// Creates an empty batch.
    pub(super) fn new(
        (prompting, threads): (&'a Prompting<'a>, usize),
        decoder: BatchDecoder<'a>,
        most_positions: Option<usize>,
        (upcoming, emit): (Upcoming<'a>, &'a mut dyn FnMut(SampleResult)),
    ) -> Self {
        let (counters, requests, ready) = (TokenCounters::default(), Vec::new(), Vec::new());
        Self { prompting, threads, decoder, most_positions, requests, upcoming: Some(upcoming), ready, counters, emit }
    }

    /// Adds a sample, whose prompt may be known already, and returns its first sequences. A sample that fails, or needs no
    /// sequence, is emitted at once.
    fn begin(
        &mut self,
        request: &Request<'_>,
        prompt: Option<Result<Prompted, RunError>>,
    ) -> Vec<SequenceRequest<SequenceId>> {
        let pending = GenerationRequest {
            index: request.sample.index,
            caller: request.caller.clone(),
            fit: PromptFit::default(),
            rendered: Vec::new(),
            drawn: 0,
            answers: Vec::new(),
            trackers: Vec::new(),
            conversation: None,
            over: false,
        };
        let number = self.requests.len();
        self.requests.push(pending);
        let next = self.first(number, request, prompt);
        self.fail_on_error(number, next)
    }

    fn first(
        &mut self,
        number: usize,
        request: &Request<'_>,
        known: Option<Result<Prompted, RunError>>,
    ) -> Result<Vec<SequenceRequest<SequenceId>>, RunError> {
        match (&self.prompting.spec.infer, &request.sample.body) {
            (InferSpec::Gen(_), Body::Gen { prompt }) => {
                let mut prompted = known.unwrap_or_else(|| self.prompting.prompt(request, prompt))?;
                let settings = self.prompting.settings;
                let pending = &mut self.requests[number];
                pending.drawn = request.drawn.min(settings.sequences.saturating_sub(1));
                // Without draws all sequences are equal.
                let asked = if settings.rules.warp.is_some() { settings.sequences - pending.drawn } else { 1 };
                pending.fit = prompted.fit.clone();
                pending.rendered.extend(prompted.rendered.take());
                pending.answers = vec![None; asked as usize];
                self.sequence_requests(number, &prompted, 0..asked)
            }
            (InferSpec::Chat { infer_mode, .. }, Body::Chat { turns }) => {
                let conversation = Conversation::new(turns.clone(), *infer_mode)?;
                let pending = &mut self.requests[number];
                pending.answers = vec![None; conversation.answers()];
                pending.conversation = Some(conversation);
                self.turn(number, 0)
            }
            (infer, _) => {
                let mode = infer.mode();
                let what = format!("the plan asks for `{mode}`, but the sample's prompt is of another kind");
                Err(RunError::Sample(what))
            }
        }
    }

    /// Returns the sequence for answer number `sequence` of a conversation.
    fn turn(&mut self, number: usize, sequence: u32) -> Result<Vec<SequenceRequest<SequenceId>>, RunError> {
        let pending = &mut self.requests[number];
        let Some(conversation) = &pending.conversation else { return Ok(Vec::new()) };
        let mut prompted = conversation.prompt(self.prompting, sequence as usize, pending.caller.as_deref())?;
        pending.rendered.extend(prompted.rendered.take());
        let length = |fit: &PromptFit| fit.tokens.max(fit.truncated_from);
        if length(&prompted.fit) > length(&pending.fit) {
            pending.fit = prompted.fit.clone();
        }
        self.sequence_requests(number, &prompted, sequence..sequence + 1)
    }

    fn sequence_requests(
        &mut self,
        number: usize,
        prompted: &Prompted,
        sequences: std::ops::Range<u32>,
    ) -> Result<Vec<SequenceRequest<SequenceId>>, RunError> {
        let ids = &prompted.ids;
        if prompted.fit.truncated_from > 0 && self.requests[number].caller.is_some() {
            let (tokens, most) = (prompted.fit.truncated_from, self.prompting.settings.limit);
            return Err(RunError::Sample(format!(
                "the prompt of {tokens} tokens is longer than this model's maximum context length of {most}"
            )));
        }
        // The last token generated needs no position.
        let room = self.most_positions.map_or(usize::MAX, |most| (most + 1).saturating_sub(ids.len()));
        let settings = self.prompting.settings;
        let left = settings.context.saturating_sub(ids.len());
        let room = if settings.max_out_len == REST as usize { room.min(left) } else { room };
        let lengths = match &settings.thinking {
            Some(rules) => rules.lengths(settings.max_out_len, room, left),
            None => Lengths::of_answer(settings.max_out_len.min(room)),
        };
        let max_tokens = lengths.total;
        let begun = sequences.start as usize;
        let trackers = &mut self.requests[number].trackers;
        trackers.truncate(begun);
        trackers.extend(sequences.clone().map(|_| Tracker::new(prompted.opened, lengths)));
        if max_tokens == 0 {
            let none = Generation::new("", 0, Finish::Length);
            let mut next = Vec::new();
            for sequence in sequences {
                next.extend(self.answered(SequenceId { request: number, sequence, max_tokens }, none.clone())?);
            }
            return Ok(next);
        }
        self.counters.submitted += ids.len() as u64;
        let request = if sequences.len() > 1 { SequenceRequest::of_several } else { SequenceRequest::new };
        let id = |sequence| SequenceId { request: number, sequence, max_tokens };
        Ok(sequences.map(|sequence| request(ids, &prompted.borders, max_tokens, id(sequence))).collect())
    }

    /// Records an answer and returns the sequences that follow; after the last answer the sample is emitted.
    fn answered(&mut self, id: SequenceId, answer: Generation) -> Result<Vec<SequenceRequest<SequenceId>>, RunError> {
        let pending = &mut self.requests[id.request];
        if let Some(conversation) = &mut pending.conversation {
            conversation.record_answer(id.sequence as usize, &answer.text);
        }
        if let Some(slot) = pending.answers.get_mut(id.sequence as usize) {
            *slot = Some(answer);
        }
        if pending.answers.iter().all(Option::is_some) {
            pending.over = true;
            let mut answers: Vec<Generation> = pending.answers.drain(..).flatten().collect();
            if pending.conversation.is_none()
                && let [only] = answers.as_slice()
            {
                answers = vec![only.clone(); (self.prompting.settings.sequences - pending.drawn) as usize];
            }
            let outcome = Outcome::Generated(answers);
            let fit = PromptFit { prompt_sha: pending.prompt_sha(), ..pending.fit.clone() };
            (self.emit)(SampleResult { index: pending.index, fit, outcome });
            return Ok(Vec::new());
        }
        if pending.conversation.is_some() { self.turn(id.request, id.sequence + 1) } else { Ok(Vec::new()) }
    }

    fn fail_on_error(
        &mut self,
        number: usize,
        next: Result<Vec<SequenceRequest<SequenceId>>, RunError>,
    ) -> Vec<SequenceRequest<SequenceId>> {
        match next {
            Ok(next) => next,
            Err(RunError::Sample(reason)) => {
                self.fail(number, Outcome::Failed { reason });
                Vec::new()
            }
            Err(RunError::NoRoom(reason)) => {
                self.fail(number, Outcome::NoRoom { reason });
                Vec::new()
            }
            Err(RunError::Torch(error)) => {
                self.fail(number, Outcome::Failed { reason: error.to_string() });
                Vec::new()
            }
        }
    }

    /// Emits a sample without an answer.
    fn fail(&mut self, number: usize, outcome: Outcome) {
        let pending = &mut self.requests[number];
        pending.over = true;
        let fit = match outcome {
            Outcome::Failed { .. } => PromptFit {
                prompt_sha: pending.prompt_sha(),
                rendered: pending.rendered.pop().map(kept_prompt),
                ..PromptFit::default()
            },
            _ => PromptFit::default(),
        };
        (self.emit)(SampleResult { index: pending.index, fit, outcome });
    }

    /// Returns the tokens submitted and generated for the samples.
    pub(super) fn counters(&self) -> TokenCounters {
        self.counters
    }

    /// The draws of a sequence.
    fn draw(&self, id: &SequenceId) -> Draw {
        let GenerationRequest { index, caller, drawn, .. } = &self.requests[id.request];
        let (seed, sample) =
            caller.as_ref().map_or((self.prompting.settings.seed, *index), |caller| (caller.seed(), 0));
        Draw { seed, sample, sequence: drawn + id.sequence }
    }

    /// Returns the sequence with its next token, and how it ended if it did.
    fn grown(
        &mut self,
        id: &SequenceId,
        seen: &[u32],
        generated: usize,
        prediction: Prediction<'_>,
    ) -> Result<(Vec<u32>, Option<Finish>), RunError> {
        let draw = self.draw(id);
        let mut seen = seen.to_vec();
        let Self { requests, decoder, .. } = self;
        let tracker = requests[id.request].trackers.get_mut(id.sequence as usize);
        let tracker = tracker.ok_or_else(|| RunError::Sample("the sequence was not begun".to_owned()))?;
        match decoder.next_of(tracker, prediction, &seen, generated, draw)? {
            NextToken::Cut => return Ok((seen, Some(Finish::Length))),
            NextToken::Token(token) => seen.push(token),
        }
        let end = decoder.ends_of(tracker, &seen, generated + 1, id.max_tokens)?;
        Ok((seen, end))
    }
}

impl DecodeCallback<SequenceId> for GenerationBatch<'_> {
    fn choice(&self) -> Choice {
        let rules = &self.prompting.settings.rules;
        Choice { warp: rules.warp, rules: rules.change_logits().then_some(rules.repetition_penalty) }
    }

    fn changes(&self, seen: &[u32], generated: usize) -> Changes {
        let settings = self.prompting.settings;
        settings.rules.changes(seen, generated, &settings.eos)
    }

    fn uniform(&self, id: &SequenceId, generated: usize) -> f64 {
        self.draw(id).at(generated)
    }

    fn on_logits(
        &mut self,
        id: &SequenceId,
        seen: &[u32],
        generated: usize,
        prediction: Prediction<'_>,
    ) -> Result<StepOutcome<SequenceId>, TchError> {
        let answer = match self.grown(id, seen, generated, prediction) {
            Ok((grown, None)) => return Ok(StepOutcome::Next(grown.last().copied().unwrap_or_default())),
            Ok((grown, Some(finish))) => {
                let grown_by = generated + grown.len() - seen.len();
                self.counters.generated += grown_by as u64;
                self.counters.submitted += generated as u64;
                match self.requests[id.request].trackers.get(id.sequence as usize) {
                    Some(tracker) => self.decoder.finished(tracker, &grown, grown_by, finish),
                    None => Err(RunError::Sample("the sequence was not begun".to_owned())),
                }
            }
            Err(error) => Err(error),
        };
        match answer.and_then(|answer| self.answered(*id, answer)) {
            Ok(next) => Ok(StepOutcome::Finished(next)),
            Err(RunError::Sample(reason)) => {
                self.fail(id.request, Outcome::Failed { reason });
                Ok(StepOutcome::Finished(Vec::new()))
            }
            Err(RunError::NoRoom(reason)) => {
                self.fail(id.request, Outcome::NoRoom { reason });
                Ok(StepOutcome::Finished(Vec::new()))
            }
            Err(RunError::Torch(error)) => Err(error),
        }
    }

    fn decides_next(&self, id: &SequenceId, generated: usize) -> bool {
        let Some(rules) = &self.prompting.settings.thinking else { return false };
        let tracker = self.requests[id.request].trackers.get(id.sequence as usize);
        tracker.is_some_and(|tracker| tracker.decides_next(rules, generated))
    }

    fn no_room(&mut self, id: &SequenceId, tokens: usize) {
        if self.is_wanted(id) {
            let reason = lacks_memory(&format!("keys and values of {tokens} tokens"));
            self.fail(id.request, Outcome::NoRoom { reason });
        }
    }

    fn prepare(&mut self) {
        let Some(mut upcoming) = self.upcoming.take() else { return };
        let next = upcoming.next(false, |requests| {
            let prompts = prompt_all(self.prompting, self.threads, requests);
            requests.iter().zip(prompts).flat_map(|(request, prompt)| self.begin(request, prompt)).collect::<Vec<_>>()
        });
        self.ready.extend(next);
        self.upcoming = Some(upcoming);
    }

    fn arrivals(&mut self) -> Vec<SequenceRequest<SequenceId>> {
        std::mem::take(&mut self.ready)
    }

    fn is_wanted(&self, id: &SequenceId) -> bool {
        let is_wanted = |pending: &GenerationRequest| {
            !pending.over && !pending.caller.as_ref().is_some_and(|caller| caller.has_left())
        };
        self.requests.get(id.request).is_some_and(is_wanted)
    }
}
