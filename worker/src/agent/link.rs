//! One connection to the master, from connecting to its end: a task that reports events.
//!
//! Spilled bodies are put back into their frames here, unnoticed by the rest of the agent. The hello is the only body
//! of the worker that is spilled here.

use super::bulk::{Bulk, Uploader};
use super::clock::Clock;
use super::event::{Event, LinkEvent};
use crate::dial::MasterEndpoint;
use compass_agent::{BulkError, ConnectError};
use compass_proto::v1::workers_client::WorkersClient;
use compass_proto::{Envelope as _, MAX_FRAME_BYTES, digest_from_wire, spill, unspill, v1};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;
use tracing::Instrument as _;

/// Frames between the agent and the transport: few, so that a heartbeat never waits behind many.
const OUTBOUND_FRAMES: usize = 8;
/// Time for the master to answer the hello.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval at which the fetching of a frame's body is reported.
const FETCHING_EVERY: Duration = Duration::from_secs(1);

/// Task of a connection; dropping it closes the connection.
#[derive(Debug)]
pub(super) struct LinkTask(JoinHandle<()>);

impl Drop for LinkTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Endpoint, delay and hello of a connection.
#[derive(Debug)]
pub(super) struct Dial {
    pub(super) number: u64,
    pub(super) endpoint: MasterEndpoint,
    pub(super) pause: Duration,
    pub(super) hello: v1::Hello,
    pub(super) clock: Clock,
}

impl Dial {
    /// Starts the task.
    pub(super) fn start(self, events: mpsc::Sender<Event>) -> LinkTask {
        let span = tracing::info_span!("session", connection = self.number);
        let session = async move {
            let link = self.number;
            let why = match Box::pin(self.converse(&events)).await {
                Ok(()) => ConnectError::Closed,
                Err(why) => why,
            };
            // The send fails only if the agent is ending.
            let _ = events.send(Event::Link { link, event: LinkEvent::Down { why } }).await;
        };
        LinkTask(tokio::spawn(session.instrument(span)))
    }

    async fn converse(self, events: &mpsc::Sender<Event>) -> Result<(), ConnectError> {
        let link = self.number;
        tokio::time::sleep(self.pause).await;
        let connection = self.endpoint.open().await?;
        let mut client = WorkersClient::new(connection.session.clone()).max_decoding_message_size(MAX_FRAME_BYTES);
        let (frames, outbound) = mpsc::channel(OUTBOUND_FRAMES);
        let bulk = Bulk::new(connection.bulk.clone(), Uploader::of(&self.hello));
        let body = Some(v1::worker_frame::Body::Hello(self.hello));
        let (hello, content) = spill(v1::WorkerFrame { seq: 0, ack: 0, body });
        if let Some(content) = content {
            let uploaded = bulk.clone().upload(content.digest, Arc::new(content.bytes)).await;
            uploaded.map_err(|error| ConnectError::Unavailable(format!("cannot upload the hello: {error}")))?;
        }
        let hello_sent_ms = self.clock.now_ms();
        let gone = |_| ConnectError::Unavailable("the agent is ending".to_owned());
        frames.send(hello).await.map_err(|_| ConnectError::Unavailable("the stream is closed".to_owned()))?;
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, client.session(ReceiverStream::new(outbound))).await;
        let timed_out =
            |_| ConnectError::Unavailable(format!("no answer to the hello within {} s", ANSWER_TIMEOUT.as_secs()));
        let mut inbound = answer.map_err(timed_out)?.map_err(|status| connection.status_error(&status))?.into_inner();
        let event = LinkEvent::Up { frames: frames.clone(), bulk: Box::new(bulk.clone()), hello_sent_ms };
        events.send(Event::Link { link, event }).await.map_err(gone)?;
        // The first frame is a welcome and has no number.
        let mut next = 0;
        loop {
            let frame = match inbound.message().await {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(()),
                Err(status) if status.code() == Code::OutOfRange => {
                    let reason = format!("a frame of more than {} KiB", MAX_FRAME_BYTES / 1024);
                    return Err(reject(&frames, next, reason).await);
                }
                Err(status) => return Err(connection.status_error(&status)),
            };
            let seq = frame.seq;
            let frame = match whole(frame, &bulk, link, events).await {
                Ok(frame) => frame,
                Err(Unreadable::Malformed(reason)) => return Err(reject(&frames, seq, reason).await),
                Err(Unreadable::NotHere(reason)) => return Err(ConnectError::Unavailable(reason)),
            };
            next = next.max(seq + 1);
            let event = LinkEvent::Frame(Box::new(frame));
            events.send(Event::Link { link, event }).await.map_err(gone)?;
        }
    }
}

/// Reason why a frame cannot be processed.
enum Unreadable {
    /// Sending it again would not help.
    Malformed(String),
    /// Its body could not be fetched.
    NotHere(String),
}

/// Tells the master which frame cannot be processed, and waits until it closes the connection.
async fn reject(frames: &mpsc::Sender<v1::WorkerFrame>, seq: u64, reason: String) -> ConnectError {
    tracing::error!(seq, reason, "cannot process a frame of the master");
    let body = Some(v1::worker_frame::Body::Rejected(v1::Rejected { seq, reason: reason.clone() }));
    let told = async {
        if frames.send(v1::WorkerFrame { seq: 0, ack: 0, body }).await.is_ok() {
            frames.closed().await;
        }
    };
    // If the master cannot receive this, the end of the connection shows it.
    let _ = tokio::time::timeout(ANSWER_TIMEOUT, told).await;
    ConnectError::Unavailable(format!("cannot process a frame of the master: {reason}"))
}

/// Returns a frame with its body, fetched if it was spilled.
async fn whole(
    frame: v1::MasterFrame,
    bulk: &Bulk,
    link: u64,
    events: &mpsc::Sender<Event>,
) -> Result<v1::MasterFrame, Unreadable> {
    let Some(spilled) = frame.spilled() else { return Ok(frame) };
    let malformed = |error: compass_proto::ParseError| Unreadable::Malformed(error.to_string());
    let digest = digest_from_wire(&spilled.digest).map_err(malformed)?;
    let mut fetching = std::pin::pin!(bulk.clone().fetch(digest));
    let mut sign = tokio::time::interval(FETCHING_EVERY);
    let not_here = |error: BulkError| Unreadable::NotHere(format!("cannot fetch the body of a frame: {error}"));
    let content = loop {
        tokio::select! {
            fetched = &mut fetching => break fetched.map_err(not_here)?,
            // No other frame can arrive in the meantime, so this does not count as silence of the master.
            _ = sign.tick() => drop(events.send(Event::Link { link, event: LinkEvent::Fetching }).await),
        }
    };
    unspill(frame, &content).map_err(malformed)
}
