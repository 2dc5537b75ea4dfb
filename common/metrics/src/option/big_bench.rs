//! BIG-Bench Hard, free-form, and BIG-Bench Extra Hard: OpenCompass's `BBHEvaluator`, `BBEHEvaluator`, `BBEHEvaluator_mcq`.

use crate::text::{Pattern, casefold, strip};
use compass_postprocess::{bbeh_freeform, bbeh_mcq};
use compass_pyfmt::{is_space, is_word};

// BIG-Bench Extra Hard: OpenCompass's `BBEHEvaluator` and `BBEHEvaluator_mcq`.

/// Returns whether the processed prediction is the reference in lower case, or that without the quotation marks and brackets around
/// it, or, of lists, the same but for spaces around commas.
pub fn bbeh_freeform_equal(prediction: &str, reference: &str) -> bool {
    static COMMA: Pattern = Pattern::new(r"[\s\x1c-\x1f]*,[\s\x1c-\x1f]*");
    let (predicted, reference) = (bbeh_freeform(prediction), reference.to_lowercase());
    let joined = |text: &str| COMMA.replace_all(text, ",").into_owned();
    predicted == reference
        || predicted == reference.trim_matches(['\'', '"', '(', ')', '[', ']'])
        || (reference.contains(',') && joined(&predicted) == joined(&reference))
}

/// Returns whether the processed prediction is the reference's letter.
pub fn bbeh_choice_equal(prediction: &str, reference: &str) -> bool {
    bbeh_mcq(prediction) == reference.to_lowercase().trim_matches(['(', ')'])
}

// BIG-Bench Hard, free-form: OpenCompass's `BBHEvaluator`.

/// Returns whether both sides are the same once postprocessed, in any case. (BBH's choices compare as they are.)
pub fn bbh_freeform_equal(prediction: &str, reference: &str) -> bool {
    casefold(&freeform(prediction)) == casefold(&freeform(reference))
}

/// `bbh_freeform_postprocess`: the first line after the last `answer is`, without its stop and bold marks; yes, no, true
/// and false alone; lists of words without commas.
fn freeform(text: &str) -> String {
    static MARK: Pattern = Pattern::new(r"(?i)answer is[\s\x1c-\x1f]*:?[\s\x1c-\x1f]*");
    static BOLD: Pattern = Pattern::new(r"\*\*(.*?)\*\*");
    static NUMBERS: Pattern = Pattern::new(r"\d[\s\x1c-\x1f]*,[\s\x1c-\x1f]*\d");
    let parts: Vec<&str> = MARK.split(text).collect();
    let answer = match parts[..] {
        [.., _, last] => strip(last),
        _ => text,
    };
    let answer = strip(answer.split('\n').next().unwrap_or_default());
    let answer = answer.strip_suffix('.').map_or(answer, strip);
    let answer = BOLD.captures(answer).and_then(|found| found.get(1)).map_or(answer, |found| strip(found.as_str()));
    for word in ["Yes", "No", "True", "False"] {
        let begins = answer.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        if begins && !answer[word.len()..].starts_with(is_word) {
            return word.into();
        }
    }
    let answer = if NUMBERS.is_match(answer) { answer.to_string() } else { answer.replace(',', " ") };
    answer.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}
