//! OpenCompass's cost of one sample in `SizePartitioner`: labels where there are any, else a coefficient for generation,
//! ten times that for the families whose answers are long.

use super::UnitSize;

/// `fnmatch` patterns of OpenCompass, split by where their star stands.
const LONG_PREFIXES: [&str; 5] = ["bbh", "gsm8k", "math", "strategyqa", "agieval-jec"];
const LONG_NAMES: [&str; 2] = ["agieval-gaokao-mathcloze", "agieval-math"];
const LONG_SUFFIXES: [&str; 1] = ["professional_law"];

/// Cost of one sample, at least 1.
pub(super) fn factor(unit: &UnitSize, gen_task_coef: u64) -> u64 {
    let base = unit.factor_labels.map_or(gen_task_coef, u64::from).max(1);
    if has_long_answers(&unit.abbr) { base.saturating_mul(10) } else { base }
}

fn has_long_answers(abbr: &str) -> bool {
    LONG_PREFIXES.iter().any(|prefix| abbr.starts_with(prefix))
        || LONG_NAMES.contains(&abbr)
        || LONG_SUFFIXES.iter().any(|suffix| abbr.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::has_long_answers;

    #[test]
    fn families_by_their_patterns() {
        for long in
            ["bbh-boolean", "gsm8k", "math", "agieval-jec-qa-kd", "agieval-math", "lukaemon_mmlu_professional_law"]
        {
            assert!(has_long_answers(long), "{long}");
        }
        for short in ["siqa", "agieval-mathx", "my_gsm8k", "professional_law_2"] {
            assert!(!has_long_answers(short), "{short}");
        }
    }
}
