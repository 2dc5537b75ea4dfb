//! Contents of a segment: framed, checksummed entries.
//!
//! Frame: `u32` length of the payload, `u64` checksum (the first eight bytes of its BLAKE3 digest), payload; integers
//! little-endian. The payload is a [`LedgerEntry`] in protobuf.

use compass_types::ids::Digest;
use prost::Message;
use std::io::{self, Read};

/// Kinds of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Kind {
    Unknown = 0,
    /// The first result of a sample: it counts.
    Sample = 1,
    /// A later, different result, or one that does not fit the plan: kept as evidence, never counted.
    Divergence = 2,
    /// A worker's shard report.
    Report = 3,
    /// Pin of a model, as the first worker found it that loaded the model: `unit` is the model's position, the payload a
    /// `compass_plan::weights::Pin` as JSON. The first of a model counts, and comes before its samples.
    Pin = 4,
    /// Tally of what befell the run until then, see [`super::Tally`]: the last one counts.
    Tally = 5,
    /// Event that became known of a worker, see [`super::WorkerEvent`].
    Worker = 6,
    /// Samples of a unit that failed and are run again: nothing that earlier segments hold of them counts any more. The payload is
    /// their intervals as JSON. A segment begins with these.
    Reopened = 7,
    /// First answers of a sample that asks for more of them, drawn by an earlier run: no result. Its payload is as that of a sample, whose
    /// result holds these answers too. The segment of what was taken over has them.
    Drawn = 8,
}

/// One entry.
#[derive(Clone, PartialEq, Message)]
pub struct LedgerEntry {
    #[prost(enumeration = "Kind", tag = "1")]
    pub kind: i32,
    #[prost(uint32, tag = "2")]
    pub unit: u32,
    #[prost(uint32, tag = "3")]
    pub task: u32,
    #[prost(uint32, tag = "4")]
    pub attempt: u32,
    #[prost(uint64, tag = "5")]
    pub epoch: u64,
    #[prost(string, tag = "6")]
    pub worker: String,
    /// A `compass.v1.SampleResult` or `compass.v1.ShardReport`, as it came.
    #[prost(bytes = "vec", tag = "7")]
    pub payload: Vec<u8>,
    /// Type of the device that computed the result, a number of [`compass_scheduler::DeviceType`].
    #[prost(uint32, tag = "8")]
    pub device: u32,
}

const HEAD: usize = 12;
/// An entry larger than this is taken for corruption.
const MAX_ENTRY_BYTES: usize = 256 * 1024 * 1024;

fn checksum(payload: &[u8]) -> [u8; 8] {
    let mut sum = [0; 8];
    sum.copy_from_slice(&Digest::of(payload).0[..8]);
    sum
}

/// Appends the frame of `entry` to `buffer`.
pub fn encode(entry: &LedgerEntry, buffer: &mut Vec<u8>) {
    let payload = entry.encode_to_vec();
    buffer.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    buffer.extend_from_slice(&checksum(&payload));
    buffer.extend_from_slice(&payload);
}

/// Reads the next frame of a segment of which `left` bytes are left: the entry and the frame's length. `None` for a torn or corrupt
/// frame. `payload` is room to read into.
///
/// # Errors
/// Those of the disk.
pub(super) fn decode(
    source: &mut dyn Read,
    left: u64,
    payload: &mut Vec<u8>,
) -> io::Result<Option<(LedgerEntry, u64)>> {
    let mut head = [0; HEAD];
    if left < HEAD as u64 {
        return Ok(None);
    }
    source.read_exact(&mut head)?;
    let (length, sum) = head.split_at(4);
    let length = length.try_into().map_or(u32::MAX, u32::from_le_bytes) as usize;
    let frame = (HEAD + length) as u64;
    if length > MAX_ENTRY_BYTES || frame > left {
        return Ok(None);
    }
    payload.resize(length, 0);
    source.read_exact(payload)?;
    let entry = (sum == checksum(payload)).then(|| LedgerEntry::decode(payload.as_slice()).ok()).flatten();
    Ok(entry.map(|entry| (entry, frame)))
}
