//! Scoring of the samples of a batch, round by round: while the device scores the texts of one round, those of the next, which
//! are the samples that were added meanwhile, are made and tokenised.

use super::answer::RunError;
use super::building::{AddedRequests, build_all};
use super::model_executor::failed;
use super::notes::Notes;
use super::scoring::{Scorer, Work};
use super::scoring_request::{ScoringRequest, ScoringRequestBuilder};
use crate::fault::device_fault;
use crate::kv::Arena;
use compass_plan::engine::{Added, BatchSpec, EngineFault, Request};
use compass_types::result::SampleResult;
use std::time::{Duration, Instant};

/// How long a batch takes up what is added: its counters and prefix segments are told when it ends.
const TAKES_UP_FOR: Duration = Duration::from_secs(5);

/// Makes the texts of samples.
pub(super) struct Building<'a> {
    pub(super) builder: ScoringRequestBuilder<'a>,
    pub(super) threads: usize,
    pub(super) spec: &'a BatchSpec,
    pub(super) notes: &'a mut Notes,
}

/// Samples by index, each with its texts or why it has none.
type Round<'r> = Vec<(u32, Result<ScoringRequest<'r>, RunError>)>;

impl Building<'_> {
    fn round<'r>(&mut self, requests: &[Request<'_>]) -> Round<'r> {
        let built = build_all(&self.builder, self.threads, self.spec, requests, self.notes);
        requests.iter().map(|request| request.sample.index).zip(built).collect()
    }

    /// Makes a round of what was added; an empty one if nothing was.
    fn added<'r>(&mut self, added: &mut Added<'_>) -> Round<'r> {
        self.round(&AddedRequests::taken_from(added).requests())
    }
}

/// Scores every request, and those that are added meanwhile, and passes each result to `emit` as soon as it is known.
///
/// # Errors
/// Those of the device, which end the batch.
pub(super) fn run(
    (scorer, arena): (&mut Scorer, &mut Arena),
    work: Work<'_>,
    mut building: Building<'_>,
    (requests, added): (&[Request<'_>], &mut Added<'_>),
    emit: &mut dyn FnMut(SampleResult),
) -> Result<(), EngineFault> {
    let begun = Instant::now();
    let Work { model, precision, counters } = work;
    let mut round = building.round(requests);
    while !round.is_empty() {
        let (mut waiting, mut texts) = (Vec::with_capacity(round.len()), Vec::with_capacity(round.len()));
        for (index, built) in round {
            match built {
                Ok(ScoringRequest { fit, texts: inputs, finish }) => {
                    texts.push(inputs);
                    waiting.push(Some((index, fit, finish)));
                }
                Err(error) => emit(failed(index, error)?),
            }
        }
        let mut next = Round::new();
        let mut prepare_next = || {
            if next.is_empty() && begun.elapsed() < TAKES_UP_FOR {
                next = building.added(added);
            }
        };
        let mut fault = None;
        let work = Work { model: &mut *model, precision, counters: &mut *counters };
        let run = scorer.run(work, arena, texts, &mut prepare_next, &mut |sample, scores| {
            let Some((index, fit, finish)) = waiting[sample].take() else { return };
            match scores.map_err(RunError::Sample).and_then(|scores| finish(&scores)) {
                Ok(outcome) => emit(SampleResult { index, fit, outcome }),
                Err(error) => match failed(index, error) {
                    Ok(result) => emit(result),
                    Err(error) => fault = Some(error),
                },
            }
        });
        run.map_err(|error| device_fault(&error))?;
        if let Some(fault) = fault {
            return Err(fault);
        }
        prepare_next();
        round = next;
    }
    Ok(())
}
