//! Bytes of a file of weights that are looked at, apart from its size.

use serde_json::{Map, Value};
use std::ops::Range;

/// Bytes of one sample.
pub(super) const SAMPLE: u64 = 4096;

/// No header is longer; what claims to be is not safetensors.
const MOST_HEADER: u64 = 100 << 20;

/// Returns the place of the header in a safetensors file of `length` bytes, by its first eight bytes; `None` where that cannot be.
pub(super) fn header(first: [u8; 8], length: u64) -> Option<Range<u64>> {
    let header = u64::from_le_bytes(first);
    let end = header.checked_add(8)?;
    (header <= MOST_HEADER && end <= length).then_some(0..end)
}

/// The middle of every tensor in a safetensors file of `length` bytes, in order of their positions; `header` as of
/// [`header`]. `None` where it is not JSON.
pub(super) fn tensor_middles(header: &[u8], length: u64) -> Option<Vec<Range<u64>>> {
    let tensors: Map<String, Value> = serde_json::from_slice(header.get(8..)?).ok()?;
    let start = header.len() as u64;
    let mut middles = Vec::with_capacity(tensors.len());
    for (_, tensor) in tensors.iter().filter(|(name, _)| *name != "__metadata__") {
        let offset = |at: usize| tensor.get("data_offsets")?.get(at)?.as_u64()?.checked_add(start);
        let (first, end) = (offset(0)?.min(length), offset(1)?.min(length));
        middles.push(middle(first..end.max(first)));
    }
    middles.sort_unstable_by_key(|range| (range.start, range.end));
    Some(middles)
}

/// The beginning, the middle and the end of a file of any other format.
pub(super) fn ends(length: u64) -> Vec<Range<u64>> {
    vec![0..length.min(SAMPLE), middle(0..length), length.saturating_sub(SAMPLE)..length]
}

/// The bytes in the middle of a range, or all of it.
fn middle(of: Range<u64>) -> Range<u64> {
    let length = of.end - of.start;
    let start = of.start + length.saturating_sub(SAMPLE) / 2;
    start..start + length.min(SAMPLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_every_tensor_is_taken() {
        let json =
            br#"{"__metadata__":{"format":"pt"},"b":{"data_offsets":[100000,100008]},"a":{"data_offsets":[0,100000]}}"#;
        let mut head = (json.len() as u64).to_le_bytes().to_vec();
        head.extend(json);
        let start = head.len() as u64;
        let length = start + 100_008;
        assert_eq!(header(head[..8].try_into().unwrap(), length), Some(0..start));
        let expected = vec![start + 47_952..start + 52_048, start + 100_000..start + 100_008];
        assert_eq!(tensor_middles(&head, length), Some(expected));
        // A file that was cut short has no bytes there: its size tells it apart.
        assert_eq!(tensor_middles(&head, start + 10).unwrap()[1], start + 10..start + 10);
    }

    #[test]
    fn what_is_no_header_is_none() {
        assert_eq!(header(9_u64.to_le_bytes(), 16), None);
        assert_eq!(header(u64::MAX.to_le_bytes(), 1 << 40), None);
        assert_eq!(tensor_middles(b"12345678not json", 99), None);
        assert_eq!(tensor_middles(b"12345678{\"a\":{\"data_offsets\":[1,\"x\"]}}", 99), None);
    }

    #[test]
    fn a_short_file_is_taken_whole() {
        assert_eq!(ends(10), [0..10, 0..10, 0..10]);
        assert_eq!(ends(20_000), [0..4096, 7_952..12_048, 15_904..20_000]);
    }
}
