//! The simulated disk: segments in the ledger's own format, of which a crash leaves what was synced and perhaps more.

use compass_ledger::{Kind, LedgerEntry, LedgerError, encode, header, read_segment};
use compass_types::ids::Digest;
use compass_types::seeded::Rng;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Debug, Default)]
struct Segment {
    bytes: Vec<u8>,
    synced: usize,
}

/// Simulated disk of segments.
#[derive(Debug)]
pub(super) struct Disk {
    plan: Digest,
    segments: BTreeMap<String, Segment>,
}

/// A sample as the ledger has it: unit, index, the result's bytes, the worker that it came from.
pub(super) type Found = (u32, u32, Vec<u8>, String);

impl Disk {
    /// An empty disk, for segments of this plan.
    pub(super) fn new(plan: Digest) -> Self {
        Self { plan, segments: BTreeMap::new() }
    }

    /// Makes a segment, header and name synced; false if there is one of that name.
    pub(super) fn create(&mut self, name: &str) -> bool {
        let bytes = header(&self.plan);
        let synced = bytes.len();
        self.segments.insert(name.to_owned(), Segment { bytes, synced }).is_none()
    }

    /// Appends without syncing; the segment's length then.
    pub(super) fn append(&mut self, name: &str, entries: &[LedgerEntry]) -> u64 {
        let Some(segment) = self.segments.get_mut(name) else { return 0 };
        for entry in entries {
            encode(entry, &mut segment.bytes);
        }
        segment.bytes.len() as u64
    }

    /// Everything appended so far is on the disk.
    pub(super) fn sync(&mut self, name: &str) {
        if let Some(segment) = self.segments.get_mut(name) {
            segment.synced = segment.bytes.len();
        }
    }

    /// The writer is gone: of what was not synced a part is left, torn anywhere. Whether anything was lost.
    pub(super) fn crash(&mut self, name: &str, rng: &mut Rng) -> bool {
        let Some(segment) = self.segments.get_mut(name) else { return false };
        let loose = segment.bytes.len() - segment.synced;
        let left = rng.below(loose as u64 + 1) as usize;
        segment.bytes.truncate(segment.synced + left);
        segment.synced = segment.bytes.len();
        left < loose
    }

    /// Synced bytes of a segment.
    pub(super) fn synced(&self, name: &str) -> u64 {
        self.segments.get(name).map_or(0, |segment| segment.synced as u64)
    }

    /// Names of the segments, by epoch.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.segments.keys()
    }

    /// The samples of a segment within `limit`, read as the ledger reads them, and how many bytes lie beyond.
    ///
    /// # Errors
    /// The segment is corrupt within what is recorded of it.
    pub(super) fn read(&self, name: &str, limit: Option<u64>) -> Result<(Vec<Found>, u64), LedgerError> {
        let Some(segment) = self.segments.get(name) else { return Ok((Vec::new(), 0)) };
        let (samples, end) = self.decode(name, &segment.bytes, limit)?;
        Ok((samples, (segment.bytes.len() - end) as u64))
    }

    /// The samples of a segment between two of its recorded lengths.
    ///
    /// # Errors
    /// The segment is corrupt there.
    pub(super) fn read_between(&self, name: &str, from: u64, to: u64) -> Result<Vec<Found>, LedgerError> {
        let Some(segment) = self.segments.get(name) else { return Ok(Vec::new()) };
        let mut bytes = header(&self.plan);
        let (from, to) = ((from as usize).max(bytes.len()), (to as usize).min(segment.bytes.len()));
        bytes.extend(segment.bytes.get(from..to).unwrap_or_default());
        let all = bytes.len() as u64;
        Ok(self.decode(name, &bytes, Some(all))?.0)
    }

    /// The samples of a segment's bytes within `limit`, and where they end.
    fn decode(&self, name: &str, bytes: &[u8], limit: Option<u64>) -> Result<(Vec<Found>, usize), LedgerError> {
        let mut entries = Vec::new();
        let end = read_segment(&self.plan, Path::new(name), bytes, limit, &mut entries)?;
        let samples = entries.into_iter().filter(|entry| entry.kind() == Kind::Sample).filter_map(|entry| {
            let index = entry.mark()?.index;
            Some((entry.unit, index, entry.payload, entry.worker))
        });
        Ok((samples.collect(), end))
    }
}
