//! A prompt in tokens, and where it is cut.
//!
//! Invariant: cuts are a function of the prompt alone. They decide which rows are computed in one segment, and so its bits;
//! were they drawn where two prompts happen to part, a sample's bits would depend on its neighbours.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// Beside their structural borders prompts are cut at every multiple of so many tokens: where a chat template or a longer
/// conversation has no borders, what two prompts have in common is still computed once up to the last such place before
/// they part. Shorter pieces would share more and cost more calls.
const PIECE: usize = 64;

/// Tokens with their cuts; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    ids: Rc<[u32]>,
    /// Ends of the pieces, rising; the last one is the prompt's.
    cuts: Rc<[usize]>,
    /// Whether it may be computed in several passes or taken over from another prompt.
    shares: bool,
    /// So many tokens at its beginning other prompts may have too: up to the last structural border, where there is one.
    common: usize,
}

impl Prompt {
    /// Cuts a prompt at `borders`, in tokens, and at regular places between them.
    pub(super) fn new(ids: &[u32], borders: &[usize]) -> Self {
        let regular = (PIECE..ids.len()).step_by(PIECE);
        let inner = borders.iter().copied().filter(|&border| border > 0 && border < ids.len());
        let mut cuts: Vec<usize> = regular.chain(inner).chain([ids.len()]).collect();
        let border = borders.iter().copied().filter(|&border| border < ids.len()).max();
        cuts.sort_unstable();
        cuts.dedup();
        let common = border.unwrap_or(cuts.iter().rev().nth(1).copied().unwrap_or(0));
        Self { ids: ids.into(), cuts: cuts.into(), shares: true, common }
    }

    /// A prompt in one piece, for models whose prefixes cannot be shared.
    pub(super) fn whole(ids: &[u32]) -> Self {
        Self { ids: ids.into(), cuts: [ids.len()].into(), shares: false, common: 0 }
    }

    /// How many tokens it has.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The tokens.
    pub(super) fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The pieces after the first `from` tokens, which end at a cut: (first token, end).
    pub(super) fn pieces(&self, from: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let mut start = from;
        self.cuts.iter().filter(move |&&cut| cut > from).map(move |&cut| {
            let piece = (start, cut);
            start = cut;
            piece
        })
    }

    /// How many tokens at the beginning of two prompts are the same and cut in the same way: what is computed of them is
    /// the same to the bit.
    pub(super) fn shared(&self, other: &Self) -> usize {
        let mut shared = 0;
        for (&cut, &other_cut) in self.cuts.iter().zip(other.cuts.iter()) {
            if cut != other_cut || self.ids[shared..cut] != other.ids[shared..cut] {
                break;
            }
            shared = cut;
        }
        // A prompt in one piece meets only its equal.
        if self.shares && other.shares || self == other { shared } else { 0 }
    }

    /// Whether other prompts may begin with its first `end` tokens.
    pub(super) fn is_common(&self, end: usize) -> bool {
        end <= self.common
    }

    /// What tells the first `end` tokens and their cuts from others.
    pub(super) fn digest(&self, end: usize) -> u64 {
        let cuts = self.cuts.partition_point(|&cut| cut <= end);
        let mut hasher = DefaultHasher::new();
        (&self.ids[..end], &self.cuts[..cuts], self.shares).hash(&mut hasher);
        hasher.finish()
    }

    /// The tokens up to the first cut: prompts that begin alike are computed one after the other.
    pub(super) fn first_piece(&self) -> &[u32] {
        &self.ids[..self.cuts.first().copied().unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(count: u32, last: u32, borders: &[usize]) -> Prompt {
        let mut ids: Vec<u32> = (0..count).collect();
        ids[count as usize - 1] = last;
        Prompt::new(&ids, borders)
    }

    #[test]
    fn cuts_are_the_prompts_own() {
        let pieces = |count, borders: &[usize], from| prompt(count, 0, borders).pieces(from).collect::<Vec<_>>();
        assert_eq!(pieces(64, &[], 0), [(0, 64)]);
        assert_eq!(pieces(130, &[], 0), [(0, 64), (64, 128), (128, 130)]);
        assert_eq!(pieces(130, &[100, 0, 64, 130, 900], 64), [(64, 100), (100, 128), (128, 130)]);
        assert_eq!(pieces(130, &[], 130), []);
        assert_eq!(Prompt::whole(&[1; 200]).pieces(0).collect::<Vec<_>>(), [(0, 200)]);
    }

    #[test]
    fn what_is_shared_ends_at_a_common_cut() {
        let long = prompt(200, 7, &[30]);
        assert_eq!(long.shared(&long), 200);
        assert_eq!(long.shared(&prompt(200, 8, &[30])), 192);
        assert_eq!(long.shared(&prompt(200, 8, &[])), 0, "cut in another way from the beginning");
        assert_eq!(long.shared(&prompt(200, 8, &[30, 70])), 64, "and from there on");
        assert_eq!(long.shared(&prompt(150, 149, &[30])), 128, "the shorter one's end is no cut of the longer");
        assert_eq!(long.shared(&prompt(31, 3, &[30])), 30);
        let whole = Prompt::whole(long.ids());
        assert_eq!((whole.shared(&whole), whole.shared(&long), long.shared(&whole)), (200, 0, 0));
        assert_eq!(Prompt::whole(&[1, 2]).shared(&Prompt::whole(&[1, 2, 3])), 0);
    }
}
