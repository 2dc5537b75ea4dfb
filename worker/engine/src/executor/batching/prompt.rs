//! A prompt as tokens, with its cuts.
//!
//! Invariant: cuts and header are a function of the request alone. They decide which rows are computed in one segment,
//! and over which keys a row attends at once, and so its bits; if they depended on where two prompts diverge, a sample's
//! bits would depend on the batch composition.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// Besides structural borders, prompts are cut at every multiple of this many tokens: if a chat template or a longer
/// conversation has no borders, the common prefix of two prompts is still computed once, up to the last such cut.
/// Shorter pieces would share more and cost more calls.
const PIECE: usize = 64;

/// Least number of tokens of a header. A step reads it once for all sequences that begin with it, but each of their rows
/// attends in two parts, which are merged.
const LEAST_HEADER: usize = 64;

/// Tokens with their cuts; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TokenPrompt {
    ids: Rc<[u32]>,
    /// Ends of the pieces, ascending; the last one is the prompt's.
    cuts: Rc<[usize]>,
    /// Set if the prompt may be computed in several passes or reuse another prompt's prefix.
    shares: bool,
    /// Number of tokens at the start that other prompts may share: up to the last structural border, if there is one.
    common: usize,
    /// Number of tokens at the start that lie in their own extent, to which other prompts attend; a cut.
    header: usize,
}

impl TokenPrompt {
    /// Cuts a prompt at `borders`, in tokens, and at regular positions between them.
    pub(super) fn new(ids: &[u32], borders: &[usize]) -> Self {
        let regular = (PIECE..ids.len()).step_by(PIECE);
        let inner = borders.iter().copied().filter(|&border| border > 0 && border < ids.len());
        let mut cuts: Vec<usize> = regular.chain(inner).chain([ids.len()]).collect();
        let border = borders.iter().copied().filter(|&border| border < ids.len()).max();
        cuts.sort_unstable();
        cuts.dedup();
        let common = border.unwrap_or(cuts.iter().rev().nth(1).copied().unwrap_or(0));
        let header = border.filter(|&header| header >= LEAST_HEADER).unwrap_or(0);
        Self { ids: ids.into(), cuts: cuts.into(), shares: true, common, header }
    }

    /// Creates a prompt of one piece, for models whose prefixes cannot be shared.
    pub(super) fn whole(ids: &[u32]) -> Self {
        Self { ids: ids.into(), cuts: [ids.len()].into(), shares: false, common: 0, header: 0 }
    }

    /// Returns the prompt without a header, for models whose keys cannot be read by a longer sequence.
    pub(super) fn without_header(self) -> Self {
        Self { header: 0, ..self }
    }

    /// Returns the prompt with all of it as its header, for several sequences that continue it.
    pub(super) fn into_header(self) -> Self {
        let header = if self.shares && self.len() >= LEAST_HEADER { self.len() } else { 0 };
        Self { header, ..self }
    }

    /// Number of tokens of the header; 0 for none.
    pub(super) fn header(&self) -> usize {
        self.header
    }

    /// Returns whether two prompts have the same header, cut in the same way.
    pub(super) fn shares_header_with(&self, other: &Self) -> bool {
        self.header > 0 && self.header == other.header && self.shared(other) >= self.header
    }

    /// Number of tokens.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns the tokens.
    pub(super) fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Returns the pieces after the first `from` tokens, which end at a cut: (first token, end).
    pub(super) fn pieces(&self, from: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let mut start = from;
        self.cuts.iter().filter(move |&&cut| cut > from).map(move |&cut| {
            let piece = (start, cut);
            start = cut;
            piece
        })
    }

    /// Returns the length of the common prefix of two prompts that is cut in the same way, and whose rows attend to the
    /// same parts: its results are equal to the bit.
    pub(super) fn shared(&self, other: &Self) -> usize {
        // Rows of a header attend as rows of a prompt without one; rows after a header attend in two parts.
        let alike = match (self.header, other.header) {
            (one, same) if one == same => usize::MAX,
            (0, header) | (header, 0) => header,
            (one, another) => one.min(another),
        };
        let mut shared = 0;
        for (&cut, &other_cut) in self.cuts.iter().zip(other.cuts.iter()) {
            if cut > alike || cut != other_cut || self.ids[shared..cut] != other.ids[shared..cut] {
                break;
            }
            shared = cut;
        }
        // A prompt of one piece shares only with its equal.
        if self.shares && other.shares || self == other { shared } else { 0 }
    }

