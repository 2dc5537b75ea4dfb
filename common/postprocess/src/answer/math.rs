//! Formulas at the head of a text: between marks of mathematics, or as long as words look like one.

use super::dress::{strip_any, strip_word};
use super::folded::sentence;
use super::number::number_at;

/// Longest formula, as the comparison of formulas takes it.
pub(super) const LONGEST: usize = 4096;

#[rustfmt::skip]
const FILL: [&str; 14] = [
    "is", "be", "was", "are", "equal", "to", "the", "value", "therefore", "thus", "simply", "then", "just", "approximately",
];
const SKIPPED: [&str; 12] = ["**", "*", ":", "is", "是", "为", "应", "该", "\\[4pt]", "\"", "`", "="];
/// Words that stand in formulas.
#[rustfmt::skip]
const NAMES: [&str; 24] = [
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "log", "ln", "exp", "sqrt", "pi", "max", "min", "gcd",
    "lcm", "mod", "det", "inf", "cm", "theta", "dx",
];
const PAIRS: [(&str, &str); 4] = [("$$", "$$"), ("\\(", "\\)"), ("\\[", "\\]"), ("$", "$")];

/// Reads a formula at the head of a text.
pub(super) fn formula_at(text: &str) -> Option<&str> {
    let mut rest = text.trim_start();
    while let Some(next) = strip_word(rest, &FILL).or_else(|| strip_any(rest, &SKIPPED)) {
        rest = next.trim_start();
    }
    between_marks(rest).or_else(|| plain(rest))
}

/// Reads `$..$`, `\(..\)`, `\[..\]` or `$$..$$`.
fn between_marks(text: &str) -> Option<&str> {
    let (open, close) = PAIRS.iter().find(|(open, _)| text.starts_with(open))?;
    let inner = &text[open.len()..];
    // A currency.
    let inner = &inner[..inner.find(close)?];
    let content = tidy(inner);
    (looks_like(content) && !inner.contains("\n\n")).then_some(content)
}

/// Returns the last formula between marks in a text.
pub(super) fn last_between_marks(text: &str) -> Option<&str> {
    let trimmed = text.trim_end_matches(|c: char| c.is_whitespace() || ".,;*".contains(c));
    let (open, close) = PAIRS.iter().find(|(_, close)| trimmed.ends_with(close))?;
    let inner = &trimmed[..trimmed.len() - close.len()];
    let content = tidy(&inner[inner.rfind(open)? + open.len()..]);
    looks_like(content).then_some(content)
}

/// Reads words as long as they look like a formula.
fn plain(text: &str) -> Option<&str> {
    let clause = sentence(text);
    let mut end = 0;
    let mut words = clause.split_inclusive(char::is_whitespace).peekable();
    while let Some(word) = words.next() {
        let bare = word.trim();
        let joins = ["or", "and"].contains(&bare) && words.peek().is_some_and(|next| is_expression(next));
        if !joins && !is_expression(bare) && !bare.is_empty() {
            break;
        }
        end += word.len();
        if bare.ends_with([':', '*']) {
            break;
        }
    }
    let found = tidy(&clause[..end]);
    let is_article = ["a", "A", "I"].contains(&found) && !clause[end..].trim().is_empty();
    (!found.is_empty() && !is_article && found.chars().any(|c| c.is_alphanumeric() || c == '∞' || c == '∅'))
        .then_some(found)
}

fn is_expression(word: &str) -> bool {
    looks_like(word.trim().trim_end_matches([',', ':', '*', '.']))
}

/// Returns `true` for what looks like an expression: commands, symbols of one letter, numbers, operators.
pub(super) fn looks_like(text: &str) -> bool {
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if let Some(command) = rest.strip_prefix('\\') {
            let name = command.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(command.len());
            let is_text = ["text", "mathrm", "textbf", "mbox"].contains(&&command[..name]);
            let name = if is_text {
                command.find('}').unwrap_or(name)
            } else {
                name.max(command.chars().next().map_or(0, char::len_utf8))
            };
            rest = &command[name..];
        } else if next.is_alphabetic() {
            let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
            let word = &rest[..end];
            if word.chars().count() > 2 && !NAMES.contains(&word)
                || next >= '\u{2E80}'
                || word.len() == 2 && WORDS.contains(&word)
            {
                return false;
            }
            rest = &rest[end..];
        } else {
            if matches!(next, '?' | '"' | '“' | '。' | '、') {
                return false;
            }
            rest = &rest[next.len_utf8()..];
        }
    }
    !text.trim().is_empty()
}

/// Words of two letters that no formula has.
#[rustfmt::skip]
const WORDS: [&str; 24] = [
    "is", "to", "of", "in", "it", "as", "at", "by", "we", "so", "or", "an", "if", "no", "on", "be", "do", "he", "my", "us", "up", "go",
    "So", "We",
];

/// Strips what stands around a formula, and punctuation behind it.
pub(super) fn tidy(text: &str) -> &str {
    let mut text = text;
    loop {
        let before = text.len();
        text = text.trim().trim_end_matches(['.', ',', ';', '*', ':', '。', '，']).trim_start_matches(['*', '=']);
        text = text.strip_prefix("\\displaystyle").unwrap_or(text);
        for (open, close) in PAIRS {
            let inner = text.strip_prefix(open).and_then(|inner| inner.strip_suffix(close));
            text = inner.filter(|inner| !inner.contains(close)).unwrap_or(text);
        }
        let inner = text.strip_prefix('{').and_then(|inner| inner.strip_suffix('}'));
        text = inner.filter(|inner| !inner.contains(['{', '}'])).unwrap_or(text);
        if text.len() == before {
            return text;
        }
    }
}

/// Spells a formula as it is compared: a plain number without what groups its digits, others without braces around commas.
pub(super) fn spelt(formula: &str) -> String {
    let wrapped = ["\\text{", "\\mathbf{", "\\textbf{", "\\mathrm{"]
        .iter()
        .find_map(|open| formula.strip_prefix(open)?.strip_suffix('}'));
    let bare = wrapped.unwrap_or(formula);
    let is_plain = bare.chars().all(|c| c.is_ascii_digit() || ",.{}\\! $-−+'’ €£¥￥".contains(c));
    match number_at(bare).filter(|number| is_plain && number.rest.is_empty()) {
        Some(number) => number.text,
        None => formula.replace("{,}", "").replace("\\!", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas() {
        for (text, formula) in [
            (" $\\frac{1}{2}$.", "\\frac{1}{2}"),
            (": \\(x^2+1\\)", "x^2+1"),
            ("\n\\[ x = 5 \\]", "x = 5"),
            (" 2x + 3 for all x", "2x + 3"),
            (" **$\\sqrt{2}$**", "\\sqrt{2}"),
            (" (1, 2).", "(1, 2)"),
            (" $70,000.", "$70,000"),
            (" 5 meters", "5"),
            (" x=5", "x=5"),
        ] {
            assert_eq!(formula_at(text), Some(formula), "{text}");
        }
        for text in [" a rectangle", " Let's see", " that it grows", ""] {
            assert_eq!(formula_at(text), None, "{text}");
        }
        assert_eq!(last_between_marks("so\n\\[\nx = 5\n\\]\n"), Some("x = 5"));
    }
}
