//! Traces of continuations with the logits of every step: tests compare them to check batch invariance.

use super::{Choice, DecodeCallback, Prediction, SequenceRequest, Slots, StepOutcome, continue_all};
use crate::executor::sampling::{Draw, choose};
use crate::kv::Arena;
use crate::models::CausalLm;
use compass_plan::engine::TokenCounters;
use std::hash::{DefaultHasher, Hash, Hasher};
use tch::TchError;

/// A prompt to continue.
#[derive(Clone, Debug)]
pub struct Traced {
    /// Sample whose random draws it uses.
    pub sample: u32,
    /// Its tokens, at least one.
    pub prompt: Vec<u32>,
    /// Its structural borders: numbers of tokens after which a header or a shot ends.
    pub borders: Vec<usize>,
    /// Tokens to generate, at least one.
    pub tokens: usize,
}

/// One continuation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The tokens generated.
    pub tokens: Vec<u32>,
    /// For each of them a digest of the bits of all logits from which it was chosen.
    pub logits: Vec<u64>,
}

struct Tracer {
    traces: Vec<Trace>,
    samples: Vec<(u32, usize)>,
    seed: Option<u64>,
}

impl DecodeCallback<usize> for Tracer {
    fn choice(&self) -> Choice {
        // On the CPU rules want all logits.
        Choice { warp: None, rules: Some(1.0) }
    }

    fn on_logits(
        &mut self,
        id: &usize,
        _: &[u32],
        generated: usize,
        prediction: Prediction<'_>,
    ) -> Result<StepOutcome<usize>, TchError> {
        let Prediction::Logits(row) = prediction else { return Ok(StepOutcome::Finished(Vec::new())) };
        let mut hasher = DefaultHasher::new();
        row.iter().for_each(|logit| logit.to_bits().hash(&mut hasher));
        let (sample, tokens) = self.samples[*id];
        let draw = self.seed.map(|seed| (Draw { seed, sample, sequence: 0 }, generated));
        let token = choose(row, draw).unwrap_or_default();
        let trace = &mut self.traces[*id];
        // After memory ran out, the callback sees a sequence from its start again.
        trace.tokens.truncate(generated);
        trace.logits.truncate(generated);
        trace.tokens.push(token);
        trace.logits.push(hasher.finish());
        Ok(if trace.tokens.len() >= tokens { StepOutcome::Finished(Vec::new()) } else { StepOutcome::Next(token) })
    }

    fn no_room(&mut self, _: &usize, _: usize) {}

    fn is_wanted(&self, _: &usize) -> bool {
        true
    }
}

/// Continues `asked` with at most `slots` at once, greedily or by draws of a seed; returns traces in the order of
/// `asked`.
///
/// # Errors
/// An error of libtorch.
pub(crate) fn trace(
    model: &mut dyn CausalLm,
    asked: &[Traced],
    slots: usize,
    seed: Option<u64>,
    counters: &mut TokenCounters,
) -> Result<Vec<Trace>, TchError> {
    let sequences = asked
        .iter()
        .enumerate()
        .map(|(id, asked)| SequenceRequest::new(&asked.prompt, &asked.borders, asked.tokens, id))
        .collect();
    let samples = asked.iter().map(|asked| (asked.sample, asked.tokens)).collect();
    let mut tracer = Tracer { traces: vec![Trace::default(); asked.len()], samples, seed };
    let (mut slots, mut arena) = (Slots::new(slots), Arena::none());
    continue_all(model, (&mut slots, &mut arena), sequences, &mut tracer, counters)?;
    Ok(tracer.traces)
}
