//! Sums of two numbers from 1 up, below 100 in total. A pair is held out in both orders.

use super::holdout::held_out;
use super::random::Random;
use serde_json::{Value, json};

fn for_testing((a, b): (u32, u32)) -> bool {
    held_out(&format!("sum {} {}", a.min(b), a.max(b)))
}

fn pairs() -> impl Iterator<Item = (u32, u32)> {
    (1..=98).flat_map(|a| (1..=99 - a).map(move |b| (a, b)))
}

/// Draws a pair for training.
fn pair(random: &mut Random) -> (u32, u32) {
    loop {
        let (a, b) = (random.between(1, 98), random.between(1, 98));
        if a + b <= 99 && !for_testing((a, b)) {
            return (a, b);
        }
    }
}

fn question((a, b): (u32, u32)) -> String {
    format!("{a} + {b} =")
}

/// Returns one to six sums, one per line.
pub(crate) fn document(random: &mut Random) -> String {
    let lines = random.between(1, 6);
    (0..lines).map(|_| pair(random)).map(|pair| format!("{} {}\n", question(pair), pair.0 + pair.1)).collect()
}

/// Returns rows of the test set, or of the training file: a question and its answer.
pub(crate) fn rows(test: bool, count: usize, random: &mut Random) -> Vec<Value> {
    let mut pairs: Vec<(u32, u32)> = pairs().filter(|&pair| for_testing(pair) == test).collect();
    random.shuffle(&mut pairs);
    pairs.truncate(count);
    pairs.into_iter().map(|pair| json!({"question": question(pair), "answer": (pair.0 + pair.1).to_string()})).collect()
}
