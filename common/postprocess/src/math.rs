//! Competition mathematics: the final answer of a worked solution, normalised as the Minerva paper does.

use super::boxed::unwrapped_boxed_answer;
use super::pattern::constant;
use compass_pyfmt::{is_digit, strip};
use regex::Regex;
use std::sync::LazyLock;

/// OpenCompass's `math_postprocess`: the first sentence with `final answer`, else the first sentence, normalised.
pub fn math(text: &str) -> String {
    sentence(text, |lower| lower.contains("final answer"))
}

/// OpenCompass's `math_postprocess_v2`: the last boxed answer, unchanged; without one, as [`math`] but for `answer is` too.
pub fn math_v2(text: &str) -> String {
    match unwrapped_boxed_answer(text) {
        Some(answer) if !answer.is_empty() => answer.to_owned(),
        _ => sentence(text, |lower| lower.contains("final answer") || lower.contains("answer is")),
    }
}

fn sentence(text: &str, is_final: impl Fn(&str) -> bool) -> String {
    let last = text.split('.').find(|sentence| is_final(&sentence.to_lowercase()));
    normalize_final_answer(last.or_else(|| text.split('.').next()).unwrap_or_default())
}

const SUBSTITUTIONS: [(&str, &str); 11] = [
    ("an ", ""),
    ("a ", ""),
    (".$", "$"),
    ("\\$", ""),
    (r"\ ", ""),
    (" ", ""),
    ("mbox", "text"),
    (",\\text{and}", ","),
    ("\\text{and}", ","),
    ("\\text{m}", "\\text{}"),
    ("\\le", "<"),
];

#[rustfmt::skip]
const REMOVED: [&str; 45] = [
    "square", "ways", "integers", "dollars", "mph", "inches", "ft", "hours", "km", "units", "\\ldots", "sue", "points",
    "feet", "minutes", "digits", "cents", "degrees", "cm", "gm", "pounds", "meters", "meals", "edges", "students",
    "childrentickets", "multiples", "\\text{s}", "\\text{.}", "\\text{\ns}", "\\text{}^2", "\\text{}^3", "\\text{\n}",
    "\\text{}", r"\mathrm{th}", r"^\circ", r"^{\circ}", r"\;", r",\!", "{,}", "\"", "\\dots", "\n", "\r", "\x0c",
];

/// OpenCompass's `normalize_final_answer` (Lewkowycz et al. 2022, appendix D, with its own additions): units, articles and
/// LaTeX dress removed, `\frac12` spelt `\frac{1}{2}`, `1,000` as `1000`.
pub fn normalize_final_answer(answer: &str) -> String {
    let mut answer = answer.to_owned();
    for (before, after) in SUBSTITUTIONS {
        answer = answer.replace(before, after);
    }
    for removed in REMOVED {
        answer = answer.replace(removed, "");
    }
    for (pattern, with) in UNWRAPPED.iter() {
        answer = pattern.replace_all(&answer, *with).into_owned();
    }
    for pattern in NARROWED.iter() {
        if let Some(last) = pattern.captures_iter(&answer).last() {
            answer = last[1].to_owned();
        }
    }
    answer = strip(&answer).to_owned();
    if answer.contains("rac") && !answer.contains("\\frac") {
        answer = answer.replace("rac", "\\frac");
    }
    for (pattern, with) in BRACED.iter() {
        answer = pattern.replace_all(&answer, *with).into_owned();
    }
    answer = answer.replace('$', "");
    let digits = answer.replace(',', "");
    if !digits.is_empty() && digits.chars().all(is_digit) { digits } else { answer }
}

static UNWRAPPED: LazyLock<[(Regex, &str); 5]> = LazyLock::new(|| {
    [
        (constant(r"(\\text\{)\((.*?)\)(\})"), "${2}"),
        (constant(r"(\\text\{)(.*?)(\})"), "${2}"),
        (constant(r"(\\textbf\{)(.*?)(\})"), "${2}"),
        (constant(r"(\\overline\{)(.*?)(\})"), "${2}"),
        (constant(r"(\\boxed\{)(.*)(\})"), "${2}"),
    ]
});

static NARROWED: LazyLock<[Regex; 4]> = LazyLock::new(|| {
    [constant(r"finalansweris(.*)"), constant(r"answer?is:?(.*)"), constant(r"oxed\{(.*?)\}"), constant(r"\$(.*?)\$")]
});

static BRACED: LazyLock<[(Regex, &str); 2]> =
    LazyLock::new(|| [(constant(r"(frac)([^{])(.)"), "frac{${2}}{${3}}"), (constant(r"(sqrt)([^{])"), "sqrt{${2}}")]);
