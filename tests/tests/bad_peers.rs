//! Workers that do not keep to the protocol: each is sent away in a sentence or cut off, nothing that it claims is believed,
//! and the run is as if it had never come. A real master, and peers made of frames.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_proto::v1::master_frame::Body as Told;
use compass_proto::v1::worker_frame::Body as Say;
use compass_proto::v1::workers_client::WorkersClient;
use compass_proto::{PROTOCOL_VERSION, v1};
use compass_tests::{
    Job, Running, Worker, assert_same, echo_job, told_address, undisturbed, wait_until, worker_command,
};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Endpoint;

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// A session of a peer that says whatever it is told to.
struct Peer {
    up: mpsc::Sender<v1::WorkerFrame>,
    down: Streaming<v1::MasterFrame>,
}

fn hello(name: &str) -> v1::Hello {
    v1::Hello {
        protocol: PROTOCOL_VERSION,
        worker: name.into(),
        session: format!("{name}-1"),
        slots: 1,
        device: "cpu".into(),
        first_seq: 1,
        dial: 1,
        ..Default::default()
    }
}

impl Peer {
    async fn call(address: &str, hello: v1::Hello) -> Self {
        let (up, frames) = mpsc::channel(16);
        let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
        let mut client = WorkersClient::new(channel);
        up.send(v1::WorkerFrame { seq: 0, ack: 0, body: Some(Say::Hello(hello)) }).await.unwrap();
        let down = client.session(ReceiverStream::new(frames)).await.unwrap().into_inner();
        Self { up, down }
    }

    async fn say(&self, seq: u64, body: Say) {
        self.up.send(v1::WorkerFrame { seq, ack: 0, body: Some(body) }).await.unwrap();
    }

    /// The next frame that says anything; `None` at the end of the session, however it ends.
    async fn told(&mut self) -> Option<Told> {
        loop {
            let frame = tokio::time::timeout(PATIENCE, self.down.message()).await.unwrap();
            match frame {
                Ok(Some(v1::MasterFrame { body: Some(body), .. })) => return Some(body),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return None,
            }
        }
    }

    async fn welcome(&mut self) -> v1::Welcome {
        match self.told().await {
            Some(Told::Welcome(welcome)) => welcome,
            other => unreachable!("a welcome, not {other:?}"),
        }
    }

    /// Waits until the master has cut the session off.
    async fn until_cut_off(mut self) {
        while self.told().await.is_some() {}
    }
}

/// A master that waits for workers, and where.
fn master() -> (Job, Running, String) {
    let job = echo_job(0, "listen = \"127.0.0.1:0\"", "[infer.runner]\ntype = \"none\"");
    let running = job.start_logged(&[], "master.log");
    let address = told_address(&job, "master.log");
    (job, running, address)
}

/// A good worker comes, and the run ends as if nobody else had come.
fn ends_well(job: &Job, running: Running, address: &str) {
    let worker = Worker::start(worker_command(address, &job.path("home")), job.path("worker.log"));
    let finished = running.finish();
    assert_eq!(finished.code, Some(0), "{}", job.log("master.log"));
    assert_eq!(worker.finish().0, Some(0));
    assert_same(job, &undisturbed());
    assert_eq!((&job.facts()["violations"], &job.facts()["divergences"]), (&0.into(), &0.into()), "{}", job.facts());
}

fn with_peers<T>(peers: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(peers)
}

#[test]
fn a_worker_of_another_version_is_told_what_to_do() {
    let (job, running, address) = master();
    let reason = with_peers(async {
        let mut peer = Peer::call(&address, v1::Hello { protocol: PROTOCOL_VERSION + 1, ..hello("newer") }).await;
        match peer.told().await {
            Some(Told::Refused(refused)) => refused.reason,
            other => unreachable!("a refusal, not {other:?}"),
        }
    });
    let (theirs, ours) = (PROTOCOL_VERSION + 1, PROTOCOL_VERSION);
    let sentence = format!(
        "worker \"newer\" speaks protocol {theirs}, this master speaks {ours}; install the same version on both sides"
    );
    assert_eq!(reason, sentence);
    ends_well(&job, running, &address);
}

#[test]
fn a_frame_that_is_too_large_ends_its_session_alone() {
    let (job, running, address) = master();
    with_peers(async {
        let mut peer = Peer::call(&address, hello("loud")).await;
        peer.welcome().await;
        let failed = v1::Failed { message: "x".repeat(300_000), epoch: 1, ..Default::default() };
        peer.say(1, Say::Failed(failed)).await;
        peer.until_cut_off().await;
    });
    wait_until("the master says so", || job.log("master.log").contains("a frame of more than 256 KiB").then_some(()));
    ends_well(&job, running, &address);
}

#[test]
fn what_was_never_granted_or_comes_twice_or_out_of_order_is_not_believed() {
    let (job, running, address) = master();
    with_peers(async {
        let claimed =
            v1::HeldGrant { task: 3, attempt: 70, epoch: 1, unit: 0, samples: vec![v1::Interval { first: 0, end: 3 }] };
        let mut liar = Peer::call(&address, v1::Hello { held: vec![claimed], ..hello("liar") }).await;
        let welcome = liar.welcome().await;
        // What nobody has it may keep, but under an attempt of the master's own.
        let believed = |kept: &v1::KeptGrant| kept.now.as_ref().is_some_and(|now| now.attempt == 70);
        assert!(!welcome.kept.iter().any(believed), "{welcome:?}");
        let scores = v1::PplScores { nll_sum: vec![1.0], tokens: vec![17], ..Default::default() };
        let outcome = Some(v1::sample_result::Outcome::Ppl(scores));
        let unknown = v1::SampleResult { index: 100_000, tokens: 17, outcome, ..Default::default() };
        let results = v1::Results {
            epoch: 1,
            task: 3,
            attempt: 70,
            unit: 0,
            plan: welcome.plan,
            samples: vec![unknown],
            ..Default::default()
        };
        liar.say(1, Say::Results(results.clone())).await;
        liar.say(1, Say::Results(results.clone())).await;
        liar.say(2, Say::Draining(v1::Draining { reason: "enough".into() })).await;
        // A gap would make what was lost look handled.
        liar.say(9, Say::Results(results)).await;
        liar.until_cut_off().await;
    });
    let said = "worker liar sent a result for an unknown sample 100000";
    assert_eq!(job.log("master.log").matches(said).count(), 1, "{}", job.log("master.log"));
    ends_well(&job, running, &address);
}
