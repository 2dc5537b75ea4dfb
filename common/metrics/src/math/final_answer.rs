//! `normalize_final_answer` of Lewkowycz et al. 2022 (appendix D), in OpenCompass's form.

use super::strip::replace_all;
use crate::text::{Pattern, is_digit, strip};

/// Words and marks that say nothing of the number: without them, in this order.
pub(super) const REMOVED: &[&str] = &[
    "square",
    "ways",
    "integers",
    "dollars",
    "mph",
    "inches",
    "ft",
    "hours",
    "km",
    "units",
    "\\ldots",
    "sue",
    "points",
    "feet",
    "minutes",
    "digits",
    "cents",
    "degrees",
    "cm",
    "gm",
    "pounds",
    "meters",
    "meals",
    "edges",
    "students",
    "childrentickets",
    "multiples",
    "\\text{s}",
    "\\text{.}",
    "\\text{\ns}",
    "\\text{}^2",
    "\\text{}^3",
    "\\text{\n}",
    "\\text{}",
    "\\mathrm{th}",
    "^\\circ",
    "^{\\circ}",
    "\\;",
    ",\\!",
    "{,}",
    "\"",
    "\\dots",
];

/// Replaced first, in this order.
pub(super) const SUBSTITUTIONS: &[(&str, &str)] = &[
    ("an ", ""),
    ("a ", ""),
    (".$", "$"),
    ("\\$", ""),
    ("\\ ", ""),
    (" ", ""),
    ("mbox", "text"),
    (",\\text{and}", ","),
    ("\\text{and}", ","),
    ("\\text{m}", "\\text{}"),
];

/// OpenCompass's `normalize_final_answer`: a final answer without words, units and shorthand TeX.
pub fn normalize_final_answer(answer: &str) -> String {
    static PARENTHESES: Pattern = Pattern::new(r"(\\text\{)\((.*?)\)(\})");
    static TEXT: Pattern = Pattern::new(r"(\\text\{)(.*?)(\})");
    static BOLD: Pattern = Pattern::new(r"(\\textbf\{)(.*?)(\})");
    static OVERLINE: Pattern = Pattern::new(r"(\\overline\{)(.*?)(\})");
    static BOXED: Pattern = Pattern::new(r"(\\boxed\{)(.*)(\})");
    static FINAL: Pattern = Pattern::new(r"finalansweris(.*)");
    static ANSWER: Pattern = Pattern::new(r"answer?is:?(.*)");
    static BOX: Pattern = Pattern::new(r"oxed\{(.*?)\}");
    static DOLLARS: Pattern = Pattern::new(r"\$(.*?)\$");

    let mut text = replace_all(answer, SUBSTITUTIONS).replace("\\le", "<");
    for removed in REMOVED.iter().chain(&["\n", "\r", "\u{c}"]) {
        text = text.replace(removed, "");
    }
    for pattern in [&PARENTHESES, &TEXT, &BOLD, &OVERLINE, &BOXED] {
        text = pattern.replace_all(&text, "$2").into_owned();
    }
    for pattern in [&FINAL, &ANSWER, &BOX, &DOLLARS] {
        let last = pattern.captures_iter(&text).last().and_then(|found| Some(found.get(1)?.as_str().to_string()));
        text = last.unwrap_or(text);
    }
    let mut text = strip(&text).to_string();
    if text.contains("rac") && !text.contains("\\frac") {
        text = text.replace("rac", "\\frac");
    }
    without_thousands(long_hand(&text).replace('$', ""))
}

/// `\fracab` as `\frac{a}{b}`, `\sqrta` as `\sqrt{a}`.
fn long_hand(text: &str) -> String {
    static FRAC: Pattern = Pattern::new(r"(frac)([^{])(.)");
    static SQRT: Pattern = Pattern::new(r"(sqrt)([^{])");
    let text = FRAC.replace_all(text, "frac{${2}}{${3}}");
    SQRT.replace_all(&text, "sqrt{${2}}").into_owned()
}

/// 100,000 as 100000.
fn without_thousands(text: String) -> String {
    let digits = text.replace(',', "");
    if !digits.is_empty() && digits.chars().all(is_digit) { digits } else { text }
}
