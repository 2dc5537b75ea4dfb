//! All workers of a run, and what they measured.

use crate::master::{MasterProcess, cpu_seconds, plan};
use crate::options::Options;
use crate::session::{Session, Tally};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;

/// Interval between two looks at the tally.
const LOOK: Duration = Duration::from_millis(1);

pub(crate) struct Measured {
    pub(crate) attached_s: f64,
    /// From the first credit until the last result was acknowledged.
    pub(crate) seconds: f64,
    /// Processor time of this process and of the master's, over that time.
    pub(crate) cpu_s: f64,
    pub(crate) master_cpu_s: f64,
    pub(crate) vanished_s: Option<f64>,
    waits: Vec<u32>,
}

impl Measured {
    /// The wait that a share of the grants did not exceed.
    pub(crate) fn latency_ms(&self, share: f64) -> f64 {
        let at = (self.waits.len() as f64 * share) as usize;
        let wait = self.waits.get(at.min(self.waits.len().saturating_sub(1)));
        f64::from(wait.copied().unwrap_or(0)) / 1e3
    }
}

/// Runs every worker to the end of the job.
pub(crate) async fn run(options: &Options, master: &str, process: MasterProcess) -> Result<Measured, Box<dyn Error>> {
    let options = Arc::new(options.clone());
    let begun = Instant::now();
    let mut channels = Vec::new();
    for _ in 0..options.connections() {
        channels.push(Endpoint::from_shared(format!("http://{master}"))?.connect().await?);
    }
    let tally = Arc::new(Tally::default());
    let go = CancellationToken::new();
    let sessions = (0..options.workers).map(|number| Session {
        number,
        channel: channels[options.connection_of(number)].clone(),
        plan: plan(),
        tally: tally.clone(),
        begun,
        vanishes: options.vanish && number == 0,
    });
    let sessions: Vec<_> = sessions.map(|session| tokio::spawn(session.live(options.clone(), go.clone()))).collect();
    while tally.attached.load(Ordering::Relaxed) < options.workers {
        if let Some(ended) = sessions.iter().position(tokio::task::JoinHandle::is_finished) {
            return Err(format!("worker {ended} ended before the run began").into());
        }
        tokio::time::sleep(LOOK).await;
    }
    let attached_s = begun.elapsed().as_secs_f64();
    let (started, cpu, master_cpu) = (Instant::now(), cpu_seconds(), process.cpu_seconds());
    go.cancel();
    while tally.durable.load(Ordering::Relaxed) < options.tasks {
        if sessions.iter().all(tokio::task::JoinHandle::is_finished) {
            let (mut failed, mut first) = (0, None);
            for session in sessions {
                if let Ok(Err(error)) = session.await {
                    failed += 1;
                    first.get_or_insert(error);
                }
            }
            let durable = tally.durable.load(Ordering::Relaxed);
            let first = first.map(|error| error.to_string()).unwrap_or_default();
            return Err(
                format!("every session ended after {durable} tasks, {failed} of them with an error: {first}").into()
            );
        }
        tokio::time::sleep(LOOK).await;
    }
    let (seconds, cpu_s) = (started.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let master_cpu_s = process.cpu_seconds() - master_cpu;
    let mut waits = Vec::new();
    for session in sessions {
        // A stream may end before the word that all is done.
        if let Ok(Ok(some)) = session.await {
            waits.extend(some);
        }
    }
    waits.sort_unstable();
    let at = |time: u64| (time > 0).then_some(time as f64 / 1e6);
    let (silent, again) = (tally.silent_at.load(Ordering::Relaxed), tally.regranted_at.load(Ordering::Relaxed));
    let vanished_s = at(again).zip(at(silent)).map(|(again, silent)| again - silent);
    Ok(Measured { attached_s, seconds, cpu_s, master_cpu_s, vanished_s, waits })
}
