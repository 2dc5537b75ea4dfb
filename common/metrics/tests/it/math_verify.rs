//! Whole answers, decided as OpenCompass's `MATHVerifyEvaluator` decides them, but for the listed differences.

use compass_metrics::math::equal::Verdict;
use compass_metrics::math::math_verify;
use serde_json::Value;

/// Answers drawn by `tests/peers/math_verify_answers.py`, with the peer's decisions.
const ANSWERS: &str = include_str!("../goldens/math_verify/answers.jsonl");
/// Answers whose decision is another one here: gold answer, whole answer, our decision, with reasons.
const DIFFERENCES: &str = include_str!("../goldens/math_verify/differences.txt");

#[test]
fn answers_are_decided_as_by_the_evaluator_of_opencompass() {
    let (mut differing, mut count, mut undecided) = (Vec::new(), 0, 0);
    for line in ANSWERS.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let (gold, answer) = (row["gold"].as_str().unwrap(), row["answer"].as_str().unwrap());
        let decision = math_verify(answer, gold);
        count += 1;
        undecided += usize::from(matches!(decision, Verdict::Undecided(_)));
        if decision.is_equal() != row["correct"].as_bool().unwrap() {
            differing.push(format!("{gold:?} ~ {answer:?}: {decision:?}"));
        }
    }
    let listed: Vec<&str> = DIFFERENCES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(count >= 400 && undecided * 100 <= count * 3, "{undecided} of {count}");
    let unlisted: Vec<&String> = differing.iter().filter(|line| !listed.contains(&line.as_str())).collect();
    assert!(unlisted.is_empty() && listed.len() == differing.len(), "{listed:#?}\n{differing:#?}");
}

#[test]
fn an_answer_of_any_length_is_decided_within_bounds() {
    let nested = format!("\\boxed{{{}5{}}}", "{".repeat(4000), "}".repeat(4000));
    assert!(matches!(math_verify(&nested, "5"), Verdict::Undecided(_)));
    for answer in ["\\boxed{10^{10^{10}}}", "\\boxed{1000000!}", "\\boxed{\\binom{1000000}{500000}}"] {
        assert!(matches!(math_verify(answer, "5"), Verdict::Undecided(_)), "{answer}");
    }
    // Only the end of a long text is read, and every pattern takes a bounded number of steps.
    let prose = "The answer, as $x$ is known, is (so to say) $$y$$ \\[z\\]. ".repeat(20_000);
    assert!(math_verify(&format!("{prose}\\boxed{{5}}"), "5").is_equal());
    assert!(!math_verify(&"$".repeat(100_000), "5").is_equal() && !math_verify(&prose, "5").is_equal());
}
