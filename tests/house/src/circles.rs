//! Circles: files each of which reaches each other one of them by arrows.

use super::resolve::Arrow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The circles of a graph, the largest first.
pub fn circles<'p>(arrows: &BTreeSet<Arrow<'p>>) -> Vec<BTreeSet<&'p Path>> {
    let mut forward: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    let mut backward = forward.clone();
    for arrow in arrows {
        forward.entry(arrow.from).or_default().insert(arrow.to);
        backward.entry(arrow.to).or_default().insert(arrow.from);
    }
    let mut assigned = BTreeSet::new();
    let mut circles = Vec::new();
    for &file in forward.keys() {
        if assigned.contains(file) {
            continue;
        }
        let circle: BTreeSet<&Path> =
            reached(file, &forward).intersection(&reached(file, &backward)).copied().collect();
        assigned.extend(circle.iter().copied());
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

/// Everything that is reached from a file, and the file.
fn reached<'p>(from: &'p Path, arrows: &BTreeMap<&'p Path, BTreeSet<&'p Path>>) -> BTreeSet<&'p Path> {
    let (mut reached, mut open) = (BTreeSet::from([from]), vec![from]);
    while let Some(file) = open.pop() {
        for &next in arrows.get(file).into_iter().flatten() {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}
