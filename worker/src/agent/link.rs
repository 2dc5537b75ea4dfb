//! One connection to the master, from dialling to its end, as a task that reports what it hears.

use super::bulk::Bulk;
use super::clock::Clock;
use super::event::Event;
use crate::dial::{Doorway, Shut};
use compass_proto::v1::workers_client::WorkersClient;
use compass_proto::{MAX_FRAME_BYTES, v1};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;

/// Frames between the agent and the transport: few, so that a heartbeat never waits behind many.
const OUTBOUND_FRAMES: usize = 8;
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
        why: Shut,
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
    pub(super) doorway: Doorway,
    pub(super) pause: Duration,
    pub(super) hello: v1::Hello,
    pub(super) clock: Clock,
}

impl Dial {
    /// Starts the task.
    pub(super) fn start(self, events: mpsc::Sender<Event>) -> LinkTask {
        LinkTask(tokio::spawn(async move {
            let link = self.number;
            let why = match Box::pin(self.converse(&events)).await {
                Ok(()) => Shut::Again("the master closed the stream".to_owned()),
                Err(why) => why,
            };
            // Nobody listens only when the agent is ending.
            let _ = events.send(Event::Link { link, event: LinkEvent::Down { why } }).await;
        }))
    }

    async fn converse(self, events: &mpsc::Sender<Event>) -> Result<(), Shut> {
        let link = self.number;
        tokio::time::sleep(self.pause).await;
        let door = self.doorway.open().await?;
        let mut client = WorkersClient::new(door.session.clone()).max_decoding_message_size(MAX_FRAME_BYTES);
        let (frames, outbound) = mpsc::channel(OUTBOUND_FRAMES);
        let hello = Some(v1::worker_frame::Body::Hello(self.hello));
        let hello_sent_ms = self.clock.now_ms();
        let gone = |_| Shut::Again("the agent is ending".to_owned());
        frames
            .send(v1::WorkerFrame { seq: 0, ack: 0, body: hello })
            .await
            .map_err(|_| Shut::Again("the stream is closed".to_owned()))?;
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, client.session(ReceiverStream::new(outbound))).await;
        let late = |_| Shut::Again(format!("no answer to the hello within {} s", ANSWER_TIMEOUT.as_secs()));
        let mut inbound = answer.map_err(late)?.map_err(|status| door.shut_by(&status))?.into_inner();
        let event = LinkEvent::Up { frames, bulk: Bulk::new(door.bulk.clone()), hello_sent_ms };
        events.send(Event::Link { link, event }).await.map_err(gone)?;
        while let Some(frame) = inbound.message().await.map_err(|status| door.shut_by(&status))? {
            let event = LinkEvent::Frame(Box::new(frame));
            events.send(Event::Link { link, event }).await.map_err(gone)?;
        }
        Ok(())
    }
}
