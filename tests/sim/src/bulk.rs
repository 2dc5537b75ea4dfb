//! Bodies that are too large for their frames, on their way to a master: room is found for them as the shipped master finds
//! it.

use super::mutant::Mutant;
use super::world::{Happening, World};
use compass_agent::{BulkError, Input};
use compass_proto::{Envelope as _, digest_from_wire, unspill, v1};
use compass_rpc::{UploadError, Uploader};
use compass_types::ids::Digest;
use std::sync::Arc;
use std::time::Duration;

impl World {
    fn uploader(&self, link: usize) -> Uploader {
        let known = &self.links.all[link];
        let worker = self.workers[known.worker].name.clone();
        Uploader { session: format!("{worker}.{}", known.worker_life), worker }
    }

    /// A body comes to the master.
    pub(super) fn upload_arrives(&mut self, link: usize, seq: u64, digest: Digest, bytes: Arc<Vec<u8>>, pause: u64) {
        let known = self.links.all[link].clone();
        let serves = !known.broken && self.is_up(known.master, known.master_life);
        let (from, now) = (self.uploader(link), self.instant());
        let uploads = &self.masters[known.master].uploads;
        let taken = || {
            let room = uploads.reserve(&from, known.number, digest, bytes.len() as u64, now)?;
            room.fill(bytes.to_vec(), now)
        };
        let done = match if serves { taken() } else { Err(UploadError::Stale) } {
            Ok(()) => Ok(()),
            Err(error @ (UploadError::Full | UploadError::OneAtATime)) => {
                self.oracle.saw("there was no room for an upload");
                Err(BulkError::Full(error.to_string()))
            }
            Err(error @ UploadError::TooLarge { .. }) => Err(BulkError::Permanent(error.to_string())),
            Err(error) => Err(BulkError::Retryable(error.to_string())),
        };
        if self.mutant == Some(Mutant::UploadFreedEarly) {
            self.masters[known.master].uploads.expire(now + Duration::from_secs(3_600));
        }
        let late = if done.is_ok() { 0 } else { pause };
        let arrives = self.links.bulk(self.now, known.worker, &mut self.rng) + late;
        let (worker, life, number) = (known.worker, known.worker_life, known.number);
        self.at(arrives, Happening::Uploaded { worker, life, number, seq, done });
    }

    pub(super) fn uploaded(&mut self, at: usize, number: u64, seq: u64, done: Result<(), BulkError>) {
        self.agent(at, Input::Uploaded { link: number, seq, done });
    }

    /// A frame with its body, wherever that travelled. `None` where that is gone: the connection is closed.
    pub(super) fn whole(&mut self, link: usize, frame: v1::WorkerFrame) -> Option<v1::WorkerFrame> {
        let Some(spilled) = frame.spilled() else { return Some(frame) };
        let digest = digest_from_wire(&spilled.digest).ok()?;
        let from = self.uploader(link);
        let content = self.masters[self.links.all[link].master].uploads.take(&from, &digest)?;
        unspill(frame, &content).ok()
    }

    /// A connection is over for the master.
    pub(super) fn uploads_end(&mut self, link: usize) {
        let (from, known) = (self.uploader(link), &self.links.all[link]);
        self.masters[known.master].uploads.session_ended(&from, known.number);
    }
}
