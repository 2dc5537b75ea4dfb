//! Tiers: the best entry, and all that cannot be told from it; then the best of the rest.
//!
//! A strict order of numbers that are tied says nothing. Each entry is compared with the best of its tier by the paired
//! difference of the averaged data sets, Holm over what is left; the first that is worse begins a new tier.

use super::entry::Entry;
use crate::clusters::{ClusterBy, clusters};
use crate::estimate::{Setting, estimate};
use crate::observed::seed;
use crate::pairing::pair;
use crate::reach::{Part, p_of_group};
use crate::run::RunData;
use crate::values::metrics;
use compass_stats::holm;

const CONFIDENCE: f64 = 0.95;

/// Gives every entry its tier; the entries stand the best first, each with the position of its run. Returns what to say.
pub(super) fn tiers(entries: &mut [(Entry, usize)], runs: &[RunData], averaged: &[String]) -> Option<String> {
    if averaged.is_empty() || entries.is_empty() {
        return Some("no data set gives every entry a percentage: there is no average and no tier".into());
    }
    let (mut first, mut tier) = (0, 1);
    while first < entries.len() {
        let leader = &entries[first];
        let p: Result<Vec<f64>, String> =
            entries[first + 1..].iter().map(|other| p_value(leader, other, runs, averaged)).collect();
        let p = match p {
            Ok(p) => holm(&p),
            Err(why) => return Some(format!("no tiers: {why}")),
        };
        let tied = p.iter().take_while(|p| **p >= 1.0 - CONFIDENCE - 1e-12).count();
        for (entry, _) in &mut entries[first..=first + tied] {
            entry.tier = Some(tier);
        }
        first += tied + 1;
        tier += 1;
    }
    Some("entries of one tier cannot be told from its best (paired, Holm, 5 %)".into())
}

/// Returns the p-value of no difference between the averages of two entries.
fn p_value(a: &(Entry, usize), b: &(Entry, usize), runs: &[RunData], averaged: &[String]) -> Result<f64, String> {
    let (mut difference, mut parts, mut only) = (0.0, Vec::new(), 1.0);
    for dataset in averaged {
        let unit = |entry: &(Entry, usize)| {
            let units = runs.get(entry.1).map(|run| run.units.as_slice()).unwrap_or_default();
            units.iter().find(|unit| unit.model == entry.0.model && unit.dataset == *dataset)
        };
        let (Some(one), Some(other)) = (unit(a), unit(b)) else { continue };
        let pairing = pair(one, other)
            .map_err(|_| format!("{dataset} has other gold answers in {} than in {}", a.0.label, b.0.label))?;
        if pairing.share() < crate::LEAST_SHARE {
            return Err(format!("{dataset} asks other questions in {} than in {}", a.0.label, b.0.label));
        }
        let clusters = clusters(one, &pairing.pairs, &ClusterBy::Passage);
        let setting = Setting {
            pairs: &pairing.pairs,
            clusters: clusters.as_ref(),
            confidence: CONFIDENCE,
            seed: seed(dataset, "tier"),
            relative: 0.0,
        };
        let (of_one, of_other) = (metrics(one), metrics(other));
        let (Some(first), Some(second)) = (of_one.first(), of_other.first()) else { continue };
        let found = estimate(first, second, setting).map_err(|why| format!("{dataset}: {why}"))?;
        difference += found.difference;
        only = found.p;
        parts.push(Part { weight: 1.0, pairs: found.pairs, stderr: found.stderr, reach: found.reach });
    }
    Ok(if averaged.len() == 1 { only } else { p_of_group(&parts, difference, CONFIDENCE) })
}
