//! Peers made of frames beside a real master: each says what a test wants it to say.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(dead_code, reason = "each test program uses a part")]

use compass_proto::v1::master_frame::Body as Told;
use compass_proto::v1::worker_frame::Body as Say;
use compass_proto::v1::workers_client::WorkersClient;
use compass_proto::{OLDEST_PROTOCOL, PROTOCOL_VERSION, v1};
use compass_tests::{
    Job, Running, Worker, assert_same, echo_job, join_token_file, joined_channel, told_address, undisturbed,
    worker_command,
};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

/// Longer than any answer takes.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A session of a peer that sends whatever a test wants.
pub(crate) struct Peer {
    pub(crate) up: mpsc::Sender<v1::WorkerFrame>,
    pub(crate) down: Streaming<v1::MasterFrame>,
}

pub(crate) fn hello(name: &str) -> v1::Hello {
    v1::Hello {
        protocol: PROTOCOL_VERSION,
        oldest_protocol: OLDEST_PROTOCOL,
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
    pub(crate) async fn call(job: &Job, address: &str, hello: v1::Hello) -> Self {
        let (up, frames) = mpsc::channel(16);
        let channel = joined_channel(address, &join_token_file(job), &hello.worker).await.unwrap();
        let mut client = WorkersClient::new(channel);
        up.send(v1::WorkerFrame { seq: 0, ack: 0, body: Some(Say::Hello(hello)) }).await.unwrap();
        let down = client.session(ReceiverStream::new(frames)).await.unwrap().into_inner();
        Self { up, down }
    }

    pub(crate) async fn say(&self, seq: u64, body: Say) {
        self.up.send(v1::WorkerFrame { seq, ack: 0, body: Some(body) }).await.unwrap();
    }

    /// Waits until the master has acknowledged the frame `seq`.
    pub(crate) async fn until_acknowledged(&mut self, seq: u64) {
        loop {
            let frame = tokio::time::timeout(TIMEOUT, self.down.message()).await.unwrap().unwrap().unwrap();
            if frame.ack >= seq {
                return;
            }
        }
    }

    /// The next grant.
    pub(crate) async fn grant(&mut self) -> v1::Grant {
        loop {
            match self.told().await {
                Some(Told::Grant(grant)) => return grant,
                Some(_) => {}
                None => unreachable!("a grant, not the end of the session"),
            }
        }
    }

    /// The next frame that says anything; `None` at the end of the session, however it ends.
    pub(crate) async fn told(&mut self) -> Option<Told> {
        loop {
            let frame = tokio::time::timeout(TIMEOUT, self.down.message()).await.unwrap();
            match frame {
                Ok(Some(v1::MasterFrame { body: Some(body), .. })) => return Some(body),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return None,
            }
        }
    }

    pub(crate) async fn welcome(&mut self) -> v1::Welcome {
        match self.told().await {
            Some(Told::Welcome(welcome)) => welcome,
            other => unreachable!("a welcome, not {other:?}"),
        }
    }

    /// Waits until the master has cut the session off.
    pub(crate) async fn until_cut_off(mut self) {
        while self.told().await.is_some() {}
    }
}

/// A master that waits for workers, and where.
pub(crate) fn master() -> (Job, Running, String) {
    let job = echo_job("listen = \"127.0.0.1:0\"", "[infer.runner]\ntype = \"none\"");
    let running = job.start_logged(&[], "master.log");
    let address = told_address(&job, "master.log");
    (job, running, address)
}

/// A good worker comes, and the run ends as if no other worker had come.
pub(crate) fn ends_well(job: &Job, running: Running, address: &str) {
    let worker = Worker::start(worker_command(address, &job.path("home")), job.path("worker.log"));
    let finished = running.finish();
    assert_eq!(finished.code, Some(0), "{}", job.log("master.log"));
    assert_eq!(worker.finish().0, Some(0));
    assert_same(job, &undisturbed());
    assert_eq!((&job.facts()["violations"], &job.facts()["divergences"]), (&0.into(), &0.into()), "{}", job.facts());
}

pub(crate) fn with_peers<T>(peers: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(peers)
}
