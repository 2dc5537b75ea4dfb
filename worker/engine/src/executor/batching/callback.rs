//! The callback that chooses the tokens of sequences, and the types of its arguments.

use super::queue::SequenceRequest;
use crate::kernels::Warp;
use tch::TchError;

/// Outcome of one decode step of a sequence.
pub(crate) enum StepOutcome<T> {
    /// The sequence continues with this token.
    Next(u32),
    /// The sequence is finished; these sequences follow it.
    Finished(Vec<SequenceRequest<T>>),
}

/// Prediction of the model for the token after a sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Prediction<'a> {
    /// The token with the largest logit, the lowest of equals.
    Best(Option<u32>),
    /// A token drawn on the device, if the logits are a distribution.
    Drawn(Option<u32>),
    /// All logits.
    Logits(&'a [f32]),
}

/// Way in which tokens are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Choice {
    /// A draw from the distribution that this transforms; the largest logit without one.
    pub(crate) warp: Option<Warp>,
    /// Factor of the repetition penalty, where rules change logits before: [`DecodeCallback::changes`].
    pub(crate) rules: Option<f32>,
}

/// Tokens whose logits rules change before one is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Each once.
    pub(crate) penalised: Vec<u32>,
    pub(crate) forbidden: Vec<u32>,
}

/// Chooses the tokens of sequences.
pub(crate) trait DecodeCallback<T> {
    /// Returns the way in which tokens are chosen.
    fn choice(&self) -> Choice;

    /// Returns the changes of rules to the logits after `seen`, whose last `generated` tokens do not belong to the prompt.
    fn changes(&self, _seen: &[u32], _generated: usize) -> Changes {
        Changes::default()
    }

    /// Returns the number in [0, 1) for the draw of a sequence after this many generated tokens.
    fn uniform(&self, _id: &T, _generated: usize) -> f64 {
        0.0
    }

    /// Returns whether the token after `generated` ones of a sequence may be another than the one that the device chooses: it is not fed before the
    /// host has decided.
    fn decides_next(&self, _id: &T, _generated: usize) -> bool {
        false
    }

    /// Takes what the model predicts after `seen`, of which the last `generated` tokens do not belong to the prompt.
    ///
    /// # Errors
    /// Errors of libtorch, which end the batch.
    fn on_logits(
        &mut self,
        id: &T,
        seen: &[u32],
        generated: usize,
        prediction: Prediction<'_>,
    ) -> Result<StepOutcome<T>, TchError>;

    /// Notes that a sequence is not continued: the memory has no room for the keys and values of this many tokens.
    fn no_room(&mut self, id: &T, tokens: usize);

    /// Prepares further sequences to be continued: while the device computes, or has nothing to do.
    fn prepare(&mut self) {}

    /// Returns the sequences that were made ready since the last call.
    fn arrivals(&mut self) -> Vec<SequenceRequest<T>> {
        Vec::new()
    }

    /// Returns whether the sequence is still needed.
    fn is_wanted(&self, id: &T) -> bool;
}
