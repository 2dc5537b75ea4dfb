//! What goes up, and when: heartbeats and credit at once, the outbox in order, content before the frame that names it.

use super::bulk::BulkError;
use super::ending::Ending;
use super::event::Event;
use super::outbox::Attachment;
use super::session::Agent;
use compass_proto::v1;
use std::mem::discriminant;
use std::time::Duration;
use tokio::sync::mpsc;
use v1::worker_frame::Body;

/// Pause after an upload that failed.
const UPLOAD_PAUSE: Duration = Duration::from_millis(500);

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
                let reason = format!("results that were put aside in the temporary folder are lost: {error}");
                self.ending = Some(Ending::Broken { reason });
                return None;
            }
        };
        if outgoing.attachments.is_empty() || stream.uploaded >= outgoing.seq {
            return Some(stream.frames.clone());
        }
        if !stream.uploading {
            stream.uploading = true;
            let (bulk, link, seq) = (stream.bulk.clone(), self.link, outgoing.seq);
            let (attachments, events) = (outgoing.attachments.clone(), self.events.clone());
            tokio::spawn(async move {
                let mut done = Ok(());
                for Attachment { digest, bytes } in attachments {
                    if let Err(error) = bulk.clone().upload(digest, bytes).await {
                        done = Err(error);
                        tokio::time::sleep(UPLOAD_PAUSE).await;
                        break;
                    }
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
        let ack = stream.handled;
        if let Some(body) = self.control.pop_front() {
            permit.send(v1::WorkerFrame { seq: 0, ack, body: Some(body) });
        } else if let Ok(Some(outgoing)) = self.outbox.next_unsent() {
            let (seq, body) = (outgoing.seq, outgoing.body.clone());
            permit.send(v1::WorkerFrame { seq, ack, body: Some(body) });
            self.outbox.sent(seq);
        }
    }

    /// An upload ended. One that failed is tried again: without it, nothing behind it can go either.
    pub(super) fn uploaded(&mut self, link: u64, seq: u64, done: Result<(), BulkError>) {
        let current = self.link == link;
        let Some(stream) = self.stream.as_mut().filter(|_| current) else { return };
        stream.uploading = false;
        match done {
            Ok(()) => stream.uploaded = seq,
            Err(error) => tracing::warn!(%error, seq, "upload failed; trying again"),
        }
    }
}
