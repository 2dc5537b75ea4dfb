//! The metrics that a table shows, and their order.

use crate::evaluator::READ_ACCURACY;

/// OpenCompass's order of importance, behind the second reading where that comes first; what is not listed follows in the order of the results.
const FIRST: [&str; 13] = [
    READ_ACCURACY,
    "score",
    "auc_score",
    "accuracy",
    "humaneval_pass@1",
    "rouge1",
    "avg_toxicity_score",
    "bleurt_diff",
    "matthews_correlation",
    "truth",
    "f1",
    "exact_match",
    "extract_rate",
];

/// Numbers that OpenCompass keeps out of its tables.
const HIDDEN: [&str; 4] = ["bp", "sys_len", "ref_len", "type"];

/// The names to show, the most important first.
pub(super) fn shown(names: Vec<String>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().filter(|name| !HIDDEN.contains(&name.as_str())).collect();
    names.sort_by_key(|name| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_important_first() {
        let names = ["b", "f1", "bp", "a", "accuracy", "score", "sys_len"].map(String::from).to_vec();
        assert_eq!(shown(names), ["score", "accuracy", "f1", "b", "a"]);
    }
}
