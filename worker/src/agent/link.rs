//! One connection to the master, from dialling to its end, as a task that reports what it hears.

use super::bulk::Bulk;
use super::clock::Clock;
use super::event::Event;
use compass_proto::v1::workers_client::WorkersClient;
use compass_proto::{MAX_FRAME_BYTES, v1};
use std::error::Error;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Endpoint;

/// Frames between the agent and the transport: few, so that a heartbeat never waits behind many.
const OUTBOUND_FRAMES: usize = 8;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the master may take to answer the hello.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// What a connection reports.
#[derive(Debug)]
pub(super) enum LinkEvent {
    /// The stream is open and the hello is on its way.
    Up {
        frames: mpsc::Sender<v1::WorkerFrame>,
        bulk: Bulk,
        hello_sent_ms: u64,
    },
    Frame(Box<v1::MasterFrame>),
    /// The last event of a connection.
    Down {
        reason: String,
    },
}

/// A connection's task; dropping it closes the connection.
#[derive(Debug)]
pub(super) struct LinkTask(JoinHandle<()>);

impl Drop for LinkTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What is dialled, after which pause, and what is said first.
#[derive(Debug)]
pub(super) struct Dial {
    pub(super) number: u64,
    pub(super) endpoint: Endpoint,
    pub(super) pause: Duration,
    pub(super) hello: v1::Hello,
    pub(super) clock: Clock,
}

/// How the master is reached.
pub(super) fn endpoint(master: &str) -> Result<Endpoint, tonic::transport::Error> {
    let endpoint = Endpoint::from_shared(format!("http://{master}"))?;
    Ok(endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(10))
        .keep_alive_while_idle(true))
}

impl Dial {
    /// Starts the task.
    pub(super) fn start(self, events: mpsc::Sender<Event>) -> LinkTask {
        LinkTask(tokio::spawn(async move {
            let link = self.number;
            let reason = match Box::pin(self.converse(&events)).await {
                Ok(()) => "the master closed the stream".to_owned(),
                Err(reason) => reason,
            };
            // Nobody listens only when the agent is ending.
            let _ = events.send(Event::Link { link, event: LinkEvent::Down { reason } }).await;
        }))
    }

    async fn converse(self, events: &mpsc::Sender<Event>) -> Result<(), String> {
        let link = self.number;
        tokio::time::sleep(self.pause).await;
        let channel = self.endpoint.connect().await.map_err(|error| error_chain(&error))?;
        let mut client = WorkersClient::new(channel).max_decoding_message_size(MAX_FRAME_BYTES);
        let (frames, outbound) = mpsc::channel(OUTBOUND_FRAMES);
        let hello = Some(v1::worker_frame::Body::Hello(self.hello));
        let hello_sent_ms = self.clock.now_ms();
        let gone = |_| "the agent is ending".to_owned();
        frames
            .send(v1::WorkerFrame { seq: 0, ack: 0, body: hello })
            .await
            .map_err(|_| "the stream is closed".to_owned())?;
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, client.session(ReceiverStream::new(outbound))).await;
        let answer = answer.map_err(|_| format!("no answer to the hello within {} s", ANSWER_TIMEOUT.as_secs()))?;
        let mut inbound = answer.map_err(|status| error_chain(&status))?.into_inner();
        let event = LinkEvent::Up { frames, bulk: Bulk::new(&self.endpoint), hello_sent_ms };
        events.send(Event::Link { link, event }).await.map_err(gone)?;
        while let Some(frame) = inbound.message().await.map_err(|status| error_chain(&status))? {
            let event = LinkEvent::Frame(Box::new(frame));
            events.send(Event::Link { link, event }).await.map_err(gone)?;
        }
        Ok(())
    }
}

/// An error with its causes: tonic's own message says no more than "transport error".
pub(super) fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
