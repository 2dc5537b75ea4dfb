//! Answers of lines that are nothing else, and of texts without any mark of an answer.

use super::dress::{head, undress};
use super::exclusions::WITHDRAWN;
use super::folded::{after_closers, constant, sentences};
use super::found::AnswerKind;
use super::kinds::{clause_number, numbers};
use super::letters::{joined, letters_at};
use super::math::{self, last_between_marks, looks_like, spelt};
use super::number::number_at;
use super::options_list::{begins_list, is_item};
use super::text::{self, phrase_at};
use regex::Regex;
use std::sync::LazyLock;

/// Longest line that may be an option with its text.
const LONGEST_OPTION: usize = 160;

/// Words of a text that gives no answer.
static DECLINES: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        r"(?i)\bnone of (?:the|these|those) (?:above|options|choices|answers|given)|\b(?:cannot|can't|can’t|could not) be (?:determined|answered|solved|calculated)",
        r"|\b(?:i|we) (?:don't|don’t|do not|cannot|can't|can’t) (?:know|determine|answer|say)|\bunable to (?:determine|answer|solve)|\bnot enough information|\bno correct (?:option|answer)",
        r"|无法(?:确定|判断|回答|得出|计算)|不能确定|不知道|以上都不|均不正确|都不正确|没有正确|信息不足|\\boxed\{[^{}]*\z",
    ))
});

/// Returns `true` if a text says that it has no answer.
pub(super) fn declines(text: &str) -> bool {
    DECLINES.is_match(text)
}

/// Returns `true` if a text ends in the middle of a sentence.
pub(super) fn breaks_off(text: &str) -> bool {
    static OPEN: LazyLock<Regex> = LazyLock::new(|| {
        constant(concat!(
            r"(?i)(?:\b(?:the|a|an|of|to|is|are|was|be|because|since|which|that|and|or|but|we|by|with|for|in|on|from|as|if|than|its|their|this)",
            r"|[,、,:(=+]|是|为|因为|所以|而|和|与)\s*$",
        ))
    });
    OPEN.is_match(super::folded::ending(text, 40))
}

/// Returns the answer of a text's last line, or of a formula set apart at its end, where it is nothing else.
pub(super) fn last_line(text: &str, kind: &AnswerKind) -> Option<String> {
    let last = text.lines().rev().find(|line| !line.trim().is_empty())?;
    if *kind == AnswerKind::Math && ["\\]", "$$"].contains(&last.trim()) {
        return last_between_marks(text).map(spelt);
    }
    line_answer(last, text, kind)
}

/// Returns the answer of a line that is nothing else; `text` is where it stands.
pub(super) fn line_answer(line: &str, text: &str, kind: &AnswerKind) -> Option<String> {
    match kind {
        AnswerKind::Choice { options } => option_line(line, text, options.as_str()),
        AnswerKind::Number => number_line(line),
        AnswerKind::Math => formula_line(line),
        AnswerKind::Text => phrase_line(line),
    }
}

/// Reads `C`, `**(C)**`, and `C. Paris` where no other line is an option.
fn option_line(line: &str, text: &str, options: &str) -> Option<String> {
    let labelled = line.rsplit_once(':').filter(|(label, _)| label.len() <= 24).map_or(line, |(_, value)| value);
    let inner = head(line);
    let before = &line[..line.len() - inner.len()];
    let found = letters_at(inner, before, options).or_else(|| letters_at(head(labelled), " ", options))?;
    let rest = after_closers(found.rest).trim();
    if rest.trim_matches(|c: char| c.is_ascii_punctuation() || c == '。').is_empty() {
        return Some(found.letters);
    }
    let begins = undress(line) == inner && joined(found.rest, options).is_none();
    let reasons = [", because", " because", ", since", " since", ", as ", ",因为"]
        .iter()
        .any(|reason| found.rest.starts_with(reason));
    let is_labelled = found.rest.starts_with(['.', ')', ':', '、', ']']);
    let is_named = found.rest.strip_prefix(' ').is_some_and(|rest| rest.starts_with(['-', '–', '—']) || is_noun(rest));
    let has_text = begins && (is_labelled || is_named || reasons) && line.len() <= LONGEST_OPTION;
    // Of a list of options only the one that is bold says something.
    let is_bold = |line: &&str| line.trim_start().starts_with("**");
    let is_one_of = |lines: Vec<&str>| is_item(line, &lines, options);
    let is_listed =
        is_one_of(if is_bold(&line) { text.lines().filter(is_bold).collect() } else { text.lines().collect() });
    let stands = has_text && !is_listed && !begins_list(inner, options) && !breaks_off(line);
    stands.then_some(found.letters)
}

/// Returns `true` for Chinese words that say nothing of an option.
fn is_noun(rest: &str) -> bool {
    rest.starts_with(|c: char| c >= '\u{2E80}')
        && !WITHDRAWN.is_match(rest)
        && !rest.starts_with(['项', '选', '是', '的', '和', '与', '正', '对'])
}

