//! Where a text may be cut: a pure function of its own sample, so that a sample's numbers never depend on its neighbours.

use super::Asked;
use crate::executor::answer::RunError;
use std::collections::HashMap;
use std::rc::Rc;

/// Beginnings whose tokens are remembered. One data set has a handful, unless every sample has shots of its own.
const REMEMBERED: usize = 256;

/// Finds the borders of rendered texts among their tokens.
#[derive(Debug, Default)]
pub(in crate::executor) struct Cutter {
    /// Tokens of beginnings, by text and by the manner of their encoding.
    known: HashMap<(String, bool), Rc<[u32]>>,
}

impl Cutter {
    /// Where the structural `borders` of `text`, in bytes, fall among its tokens, `ids`: after as many tokens as the text
    /// up to the border alone has in common with the whole, since a tokenizer may join what stands at a border.
    ///
    /// `manner` tells apart the ways in which `encode` may be meant.
    pub(in crate::executor) fn cuts(
        &mut self,
        text: &str,
        borders: &[usize],
        ids: &[u32],
        manner: bool,
        mut encode: impl FnMut(&str) -> Result<Vec<u32>, RunError>,
    ) -> Result<Vec<usize>, RunError> {
        let mut cuts = Vec::with_capacity(borders.len());
        for &border in borders {
            let Some(beginning) = text.get(..border) else { continue };
            let key = (beginning.to_owned(), manner);
            let tokens = match self.known.get(&key) {
                Some(tokens) => tokens.clone(),
                None => {
                    let tokens: Rc<[u32]> = encode(beginning)?.into();
                    if self.known.len() >= REMEMBERED {
                        self.known.clear();
                    }
                    self.known.insert(key, tokens.clone());
                    tokens
                }
            };
            cuts.push(common(&tokens, ids));
        }
        Ok(cuts)
    }
}

/// Adds cuts where texts of one sample part, brings them in order, and drops those that cut nothing off. Texts for which
/// `shared` says no, by their length, are not cut at all.
pub(super) fn cut_apart(texts: &mut [Asked], shared: impl Fn(usize) -> bool) {
    let mut order: Vec<usize> = (0..texts.len()).filter(|&text| shared(texts[text].fed.len())).collect();
    order.sort_by(|&a, &b| texts[a].fed.cmp(&texts[b].fed));
    let seams: Vec<usize> = order.windows(2).map(|two| common(&texts[two[0]].fed, &texts[two[1]].fed)).collect();
    for text in texts.iter_mut().filter(|text| !shared(text.fed.len())) {
        text.cuts.clear();
    }
    for (place, &text) in order.iter().enumerate() {
        // What a text shares with one further away is the least of the seams between them.
        let (mut before, mut after) = (usize::MAX, usize::MAX);
        let backwards = seams[..place].iter().rev().map(|&seam| {
            before = before.min(seam);
            before
        });
        let forwards = seams.get(place..).unwrap_or_default().iter().map(|&seam| {
            after = after.min(seam);
            after
        });
        let mut cuts: Vec<usize> = backwards.chain(forwards).collect();
        let asked = &mut texts[text];
        cuts.append(&mut asked.cuts);
        cuts.retain(|&cut| cut > 0 && cut < asked.fed.len());
        cuts.sort_unstable();
        cuts.dedup();
        asked.cuts = cuts;
    }
}

/// How many tokens two texts have in common at their beginnings.
fn common(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(fed: &[u32], cuts: &[usize]) -> Asked {
        Asked { fed: fed.to_vec(), cuts: cuts.to_vec(), ..Asked::default() }
    }

    #[test]
    fn texts_are_cut_where_they_part() {
        let mut texts = [
            asked(&[1, 2, 3, 4], &[1]),
            asked(&[1, 2, 3, 5, 6], &[1, 9]),
            asked(&[1, 2, 7], &[1, 0]),
            asked(&[1, 2, 3, 4], &[]),
            asked(&[8], &[]),
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
        let encode = |text: &str| Ok(text.replace("ab", "z").bytes().map(u32::from).collect::<Vec<u32>>());
        let whole = encode("xxabc").unwrap();
        let mut cutter = Cutter::default();
        for _ in 0..2 {
            assert_eq!(cutter.cuts("xxabc", &[2, 3, 4, 99], &whole, true, encode).unwrap(), [2, 2, 3]);
        }
    }
}
