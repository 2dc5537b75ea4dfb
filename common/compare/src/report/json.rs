//! A comparison for programs.

use crate::comparison::Comparison;
use crate::flip::Flip;
use crate::row::Row;
use serde_json::{Value, json};

/// Bumped when a key changes its meaning or goes.
const FORMAT: u32 = 1;

/// The whole comparison. The order of keys and rows, and every digit, follow from the two runs alone.
pub fn json(comparison: &Comparison, flips: &[Flip]) -> Value {
    let paired = comparison.paired.iter().map(|paired| {
        json!({
            "model_a": paired.model_a,
            "model_b": paired.model_b,
            "dataset": paired.dataset,
            "pairs": paired.pairing.pairs.len(),
            "only_a": paired.pairing.only_a,
            "only_b": paired.pairing.only_b,
            "clusters": paired.clusters,
            "flips": paired.all_flips,
        })
    });
    json!({
        "format": FORMAT,
        "a": {"run": comparison.a, "plan": comparison.plans.0},
        "b": {"run": comparison.b, "plan": comparison.plans.1},
        "headline": super::headline(comparison),
        "confidence": comparison.confidence,
        "correction": comparison.correction.name(),
        "margin": comparison.margin,
        "differences": comparison.differences,
        "paired": paired.collect::<Vec<_>>(),
        "rows": comparison.rows.iter().map(Row::json).collect::<Vec<Value>>(),
        "left_out": comparison.left_out,
        "flips": flips,
    })
}
