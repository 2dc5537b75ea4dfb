//! `precompiled_charsmap`: normalisation rules (nmt_nfkc and similar) as stored by the SentencePiece trainer.
//!
//! The blob is a length, a Darts-clone double array of that many bytes, and NUL-terminated replacement texts, to which
//! the array's values point. Layout of a unit: darts.h of Darts-clone, `DoubleArrayUnit`.

/// Longest-prefix replacement rules.
#[derive(Debug)]
pub(super) struct Charsmap {
    units: Vec<u32>,
    replacements: Vec<u8>,
}

impl Charsmap {
    /// Reads the blob; an empty one means no rules.
    ///
    /// # Errors
    /// A message that the blob is damaged.
    pub(super) fn parse(blob: &[u8]) -> Result<Option<Self>, String> {
        if blob.is_empty() {
            return Ok(None);
        }
        let broken =
            || "the normalisation rules (precompiled_charsmap) are damaged; download the file again".to_owned();
        let (size, rest) = blob.split_first_chunk::<4>().ok_or_else(broken)?;
        let size = u32::from_le_bytes(*size) as usize;
        if size >= rest.len() || size < 4 {
            return Err(broken());
        }
        let (array, replacements) = rest.split_at(size);
        let units = array.as_chunks::<4>().0.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        Ok(Some(Self { units, replacements: replacements.to_vec() }))
    }

    /// Returns the replacement for the longest rule that `text` starts with, and that rule's length in bytes.
    pub(super) fn longest(&self, text: &[u8]) -> Option<(&[u8], usize)> {
        let (length, value) = self.search(text)?;
        let start = self.replacements.get(value as usize..)?;
        let end = start.iter().position(|&byte| byte == 0).unwrap_or(start.len());
        Some((&start[..end], length))
    }

    /// Darts' common-prefix search: returns length and value of the longest hit.
    fn search(&self, text: &[u8]) -> Option<(usize, u32)> {
        let mut node = offset(*self.units.first()?);
        let mut longest = None;
        for (index, &byte) in text.iter().enumerate() {
            node ^= u32::from(byte);
            let Some(&unit) = self.units.get(node as usize) else { break };
            if unit & (1 << 31 | 0xff) != u32::from(byte) {
                break;
            }
            node ^= offset(unit);
            let has_leaf = unit >> 8 & 1 == 1;
            if has_leaf && let Some(&leaf) = self.units.get(node as usize) {
                longest = Some((index + 1, leaf & !(1 << 31)));
            }
        }
        longest
    }
}

fn offset(unit: u32) -> u32 {
    (unit >> 10) << ((unit & (1 << 9)) >> 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_blobs_are_rejected() {
        assert!(Charsmap::parse(&[]).unwrap().is_none());
        for blob in [&[1u8, 0][..], &[9, 0, 0, 0, 1], &[0, 0, 0, 0, 1], &[255, 255, 255, 255, 0, 0, 0, 0]] {
            assert!(Charsmap::parse(blob).unwrap_err().contains("precompiled_charsmap"));
        }
        // An array that points outside itself finds nothing.
        let blob = [4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0];
        assert_eq!(Charsmap::parse(&blob).unwrap().unwrap().longest(b"a"), None);
    }
}
