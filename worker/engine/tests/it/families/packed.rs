//! A segment's bits depend only on earlier tokens of its own sequence, and on nothing else in its pass.

use crate::families::support::{golden_cases, load};
use compass_engine::BareModel;
use compass_plan::Dtype;
use std::collections::BTreeMap;

/// Prefix segments of a trie in depth-first order: the number of the parent of each, and its tokens.
struct Trie(Vec<(Option<usize>, Vec<u32>)>);

impl Trie {
    /// Two trunks with branches of several lengths, of which some branch again; no sequence is longer than 31 tokens.
    fn new(vocabulary: usize) -> Self {
        let shape: [(Option<usize>, usize); 14] = [
            (None, 13),
            (Some(0), 3),
            (Some(1), 1),
            (Some(1), 5),
            (Some(0), 1),
            (Some(0), 11),
            (Some(5), 1),
            (Some(5), 2),
            (Some(7), 4),
            (Some(0), 2),
            (None, 1),
            (Some(10), 17),
            (Some(11), 7),
            (Some(11), 6),
        ];
        let mut next = 5u32;
        let mut token = || {
            next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (next >> 8) % vocabulary as u32
        };
        Self(shape.into_iter().map(|(parent, rows)| (parent, (0..rows).map(|_| token()).collect())).collect())
    }

    /// Returns all tokens from the first of the sequence to the last of a segment.
    fn sequence(&self, number: usize) -> Vec<u32> {
        let (parent, tokens) = &self.0[number];
        let mut all = parent.map(|parent| self.sequence(parent)).unwrap_or_default();
        all.extend(tokens);
        all
    }

    /// Returns the bits of every segment's logits, computed in this order with `per_pass` segments in a pass.
    fn bits(&self, model: &mut BareModel, order: &[usize], per_pass: usize) -> BTreeMap<usize, Vec<u32>> {
        let segments: Vec<(usize, &[u32])> = order
            .iter()
            .map(|&number| (self.sequence(number).len() - self.0[number].1.len(), self.0[number].1.as_slice()))
            .collect();
        let passes: Vec<&[(usize, &[u32])]> = segments.chunks(per_pass).collect();
        let logits = model.packed(&passes).unwrap();
        let mut rest = logits.as_slice();
        let of = order.iter().map(|&number| {
            let (own, others) = rest.split_at(self.0[number].1.len() * model.vocabulary());
            rest = others;
            (number, own.iter().map(|logit| logit.to_bits()).collect())
        });
        of.collect()
    }
}

#[test]
fn segments_are_batch_invariant() {
    let mut failures = Vec::new();
    for (name, path) in golden_cases() {
        let mut model = load(&path, Dtype::Float32, 2).unwrap();
        let trie = Trie::new(model.vocabulary());
        let all: Vec<usize> = (0..trie.0.len()).collect();
        let together = trie.bits(&mut model, &all, all.len());
        // The same trie with its branches in reverse order, and parts of it.
        let turned = [10, 11, 13, 12, 0, 9, 5, 7, 8, 6, 4, 1, 3, 2];
        for (order, per_pass) in [
            (&all[..], 1),
            (&all[..], 2),
            (&all[..], 5),
            (&turned[..], 14),
            (&turned[..], 3),
            (&[0, 5, 7, 8][..], 4),
            (&[10, 11, 13][..], 1),
        ] {
            for (number, bits) in trie.bits(&mut model, order, per_pass) {
                if bits != together[&number] {
                    failures.push(format!("{name}: segment {number} of {order:?}, {per_pass} a pass"));
                }
            }
        }
        let mut other = load(&path, Dtype::Float32, 1).unwrap();
        if trie.bits(&mut other, &all, all.len()) != together {
            failures.push(format!("{name}: one thread"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn segments_equal_the_whole_sequence() {
    let (mut failures, mut compared) = (Vec::new(), 0);
    for (name, path) in golden_cases() {
        let mut model = load(&path, Dtype::Float32, 2).unwrap();
        let trie = Trie::new(model.vocabulary());
        let all: Vec<usize> = (0..trie.0.len()).collect();
        for (number, bits) in trie.bits(&mut model, &all, 6) {
            let sequence = trie.sequence(number);
            if !model.shares_prefixes(sequence.len()) {
                continue;
            }
            compared += 1;
            let whole = model.prefill(&sequence).unwrap();
            let whole = &whole[whole.len() - bits.len()..];
            let largest = whole.iter().fold(0f32, |most, logit| most.max(logit.abs()));
            let off = whole.iter().zip(&bits).map(|(whole, bits)| (whole - f32::from_bits(*bits)).abs());
            let off = off.fold(0f32, f32::max) / largest;
            if off > 5e-6 {
                failures.push(format!("{name}: segment {number} off by {off:.1e}"));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(compared > 54 * 12, "only {compared} segments");
}
