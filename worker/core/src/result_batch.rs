//! Gathers results into frames: few frames when results come fast, no delay when they come slowly.
//!
//! Pure. A batch closes at [`BATCH_BYTES`], and the one result that may exceed this is smaller than
//! [`LARGE_RESULT_BYTES`]; a larger one has its own frame, whose body the outbox spills if needed.

use compass_proto::v1::SampleResult;
use compass_types::ids::GrantId;
use prost::Message;
use std::collections::BTreeMap;

/// A result with a larger encoding has its own frame.
pub(super) const LARGE_RESULT_BYTES: usize = 80 * 1024;
const BATCH_BYTES: usize = 100 * 1024;
const BATCH_SAMPLES: usize = 64;
/// Time that the first result of a batch waits for more.
const BATCH_MS: u64 = 50;

#[derive(Debug)]
struct ResultBatch {
    results: Vec<SampleResult>,
    bytes: usize,
    due_ms: u64,
}

/// Open batches by grant.
#[derive(Debug, Default)]
pub(super) struct ResultBatches(BTreeMap<GrantId, ResultBatch>);

impl ResultBatches {
    /// Adds a result; returns the batch when it is large enough to be sent.
    pub(super) fn add(&mut self, grant: GrantId, result: SampleResult, now_ms: u64) -> Option<Vec<SampleResult>> {
        let due_ms = now_ms + BATCH_MS;
        let batch = self.0.entry(grant).or_insert(ResultBatch { results: Vec::new(), bytes: 0, due_ms });
        batch.bytes += result.encoded_len();
        batch.results.push(result);
        let closed = batch.results.len() >= BATCH_SAMPLES || batch.bytes >= BATCH_BYTES;
        closed.then(|| self.take(grant)).flatten()
    }

    /// Removes the open batch of a grant.
    pub(super) fn take(&mut self, grant: GrantId) -> Option<Vec<SampleResult>> {
        self.0.remove(&grant).map(|batch| batch.results)
    }

    /// Returns a grant whose batch has waited long enough.
    pub(super) fn due(&self, now_ms: u64) -> Option<GrantId> {
        self.0.iter().find(|(_, batch)| batch.due_ms <= now_ms).map(|(grant, _)| *grant)
    }

    /// Returns when the next batch is due.
    pub(super) fn next_due_ms(&self) -> Option<u64> {
        self.0.values().map(|batch| batch.due_ms).min()
    }

    /// Returns the number of results in the open batch of a grant.
    pub(super) fn samples(&self, grant: GrantId) -> usize {
        self.0.get(&grant).map_or(0, |batch| batch.results.len())
    }

    /// Returns the grants with an open batch.
    pub(super) fn grants(&self) -> Vec<GrantId> {
        self.0.keys().copied().collect()
    }

    /// Drops all batches.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_proto::SPILL_BYTES;
    use compass_proto::v1::sample_result::Outcome;

    const GRANT: GrantId = GrantId::new(1, 2, 3);

    fn result(index: u32, bytes: usize) -> SampleResult {
        SampleResult { index, outcome: Some(Outcome::Failed("x".repeat(bytes))), ..Default::default() }
    }

    #[test]
    fn batch_is_sent_when_large_or_old() {
        let mut batches = ResultBatches::default();
        for index in 0..BATCH_SAMPLES as u32 - 1 {
            assert!(batches.add(GRANT, result(index, 5), 1_000 + u64::from(index)).is_none());
        }
        assert_eq!(batches.next_due_ms(), Some(1_050));
        assert_eq!(batches.due(1_049), None);
        assert_eq!(batches.due(1_050), Some(GRANT));
        assert_eq!(batches.add(GRANT, result(99, 5), 1_049).map(|batch| batch.len()), Some(BATCH_SAMPLES));
        assert_eq!(batches.next_due_ms(), None);
    }

    #[test]
    fn largest_batch_fits_its_frame() {
        let mut batches = ResultBatches::default();
        assert!(batches.add(GRANT, result(0, BATCH_BYTES - 100), 0).is_none());
        let batch = batches.add(GRANT, result(1, LARGE_RESULT_BYTES - 20), 0).unwrap();
        let bytes: usize = batch.iter().map(|result| result.encoded_len() + 8).sum();
        assert!(bytes + 1024 < SPILL_BYTES, "{bytes}");
    }
}
