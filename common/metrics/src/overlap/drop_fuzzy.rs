//! DROP as OpenCompass scores it (`DropOpenAIEvaluator`, after OpenAI's simple-evals).

use super::normalize::normalize_answer;
use crate::text::Pattern;

/// Whether the extracted answer and one of the references (separated by `|`) are substrings of one another.
///
/// The answer is what follows the first `Answer:` on its line in any case, else the whole prediction.
pub fn drop_fuzzy(prediction: &str, references: &str) -> bool {
    static ANSWER: Pattern = Pattern::new(r"(?i)Answer[\s\x1c-\x1f]*:[\s\x1c-\x1f]*([^\n]+)");
    let answer = ANSWER.captures(prediction).and_then(|found| found.get(1)).map_or(prediction, |found| found.as_str());
    let answer = normalize_answer(answer);
    references.split('|').any(|reference| {
        let reference = normalize_answer(reference);
        if answer.is_empty() || reference.is_empty() {
            return answer == reference;
        }
        answer.contains(&reference) || reference.contains(&answer)
    })
}
