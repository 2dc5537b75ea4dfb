//! The step of training that a checkpoint is of, by its name.

/// Words before the number of a step in the names that trainers write.
const WORDS: [&str; 5] = ["step", "iter", "iteration", "checkpoint", "ckpt"];

/// Reads the step of a checkpoint called `name`: the number behind `step`, `iter`, `checkpoint` or `ckpt`, else the last number.
/// `None` without a number, as in `checkpoint-final`.
pub fn step_of(name: &str) -> Option<u64> {
    let lower = name.to_ascii_lowercase();
    let mut numbers: Vec<(usize, &str)> = Vec::new();
    let mut rest = 0;
    while let Some(start) = lower[rest..].find(|c: char| c.is_ascii_digit()).map(|at| rest + at) {
        let length = lower[start..].find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len() - start);
        numbers.push((start, &lower[start..start + length]));
        rest = start + length;
    }
    let follows_word = |start: usize| {
        let before = lower[..start].trim_end_matches(['_', '-', '=', '.']);
        WORDS.iter().any(|word| before.ends_with(word))
    };
    let named = numbers.iter().find(|(start, _)| follows_word(*start)).or_else(|| numbers.last());
    named.and_then(|(_, digits)| digits.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_trainers_write() {
        for (name, step) in [
            ("step_1000", Some(1000)),
            ("iter_0001000", Some(1000)),
            ("checkpoint-500", Some(500)),
            ("global_step1000", Some(1000)),
            ("epoch=3-step=1200", Some(1200)),
            ("step_20-rank_0", Some(20)),
            ("v2_run_77", Some(77)),
            ("checkpoint-final", None),
            ("step_99999999999999999999999", None),
            ("schritt_ü_7", Some(7)),
            ("", None),
        ] {
            assert_eq!(step_of(name), step, "{name}");
        }
    }
}
