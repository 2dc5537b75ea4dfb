//! Bodies of workers' frames that were too large for them, from the moment that one is announced until its frame takes it.
//!
//! Each belongs to a worker's session, which has one at a time; all together they are bounded, first come, first served. A
//! worker for whose upload there is no room is asked to retry later; no upload is refused for lack of room. Room is reserved
//! before the bytes arrive. It is freed when the frame takes the content, when the session ends, and `KEPT` after the last
//! bytes arrived.

use compass_proto::MAX_SPILLED_BYTES;
use compass_types::ids::Digest;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tonic::Status;

/// Bytes of all uploads together.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// Longest time that an upload waits for its next chunk, and then for its frame.
pub(super) const KEPT: Duration = Duration::from_secs(60);
/// Time for which a place in the queue is kept for a session that was asked to retry: longer than a worker's longest
/// back-off.
const TURN: Duration = Duration::from_secs(15);

/// The session of a worker, to which an upload belongs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uploader {
    pub worker: String,
    /// Chosen once per agent process.
    pub session: String,
}

/// Reason for which an upload is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UploadError {
    /// There is no room yet.
    #[error("other uploads take all the room for them; try again later")]
    Full,
    /// The frame of the session's previous upload has not arrived yet.
    #[error("an earlier upload of this session waits for its frame; try again later")]
    OneAtATime,
    /// The worker has opened another connection since, or took so long that the reservation ended.
    #[error("the upload belongs to a connection that is over, or took too long")]
    Stale,
    #[error("an upload has {length} bytes, and {MAX_SPILLED_BYTES} at most travel")]
    TooLarge { length: u64 },
    #[error("the upload is not what was announced: other bytes, or another number of them")]
    Damaged,
}

impl From<UploadError> for Status {
    fn from(error: UploadError) -> Self {
        let message = error.to_string();
        match error {
            UploadError::Full | UploadError::OneAtATime => Self::resource_exhausted(message),
            UploadError::Stale => Self::aborted(message),
            UploadError::TooLarge { .. } => Self::out_of_range(message),
            UploadError::Damaged => Self::data_loss(message),
        }
    }
}

/// The uploads of a port.
#[derive(Clone, Debug)]
pub struct Uploads(Arc<Mutex<UploadTable>>);

impl Default for Uploads {
    fn default() -> Self {
        Self::of(MOST_BYTES)
    }
}

#[derive(Debug)]
struct UploadTable {
    /// Bytes at most.
    most: u64,
    held: BTreeMap<Uploader, Upload>,
    /// Sessions that were asked to retry, and when they did last; the longest waiting first.
    waiting: VecDeque<(Uploader, Instant)>,
    tickets: u64,
}

#[derive(Debug)]
struct Upload {
    /// Distinguishes it from others of the same session.
    ticket: u64,
    /// The connection whose frame takes it.
    dial: u64,
    digest: Digest,
    length: u64,
    /// `None` while it is on its way.
    content: Option<Vec<u8>>,
    heard: Instant,
}

/// Room for an upload under way; free again when this is dropped before the content is there.
#[derive(Debug)]
pub struct Reservation {
    uploads: Uploads,
    from: Uploader,
    ticket: u64,
}

impl Uploads {
    /// Uploads that take so many bytes together.
    pub fn of(most: u64) -> Self {
        let (held, waiting, tickets) = (BTreeMap::new(), VecDeque::new(), 0);
        Self(Arc::new(Mutex::new(UploadTable { most, held, waiting, tickets })))
    }

