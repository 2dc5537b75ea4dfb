//! Payloads of entries, parsed: the only place where a master reads a result back from its bytes.
//!
//! Checksums find broken disks. An entry that passes its checksum and is still damaged was written so: by another release, or in error.
//! It fails no reader. An entry whose [mark](LedgerEntry::mark) cannot be read counts for nothing: its sample has no result, and a master
//! that resumes the run runs it again. One whose mark can be read and whose [result](LedgerEntry::result) cannot holds the place of its
//! sample, which is not run again and has no score.

use super::record::{Kind, LedgerEntry};
use compass_proto::{FailureMark, v1};
use compass_types::result::SampleResult;
use prost::Message as _;

/// Parses a recorded result; `None` where it is damaged.
pub fn parse_result(payload: &[u8]) -> Option<SampleResult> {
    SampleResult::try_from(v1::SampleResult::decode(payload).ok()?).ok()
}

impl LedgerEntry {
    /// Returns the result of a sample, whether it counts or differs from the one that counts; `None` for entries of other kinds and
    /// for damaged ones.
    pub fn result(&self) -> Option<SampleResult> {
        self.is_result().then(|| parse_result(&self.payload)).flatten()
    }

    /// Returns the index of a result and what it says of a failure; `None` as for [`Self::result`].
    pub fn mark(&self) -> Option<FailureMark> {
        self.is_result().then(|| FailureMark::decode(self.payload.as_slice()).ok()).flatten()
    }

    /// Returns the first answers of a sample that asks for more; `None` as for [`Self::result`].
    pub fn drawn(&self) -> Option<SampleResult> {
        (self.kind() == Kind::Drawn).then(|| parse_result(&self.payload)).flatten()
    }

    /// Returns a worker's report of a shard; `None` for entries of other kinds and for damaged ones.
    pub fn report(&self) -> Option<v1::ShardReport> {
        (self.kind() == Kind::Report).then(|| v1::ShardReport::decode(self.payload.as_slice()).ok()).flatten()
    }

    pub(super) fn is_result(&self) -> bool {
        matches!(self.kind(), Kind::Sample | Kind::Divergence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_types::result::{Outcome, PromptFit};

    fn entry(kind: Kind, payload: Vec<u8>) -> LedgerEntry {
        LedgerEntry { kind: kind.into(), payload, ..LedgerEntry::default() }
    }

    #[test]
    fn entries_are_parsed_as_their_kinds_say() {
        let outcome = Outcome::Failed { reason: "too long".into() };
        let result = SampleResult { index: 7, fit: PromptFit::default(), outcome };
        let payload = v1::SampleResult::from(&result).encode_to_vec();
        for kind in [Kind::Sample, Kind::Divergence] {
            let entry = entry(kind, payload.clone());
            assert_eq!(entry.drawn(), None);
            let mark = FailureMark { index: 7, failed: Some("too long".into()), engine_failed: false };
            assert_eq!((entry.result(), entry.mark(), entry.report()), (Some(result.clone()), Some(mark), None));
        }
        let drawn = entry(Kind::Drawn, payload.clone());
        assert_eq!((drawn.result(), drawn.mark(), drawn.drawn()), (None, None, Some(result)));
        let report = v1::ShardReport { unit: 3, scored: 9, ..Default::default() };
        let entry = entry(Kind::Report, report.encode_to_vec());
        assert_eq!((entry.result(), entry.mark(), entry.report()), (None, None, Some(report)));
    }

    #[test]
    fn damaged_entries_say_nothing() {
        let senseless = v1::SampleResult { index: 7, ..Default::default() }.encode_to_vec();
        let held = entry(Kind::Sample, senseless);
        assert_eq!((held.result(), held.mark().map(|mark| mark.index)), (None, Some(7)));
        for kind in [Kind::Sample, Kind::Divergence, Kind::Report, Kind::Drawn] {
            let damaged = entry(kind, b"\xff".to_vec());
            assert_eq!((damaged.result(), damaged.mark(), damaged.report()), (None, None, None));
            assert_eq!(damaged.drawn(), None);
        }
    }
}