    /// Returns whether other prompts may start with its first `end` tokens.
    pub(super) fn is_common(&self, end: usize) -> bool {
        end <= self.common
    }

    /// Returns a digest of the first `end` tokens and their cuts.
    pub(super) fn digest(&self, end: usize) -> u64 {
        let cuts = self.cuts.partition_point(|&cut| cut <= end);
        let mut hasher = DefaultHasher::new();
        (&self.ids[..end], &self.cuts[..cuts], self.shares).hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the tokens up to the first cut: prompts with the same first piece are computed one after the other.
    pub(super) fn first_piece(&self) -> &[u32] {
        &self.ids[..self.cuts.first().copied().unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(count: u32, last: u32, borders: &[usize]) -> TokenPrompt {
        let mut ids: Vec<u32> = (0..count).collect();
        ids[count as usize - 1] = last;
        TokenPrompt::new(&ids, borders)
    }

    #[test]
    fn cuts_depend_only_on_the_prompt() {
        let pieces = |count, borders: &[usize], from| prompt(count, 0, borders).pieces(from).collect::<Vec<_>>();
        assert_eq!(pieces(64, &[], 0), [(0, 64)]);
        assert_eq!(pieces(130, &[], 0), [(0, 64), (64, 128), (128, 130)]);
        assert_eq!(pieces(130, &[100, 0, 64, 130, 900], 64), [(64, 100), (100, 128), (128, 130)]);
        assert_eq!(pieces(130, &[], 130), []);
        assert_eq!(TokenPrompt::whole(&[1; 200]).pieces(0).collect::<Vec<_>>(), [(0, 200)]);
    }

    #[test]
    fn headers_are_long_enough_and_shared_whole() {
        let header = |count, borders: &[usize]| prompt(count, 0, borders).header();
        assert_eq!(
            (header(200, &[]), header(200, &[63]), header(200, &[64]), header(200, &[64, 100, 200])),
            (0, 0, 64, 100)
        );
        let (long, other) = (prompt(200, 7, &[100]), prompt(150, 8, &[100]));
        assert!(long.shares_header_with(&other) && !long.shares_header_with(&prompt(150, 8, &[])));
        assert!(!long.shares_header_with(&prompt(150, 8, &[30, 100])), "its pieces are other ones");
        assert_eq!(long.shared(&prompt(150, 8, &[100, 128])), 100, "its header ends later");
        assert_eq!(
            prompt(200, 7, &[64, 150]).shared(&prompt(150, 8, &[64])),
            64,
            "what follows attends to other parts"
        );
        let whole = long.clone().into_header();
        assert_eq!((whole.header(), whole.shared(&long), whole.shared(&whole)), (200, 100, 200));
        assert_eq!(whole.clone().without_header().shared(&whole), 200);
        assert_eq!((whole.without_header().header(), TokenPrompt::whole(&[1; 200]).into_header().header()), (0, 0));
    }

    #[test]
    fn shared_prefix_ends_at_a_common_cut() {
        let long = prompt(200, 7, &[30]);
        assert_eq!(long.shared(&long), 200);
        assert_eq!(long.shared(&prompt(200, 8, &[30])), 192);
        assert_eq!(long.shared(&prompt(200, 8, &[])), 0, "cut differently from the start");
        let later = prompt(200, 8, &[30, 70]).without_header();
        assert_eq!(long.shared(&later), 64, "cut differently from token 64 on");
        assert_eq!(long.shared(&prompt(150, 149, &[30])), 128, "the end of the shorter one is not a cut of the longer");
        assert_eq!(long.shared(&prompt(31, 3, &[30])), 30);
        let whole = TokenPrompt::whole(long.ids());
        assert_eq!((whole.shared(&whole), whole.shared(&long), long.shared(&whole)), (200, 0, 0));
        assert_eq!(TokenPrompt::whole(&[1, 2]).shared(&TokenPrompt::whole(&[1, 2, 3])), 0);
    }
}
