//! The frames of a worker's stream, each with its own body: one that was too large for its frame was uploaded before it, and is
//! put back here. No code behind this sees a spilled body.

use super::inbound::Inbound;
use super::peer::Peer;
use super::uploads::{Uploader, Uploads};
use compass_proto::{Envelope as _, MAX_FRAME_BYTES, ParseError, digest_from_wire, unspill, v1};
use compass_scheduler::ConnectionId;
use compass_types::ids::WorkerId;
use tokio::sync::mpsc;
use tonic::{Code, Status, Streaming};
use v1::worker_frame::Body;

pub(super) type Frames = Streaming<v1::WorkerFrame>;

/// The session for which a worker uploads.
pub(super) fn uploader(hello: &v1::Hello) -> Uploader {
    Uploader { worker: hello.worker.clone(), session: hello.session.clone() }
}

/// The first frame of a stream, whose hello may have been too large for it.
pub(super) async fn first_frame(
    uploads: &Uploads,
    peer: Option<&Peer>,
    frames: &mut Frames,
) -> Result<Option<v1::WorkerFrame>, Status> {
    let Some(frame) = frames.message().await? else { return Ok(None) };
    let Some(spilled) = frame.spilled() else { return Ok(Some(frame)) };
    let invalid = |error: ParseError| Status::invalid_argument(error.to_string());
    let digest = digest_from_wire(&spilled.digest).map_err(invalid)?;
    let may = |from: &Uploader| peer.is_none_or(|peer| peer.identity.may_be(&from.worker).is_ok());
    let found = uploads.take_first(&digest, may);
    let (from, content) = found.ok_or_else(|| Status::unavailable("the hello was not uploaded"))?;
    let frame = unspill(frame, &content).map_err(invalid)?;
    match &frame.body {
        Some(Body::Hello(hello)) if uploader(hello) != from => {
            Err(Status::invalid_argument("the hello was uploaded in another name"))
        }
        _ => Ok(Some(frame)),
    }
}

/// Hands on what a worker says, until its stream ends or holds what cannot be read.
pub(super) async fn forward(
    uploads: &Uploads,
    inbound: &mpsc::Sender<Inbound>,
    from: &Uploader,
    connection: ConnectionId,
    frames: &mut Frames,
) {
    let worker = WorkerId(from.worker.clone());
    loop {
        let read = match frames.message().await {
            Ok(Some(frame)) => whole(uploads, from, frame),
            Ok(None) => return,
            Err(status) if status.code() == Code::OutOfRange => {
                Err(Unreadable::Malformed(format!("a frame of more than {} KiB", MAX_FRAME_BYTES / 1024)))
            }
            Err(status) => {
                tracing::debug!(%worker, %status, "stream ended");
                return;
            }
        };
        let worker = worker.clone();
        let (event, is_last) = match read {
            Ok(frame) => (Inbound::Frame { worker, connection, frame: frame.into() }, false),
            Err(Unreadable::Malformed(reason)) => (Inbound::Unreadable { worker, connection, reason }, true),
            Err(Unreadable::NotHere) => {
                tracing::info!(%worker, "closed a connection whose upload is gone; the worker uploads it again");
                return;
            }
        };
        if inbound.send(event).await.is_err() || is_last {
            return;
        }
    }
}

/// Reason for which a frame is not handed on.
enum Unreadable {
    /// It would be no better if it came again.
    Malformed(String),
    /// The content that was uploaded for it was freed meanwhile.
    NotHere,
}

/// A frame with the body that was uploaded for it, where it was too large.
fn whole(uploads: &Uploads, from: &Uploader, frame: v1::WorkerFrame) -> Result<v1::WorkerFrame, Unreadable> {
    let Some(spilled) = frame.spilled() else { return Ok(frame) };
    let malformed = |error: ParseError| Unreadable::Malformed(error.to_string());
    let digest = digest_from_wire(&spilled.digest).map_err(malformed)?;
    let content = uploads.take(from, &digest).ok_or(Unreadable::NotHere)?;
    unspill(frame, &content).map_err(malformed)
}
