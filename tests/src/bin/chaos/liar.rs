//! A worker made of frames that joins a master and reports results for samples that it was not granted: for every sample of
//! the first units, of every kind, each of them false. It asks for no grant, and leaves when it was heard or refused.

use compass_proto::v1::master_frame::Body as Told;
use compass_proto::v1::sample_result::Outcome;
use compass_proto::v1::worker_frame::Body as Say;
use compass_proto::v1::workers_client::WorkersClient;
use compass_proto::{OLDEST_PROTOCOL, PROTOCOL_VERSION, v1};
use compass_tests::{JoinError, SAMPLES, joined_channel};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

/// Units of the plan that it makes claims about.
const UNITS: u32 = 3;
/// Time for which it waits for a master's word; one that is on standby or is stopped never says any.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Time for which it stays after it has spoken: an answer that ends the session comes meanwhile, else it leaves.
const STAY: Duration = Duration::from_millis(500);

static LIARS: AtomicU32 = AtomicU32::new(0);

/// Sends one to the master at `port`, on a thread of its own. That nothing it claims is believed, the bytes at the end show.
pub(crate) fn lie(port: u16, token: PathBuf) {
    let number = LIARS.fetch_add(1, Ordering::Relaxed);
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        // This program does not judge whether it is heard, refused or cut off.
        let _ = runtime.block_on(async { tokio::time::timeout(3 * TIMEOUT, claim(port, &token, number)).await });
    });
}

async fn claim(port: u16, token: &Path, number: u32) -> Result<(), JoinError> {
    let (address, name) = (format!("127.0.0.1:{port}"), format!("liar-{number}"));
    let joined = joined_channel(&address, token, &name);
    let mut client = WorkersClient::new(tokio::time::timeout(TIMEOUT, joined).await??);
    let (up, frames) = mpsc::channel(16);
    let hello = v1::Hello {
        protocol: PROTOCOL_VERSION,
        oldest_protocol: OLDEST_PROTOCOL,
        worker: format!("liar-{number}"),
        session: format!("liar-{number}"),
        slots: 1,
        device: "cpu".into(),
        first_seq: 1,
        dial: 1,
        ..Default::default()
    };
    up.send(v1::WorkerFrame { seq: 0, ack: 0, body: Some(Say::Hello(hello)) }).await?;
    let mut down = client.session(ReceiverStream::new(frames)).await?.into_inner();
    let welcome = loop {
        match tokio::time::timeout(TIMEOUT, down.message()).await?? {
            Some(v1::MasterFrame { body: Some(Told::Welcome(welcome)), .. }) => break welcome,
            Some(_) => {}
            None => return Ok(()),
        }
    };
    let mut seq = 0;
    for unit in 0..UNITS {
        for outcome in falsehoods() {
            seq += 1;
            let result =
                |index| v1::SampleResult { index, tokens: 17, outcome: Some(outcome.clone()), ..Default::default() };
            let results = v1::Results {
                grant: Some(v1::GrantId { epoch: welcome.epoch, task: unit, attempt: 1 }),
                unit,
                plan: welcome.plan.clone(),
                samples: (0..SAMPLES).map(result).collect(),
                ..Default::default()
            };
            up.send(v1::WorkerFrame { seq, ack: 0, body: Some(Say::Results(results)) }).await?;
        }
    }
    let heard = async { while let Ok(Some(_)) = down.message().await {} };
    let _ = tokio::time::timeout(STAY, heard).await;
    Ok(())
}

/// An outcome of every kind that the data sets of a history have.
fn falsehoods() -> [Outcome; 2] {
    let scores = v1::PplScores { nll_sum: vec![3.0, 2.0], tokens: vec![17, 17], ..Default::default() };
    let answer =
        v1::Generation { text: "a lie".into(), tokens: 2, finish: v1::Finish::Eos.into(), ..Default::default() };
    [Outcome::Ppl(scores), Outcome::Generation(answer)]
}
