//! The second reading of generated answers: what `answer` finds in each, and whether `equal` calls it the gold answer.
//!
//! It stands beside the evaluator, whose number is the peer's with the peer's way to find an answer.

use super::read_gold::ReadGold;
use super::text_check::equal_to_any;
use super::unscored::Unscored;
use compass_plan::{EvalSpec, Sample};
use compass_postprocess::{AnswerKind, FoundAnswer, Postprocessor, answer};
use compass_pyfmt::python_str;
use compass_types::result::{Generation, Outcome, SampleResult};

/// Longest gold answer that is a value, in bytes: a longer one is a text that holds it.
const LONGEST_VALUE: usize = 400;

/// An answer as it is read a second time: `None` where its thinking did not end, or nothing is found in it.
pub type SecondAnswer = Option<FoundAnswer>;

/// Returns what `answer` finds in each answer of a sample; `None` where answers are not read a second time.
pub fn second_answers(result: &SampleResult, spec: &EvalSpec) -> Option<Vec<SecondAnswer>> {
    let (Some(kind), Outcome::Generated(answers)) = (spec.read_as(), &result.outcome) else { return None };
    let found = |said: &Generation| {
        let text = without_thinking(&spec.pred_postprocessors, &said.text).ok()?;
        if said.is_unfinished() { None } else { answer(&text, &kind) }
    };
    Some(answers.iter().map(found).collect())
}

/// Returns whether each of the second answers to a sample is right. One that is missing is wrong.
///
/// # Errors
/// The gold answer cannot be read.
pub fn read_again(sample: &Sample, answers: &[SecondAnswer], spec: &EvalSpec) -> Result<Vec<bool>, Unscored> {
    let Some(kind) = spec.read_as() else { return Ok(Vec::new()) };
    let golds = golds(sample, spec, &kind)?;
    let golds: Vec<&str> = golds.iter().map(String::as_str).collect();
    Ok(answers.iter().map(|found| found.as_ref().is_some_and(|found| is_right(found, &golds, &kind))).collect())
}

fn is_right(found: &FoundAnswer, golds: &[&str], kind: &AnswerKind) -> bool {
    golds.contains(&found.text.as_str())
        || !matches!(kind, AnswerKind::Choice { .. }) && equal_to_any(golds, &found.text).is_equal()
}

/// The gold answers, each as a value of its kind; none where they could not be read.
fn golds(sample: &Sample, spec: &EvalSpec, kind: &AnswerKind) -> Result<Vec<String>, Unscored> {
    let ReadGold { gold, unread } = ReadGold::of(spec, &sample.gold)?;
    let golds = gold.as_array().map_or(std::slice::from_ref(&gold), Vec::as_slice);
    Ok(golds.iter().filter(|_| !unread).map(|gold| value(python_str(gold), kind)).collect())
}

/// A gold answer as a value: the letter of `B. the text`, the number behind `####`, the box of a solution.
fn value(gold: String, kind: &AnswerKind) -> String {
    let read = |gold: String| answer(&gold, kind).map_or(gold, |found| found.text);
    match kind {
        AnswerKind::Choice { options } => {
            let inner = gold.trim().trim_start_matches(['(', '[']);
            let letter = inner.chars().next().filter(|letter| options.as_str().contains(*letter));
            let rest = letter.map(|letter| &inner[letter.len_utf8()..]);
            match (letter, rest) {
                (Some(letter), Some(rest)) if rest.is_empty() || rest.starts_with([')', ']', '.', ':']) => {
                    letter.into()
                }
                _ if inner.chars().all(|letter| options.as_str().contains(letter)) => inner.to_owned(),
                _ => read(gold),
            }
        }
        AnswerKind::Number | AnswerKind::Math
            if gold.contains("\\boxed") || gold.contains("####") || gold.len() > LONGEST_VALUE =>
        {
            read(gold)
        }
        AnswerKind::Number | AnswerKind::Math | AnswerKind::Text => gold,
    }
}

