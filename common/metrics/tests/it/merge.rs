//! Statistics of a corpus do not depend on how it is cut into shards.

use compass_metrics::option::{BbqStats, CrowsPairsStats};
use compass_metrics::translation::{Bleu, BleuStats, Chrf, ChrfStats};
use proptest::prelude::*;

/// `fold` of all items at once, and of the shards that `cuts` make, merged from the last to the first.
fn sharded<T, S: Default>(
    items: &[T],
    cuts: &[usize],
    fold: impl Fn(&mut S, &T),
    merge: impl Fn(&mut S, &S),
) -> [S; 2] {
    let folded = |items: &[T]| {
        let mut stats = S::default();
        items.iter().for_each(|item| fold(&mut stats, item));
        stats
    };
    let mut borders: Vec<usize> = cuts.iter().map(|cut| cut % (items.len() + 1)).collect();
    borders.extend([0, items.len()]);
    borders.sort_unstable();
    let mut merged = S::default();
    for shard in borders.windows(2).rev() {
        merge(&mut merged, &folded(&items[shard[0]..shard[1]]));
    }
    [folded(items), merged]
}

proptest! {
    #[test]
    fn any_cut_gives_the_same(
        pairs in prop::collection::vec(("[ab .]{0,12}", "[ab .]{0,12}"), 0..20),
        cuts in prop::collection::vec(any::<usize>(), 0..5),
    ) {
        let bleu = Bleu::default();
        let [whole, merged] = sharded(&pairs, &cuts, |sum: &mut BleuStats, (p, r)| sum.merge(&bleu.stats(p, &[r])), BleuStats::merge);
        prop_assert_eq!(whole, merged);

        let chrf = Chrf { word_order: 2, lowercase: false };
        let [whole, merged] = sharded(&pairs, &cuts, |sum: &mut ChrfStats, (p, r)| sum.merge(&chrf.stats(p, &[r])), ChrfStats::merge);
        prop_assert_eq!(whole.score().to_bits(), merged.score().to_bits());

        let [whole, merged] = sharded(&pairs, &cuts, |sum: &mut CrowsPairsStats, (p, r)| sum.observe(p, r), CrowsPairsStats::merge);
        prop_assert_eq!(whole, merged);

        let observe = |sum: &mut BbqStats, (p, r): &(String, String)| sum.observe(p.len() > 4, p == r, r.is_empty(), p.is_empty());
        let [whole, merged] = sharded(&pairs, &cuts, observe, BbqStats::merge);
        prop_assert_eq!(whole, merged);
    }
}
