//! One worker: a session that answers every grant with results, and remembers how long it waited for each.

use crate::options::Options;
use compass_proto::v1::workers_client::WorkersClient;
use compass_proto::{OLDEST_PROTOCOL, PROTOCOL_VERSION, v1};
use compass_types::ids::Digest;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use v1::master_frame::Body;
use v1::worker_frame::Body as Say;

const HEARTBEAT: Duration = Duration::from_secs(2);
/// Tasks after which the worker that is to vanish does.
const VANISHES_AFTER: u32 = 3;

/// Counts of all sessions together.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) attached: AtomicU32,
    /// Tasks whose results the master has acknowledged: durable.
    pub(crate) durable: AtomicU32,
    /// Times at which the silent worker was heard last and at which others were first granted what it held; microseconds, 0 for never.
    pub(crate) silent_at: AtomicU64,
    pub(crate) regranted_at: AtomicU64,
    /// A task that the silent worker holds, and one more: 0 for none.
    pub(crate) abandoned: AtomicU32,
}

/// Session of one worker, which answers every grant with results.
pub(crate) struct Session {
    pub(crate) number: u32,
    pub(crate) channel: Channel,
    pub(crate) plan: Digest,
    pub(crate) tally: Arc<Tally>,
    pub(crate) begun: Instant,
    pub(crate) vanishes: bool,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Session {
    /// Lives until the master says that all is done; the waits for grants, in microseconds. Credit is announced once
    /// `go` turns true.
    pub(crate) async fn live(self, options: Arc<Options>, go: CancellationToken) -> Result<Vec<u32>, Failure> {
        let (up, frames) = mpsc::channel(2 * options.credit as usize + 8);
        let mut client = WorkersClient::new(self.channel.clone());
        up.send(frame(0, self.hello())).await?;
        let mut down = client.session(ReceiverStream::new(frames)).await?.into_inner();
        match down.message().await?.and_then(|frame| frame.body) {
            Some(Body::Welcome(_)) => self.tally.attached.fetch_add(1, Ordering::Relaxed),
            other => return Err(format!("no welcome but {other:?}").into()),
        };
        // Spread over the period, as real workers' are.
        let offset = HEARTBEAT * (self.number % 1000) / 1000;
        let mut beat = tokio::time::interval_at(tokio::time::Instant::now() + offset, HEARTBEAT);
        let (mut waits, mut asked, mut held) = (Vec::new(), VecDeque::new(), VecDeque::<v1::Grant>::new());
        // When the task at the front is done.
        let mut done_at = tokio::time::Instant::now();
        let (mut seq, mut handled, mut acknowledged, mut granted) = (0u64, 0u64, 0u64, 0u32);
        // Holds the stream open all the same.
        let mut silent = false;
        let (mut credit_at, mut started) = (None, false);
        // Not in step with the others'.
        let pace = Duration::from_micros(options.pace_ms * (750 + u64::from(self.number) * 7919 % 500));
        loop {
            tokio::select! {
                biased;
                message = down.message() => {
                    let Some(message) = message? else { return Ok(waits) };
                    // The shutdown waits for everything that was sent.
                    let over = matches!(message.body, Some(Body::Shutdown(_)));
                    let news = if over { seq } else { message.ack.min(seq) }.saturating_sub(acknowledged);
                    acknowledged += news;
                    self.tally.durable.fetch_add(news as u32, Ordering::Relaxed);
                    handled = handled.max(message.seq);
                    match message.body {
                        Some(Body::Grant(grant)) if !silent => {
                            granted += 1;
                            if let Some(at) = asked.pop_front() {
                                let waited: Duration = Instant::now() - at;
                                waits.push(waited.as_micros() as u32);
                            }
                            self.note_regrant(task_of(&grant));
                            if self.vanishes && granted > VANISHES_AFTER {
                                self.fall_silent(task_of(&grant));
                                silent = true;
                                continue;
                            }
                            if pace.is_zero() {
                                seq += 1;
                                asked.push_back(Instant::now());
                                up.send(v1::WorkerFrame { seq, ack: handled, body: Some(self.results(grant)) }).await?;
                                continue;
                            }
                            if held.is_empty() {
                                done_at = tokio::time::Instant::now() + pace;
                            }
                            held.push_back(grant);
                        }
                        Some(Body::Shutdown(_)) => return Ok(waits),
                        _ => {}
                    }
                }
                () = tokio::time::sleep_until(done_at), if !held.is_empty() && !silent => {
                    done_at = tokio::time::Instant::now() + pace;
                    let Some(grant) = held.pop_front() else { continue };
                    seq += 1;
                    asked.push_back(Instant::now());
                    up.send(v1::WorkerFrame { seq, ack: handled, body: Some(self.results(grant)) }).await?;
                }
                _ = beat.tick(), if !silent => up.send(frame(handled, Say::Heartbeat(v1::Heartbeat { sent_ms: 1, ..Default::default() }))).await?,
                () = go.cancelled(), if credit_at.is_none() => {
                    // Workers do not come all at once, where they take time for anything.
                    credit_at = Some(tokio::time::Instant::now() + pace * (self.number * 7919 % 1000) / 1000);
                }
                () = tokio::time::sleep_until(credit_at.unwrap_or(done_at)), if credit_at.is_some() && !started => {
                    started = true;
                    asked.extend(std::iter::repeat_n(Instant::now(), options.credit as usize));
                    up.send(frame(handled, Say::Credit(v1::Credit { grants: options.credit }))).await?;
                }
            }
        }
    }

    fn micros(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    fn fall_silent(&self, task: u32) {
        self.tally.abandoned.store(task + 1, Ordering::Relaxed);
        self.tally.silent_at.store(self.micros(), Ordering::Relaxed);
    }

    fn note_regrant(&self, task: u32) {
        if self.tally.abandoned.load(Ordering::Relaxed) == task + 1 {
            let _ = self.tally.regranted_at.compare_exchange(0, self.micros(), Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    fn hello(&self) -> Say {
        Say::Hello(v1::Hello {
            protocol: PROTOCOL_VERSION,
            oldest_protocol: OLDEST_PROTOCOL,
            worker: format!("worker-{:05}", self.number),
            session: format!("session-{:05}", self.number),
            slots: 1,
            device: "cpu".into(),
            first_seq: 1,
            dial: 1,
            ..Default::default()
        })
    }

    fn results(&self, grant: v1::Grant) -> Say {
        let indices = grant.samples.iter().flat_map(|run| run.first..run.end);
        let samples = indices.map(|index| v1::SampleResult {
            index,
            tokens: 17,
            outcome: Some(v1::sample_result::Outcome::Ppl(v1::PplScores {
                nll_sum: vec![f64::from(index)],
                tokens: vec![17],
                ..Default::default()
            })),
            ..Default::default()
        });
        Say::Results(v1::Results {
            grant: grant.id,
            unit: grant.unit,
            plan: self.plan.0.to_vec(),
            samples: samples.collect(),
            weights: Vec::new(),
            ..Default::default()
        })
    }
}

fn task_of(grant: &v1::Grant) -> u32 {
    grant.id.unwrap_or_default().task
}

fn frame(ack: u64, body: Say) -> v1::WorkerFrame {
    v1::WorkerFrame { seq: 0, ack, body: Some(body) }
}
