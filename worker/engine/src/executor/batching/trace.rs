//! Traces of continuations with the logits of every step: tests compare them to check batch invariance.

use super::{Choice, DecodeCallback, Prediction, SequenceRequest, Slots, StepOutcome, continue_all};
use crate::executor::sampling::{Draw, choose};
use crate::kernels::Warp;
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
    /// Digest of the bits of all logits from which each token was chosen, 0 where the device chose it.
    pub logits: Vec<u64>,
}

struct Tracer {
    traces: Vec<Trace>,
    samples: Vec<(u32, usize)>,
    seed: Option<u64>,
}

impl Tracer {
    fn draw(&self, id: usize, seed: u64) -> Draw {
        let (sample, _) = self.samples[id];
        Draw { seed, sample, sequence: 0 }
    }
}

impl DecodeCallback<usize> for Tracer {
    fn choice(&self) -> Choice {
        // Rules want all logits on the CPU.
        Choice { warp: self.seed.map(|_| Warp { temperature: 1.0, top_k: 0, top_p: 1.0 }), rules: Some(1.0) }
    }

    fn uniform(&self, id: &usize, generated: usize) -> f64 {
        self.seed.map_or(0.0, |seed| self.draw(*id, seed).at(generated))
    }

    fn on_logits(
        &mut self,
        id: &usize,
        _: &[u32],
        generated: usize,
        prediction: Prediction<'_>,
    ) -> Result<StepOutcome<usize>, TchError> {
        let (token, logits) = match prediction {
            Prediction::Logits(row) => {
                let mut hasher = DefaultHasher::new();
                row.iter().for_each(|logit| logit.to_bits().hash(&mut hasher));
                let draw = self.seed.map(|seed| (self.draw(*id, seed), generated));
                (choose(row, draw).unwrap_or_default(), hasher.finish())
            }
            Prediction::Best(token) | Prediction::Drawn(token) => (token.unwrap_or_default(), 0),
        };
        let (_, tokens) = self.samples[*id];
        let trace = &mut self.traces[*id];
        // After memory ran out, the callback sees a sequence from its start again.
        trace.tokens.truncate(generated);
        trace.logits.truncate(generated);
        trace.tokens.push(token);
        trace.logits.push(logits);
        Ok(if trace.tokens.len() >= tokens { StepOutcome::Finished(Vec::new()) } else { StepOutcome::Next(token) })
    }

    fn no_room(&mut self, _: &usize, _: usize) {}

    fn is_wanted(&self, _: &usize) -> bool {
        true
    }
}

/// Continues `asked` in new slots, greedily or by draws of a seed; returns traces in the order of `asked`.
///
/// # Errors
/// An error of libtorch.
pub(crate) fn trace(
    model: &mut dyn CausalLm,
    asked: &[Traced],
    mut slots: Slots,
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
    continue_all(model, (&mut slots, &mut Arena::none()), sequences, &mut tracer, counters)?;
    Ok(tracer.traces)
}
