//! Scoring of the samples of a batch, round by round: while the device scores the texts of one round, the texts of the next,
//! which has the samples that were added meanwhile, are made and tokenised.

use super::answer::{RunError, failed};
use super::building::{Upcoming, build_all};
use super::notes::Notes;
use super::scoring::{Scorer, Work};
use super::scoring_request::{ScoringRequest, ScoringRequestBuilder};
use crate::fault::device_fault;
use crate::kv::Arena;
use compass_plan::engine::{Added, BatchSpec, EngineFault, Request};
use compass_types::result::SampleResult;
use std::time::{Duration, Instant};

/// Time for which a batch accepts additions: its counters and prefix segments are reported when it ends.
const TAKES_UP_FOR: Duration = Duration::from_secs(5);

/// Number of samples from which on a round grows only pass by pass.
const MOST_OF_A_ROUND: usize = 1024;

/// Makes the texts of samples.
pub(super) struct Building<'a> {
    pub(super) builder: ScoringRequestBuilder<'a>,
    pub(super) threads: usize,
    pub(super) spec: &'a BatchSpec,
    pub(super) notes: &'a mut Notes,
}

/// Samples by index, each with its texts or the reason why it has none.
type Round<'r> = Vec<(u32, Result<ScoringRequest<'r>, RunError>)>;

impl Building<'_> {
    fn round<'r>(&mut self, requests: &[Request<'_>]) -> Round<'r> {
        let built = build_all(&self.builder, self.threads, self.spec, requests, self.notes);
        requests.iter().map(|request| request.sample.index).zip(built).collect()
    }
}

/// Scores every request, and the requests that are added meanwhile, and passes each result to `emit` as soon as it is known.
///
/// # Errors
/// Errors of the device, which end the batch.
pub(super) fn run<'a>(
    (scorer, arena): (&mut Scorer, &mut Arena),
    work: Work<'_>,
    mut building: Building<'_>,
    requests: (&'a [Request<'a>], &'a mut Added<'a>),
    emit: &mut dyn FnMut(SampleResult),
) -> Result<(), EngineFault> {
    let begun = Instant::now();
    let Work { model, precision, counters } = work;
    let mut upcoming = Upcoming::new(requests, scorer.is_ahead());
    let mut round = upcoming.next(false, |next| building.round(next));
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
        let is_ahead = scorer.is_ahead();
        let mut prepare_next = || {
            // Where no texts are made while a device computes, a round has the samples that are there when the one before it begins.
            if !is_ahead && !next.is_empty() {
                return false;
            }
            let made = upcoming.next(begun.elapsed() >= TAKES_UP_FOR, |next| building.round(next));
            let any = !made.is_empty();
            next.extend(made);
            any && next.len() < MOST_OF_A_ROUND
        };
        let mut fault = None;
        let work = Work { model: &mut *model, precision, counters: &mut *counters };
        let run = scorer.run(work, arena, texts, &mut prepare_next, &mut |sample, scores| {
            let Some((index, fit, finish)) = waiting[sample].take() else { return };
            match scores.map_err(RunError::NoRoom).and_then(|scores| finish(&scores)) {
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
        if next.is_empty() {
            next = upcoming.next(begun.elapsed() >= TAKES_UP_FOR, |next| building.round(next));
        }
        round = next;
    }
    Ok(())
}
