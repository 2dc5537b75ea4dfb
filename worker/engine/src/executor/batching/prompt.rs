//! A prompt in tokens, and where it is cut.
//!
//! Invariant: cuts are a function of the prompt alone. They decide which rows are computed in one segment, and so its bits;
//! were they drawn where two prompts happen to part, a sample's bits would depend on its neighbours.

use std::rc::Rc;

/// Prompts are cut at every multiple of so many tokens: what two of them have in common is computed once up to the last
/// such place before they part. Shorter pieces would share more and cost more calls.
const PIECE: usize = 64;

/// Tokens with their cuts; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    ids: Rc<[u32]>,
    /// Ends of the pieces, rising; the last one is the prompt's.
    cuts: Rc<[usize]>,
}

impl Prompt {
    /// Cuts a prompt; where prefixes cannot be shared it is one piece.
    pub(super) fn new(ids: &[u32], shares_prefixes: bool) -> Self {
        let inner = (PIECE..ids.len()).step_by(PIECE).filter(|_| shares_prefixes);
        Self { ids: ids.into(), cuts: inner.chain([ids.len()]).collect() }
    }

    /// How many tokens it has.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The tokens.
    pub(super) fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Whether it may be computed in several passes or taken over from another prompt.
    fn shares(&self) -> bool {
        self.cuts.len() > 1 || self.len() <= PIECE
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
        // A prompt whose prefixes cannot be shared has one cut, and meets only its equal.
        if self.shares() && other.shares() || shared == self.len() { shared } else { 0 }
    }

    /// The tokens up to the first cut: prompts that begin alike are computed one after the other.
    pub(super) fn beginning(&self) -> &[u32] {
        &self.ids[..self.cuts.first().copied().unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(count: u32, last: u32) -> Prompt {
        let mut ids: Vec<u32> = (0..count).collect();
        ids[count as usize - 1] = last;
        Prompt::new(&ids, true)
    }

    #[test]
    fn cuts_are_the_prompts_own() {
        let pieces = |count, from| prompt(count, 0).pieces(from).collect::<Vec<_>>();
        assert_eq!(pieces(64, 0), [(0, 64)]);
        assert_eq!(pieces(130, 0), [(0, 64), (64, 128), (128, 130)]);
        assert_eq!(pieces(130, 64), [(64, 128), (128, 130)]);
        assert_eq!(pieces(130, 130), []);
        assert_eq!(Prompt::new(&[1; 200], false).pieces(0).collect::<Vec<_>>(), [(0, 200)]);
    }

    #[test]
    fn what_is_shared_ends_at_a_common_cut() {
        let long = prompt(200, 7);
        assert_eq!(long.shared(&long), 200);
        assert_eq!(long.shared(&prompt(200, 8)), 192);
        assert_eq!(long.shared(&prompt(150, 149)), 128, "the shorter one's end is no cut of the longer");
        assert_eq!(long.shared(&prompt(64, 63)), 64);
        assert_eq!(long.shared(&prompt(63, 62)), 0);
        let whole = Prompt::new(long.ids(), false);
        assert_eq!((whole.shared(&whole), whole.shared(&long), long.shared(&whole)), (200, 0, 0));
        let short = Prompt::new(&[1, 2], false);
        assert_eq!(short.shared(&Prompt::new(&[1, 2, 3], false)), 0);
    }
}
