//! The postprocessors of grade-school mathematics: a number out of an answer, a number out of a worked solution.

use regex::Regex;
use std::sync::LazyLock;

/// Result of [`gsm8k`] when there is no number.
pub const NO_NUMBER: &str = "NULL";

/// OpenCompass's `gsm8k_postprocess`: the last number before any further `Question:`, [`NO_NUMBER`] without one.
pub fn gsm8k(text: &str) -> String {
    #[expect(clippy::expect_used, reason = "a constant pattern that every test compiles")]
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"-?\d+\.\d+|-?\d+").expect("a valid pattern"));
    let answer = text.split("Question:").next().unwrap_or_default();
    NUMBER.find_iter(answer).last().map_or(NO_NUMBER, |number| number.as_str()).into()
}

/// OpenCompass's `gsm8k_dataset_postprocess`: what follows the first `#### ` up to the next, commas removed.
///
/// A text without the mark is an error in OpenCompass; here it is taken whole, so that a gold answer that is already a
/// bare number stays one.
pub fn gsm8k_dataset(text: &str) -> String {
    text.split("#### ").nth(1).unwrap_or(text).replace(',', "")
}

#[cfg(test)]
mod tests {
    //! Expected texts were printed by the original functions under CPython 3.11.
    use super::*;

    #[test]
    fn the_last_number_of_an_answer() {
        for (text, expected) in ANSWERS {
            assert_eq!(gsm8k(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn the_number_of_a_solution() {
        for (text, expected) in SOLUTIONS {
            assert_eq!(gsm8k_dataset(text), *expected, "{text:?}");
        }
        assert_eq!(gsm8k_dataset("1,000"), "1000");
    }

    const ANSWERS: &[(&str, &str)] = &[
        ("", "NULL"),
        ("no number", "NULL"),
        ("The answer is 18.", "18"),
        ("18.5 and -3", "-3"),
        ("1,200", "200"),
        ("-", "NULL"),
        ("--7", "-7"),
        ("3.", "3"),
        (".5", "5"),
        ("1.2.3", "3"),
        ("5-3", "-3"),
        ("x-12y", "-12"),
        ("72\n\nQuestion: next 99", "72"),
        ("Question: 5", "NULL"),
        ("question: 5", "5"),
        ("٣ and ٤٢", "٤٢"),
        ("-٣.٥", "-٣.٥"),
        ("１２ full", "１２"),
        ("10%", "10"),
        ("$1,234.56 total", "234.56"),
        ("1e5", "5"),
        ("²", "NULL"),
        ("3.\n4", "4"),
        ("0 − 5", "5"),
        ("7 . 8", "8"),
        ("1.٢", "1.٢"),
        ("𝟙𝟚", "𝟙𝟚"),
    ];

    const SOLUTIONS: &[(&str, &str)] = &[
        ("work\n#### 18", "18"),
        ("<<9*2=18>>\n#### 1,234,567", "1234567"),
        ("#### 5 #### 6", "5 "),
        ("#### -3\n", "-3\n"),
        ("a####b#### 7,0", "70"),
        ("#### ", ""),
        ("x #### 2.5 cups, each", "2.5 cups each"),
    ];
}
