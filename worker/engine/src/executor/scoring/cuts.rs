//! Cuts of a text: a pure function of its own sample, so that a sample's numbers never depend on the batch composition.

use super::ScoringInput;

/// Returns the position of a structural border among the tokens of a text: the length that the text up to the border
/// (`prefix`) has in common with the whole (`ids`), since a tokenizer may join characters across a border.
pub(in crate::executor) fn cut_after(prefix: &[u32], ids: &[u32]) -> usize {
    common(prefix, ids)
}

/// Adds cuts where texts of one sample diverge, sorts them, and drops cuts that cut nothing off. Texts whose length
/// `shared` rejects are not cut at all.
pub(super) fn cut_apart(texts: &mut [ScoringInput], shared: impl Fn(usize) -> bool) {
    let mut order: Vec<usize> = (0..texts.len()).filter(|&text| shared(texts[text].fed.len())).collect();
    order.sort_by(|&a, &b| texts[a].fed.cmp(&texts[b].fed));
    let shared_lengths: Vec<usize> =
        order.windows(2).map(|two| common(&texts[two[0]].fed, &texts[two[1]].fed)).collect();
    for text in texts.iter_mut().filter(|text| !shared(text.fed.len())) {
        text.cuts.clear();
    }
    for (index, &text) in order.iter().enumerate() {
        // The prefix shared with a text further away is the shortest of the shared lengths between them.
        let (mut before, mut after) = (usize::MAX, usize::MAX);
        let backwards = shared_lengths[..index].iter().rev().map(|&shared_length| {
            before = before.min(shared_length);
            before
        });
        let forwards = shared_lengths.get(index..).unwrap_or_default().iter().map(|&shared_length| {
            after = after.min(shared_length);
            after
        });
        let mut cuts: Vec<usize> = backwards.chain(forwards).collect();
        let input = &mut texts[text];
        cuts.append(&mut input.cuts);
        cuts.retain(|&cut| cut > 0 && cut < input.fed.len());
        cuts.sort_unstable();
        cuts.dedup();
        input.cuts = cuts;
    }
}

/// Returns the length of the common prefix of two texts.
fn common(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(fed: &[u32], cuts: &[usize]) -> ScoringInput {
        ScoringInput { fed: fed.to_vec(), cuts: cuts.to_vec(), ..ScoringInput::default() }
    }

    #[test]
    fn texts_are_cut_where_they_diverge() {
        let mut texts = [
            input(&[1, 2, 3, 4], &[1]),
            input(&[1, 2, 3, 5, 6], &[1, 9]),
            input(&[1, 2, 7], &[1, 0]),
            input(&[1, 2, 3, 4], &[]),
            input(&[8], &[]),
        ];
        cut_apart(&mut texts, |_| true);
        let cuts: Vec<&[usize]> = texts.iter().map(|text| text.cuts.as_slice()).collect();
        assert_eq!(cuts, [&[1usize, 2, 3][..], &[1, 2, 3], &[1, 2], &[2, 3], &[]]);
        cut_apart(&mut texts, |length| length < 4);
        assert!(texts[0].cuts.is_empty() && !texts[2].cuts.is_empty());
    }

    #[test]
    fn borders_inside_a_token_move_back() {
        // A tokenizer of one token per letter, except that `ab` is one.
        let encode = |text: &str| text.replace("ab", "z").bytes().map(u32::from).collect::<Vec<u32>>();
        let cuts = ["xx", "xxa", "xxab"].map(|prefix| cut_after(&encode(prefix), &encode("xxabc")));
        assert_eq!(cuts, [2, 2, 3]);
    }
}
