//! Prompts that are too long: shots go first, the last one first, and then tokens on the left.
//!
//! OpenCompass drops shots `while len > max_seq_len` and lets the tokenizer truncate the rest; its options may then differ
//! in shots. Here all options of a sample keep the same number, the smallest, since they are compared with each other.

use super::answer::RunError;
use compass_common::result::PromptFit;

/// Encodes with ever fewer shots until everything fits or none is left.
///
/// `encode(kept)` returns what was encoded and the length in tokens of its longest text. Returns the number of shots kept
/// with what was encoded last.
///
/// # Errors
/// Whatever `encode` says.
pub(super) fn drop_shots<T>(
    shots: usize,
    limit: usize,
    mut encode: impl FnMut(usize) -> Result<(T, usize), RunError>,
) -> Result<(usize, T), RunError> {
    let mut kept = shots;
    loop {
        let (encoded, longest) = encode(kept)?;
        if kept == 0 || longest <= limit {
            return Ok((kept, encoded));
        }
        kept -= 1;
    }
}

/// The last `limit` tokens: truncation of the encoded ids on the left, a BOS included.
pub(super) fn truncate_left(ids: &mut Vec<u32>, limit: usize) {
    ids.drain(..ids.len().saturating_sub(limit));
}

/// What to report of a sample whose longest text had `longest` tokens after shots were dropped.
pub(super) fn report(shots_kept: usize, longest: usize, limit: usize) -> PromptFit {
    PromptFit {
        shots_kept: shots_kept as u32,
        tokens: longest.min(limit) as u32,
        truncated_from: if longest > limit { longest as u32 } else { 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(shots: usize, limit: usize) -> (usize, usize) {
        drop_shots(shots, limit, |kept| Ok((10 + 5 * kept, 10 + 5 * kept))).unwrap()
    }

    #[test]
    fn the_last_shots_go_until_it_fits() {
        assert_eq!(kept(4, 30), (4, 30));
        assert_eq!(kept(4, 29), (3, 25));
        assert_eq!(kept(4, 10), (0, 10));
        assert_eq!(kept(4, 3), (0, 10));
        assert_eq!(kept(0, 3), (0, 10));
    }

    #[test]
    fn truncation_keeps_the_end() {
        let mut ids = vec![1, 2, 3, 4];
        truncate_left(&mut ids, 9);
        assert_eq!(ids, [1, 2, 3, 4]);
        truncate_left(&mut ids, 3);
        assert_eq!(ids, [2, 3, 4]);
        assert_eq!(report(2, 4, 9), PromptFit { shots_kept: 2, tokens: 4, truncated_from: 0 });
        assert_eq!(report(0, 4, 3), PromptFit { shots_kept: 0, tokens: 3, truncated_from: 4 });
    }
}
