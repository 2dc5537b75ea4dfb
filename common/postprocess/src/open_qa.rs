//! Short answers to open questions, as OpenCompass's evaluators of TriviaQA, Natural Questions and LAMBADA cut them out
//! before they compare.

use super::general;
use super::pattern::constant;
use compass_pyfmt::strip;
use std::sync::LazyLock;

/// `TriviaQAEvaluator`'s: the first line in lower case, after the last `answer is`, `a:` and `answer:`, through
/// [`general`].
pub fn triviaqa(text: &str) -> String {
    let line = strip(text).split('\n').next().unwrap_or_default().to_lowercase();
    let after = ["answer is", "a:", "answer:"].iter().fold(line.as_str(), |answer, mark| last(answer, mark));
    general(strip(after))
}

/// `NQEvaluator`'s: the first line in lower case, after the last `answer is`, through [`general`].
pub fn nq(text: &str) -> String {
    let line = strip(text).split('\n').next().unwrap_or_default().to_lowercase();
    general(last(&line, "answer is"))
}

/// `LambadaEvaluator`'s: the first word up to its first ASCII punctuation mark, through [`general`].
pub fn lambada(text: &str) -> String {
    // The evaluator puts `string.punctuation` into a set, where its `\]` reads as an escaped bracket: no backslash.
    static PUNCTUATION: LazyLock<regex::Regex> =
        LazyLock::new(|| constant(r##"[!"#$%&'()*+,\-./:;<=>?@\[\]^_`{|}~]"##));
    let word = strip(text).split(' ').next().unwrap_or_default();
    general(PUNCTUATION.split(word).next().unwrap_or_default())
}

fn last<'t>(text: &'t str, mark: &str) -> &'t str {
    text.rsplit(mark).next().unwrap_or_default()
}
