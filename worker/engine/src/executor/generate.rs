//! Generation: the samples of a pack, continued together.

use super::answer::RunError;
use super::batching::{Slots, continue_all};
use super::decode::Decoder;
use super::prompting::Prompting;
use super::talks::Talks;
use crate::models::CausalLm;
use compass_plan::engine::{Request, TokenCounters};
use compass_types::result::SampleResult;

/// Answers every request and hands each sample to `emit` as soon as its last answer is there.
///
/// # Errors
/// [`RunError::Torch`] when libtorch fails; [`RunError::Sample`] when the stop strings cannot be read.
pub(super) fn run(
    model: &mut dyn CausalLm,
    slots: &mut Slots,
    prompting: &Prompting<'_>,
    requests: &[Request<'_>],
    counters: &mut TokenCounters,
    emit: &mut dyn FnMut(SampleResult),
) -> Result<(), RunError> {
    let decoder = Decoder::new(prompting.texts.tokenizer, prompting.profile, prompting.settings)?;
    let mut talks = Talks::new(prompting, decoder, model.most_positions(), emit);
    let asks = requests.iter().flat_map(|request| talks.begin(request)).collect();
    let run = continue_all(model, slots, asks, &mut talks, counters);
    counters.add(&talks.counters());
    Ok(run?)
}
