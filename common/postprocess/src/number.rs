//! Numbers out of an answer.

use super::pattern::constant;
use compass_pyfmt::python_str;
use compass_pyfmt::{float, strip};
use std::sync::LazyLock;

/// OpenCompass's `first_number_postprocess`: the first number as Python prints a float; `None` without one.
pub fn first_number(text: &str) -> Option<String> {
    static NUMBER: LazyLock<regex::Regex> = LazyLock::new(|| constant(r"-?\d*\.?\d+"));
    let number = float(NUMBER.find(text)?.as_str())?;
    Some(match number {
        f64::INFINITY => "inf".into(),
        f64::NEG_INFINITY => "-inf".into(),
        number => python_str(&number.into()),
    })
}

/// OpenCompass's `mgsm_postprocess`: the last number after the last of the language's word for answer, commas removed;
/// empty without one.
pub fn mgsm(text: &str, answer: &str) -> String {
    static NUMBER: LazyLock<regex::Regex> = LazyLock::new(|| constant(r"\d+\.?\d*"));
    let Some((_, after)) = text.rsplit_once(answer) else { return String::new() };
    let after = after.replace(',', "");
    NUMBER.find_iter(&after).last().map_or("", |number| number.as_str()).trim_end_matches('.').to_owned()
}

/// MGSM's languages and the word that its prompts ask to put before the answer.
pub const MGSM_ANSWERS: [(&str, &str); 11] = [
    ("en", "Answer"),
    ("bn", "উত্তর"),
    ("de", "Antwort"),
    ("es", "Respuesta"),
    ("fr", "Réponse"),
    ("ja", "答え"),
    ("ru", "Ответ"),
    ("sw", "Jibu"),
    ("te", "సమాధానం"),
    ("th", "คำตอบ"),
    ("zh", "答案"),
];

/// OpenCompass's `mathbench_postprocess`: the first number after `The answer is` (`答案是` for Chinese subsets), without it
/// the last number of the text; the text itself when it has none. Single commas between digits are dropped, and a
/// denominator counts as one number with its slash.
pub fn mathbench(text: &str, chinese: bool) -> String {
    static COMMA: LazyLock<regex::Regex> = LazyLock::new(|| constant(r"(\d),(\d)"));
    static NUMBER: LazyLock<regex::Regex> = LazyLock::new(|| constant(r"-?\d*\.?/?\d+|\d+"));
    let mark = if chinese { "答案是" } else { "The answer is" };
    let after = text.split(mark).nth(1).map(strip);
    let answer = after.unwrap_or(text);
    let joined = COMMA.replace_all(answer, "${1}${2}");
    let mut numbers = NUMBER.find_iter(&joined);
    let number = if after.is_some() { numbers.next() } else { numbers.last() };
    number.map_or(answer, |number| number.as_str()).to_owned()
}

/// InfiniteBench's `InfiniteBench_first_number_postprocess`: the first number without a sign; `None` without one.
pub fn first_unsigned_number(text: &str) -> Option<String> {
    static NUMBER: LazyLock<regex::Regex> = LazyLock::new(|| constant(r"\d+\.\d+|\d+"));
    Some(NUMBER.find(text)?.as_str().to_owned())
}
