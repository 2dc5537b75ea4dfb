//! LongBench's code completion: how alike the first line of code and the reference are.

use super::edit_distance::edit_ratio_percent;

/// `LongBenchCodeSimEvaluator`: the greatest edit similarity over the references, in 0..=1.
///
/// Compared is the first line without a back quote, `#` or `//`; an empty text when there is none.
pub fn longbench_code_similarity(prediction: &str, references: &[&str]) -> f64 {
    let is_code = |line: &&str| !line.contains('`') && !line.contains('#') && !line.contains("//");
    let line = prediction.trim_start_matches('\n').split('\n').find(is_code).unwrap_or_default();
    let similarity = |reference: &&str| f64::from(edit_ratio_percent(line, reference)) / 100.0;
    references.iter().map(similarity).fold(0.0, f64::max)
}