    fn with<T>(&self, act: impl FnOnce(&mut UploadTable) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reserves room for an upload of `length` bytes with this digest, for the connection `dial` of the session.
    ///
    /// # Errors
    /// There is no room yet, or the upload cannot be taken at all.
    pub fn reserve(
        &self,
        from: &Uploader,
        dial: u64,
        digest: Digest,
        length: u64,
        now: Instant,
    ) -> Result<Reservation, UploadError> {
        let ticket = self.with(|shelf| shelf.reserve(from, dial, digest, length, now))?;
        Ok(Reservation { uploads: self.clone(), from: from.clone(), ticket })
    }

    /// Takes out the content of a frame of the session.
    pub fn take(&self, from: &Uploader, digest: &Digest) -> Option<Vec<u8>> {
        self.with(|shelf| {
            let is_meant = |upload: &Upload| upload.digest == *digest && upload.content.is_some();
            shelf.held.get(from).filter(|upload| is_meant(upload))?;
            shelf.held.remove(from)?.content
        })
    }

    /// Takes out the content of the first frame of a session, which is known by its digest alone, for one whose owner `may`.
    pub fn take_first(&self, digest: &Digest, may: impl Fn(&Uploader) -> bool) -> Option<(Uploader, Vec<u8>)> {
        let from = self.with(|shelf| {
            let mut owners = shelf.held.iter().filter(|(from, upload)| upload.digest == *digest && may(from));
            owners.next().map(|(from, _)| from.clone())
        })?;
        let content = self.take(&from, digest)?;
        Some((from, content))
    }

    /// The connection `dial` of a session is over: what was uploaded for it, or before it, is not awaited any more.
    pub fn session_ended(&self, from: &Uploader, dial: u64) {
        self.with(|shelf| {
            if shelf.held.get(from).is_some_and(|upload| upload.dial <= dial) {
                shelf.held.remove(from);
            }
            shelf.waiting.retain(|(waiting, _)| waiting != from);
        });
    }

    /// Frees what nothing was heard of for `KEPT`.
    pub fn expire(&self, now: Instant) {
        self.with(|shelf| shelf.expire(now));
    }
}

impl UploadTable {
    fn reserve(
        &mut self,
        from: &Uploader,
        dial: u64,
        digest: Digest,
        length: u64,
        now: Instant,
    ) -> Result<u64, UploadError> {
        if length > MAX_SPILLED_BYTES as u64 {
            return Err(UploadError::TooLarge { length });
        }
        self.expire(now);
        match self.held.get(from) {
            Some(own) if own.dial > dial => return Err(UploadError::Stale),
            Some(own) if own.dial == dial && own.digest != digest => return Err(UploadError::OneAtATime),
            // Of an earlier connection, or the same once more since the answer was lost.
            _ => drop(self.held.remove(from)),
        }
        let at = self.waiting.iter().position(|(waiting, _)| waiting == from);
        let is_next = !self.waiting.is_empty() && at != Some(0);
        let taken: u64 = self.held.values().map(|upload| upload.length).sum();
        if is_next || taken + length > self.most {
            match at.and_then(|at| self.waiting.get_mut(at)) {
                Some((_, came)) => *came = now,
                None => self.waiting.push_back((from.clone(), now)),
            }
            return Err(UploadError::Full);
        }
        self.waiting.retain(|(waiting, _)| waiting != from);
        self.tickets += 1;
        let upload = Upload { ticket: self.tickets, dial, digest, length, content: None, heard: now };
        self.held.insert(from.clone(), upload);
        Ok(self.tickets)
    }

    fn expire(&mut self, now: Instant) {
        self.held.retain(|from, upload| {
            let stays = now.saturating_duration_since(upload.heard) < KEPT;
            if !stays {
                tracing::info!(worker = from.worker, bytes = upload.length, "freed an upload whose frame did not come");
            }
            stays
        });
        self.waiting.retain(|(_, came)| now.saturating_duration_since(*came) < TURN);
    }

    /// The upload of a reservation, if it still stands.
    fn of(&mut self, from: &Uploader, ticket: u64) -> Option<&mut Upload> {
        self.held.get_mut(from).filter(|upload| upload.ticket == ticket)
    }
}

impl Reservation {
    /// More bytes of it have arrived.
    pub fn goes_on(&self, now: Instant) {
        self.uploads.with(|shelf| {
            if let Some(upload) = shelf.of(&self.from, self.ticket) {
                upload.heard = now;
            }
        });
    }

    /// Stores the complete content.
    ///
    /// # Errors
    /// The content is not what was announced, or the reservation has ended.
    pub fn fill(self, bytes: Vec<u8>, now: Instant) -> Result<(), UploadError> {
        let digest = Digest::of(&bytes);
        self.uploads.with(|shelf| {
            let upload = shelf.of(&self.from, self.ticket).ok_or(UploadError::Stale)?;
            if upload.digest != digest || upload.length != bytes.len() as u64 {
                return Err(UploadError::Damaged);
            }
            (upload.content, upload.heard) = (Some(bytes), now);
            Ok(())
        })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.uploads.with(|shelf| {
            if shelf.of(&self.from, self.ticket).is_some_and(|upload| upload.content.is_none()) {
                shelf.held.remove(&self.from);
            }
        });
    }
}

#[cfg(test)]
#[path = "uploads_tests.rs"]
mod tests;
