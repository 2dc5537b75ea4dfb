//! The dress of an answer: marks of emphasis, brackets, LaTeX, and words that stand between a marker and the answer.

use super::folded::{beginning, is_latin};

/// Marks that open or stand before an answer.
#[rustfmt::skip]
const DRESS: [&str; 52] = [
    "\\boxed{", "\\fbox{", "\\text{", "\\textbf{", "\\textit{", "\\mathrm{", "\\mathbf{", "\\mathsf{", "\\mbox{", "\\textsf{", "\\textrm{", "\\boldsymbol{", "\\bm{", "\\displaystyle",
    "\\bf", "\\rm", "\\approx", "\\sim", "\\quad", "\\left", "\\(", "\\[", "\\,", "\\;", "\\!", "\\ ", "\\$",
    "“", "”", "‘", "’", "「", "『", "」", "《", "【", "】", "→", "⇒", "≈",
    "<b>", "</b>", "<strong>", "</strong>", "<em>", "<i>", "<u>", "<p>", "<br>", "<br/>", "<br />", "✅",
];

/// The marks of one character of ASCII, which are looked for first.
const SIGNS: &[char] = &['$', '{', '*', '_', '`', '"', '\'', '[', ']', '(', ')', ':', '=', '|', '>', '~', '}', '#'];

/// Words of ASCII, lower case, that say nothing of their own between a marker and the answer.
#[rustfmt::skip]
const FILL: [&str; 42] = [
    "is", "be", "was", "are", "option", "options", "choice", "choices", "letter", "answer", "statement", "number", "value", "the",
    "correct", "right", "best", "final", "therefore", "thus", "hence", "clearly", "definitely", "simply", "just", "then", "indeed",
    "actually", "likely", "most", "probably", "either", "about", "approximately", "approx", "roughly", "around", "exactly", "only",
    "equal", "to", "usd",
];

/// Words of Chinese that say nothing of their own.
#[rustfmt::skip]
const FILL_CHINESE: [&str; 21] = [
    "选项", "选择", "可能", "大概", "应该", "应当", "大约", "等于", "一共", "共有", "正确的", "应", "该", "就", "选", "是", "为", "即", "项", "约", "共",
];

/// Rounds of dress and fill: more than any answer has.
const ROUNDS: usize = 12;

/// Skips white space and marks; the hyphen of a list goes where a line begins with it.
pub(super) fn undress(mut rest: &str) -> &str {
    loop {
        let inner = rest.trim_start();
        let skipped = &rest[..rest.len() - inner.len()];
        let item = ["- ", "• "].iter().find_map(|mark| inner.strip_prefix(mark));
        let inner = item.filter(|_| skipped.contains('\n')).unwrap_or(inner);
        let mark = inner.strip_prefix(SIGNS).or_else(|| DRESS.iter().find_map(|mark| inner.strip_prefix(mark)));
        match mark {
            Some(next) => rest = next,
            None => return inner,
        }
    }
}

/// Strips one of these words, in any case, where no letter follows it.
pub(super) fn strip_word<'t>(rest: &'t str, words: &[&str]) -> Option<&'t str> {
    let end = rest.find(|c: char| !is_latin(c) && c != '\'' && c != '’').unwrap_or(rest.len());
    words.iter().any(|word| rest[..end].eq_ignore_ascii_case(word)).then(|| &rest[end..])
}

/// Strips one of these texts.
pub(super) fn strip_any<'t>(rest: &'t str, texts: &[&str]) -> Option<&'t str> {
    texts.iter().find_map(|text| rest.strip_prefix(text))
}

/// Skips marks, words without a meaning of their own, and the name of a variable before `=`.
pub(super) fn head(rest: &str) -> &str {
    let mut rest = undress(rest);
    for _ in 0..ROUNDS {
        let fill = strip_word(rest, &FILL).or_else(|| strip_any(rest, &FILL_CHINESE)).or_else(|| strip_variable(rest));
        let Some(next) = fill else { break };
        rest = undress(next);
    }
    rest
}

/// Strips `x =`, `x_1 =`.
pub(super) fn strip_variable(rest: &str) -> Option<&str> {
    let after = rest.strip_prefix(|c: char| c.is_ascii_alphabetic())?;
    let after = after
        .strip_prefix('_')
        .map_or(after, |index| index.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "{}".contains(c)));
    let after = after.trim_start();
    after.strip_prefix('=').filter(|value| !value.starts_with('='))
}

/// A marker's text that gives no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Denial<'t> {
    /// It excludes an answer; here is what it says instead, if anything.
    Excludes(Option<&'t str>),
    /// It says that no answer exists.
    Nothing,
}

#[rustfmt::skip]
const NOTHING: [&str; 16] = [
    "none", "no", "nothing", "unknown", "undefined", "undetermined", "indeterminate", "cannot", "can't", "can’t", "impossible",
    "unclear", "unsolvable", "unanswerable", "nil", "null",
];
#[rustfmt::skip]
const NOTHING_CHINESE: [&str; 14] = [
    "无法", "不能", "不确定", "没有", "以上都不", "以上均不", "都不", "均不", "无解", "不存在", "不知道", "未知", "未给出", "无正确",
];
const NOT: [&str; 6] = ["not", "n't", "n’t", "never", "neither", "isn't"];
const NOT_CHINESE: [&str; 5] = ["不是", "并非", "不应", "不", "非"];

/// Bytes within which it is said what holds instead.
const REACH: usize = 120;

/// Reads a denial at the head of a marker's text.
pub(super) fn denial(rest: &str) -> Option<Denial<'_>> {
    if rest.to_ascii_lowercase().starts_with("n/a")
        || strip_word(rest, &NOTHING).or(strip_any(rest, &NOTHING_CHINESE)).is_some()
    {
        return Some(Denial::Nothing);
    }
    let excluded = strip_word(rest, &NOT).or(strip_any(rest, &NOT_CHINESE))?;
    let clause = beginning(excluded.lines().next().unwrap_or_default(), REACH);
    let instead = [
        "but rather ",
        " but ",
        " rather ",
        "; it is ",
        "; it's ",
        ", it is ",
        ", it's ",
        ". It is ",
        ". It's ",
        "而是",
        ",是",
        ",应",
    ];
    let after = instead.iter().find_map(|word| clause.find(word).map(|at| &excluded[at + word.len()..]));
    Some(Denial::Excludes(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dress_and_fill_go() {
        for (text, rest) in [
            ("** **(C)**", "C)**"),
            (" most likely option \\text{B}", "B}"),
            (" x_1 = 5", "5"),
            ("\n\n- C", "C"),
            (" - 5", "- 5"),
            ("应该是选项C", "C"),
            (" Let's", "Let's"),
        ] {
            assert_eq!(head(text), rest, "{text}");
        }
    }

    #[test]
    fn denials() {
        assert_eq!(denial("not B, but C"), Some(Denial::Excludes(Some("C"))));
        assert_eq!(denial("不是B,而是C"), Some(Denial::Excludes(Some("C"))));
        assert_eq!(denial("not B"), Some(Denial::Excludes(None)));
        assert_eq!(denial("None of the above"), Some(Denial::Nothing));
        assert_eq!(denial("Norway"), None);
    }
}