/// A text after the postprocessors that take its thinking away.
fn without_thinking(postprocessors: &[Postprocessor], text: &str) -> Result<String, Unscored> {
    let takes_thinking = |one: &&Postprocessor| {
        matches!(one, Postprocessor::ExtractNonReasoningContent(_) | Postprocessor::ThinkPred(_))
    };
    let mut text = text.to_owned();
    for postprocessor in postprocessors.iter().filter(takes_thinking) {
        text = postprocessor.apply(&text).map_err(|undecided| Unscored(undecided.to_string()))?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::super::{Accumulator, READ_ACCURACY, judge};
    use super::*;
    use compass_plan::evaluation::{EvaluatorSpec, Reading, TextCheck};
    use compass_types::result::{Finish, ThinkingEnd, Thought};
    use serde_json::{Value, json};

    fn spec(evaluator: EvaluatorSpec, postprocessor: &str, parameters: Value) -> EvalSpec {
        let reader = Postprocessor::named(postprocessor, parameters.as_object().unwrap()).unwrap();
        EvalSpec { pred_postprocessors: vec![reader], ..EvalSpec::new(evaluator) }
    }

    fn gsm8k() -> EvalSpec {
        let dataset_postprocessors = vec![Postprocessor::Gsm8kDataset];
        EvalSpec { dataset_postprocessors, ..spec(EvaluatorSpec::Gsm8k, "gsm8k", json!({})) }
    }

    fn read(sample: &Sample, result: &SampleResult, spec: &EvalSpec) -> Result<Option<Vec<bool>>, Unscored> {
        second_answers(result, spec).map(|answers| read_again(sample, &answers, spec)).transpose()
    }

    /// The decisions of the evaluator and of the second reading on each answer.
    fn both(spec: &EvalSpec, rows: &[(Value, &str)]) -> Vec<(bool, bool)> {
        let decisions = |(gold, text): &(Value, &str)| {
            let (sample, result) = (generate(0, gold.clone()), generated(0, text));
            let peer = judge(&sample, &result, spec).unwrap().correct;
            (peer[0], read(&sample, &result, spec).unwrap().unwrap()[0])
        };
        rows.iter().map(decisions).collect()
    }

    const UP: (bool, bool) = (false, true);

    #[test]
    fn money_and_thousands_are_read_where_opencompass_takes_the_last_digits() {
        // OpenCompass #2343, #1818
        let rows = [
            (json!("so\n#### 70000"), "Josh's profit is $200,000 - $130,000 = $70,000."),
            (json!("so\n#### 1,234"), "It is 1,234 in total."),
            (json!("so\n#### 5"), "The answer is 5."),
            (json!("so\n#### 5"), "The answer is 6."),
        ];
        assert_eq!(both(&gsm8k(), &rows), [UP, UP, (true, true), (false, false)]);
    }

    #[test]
    fn letters_are_read_where_opencompass_takes_those_of_words() {
        // OpenCompass #1933, #1462
        let spec = spec(EvaluatorSpec::Acc, "first_option", json!({"options": "ABCDEFGHIJKLMNOP"}));
        let rows = [
            (json!("C"), "Answer: Let's think step by step. C is right. The answer is (C)."),
            (json!("B"), "Answer: Let's see. B"),
            (json!("C"), "A说法有误，B也不对，只有选项C是对的。"),
        ];
        assert_eq!(both(&spec, &rows), [UP, (true, true), UP]);
    }

    #[test]
    fn zeros_before_a_number_are_no_part_of_it() {
        // NeMo-Skills PR 1074
        let spec = spec(EvaluatorSpec::Check { check: TextCheck::MathV2 }, "math_v2", json!({}));
        let rows = [(json!("33"), "so \\boxed{033}"), (json!("033"), "so \\boxed{33}"), (json!("33"), "\\boxed{34}")];
        assert_eq!(both(&spec, &rows), [UP, UP, (false, false)]);
    }

    #[test]
    fn the_last_answer_is_read_where_opencompass_takes_the_first() {
        // OpenCompass #2356, EvalScope PR 1597
        let spec = spec(EvaluatorSpec::Check { check: TextCheck::Gpqa }, "gpqa_simple_eval", json!({}));
        let rows = [
            (json!("D"), "The last line has to be 'ANSWER: A', 'ANSWER: B' and so on. Option D is right.\nANSWER: D"),
            (json!("B"), "ANSWER: A is what I thought first; but no.\nANSWER: (B)"),
            (json!("D"), "**Answer:** D"),
        ];
        assert_eq!(both(&spec, &rows), [UP, UP, UP]);
    }

    #[test]
    fn gold_answers_are_values() {
        let letters = AnswerKind::Choice { options: compass_postprocess::Letters::new("ABCDEFGHIJ").unwrap() };
        for (kind, gold, expected) in [
            (&letters, "C", "C"),
            (&letters, "(C)", "C"),
            (&letters, "C. Paris", "C"),
            (&letters, "BD", "BD"),
            (&letters, "The answer is D.", "D"),
            (&AnswerKind::Number, "so\n#### 1,234", "1234"),
            (&AnswerKind::Math, "Thus $x=\\boxed{\\frac12}$.", "\\frac12"),
            (&AnswerKind::Math, "\\frac{1}{2}", "\\frac{1}{2}"),
        ] {
            assert_eq!(value(gold.to_owned(), kind), expected, "{gold}");
        }
    }

    #[test]
    fn what_is_not_there_is_not_right() {
        let mut unfinished = Generation::new("#### 5", 1, Finish::Length);
        unfinished.thinking = Some(Thought { text: "hm".into(), tokens: 1, end: ThinkingEnd::Cut });
        let answers = vec![unfinished, Generation::new("#### 5", 1, Finish::Eos), Generation::new("", 1, Finish::Eos)];
        let result = result(0, Outcome::Generated(answers));
        let right = |gold: Value, spec: &EvalSpec| read(&generate(0, gold), &result, spec);
        assert_eq!(right(json!("#### 5"), &gsm8k()), Ok(Some(vec![false, true, false])));
        let boxed = EvalSpec { dataset_postprocessors: vec![Postprocessor::MathBoxed], ..gsm8k() };
        assert_eq!(right(json!("five"), &boxed), Ok(Some(vec![false; 3])), "the gold answer is not read");
        assert_eq!(right(json!("5"), &EvalSpec { reading: Reading::Off, ..gsm8k() }), Ok(None));
        let sample = ppl(0, json!("B"), &[json!("A"), json!("B")]);
        assert_eq!(read(&sample, &ppl_result(0, &[(9.0, 3), (8.0, 4)]), &gsm8k()), Ok(None));
    }

    #[test]
    fn thinking_that_a_postprocessor_takes_away_is_not_read() {
        let mut spec = gsm8k();
        let think = json!({"think_start_token": "<t>", "think_end_token": "</t>"});
        let reader = Postprocessor::named("extract_non_reasoning_content", think.as_object().unwrap()).unwrap();
        spec.pred_postprocessors.insert(0, reader);
        assert_eq!(both(&spec, &[(json!("#### 5"), "<t>the answer is 6</t>It is 5")]), [(true, true)]);
    }

    #[test]
    fn the_second_reading_is_the_first_metric_where_that_is_asked() {
        let spec = EvalSpec { reading: Reading::First, ..gsm8k() };
        let mut accumulator = Accumulator::new(&spec);
        accumulator.observe(&generate(0, json!("#### 1,234")), &generated(0, "It is 1,234."));
        accumulator.observe(&generate(1, json!("#### 5")), &generated(1, "It is 6."));
        let metrics = accumulator.finish();
        let shown: Vec<(&str, f64)> =
            metrics.values.iter().map(|metric| (metric.name.as_str(), metric.value)).collect();
        assert_eq!(shown, [(READ_ACCURACY, 50.0), ("accuracy", 0.0)]);
        let answers = ["It is 1,234.", "It is 6."].map(|text| Generation::new(text, 1, Finish::Eos)).to_vec();
        let score = judge(&generate(0, json!("#### 1,234")), &result(0, Outcome::Generated(answers)), &spec).unwrap();
        let names: Vec<(&str, u16)> = score.contributions.iter().map(|one| (one.name.as_str(), one.replica)).collect();
        assert_eq!(names, [(READ_ACCURACY, 1), ("accuracy", 1), (READ_ACCURACY, 2), ("accuracy", 2), ("replicas", 0)]);
    }
}
