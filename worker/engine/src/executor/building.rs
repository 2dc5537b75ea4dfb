//! Renders and tokenises the samples of a batch, on several threads where a GPU would wait for them.

use super::answer::RunError;
use super::notes::Notes;
use super::prompting::{Prompted, Prompting};
use super::scoring_request::{ScoringRequest, ScoringRequestBuilder};
use super::{clp, loglikelihood, marked, ppl, rolling, swce};
use compass_plan::engine::{Added, BatchSpec, Caller, Request};
use compass_plan::prompt::Shot;
use compass_plan::{Body, InferSpec, Sample};
use std::collections::VecDeque;
use std::sync::Arc;

/// Most threads that make requests: more would be idle while a GPU computes.
const MOST_TOKENIZING_THREADS: usize = 4;

/// Returns the number of threads that tokenise: on a CPU the computing threads, which are otherwise idle meanwhile.
pub(super) fn tokenizing_threads(is_cpu: bool) -> usize {
    if is_cpu {
        return usize::try_from(tch::get_num_threads()).unwrap_or(1).min(MOST_TOKENIZING_THREADS);
    }
    std::thread::available_parallelism().map_or(1, |threads| threads.get().min(MOST_TOKENIZING_THREADS))
}

/// Number of samples whose texts are made at once where a device computes meanwhile: its computation takes longer.
const AT_ONCE: usize = 64;

/// Samples of a batch whose texts are still to be made: its first samples, and those that are added.
pub(super) struct Upcoming<'a> {
    /// The first samples.
    rest: &'a [Request<'a>],
    /// The added samples.
    taken: VecDeque<Taken>,
    added: &'a mut Added<'a>,
    at_once: usize,
}

/// A request that was added, for as long as it is needed.
struct Taken {
    sample: Sample,
    shots: Vec<Shot>,
    caller: Option<Arc<Caller>>,
    drawn: u32,
}

impl Taken {
    fn of(request: &Request<'_>) -> Self {
        let shots = request.shots.iter().copied().cloned().collect();
        Self { sample: request.sample.clone(), shots, caller: request.caller.clone(), drawn: request.drawn }
    }

    fn request(&self) -> Request<'_> {
        let request = Request::new(&self.sample, self.shots.iter().collect());
        Request { caller: self.caller.clone(), drawn: self.drawn, ..request }
    }
}

impl<'a> Upcoming<'a> {
    /// Makes texts for a few samples at a time if a device computes meanwhile (`is_ahead`), otherwise for all at once.
    pub(super) fn new((rest, added): (&'a [Request<'a>], &'a mut Added<'a>), is_ahead: bool) -> Self {
        let at_once = if is_ahead { AT_ONCE } else { usize::MAX };
        Self { rest, taken: VecDeque::new(), added, at_once }
    }

    /// Passes the next samples to `make`, an empty slice if there are none, and returns its result. Samples that are added are
    /// requested when all others are made, unless `is_over`.
    pub(super) fn next<T>(&mut self, is_over: bool, make: impl FnOnce(&[Request<'_>]) -> T) -> T {
        if !self.rest.is_empty() {
            let (next, rest) = self.rest.split_at(self.at_once.min(self.rest.len()));
            self.rest = rest;
            return make(next);
        }
        if self.taken.is_empty() && !is_over {
            let taken = &mut self.taken;
            (self.added)(&mut |request| taken.push_back(Taken::of(request)));
        }
        let next: Vec<Taken> = self.taken.drain(..self.at_once.min(self.taken.len())).collect();
        make(&next.iter().map(Taken::request).collect::<Vec<_>>())
    }
}

/// Returns what `make` makes of requests, in their order: of a part of them on each thread.
fn on_threads<T: Send>(threads: usize, requests: &[Request<'_>], make: impl Fn(&[Request<'_>]) -> T + Sync) -> Vec<T> {
    let threads = threads.min(requests.len()).max(1);
    if threads == 1 {
        return vec![make(requests)];
    }
    std::thread::scope(|scope| {
        let parts = requests.chunks(requests.len().div_ceil(threads));
        let workers: Vec<_> = parts.map(|part| scope.spawn(|| make(part))).collect();
        // A panic continues as on one thread.
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().map(join).collect()
    })
}

/// Returns the scoring requests of samples, in order, made on several threads by copies of `builder`, whose notes are added to
/// `notes`.
pub(super) fn build_all<'r>(
    builder: &ScoringRequestBuilder<'_>,
    threads: usize,
    spec: &BatchSpec,
    requests: &[Request<'_>],
    notes: &mut Notes,
) -> Vec<Result<ScoringRequest<'r>, RunError>> {
    let built = on_threads(threads, requests, |requests| {
        let mut own = builder.clone();
        let built = requests.iter().map(|request| scoring_request(&mut own, spec, request)).collect::<Vec<_>>();
        (built, own.notes.take())
    });
    let mut all = Vec::with_capacity(requests.len());
    for (part, said) in built {
        all.extend(part);
        said.into_iter().for_each(|note| notes.add(note));
    }
    all
}

/// Returns the prompts of samples that ask for one answer each, in order, made on several threads; `None` for others, such as
/// conversations, whose prompts follow from answers.
pub(super) fn prompt_all(
    prompting: &Prompting<'_>,
    threads: usize,
    requests: &[Request<'_>],
) -> Vec<Option<Result<Prompted, RunError>>> {
    let prompt = |request: &Request<'_>| match &request.sample.body {
        Body::Gen { prompt } => Some(prompting.prompt(request, prompt)),
        _ => None,
    };
    let parts = on_threads(threads, requests, |requests| requests.iter().map(prompt).collect::<Vec<_>>());
    parts.into_iter().flatten().collect()
}

/// Returns the scoring request of a sample.
fn scoring_request<'r>(
    builder: &mut ScoringRequestBuilder<'_>,
    spec: &BatchSpec,
    request: &Request<'_>,
) -> Result<ScoringRequest<'r>, RunError> {
    match (&spec.infer, &request.sample.body) {
        (InferSpec::Ppl | InferSpec::PplOnly, Body::Ppl { options }) => {
            ppl::build(builder, spec, request, options, None)
        }
        (InferSpec::PplNormalized { normalizing_str }, Body::Ppl { options }) => {
            ppl::build(builder, spec, request, options, Some(normalizing_str))
        }
        (InferSpec::InferencePpl, Body::Ppl { options }) => match options.as_slice() {
            [option] => marked::build(builder, spec, request, option),
            _ => {
                Err(RunError::Sample("the plan asks for marked tokens of one text, and the sample has several".into()))
            }
        },
        (InferSpec::PplOnly, Body::Gen { prompt }) => ppl::build_ppl_only(builder, spec, request, prompt),
        (InferSpec::Loglikelihood | InferSpec::MeanLoglikelihood, Body::Loglikelihood { context, options }) => {
            loglikelihood::build(builder, spec, request, (context, options))
        }
        (InferSpec::Clp, Body::Clp { prompt, choices }) => clp::build(builder, spec, request, (prompt, choices)),
        (InferSpec::Rolling, Body::Rolling { text, .. }) => rolling::build(builder, spec, request, text),
        (&InferSpec::SwceLoss { block_size, stride }, &Body::Windows { slice, slices, .. }) => {
            let windows = swce::Windows { block_size: block_size as usize, stride: stride as usize };
            let slice = swce::Slice { slice: slice as usize, slices: slices as usize };
            swce::build(builder, request, windows, slice)
        }
        (infer, _) => {
            let mode = infer.mode();
            Err(RunError::Sample(format!("the plan asks for `{mode}`, but the sample's prompt is of another kind")))
        }
    }
}
