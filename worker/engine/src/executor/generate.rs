//! Generation for the samples of a batch.

use super::answer::RunError;
use super::batching::{Slots, continue_all};
use super::building::Upcoming;
use super::decode::BatchDecoder;
use super::generation_batch::GenerationBatch;
use super::prompting::Prompting;
use crate::kv::Arena;
use crate::models::CausalLm;
use compass_plan::engine::{Added, Request, TokenCounters};
use compass_types::result::SampleResult;

/// Runs every request, and the requests that are added meanwhile, and passes each result to `emit` as soon as its last answer is known.
/// Prompts are tokenised on `threads` threads.
///
/// # Errors
/// [`RunError::Torch`] if libtorch fails; [`RunError::Sample`] if the stop strings cannot be encoded.
pub(super) fn run(
    model: &mut dyn CausalLm,
    (slots, arena): (&mut Slots, &mut Arena),
    (prompting, threads): (&Prompting<'_>, usize),
    (requests, added): (&[Request<'_>], &mut Added<'_>),
    counters: &mut TokenCounters,
    emit: &mut dyn FnMut(SampleResult),
) -> Result<(), RunError> {
    let decoder = BatchDecoder::new(prompting.texts.tokenizer, prompting.profile, prompting.settings)?;
    let upcoming = Upcoming::new((requests, added), slots.is_ahead());
    let mut batch = GenerationBatch::new((prompting, threads), decoder, model.most_positions(), (upcoming, emit));
    let run = continue_all(model, (slots, arena), Vec::new(), &mut batch, counters);
    counters.add(&batch.counters());
    Ok(run?)
}
