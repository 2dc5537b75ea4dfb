//! Sends frames to the master: heartbeats and credit first, the outbox in order, content before the frame that names
//! it.
//!
//! If the master has no room for content, the upload is retried with back-off; heartbeats continue meanwhile.

use super::ending::ExitReason;
use super::outbox::{Attachment, Rejection};
use super::output::Output;
use super::session::AgentCore;
use super::transfer::BulkError;
use super::upload_pauses::{UPLOAD_PAUSES, upload_pauses};
use compass_proto::v1;
use std::mem::discriminant;
use v1::worker_frame::Body;

impl AgentCore {
    /// Queues a frame that is not replayed; it replaces an older one of its kind.
    pub(super) fn send_now(&mut self, body: Body) {
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
            let waiting = self.slots.iter().find_map(|slot| slot.waiting.clone()).unwrap_or_default();
            self.send_now(Body::Heartbeat(v1::Heartbeat { sent_ms: now_ms, waiting }));
        }
    }

    /// Returns whether a frame is ready for the connection; starts the upload of the content that it names.
    pub(super) fn is_ready_to_send(&mut self) -> bool {
        let Some(stream) = self.stream.as_mut().filter(|stream| stream.welcomed) else { return false };
        if !self.control.is_empty() {
            return true;
        }
        let outgoing = match self.outbox.next_unsent() {
            Ok(Some(outgoing)) => outgoing,
            Ok(None) => return false,
            Err(error) => {
                self.lost_spool(&error);
                return false;
            }
        };
        let attachment = outgoing.attachment.as_ref().filter(|_| stream.uploaded < outgoing.seq);
        let Some(Attachment { digest, bytes }) = attachment.cloned() else { return true };
        if !std::mem::replace(&mut stream.uploading, true) {
            let pause = stream.upload_pauses.next().unwrap_or(UPLOAD_PAUSES.1);
            self.outputs.push(Output::Upload { link: self.link, seq: outgoing.seq, digest, bytes, pause });
        }
        false
    }

    /// Sends the most urgent frame, since the connection has room for one.
    pub(super) fn writable(&mut self) {
        if !self.is_ready_to_send() {
            return;
        }
        let Some(stream) = &self.stream else { return };
        let ack = stream.received.last_handled();
        let frame = if let Some(body) = self.control.pop_front() {
            v1::WorkerFrame { seq: 0, ack, body: Some(body) }
        } else if let Ok(Some(outgoing)) = self.outbox.next_unsent() {
            let (seq, body) = (outgoing.seq, outgoing.body.clone());
            self.outbox.sent(seq);
            v1::WorkerFrame { seq, ack, body }
        } else {
            return;
        };
        self.outputs.push(Output::Send { frame: Box::new(frame) });
    }

    /// Notes that the transport accepts no more frames; a `Closed` event will follow.
    pub(super) fn stuck(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.welcomed = false;
        }
    }

    /// Handles the end of an upload. A failed one is retried: the frames behind it cannot be sent before it.
    pub(super) fn uploaded(&mut self, link: u64, seq: u64, done: Result<(), BulkError>) {
        let current = self.link == link;
        let Some(stream) = self.stream.as_mut().filter(|_| current) else { return };
        stream.uploading = false;
        match done {
            Ok(()) => {
                stream.uploaded = seq;
                (stream.upload_pauses, stream.upload_waits) = (upload_pauses(self.boot.seed.wrapping_add(seq)), false);
            }
            Err(BulkError::Full(reason)) => {
                if !std::mem::replace(&mut stream.upload_waits, true) {
                    tracing::info!(reason, "the master has no room for this worker's results; waiting");
                }
            }
            Err(BulkError::Permanent(reason)) => self.rejected(seq, &reason),
            Err(error) => tracing::warn!(%error, seq, "upload failed; retrying"),
        }
    }

    /// Handles the master's rejection of a frame of the outbox.
    pub(super) fn rejected(&mut self, seq: u64, reason: &str) {
        match self.outbox.rejected(seq, reason) {
            Ok(Rejection::Resend) => tracing::warn!(seq, reason, "the master rejected a frame; sending it again"),
            Ok(Rejection::Replaced { what }) => {
                tracing::error!(seq, reason, "the master rejects {what}; given up, its samples count as failed");
            }
            Err(error) => self.lost_spool(&error),
        }
    }

    fn lost_spool(&mut self, error: &std::io::Error) {
        let reason = format!("cannot read spooled results back from the temporary folder: {error}");
        self.ending = Some(ExitReason::Failed { reason });
    }
}
