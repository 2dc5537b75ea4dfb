//! Time for which workers wait for their next grant, at a real master with a real plan: sessions that take a second for a task.
//!
//! Each session joins as a worker does and holds one grant while it works on another, as agents do beside their master. A wait
//! runs from when results are sent until the grant in their place is heard; those for the first ones count as well. Sessions
//! come over a second, as workers do that a scheduler starts.

use compass_proto::v1::master_frame::Body;
use compass_proto::v1::sample_result::Outcome;
use compass_proto::v1::worker_frame::Body as Say;
use compass_proto::v1::workers_client::WorkersClient;
use compass_proto::{OLDEST_PROTOCOL, PROTOCOL_VERSION, v1};
use compass_tests::{JoinError, RealSize, Request, joined_channel};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

const PACE: Duration = Duration::from_secs(1);
const HEARTBEAT: Duration = Duration::from_secs(2);
/// Grants that a session holds: one at work, one ahead.
const CREDIT: u32 = 2;
/// Samples of a frame, so that none outgrows one.
const PER_FRAME: usize = 1_000;

/// Address and token with which the sessions join.
pub(crate) struct SessionTarget {
    pub(crate) address: String,
    pub(crate) token: PathBuf,
    pub(crate) size: RealSize,
}

/// Measurements of the sessions, in milliseconds, shortest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    pub(crate) grants: Vec<f64>,
    /// Lateness of the sessions' own timers: what this machine adds to every wait.
    pub(crate) timers: Vec<f64>,
}

impl Waits {
    /// The wait of `all` that a share of them does not exceed.
    pub(crate) fn at(all: &[f64], share: f64) -> f64 {
        let at = ((all.len() as f64 * share) as usize).min(all.len().saturating_sub(1));
        all.get(at).copied().unwrap_or(f64::NAN)
    }
}

/// Runs this many sessions to the end of the job.
pub(crate) fn waits(place: SessionTarget, sessions: usize) -> Result<Waits, JoinError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let place = Arc::new(place);
        let all: Vec<_> = (0..sessions).map(|number| tokio::spawn(live(place.clone(), number))).collect();
        let mut waits = Waits::default();
        for session in all {
            let Waits { grants, timers } = session.await??;
            waits.grants.extend(grants);
            waits.timers.extend(timers);
        }
        waits.grants.sort_by(f64::total_cmp);
        waits.timers.sort_by(f64::total_cmp);
        Ok(waits)
    })
}

async fn live(place: Arc<SessionTarget>, number: usize) -> Result<Waits, JoinError> {
    let name = format!("paced-{number}");
    // Not in step with the others.
    let pace = PACE.mul_f64(0.75 + 0.5 * ((number * 7919 % 1000) as f64 / 1000.0));
    // Nor do they come all at once.
    tokio::time::sleep(PACE.mul_f64((number * 7919 % 1000) as f64 / 1000.0)).await;
    let mut client = WorkersClient::new(joined_channel(&place.address, &place.token, &name).await?);
    let (up, frames) = mpsc::channel(64);
    let hello = v1::Hello {
        protocol: PROTOCOL_VERSION,
        oldest_protocol: OLDEST_PROTOCOL,
        worker: name.clone(),
        session: name,
        slots: 1,
        device: "cpu".into(),
        first_seq: 1,
        dial: 1,
        ..Default::default()
    };
    up.send(v1::WorkerFrame { seq: 0, ack: 0, body: Some(Say::Hello(hello)) }).await?;
    let mut down = client.session(ReceiverStream::new(frames)).await?.into_inner();
    let mut beat = tokio::time::interval(HEARTBEAT);
    let (mut waits, mut asked, mut held) = (Waits::default(), VecDeque::<Instant>::new(), VecDeque::<v1::Grant>::new());
    let (mut seq, mut handled) = (0_u64, 0_u64);
    let mut done_at = tokio::time::Instant::now();
    loop {
        tokio::select! {
            message = down.message() => {
                let Some(message) = message? else { return Ok(waits) };
                handled = handled.max(message.seq);
                match message.body {
                    Some(Body::Welcome(_)) => {
                        asked.extend(std::iter::repeat_n(Instant::now(), CREDIT as usize));
                        up.send(frame(handled, Say::Credit(v1::Credit { grants: CREDIT }))).await?;
                    }
                    Some(Body::Grant(grant)) => {
                        waits.grants.extend(asked.pop_front().map(|at| at.elapsed().as_secs_f64() * 1e3));
                        if held.is_empty() {
                            done_at = tokio::time::Instant::now() + pace;
                        }
                        held.push_back(grant);
                    }
                    Some(Body::Shutdown(_)) => return Ok(waits),
                    _ => {}
                }
            }
            () = tokio::time::sleep_until(done_at), if !held.is_empty() => {
                waits.timers.push(done_at.elapsed().as_secs_f64() * 1e3);
                done_at = tokio::time::Instant::now() + pace;
                let Some(grant) = held.pop_front() else { continue };
                for results in results(&place.size, &grant) {
                    seq += 1;
                    up.send(v1::WorkerFrame { seq, ack: handled, body: Some(Say::Results(results)) }).await?;
                }
                asked.push_back(Instant::now());
            }
            _ = beat.tick() => up.send(frame(handled, Say::Heartbeat(v1::Heartbeat { sent_ms: 1, ..Default::default() }))).await?,
        }
    }
}

fn frame(ack: u64, body: Say) -> v1::WorkerFrame {
    v1::WorkerFrame { seq: 0, ack, body: Some(body) }
}

/// Results of all samples of a grant, of the kind that its unit asks for.
fn results(size: &RealSize, grant: &v1::Grant) -> Vec<v1::Results> {
    let data_sets = size.data_sets();
    let request = data_sets[grant.unit as usize % data_sets.len()].request;
    let indices: Vec<u32> = grant.samples.iter().flat_map(|run| run.first..run.end).collect();
    let result =
        |&index: &u32| v1::SampleResult { index, tokens: 17, outcome: Some(outcome(request)), ..Default::default() };
    let frames = indices.chunks(PER_FRAME).map(|indices| v1::Results {
        grant: grant.id,
        unit: grant.unit,
        plan: grant.plan.clone(),
        samples: indices.iter().map(result).collect(),
        weights: Vec::new(),
        ..Default::default()
    });
    frames.collect()
}

fn outcome(request: Request) -> Outcome {
    let generation = || v1::Generation {
        text: "0123abcd A".into(),
        tokens: 3,
        finish: v1::Finish::Eos.into(),
        ..Default::default()
    };
    let ppl = |options: usize| {
        Outcome::Ppl(v1::PplScores { nll_sum: vec![1.5; options], tokens: vec![17; options], ..Default::default() })
    };
    let scored = |options: usize| {
        let (sum, tokens, is_greedy) = (vec![-1.5; options], vec![3; options], vec![false; options]);
        Outcome::Loglikelihood(v1::LoglikelihoodScores { sum, tokens, is_greedy })
    };
    match request {
        Request::Generation => Outcome::Generation(generation()),
        Request::ThreeGenerations => {
            Outcome::Generations(v1::Generations { generations: vec![generation(), generation(), generation()] })
        }
        Request::Perplexity => ppl(2),
        Request::Loglikelihood => scored(2),
        Request::Continuation => scored(1),
        Request::Whole("rolling") => Outcome::Rolling(v1::RollingScore { sum: -1.5, tokens: 17 }),
        Request::Whole(_) => ppl(1),
    }
}
