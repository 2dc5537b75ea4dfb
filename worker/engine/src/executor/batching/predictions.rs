//! Predictions of the model for the tokens after the sequences of a step, on their way to the host.

use super::callback::{Choice, DecodeCallback, Prediction};
use super::running_sequence::RunningSequence;
use crate::kernels::ToHost;
use crate::models::CausalLm;
use tch::{TchError, Tensor};

/// The chosen tokens of a step, or the logits from which the host chooses: one copy.
pub(super) enum PredictionsUnderWay {
    /// No sequence decodes.
    None,
    /// Tokens, `[sequences]`, with the copy of them; and whether they were drawn.
    Tokens { tokens: Tensor, copy: ToHost, drawn: bool },
    /// Logits, `[sequences, vocabulary]`.
    Logits { copy: ToHost, vocabulary: usize },
}

impl PredictionsUnderWay {
    /// Has tokens chosen for sequences by their logits, `[sequences, vocabulary]`. Only a device that computes ahead chooses
    /// whatever the rules are; another leaves some to the host.
    pub(super) fn begin<T>(
        model: &dyn CausalLm,
        logits: Option<&Tensor>,
        callback: &dyn DecodeCallback<T>,
        decoded: &[&RunningSequence<T>],
        is_ahead: bool,
    ) -> Result<Self, TchError> {
        let Some(logits) = logits else { return Ok(Self::None) };
        let kernels = model.kernels();
        let Choice { warp, rules } = callback.choice();
        if (warp.is_some() || rules.is_some()) && !is_ahead && kernels.host_chooses(logits.device()) {
            return Ok(Self::Logits { copy: kernels.begin_to_host(logits)?, vocabulary: model.vocabulary() });
        }
        if let Some(penalty) = rules {
            let (penalised, forbidden) = places(model.vocabulary(), callback, decoded);
            kernels.change(logits, &penalised, penalty, &forbidden)?;
        }
        let tokens = match warp {
            None => kernels.best(logits)?,
            Some(warp) => {
                let uniform = |one: &&RunningSequence<T>| callback.uniform(&one.sequence.id, one.generated_then());
                kernels.draw(logits, warp, &decoded.iter().map(uniform).collect::<Vec<f64>>())?
            }
        };
        Ok(Self::Tokens { copy: kernels.begin_to_host(&tokens)?, tokens, drawn: warp.is_some() })
    }

    /// Returns the tokens where they were chosen; -1 for one that could not be.
    pub(super) fn tokens(&self) -> Option<&Tensor> {
        match self {
            Self::Tokens { tokens, .. } => Some(tokens),
            Self::None | Self::Logits { .. } => None,
        }
    }

    /// Waits for them.
    pub(super) fn read(self) -> Result<Predictions, TchError> {
        Ok(match self {
            Self::None => Predictions::Best(Vec::new()),
            Self::Tokens { copy, drawn, .. } => {
                let tokens = Vec::<i64>::try_from(&copy.wait()?)?;
                if drawn { Predictions::Drawn(tokens) } else { Predictions::Best(tokens) }
            }
            Self::Logits { copy, vocabulary } => {
                Predictions::Logits(Vec::<f32>::try_from(&copy.wait()?.f_reshape([-1])?)?, vocabulary)
            }
        })
    }
}

/// Predictions of a step that the host has read.
pub(super) enum Predictions {
    Best(Vec<i64>),
    Drawn(Vec<i64>),
    Logits(Vec<f32>, usize),
}

impl Predictions {
    /// Returns the prediction of a row.
    pub(super) fn of(&self, row: usize) -> Prediction<'_> {
        match self {
            Self::Best(best) => Prediction::Best(best.get(row).and_then(|&id| u32::try_from(id).ok())),
            Self::Drawn(drawn) => Prediction::Drawn(drawn.get(row).and_then(|&id| u32::try_from(id).ok())),
            Self::Logits(all, vocabulary) => {
                Prediction::Logits(all.get(row * vocabulary..(row + 1) * vocabulary).unwrap_or_default())
            }
        }
    }
}

/// Returns the places in the logits of all rows together that rules change: the penalised ones, and the forbidden ones.
fn places<T>(
    vocabulary: usize,
    callback: &dyn DecodeCallback<T>,
    decoded: &[&RunningSequence<T>],
) -> (Vec<i64>, Vec<i64>) {
    let (mut penalised, mut forbidden) = (Vec::new(), Vec::new());
    for (row, one) in decoded.iter().enumerate() {
        let place = |id: &u32| (row * vocabulary + *id as usize) as i64;
        let is_known = |id: &&u32| (**id as usize) < vocabulary;
        let changes = callback.changes(&one.seen, one.generated_then());
        penalised.extend(changes.penalised.iter().filter(is_known).map(place));
        forbidden.extend(changes.forbidden.iter().filter(is_known).map(place));
    }
    (penalised, forbidden)
}