fn number_line(line: &str) -> Option<String> {
    static UNIT: LazyLock<Regex> = LazyLock::new(|| {
        constant(
            r"^[\s)\]}*_`$.,!。\\]*(?:(?:\\(?:text|mathrm)\{)?\s*[\p{L}/°²³]+(?:\s[\p{L}/²³]+)?[\s)\]}*_`$.!。\\]*)?$",
        )
    });
    let inner = head(line);
    let found = number_at(inner)?;
    (UNIT.is_match(found.rest) && inner.len() + 24 > line.len()).then_some(found.text)
}

fn formula_line(line: &str) -> Option<String> {
    let content = math::tidy(line);
    let is_marked = content.len() < line.trim().trim_end_matches(['.', '。']).len() && !content.contains('$');
    let has_value = content.chars().any(|c| c.is_ascii_digit() || c == '\\') || content.chars().count() <= 2;
    let is_open = content.contains("\\boxed");
    let is_item = content.starts_with(['-', '*', '#']) && content[1..].starts_with(' ');
    (!is_open
        && content.len() <= math::LONGEST
        && looks_like(content)
        && (is_marked || has_value && content.len() <= 200 && !is_item))
        .then(|| spelt(content))
}

fn phrase_line(line: &str) -> Option<String> {
    static VERB: LazyLock<Regex> =
        LazyLock::new(|| constant(r"(?i)\b(?:is|are|was|were|am|be)\b|是|为|[,;:。].*\S|\.\s"));
    let content = text::tidy(line.trim_start_matches(['-', '#', ' ']));
    let few = content.split_whitespace().count() <= 6 && content.len() <= 80;
    (few && content.chars().any(char::is_alphanumeric) && !VERB.is_match(content) && !line.trim_end().ends_with(':'))
        .then(|| content.to_owned())
}

/// Returns the number of a text without a mark: of its first line, of its last conclusion, of the last sentence that has one.
pub(super) fn last_number(text: &str) -> Option<String> {
    static CONCLUDES: LazyLock<Regex> = LazyLock::new(|| {
        constant(
            r"(?i)^\W*(?:so|in conclusion|altogether|finally|overall)\b|\b(?:therefore|thus|hence|in total)\b|^\s*(?:所以|因此|故|综上|答|共|一共|总共)",
        )
    });
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let several = text.trim().contains('\n');
    if let Some(number) = number_line(first).filter(|_| several) {
        return Some(number);
    }
    if declines(text) || breaks_off(text) {
        return None;
    }
    let with_numbers: Vec<&str> =
        sentences(text).into_iter().filter(|sentence| !numbers(sentence).is_empty()).collect();
    let concluding = with_numbers.iter().rev().take(3).find(|sentence| CONCLUDES.is_match(sentence));
    clause_number(concluding.or(with_numbers.last())?).map(|found| found.text)
}

/// Returns the last formula of a text without a mark, behind its last `=`; else its number.
pub(super) fn last_formula(text: &str) -> Option<String> {
    let last = text.lines().rev().find(|line| !line.trim().is_empty())?;
    let end = last.rfind(['$', ')', ']']).map_or(0, |at| at + 1);
    let formula = last_between_marks(&last[..end]).filter(|_| !declines(text));
    let value = formula.map(|formula| math::tidy(formula.rsplit_once('=').map_or(formula, |(_, value)| value)));
    value.filter(|value| !value.is_empty()).map(spelt).or_else(|| last_number(text))
}

/// Returns the words of a text without a mark: its first line, what is bold at its end, what its last sentence says something is, yes or no.
pub(super) fn last_phrase(text: &str) -> Option<String> {
    static BOLD: LazyLock<Regex> = LazyLock::new(|| constant(r"\*\*([^*\n]{1,120})\*\*"));
    static IS: LazyLock<Regex> = LazyLock::new(|| constant(r"\b(?:is|are|was|were)\s+|是|为"));
    static DECIDED: LazyLock<Regex> =
        LazyLock::new(|| constant(r"(?i)^\W*(yes|no|true|false|是的|不是|对|错)(?:[\s,.!。]|$)"));
    let first = text.lines().find(|line| !line.trim().is_empty()).filter(|_| !declines(text))?;
    if let Some(decided) = DECIDED.captures(first) {
        return Some(decided[1].to_owned());
    }
    if let Some(line) = phrase_line(first).filter(|_| text.trim().contains('\n')) {
        return Some(line);
    }
    let last = *sentences(text).last()?;
    if let Some(bold) = BOLD.captures_iter(last).last() {
        return Some(text::tidy(&bold[1]).to_owned());
    }
    let verb = IS.find_iter(last).last()?;
    phrase_at(&last[verb.end()..]).map(str::to_owned)
}
