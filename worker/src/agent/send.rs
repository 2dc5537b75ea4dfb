//! What goes up, and when: heartbeats and credit at once, the outbox in order, content before the frame that names it.
//!
//! Where the master has no room for content, it is offered again, after pauses that grow; heartbeats go on meanwhile.

use super::bulk::BulkError;
use super::ending::Ending;
use super::event::Event;
use super::outbox::{Attachment, Rejection};
use super::session::Agent;
use compass_common::backoff::{self, FullJitter};
use compass_proto::v1;
use std::mem::discriminant;
use std::time::Duration;
use tokio::sync::mpsc;
use v1::worker_frame::Body;

/// Pauses after uploads that failed, the first and the longest.
const UPLOAD_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Pauses between tries to bring content to the master.
pub(super) fn upload_pauses() -> FullJitter {
    backoff::policy(UPLOAD_PAUSES.0, UPLOAD_PAUSES.1)
}

impl Agent {
    /// Queues a frame that is not replayed; an older one of its kind gives way.
    pub(super) fn say_now(&mut self, body: Body) {
        self.control.retain(|waiting| discriminant(waiting) != discriminant(&body));
        self.control.push_back(body);
    }

    /// Queues a heartbeat when one is due.
    pub(super) fn beat(&mut self, now_ms: u64) {
        let welcomed = self.stream.as_ref().is_some_and(|stream| stream.welcomed);
        if let Some(terms) = &self.terms
            && welcomed
            && now_ms >= self.next_heartbeat_ms
        {
            self.next_heartbeat_ms = now_ms + terms.heartbeat_ms;
            self.say_now(Body::Heartbeat(v1::Heartbeat { sent_ms: now_ms }));
        }
    }

    /// The stream's sender when a frame is ready for it; starts the upload that the next frame needs.
    pub(super) fn wants_to_send(&mut self) -> Option<mpsc::Sender<v1::WorkerFrame>> {
        let stream = self.stream.as_mut().filter(|stream| stream.welcomed)?;
        if !self.control.is_empty() {
            return Some(stream.frames.clone());
        }
        let outgoing = match self.outbox.next_unsent() {
            Ok(outgoing) => outgoing?,
            Err(error) => {
                self.lost_spool(&error);
                return None;
            }
        };
        let attachment = outgoing.attachment.as_ref().filter(|_| stream.uploaded < outgoing.seq);
        let Some(Attachment { digest, bytes }) = attachment.cloned() else { return Some(stream.frames.clone()) };
        if !stream.uploading {
            stream.uploading = true;
            let (bulk, link, seq) = (stream.bulk.clone(), self.link, outgoing.seq);
            let (events, pause) = (self.events.clone(), stream.upload_pauses.next().unwrap_or(UPLOAD_PAUSES.1));
            tokio::spawn(async move {
                let done = bulk.upload(digest, bytes).await;
                if done.is_err() {
                    tokio::time::sleep(pause).await;
                }
                let _ = events.send(Event::Uploaded { link, seq, done }).await;
            });
        }
        None
    }

    /// Sends the frame that [`Self::wants_to_send`] had in mind.
    pub(super) fn send_next(&mut self, permit: Option<mpsc::OwnedPermit<v1::WorkerFrame>>) {
        let Some(permit) = permit else {
            // The transport let go of the stream; that it is down will be reported.
            if let Some(stream) = &mut self.stream {
                stream.welcomed = false;
            }
            return;
        };
        let Some(stream) = &self.stream else { return };
        let ack = stream.received.last_handled();
        if let Some(body) = self.control.pop_front() {
            permit.send(v1::WorkerFrame { seq: 0, ack, body: Some(body) });
        } else if let Ok(Some(outgoing)) = self.outbox.next_unsent() {
            let (seq, body) = (outgoing.seq, outgoing.body.clone());
            permit.send(v1::WorkerFrame { seq, ack, body });
            self.outbox.sent(seq);
        }
    }

    /// An upload ended. One that failed is tried again: without it, nothing behind it can go either.
    pub(super) fn uploaded(&mut self, link: u64, seq: u64, done: Result<(), BulkError>) {
        let current = self.link == link;
        let Some(stream) = self.stream.as_mut().filter(|_| current) else { return };
        stream.uploading = false;
        match done {
            Ok(()) => {
                stream.uploaded = seq;
                (stream.upload_pauses, stream.upload_waits) = (upload_pauses(), false);
            }
            Err(BulkError::Full(reason)) => {
                if !std::mem::replace(&mut stream.upload_waits, true) {
                    tracing::info!(reason, "the master has no room for what this worker hands in; waiting for it");
                }
            }
            Err(BulkError::Hopeless(reason)) => self.rejected(seq, &reason),
            Err(error) => tracing::warn!(%error, seq, "upload failed; trying again"),
        }
    }

    /// The master cannot take a frame of the outbox.
    pub(super) fn rejected(&mut self, seq: u64, reason: &str) {
        match self.outbox.rejected(seq, reason) {
            Ok(Rejection::Again) => tracing::warn!(seq, reason, "the master rejected a frame; it goes once more"),
            Ok(Rejection::Replaced { what }) => {
                tracing::error!(
                    seq,
                    reason,
                    "the master cannot take {what}; given up, as failed where it holds samples"
                );
            }
            Err(error) => self.lost_spool(&error),
        }
    }

    fn lost_spool(&mut self, error: &std::io::Error) {
        let reason = format!("results that were put aside in the temporary folder are lost: {error}");
        self.ending = Some(Ending::Broken { reason });
    }
}
