//! Makes the scoring requests of a batch: renders and tokenises its samples, on several threads where a GPU would wait for them.

use super::answer::RunError;
use super::chat_format::ChatFormat;
use super::notes::Notes;
use super::prefix_tokens::PrefixTokens;
use super::score::Precision;
use super::scoring_request::{ScoringRequest, ScoringRequestBuilder};
use super::texts::Texts;
use super::{clp, loglikelihood, ppl, rolling};
use compass_plan::engine::{BatchSpec, Request};
use compass_plan::{Body, InferSpec, NumericProfile};

/// Most threads that make requests: more find nothing to do while a GPU computes.
const MOST_TOKENIZING_THREADS: usize = 4;

/// Returns the number of threads that tokenise: on a CPU those that compute, which have nothing else to do meanwhile.
pub(super) fn tokenizing_threads(is_cpu: bool) -> usize {
    if is_cpu {
        return usize::try_from(tch::get_num_threads()).unwrap_or(1).min(MOST_TOKENIZING_THREADS);
    }
    std::thread::available_parallelism().map_or(1, |threads| threads.get().min(MOST_TOKENIZING_THREADS))
}

/// What builders of requests share.
pub(super) struct Building<'a> {
    pub(super) texts: Texts<'a>,
    pub(super) profile: NumericProfile,
    pub(super) precision: Precision,
    pub(super) pad: Option<u32>,
    pub(super) chat: Option<&'a ChatFormat>,
    pub(super) prefix_tokens: &'a PrefixTokens,
}

/// Returns the scoring requests of samples, in order, made on several threads.
pub(super) fn build_all<'r>(
    shared: &Building<'_>,
    threads: usize,
    spec: &BatchSpec,
    requests: &[Request<'_>],
    notes: &mut Notes,
) -> Vec<Result<ScoringRequest<'r>, RunError>> {
    let build = |requests: &[Request<'_>], notes: &mut Notes| {
        let mut builder = ScoringRequestBuilder {
            texts: shared.texts,
            profile: shared.profile,
            precision: shared.precision,
            pad: shared.pad,
            chat: shared.chat,
            prefix_tokens: shared.prefix_tokens,
            notes,
        };
        requests.iter().map(|request| scoring_request(&mut builder, spec, request)).collect::<Vec<_>>()
    };
    let threads = threads.min(requests.len());
    if threads < 2 {
        return build(requests, notes);
    }
    let parts = requests.chunks(requests.len().div_ceil(threads));
    let built = std::thread::scope(|scope| {
        let workers: Vec<_> = parts
            .map(|part| {
                let build = &build;
                scope.spawn(move || {
                    let mut notes = Notes::default();
                    (build(part, &mut notes), notes.take())
                })
            })
            .collect();
        // A panic goes on as on one thread.
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().map(join).collect::<Vec<_>>()
    });
    let mut all = Vec::with_capacity(requests.len());
    for (part, said) in built {
        all.extend(part);
        said.into_iter().for_each(|note| notes.add(note));
    }
    all
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
        (InferSpec::PplOnly, Body::Gen { prompt }) => ppl::build_ppl_only(builder, spec, request, prompt),
        (InferSpec::Loglikelihood | InferSpec::MeanLoglikelihood, Body::Loglikelihood { context, options }) => {
            loglikelihood::build(builder, spec, request, (context, options))
        }
        (InferSpec::Clp, Body::Clp { prompt, choices }) => clp::build(builder, spec, request, (prompt, choices)),
        (InferSpec::Rolling, Body::Rolling { text, .. }) => rolling::build(builder, spec, request, text),
        (infer, _) => {
            let mode = infer.mode();
            Err(RunError::Sample(format!("the plan asks for `{mode}`, but the sample's prompt is of another kind")))
        }
    }
}
