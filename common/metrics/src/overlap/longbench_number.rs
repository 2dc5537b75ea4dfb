//! LongBench's synthetic tasks: counting passages and naming the passage.

use crate::language::Language;
use crate::sum::sum;
use crate::text::Pattern;

static NUMBER: Pattern = Pattern::new(r"\d+");

/// `LongBenchCountEvaluator`: for each reference, the share of the prediction's numbers that are written like it.
pub fn longbench_count(prediction: &str, references: &[&str]) -> f64 {
    sum(references.iter().map(|reference| share(prediction, reference)))
}

/// `LongBenchRetrievalEvaluator`: as [`longbench_count`] for the number after `Paragraph ` (`段落` in Chinese) in each
/// reference; a reference without one, which the peer fails on, counts 0.
pub fn longbench_retrieval(prediction: &str, references: &[&str], language: Language) -> f64 {
    static EN: Pattern = Pattern::new(r"Paragraph (\d+)");
    static ZH: Pattern = Pattern::new(r"段落(\d+)");
    let pattern = match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    };
    let id = |reference: &str| pattern.captures(reference).and_then(|found| Some(found.get(1)?.as_str().to_string()));
    sum(references.iter().filter_map(|reference| id(reference)).map(|id| share(prediction, &id)))
}

fn share(prediction: &str, reference: &str) -> f64 {
    let (right, all) = NUMBER
        .find_iter(prediction)
        .fold((0u32, 0u32), |(right, all), number| (right + u32::from(number.as_str() == reference), all + 1));
    if all == 0 { 0.0 } else { f64::from(right) / f64::from(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_without_a_number_is_a_plain_zero() {
        assert!(longbench_retrieval("3", &["no number"], Language::En).is_sign_positive());
        assert!(longbench_count("3", &[]).is_sign_positive());
    }
}
