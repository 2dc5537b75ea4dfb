//! Comparisons of two numbers of two digits. A pair is held out in both orders.

use super::holdout::held_out;
use super::random::Random;
use serde_json::{Value, json};

fn for_testing((a, b): (u32, u32)) -> bool {
    held_out(&format!("larger {} {}", a.min(b), a.max(b)))
}

/// Draws a pair for training.
fn pair(random: &mut Random) -> (u32, u32) {
    loop {
        let pair = (random.between(10, 99), random.between(10, 99));
        if pair.0 != pair.1 && !for_testing(pair) {
            return pair;
        }
    }
}

fn line((a, b): (u32, u32)) -> String {
    format!("Larger of {a} and {b}: {}", a.max(b))
}

/// Returns one to eight comparisons, joined by line breaks as shots are.
pub(crate) fn document(random: &mut Random) -> String {
    let lines = random.between(1, 8);
    let lines: Vec<String> = (0..lines).map(|_| line(pair(random))).collect();
    lines.join("\n")
}

/// Returns rows of the test set, or of the pool of shots: label 0 means that `a` is larger, 1 that `b` is.
pub(crate) fn rows(test: bool, count: usize, random: &mut Random) -> Vec<Value> {
    let pairs = (10..=99u32).flat_map(|a| (10..=99u32).map(move |b| (a, b)));
    let mut pairs: Vec<_> = pairs.filter(|&(a, b)| a != b && for_testing((a, b)) == test).collect();
    random.shuffle(&mut pairs);
    pairs.truncate(count);
    pairs.into_iter().map(|(a, b)| json!({"a": a, "b": b, "label": u32::from(b > a)})).collect()
}
