//! Options without a marker: the one that a text concludes with, affirms, or names alone.

use super::dress::{head, strip_word};
use super::exclusions::{EXCLUDES, WITHDRAWN};
use super::folded::{WINDOW, after_closers, beginning, constant, ending, ends_clause, sentences};
use super::found::AnswerKind;
use super::kinds::closing_option;
use super::letters::letters_at;
use super::options_list::affirmed_item;
use super::resort::{breaks_off, declines, line_answer};
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

static CONCLUDES: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        r"(?:(?i:\b(?:so|therefore|thus|hence|consequently|choose|chose|pick|select|go with|go for|must be|should be|would be|conclude|only|going with|going for|lean(?:ing)? towards?|leaving|leaves|guess|would say|i'd say|i’d say|has to be|elimination|it's|it’s|it is))",
        r"(?i:[,:]?\s+(?:it\s+(?:is|must be|has to be)\s+|it's\s+|that\s+|us with\s+|only\s+|actually\s+)?(?:the\s+)?(?:correct\s+)?(?:option|choice|answer|letter)?\s*)",
        r"|(?:所以|因此|综上|应为|应该是|[,;]是|(?:就|当然|肯定|一定|必然)是|只有|只能是|其实是|实际上是|显然|选择?)[,:]?(?:选项|为|是|选择|选|答案)*\s*)",
        r#"[(\[*"']*([A-Za-z0-9])"#,
    ))
});
static AFFIRMS: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        r"(?:^|[^A-Za-z0-9'])([A-Z0-9])(?:",
        r#"[)\]*"'.]*\s+(?:is|seems|appears|looks|must be|would be)\s+(?:(?:the|clearly|definitely|indeed|therefore|thus|most|only)\s+)*"#,
        r"(?:correct|right|true|best|answer|choice|option|better (?:choice|option|answer)|appropriate|accurate|suitable|likely)\b",
        r#"|[)\]*"'.]*\s+(?:it is(?:[.!]|$)|(?:fits|works|survives|remains)\b)"#,
        r"|\s*(?:项|选项)?(?:的?(?:说法|描述|表述|内容))?(?:是|为|最|完全|才是|则)?\s*(?:对的|正确|符合|恰当|合适|合理|√|✓|✔|当选|对(?:[,。;.]|$)))",
    ))
});
static MENTIONS: LazyLock<Regex> = LazyLock::new(|| {
    constant(r#"(?i:\b(?:option|choice)\s+|选项)[(*"]*([A-Z0-9])|\(([A-Z0-9])\)|\*\*\(?([A-Z0-9])[).]?\*\*"#)
});
/// An option at a byte of a text.
struct Named {
    letter: String,
    start: usize,
    end: usize,
}

/// Returns the option of the last conclusion: `so C`, `只能是C`.
pub(super) fn conclusion(text: &str, options: &str) -> Option<String> {
    let concludes = |named: &Named| {
        let rest = &text[named.end..];
        let goes_with = strip_word(rest.trim_start_matches(' '), &["because", "since", "as", "it", "i"]).is_some();
        let affirms = || AFFIRMS.find(beginning(&text[named.start..], 60)).is_some_and(|found| found.start() == 0);
        goes_with || ends_clause(rest) || rest.starts_with(['了', '吧', '呢']) || affirms()
    };
    named(&CONCLUDES, text, options).into_iter().rfind(concludes).map(|found| found.letter)
}

/// Returns the option that a text without a marker means; `None` where it is not clear.
pub(super) fn concluded(text: &str, kind: &AnswerKind) -> Option<String> {
    let options = kind.options();
    if let Some(letter) = conclusion(text, options) {
        return Some(letter);
    }
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    if let Some(letter) = line_answer(first, text, kind) {
        return Some(letter);
    }
    if declines(text) || breaks_off(text) {
        return None;
    }
    let affirmed = named(&AFFIRMS, text, options);
    if !affirmed.is_empty() {
        return single(affirmed);
    }
    if let Some(letter) = affirmed_item(text, options) {
        return Some(letter.into());
    }
    let last = *sentences(text).last()?;
    lone(last, options)
        .or_else(|| closing_option(last, options).map(String::from))
        .or_else(|| single(named(&MENTIONS, text, options)))
}

/// Finds options in the groups of a pattern, without those that the words around them exclude.
fn named(pattern: &Regex, text: &str, options: &str) -> Vec<Named> {
    let letters = pattern.captures_iter(text).filter_map(|found| found.iter().skip(1).flatten().next());
    let stands = |group: regex::Match<'_>| {
        let (before, rest) = text.split_at(group.start());
        let rest = beginning(rest, WINDOW);
        let found = letters_at(rest, before, options).filter(|found| found.letters.len() > 1 || !found.outside)?;
        let is_out = WITHDRAWN.is_match(beginning(found.rest, 80)) || EXCLUDES.is_match(ending(before, 40));
        (!is_out).then(|| Named {
            start: group.start(),
            end: group.start() + rest.len() - found.rest.len(),
            letter: found.letters,
        })
    };
    letters.filter_map(stands).collect()
}

/// Returns the option that all of them name.
fn single(named: Vec<Named>) -> Option<String> {
    let letters: BTreeSet<String> = named.into_iter().map(|named| named.letter).collect();
    if letters.len() == 1 { letters.into_iter().next() } else { None }
}

/// Returns the option that a sentence consists of.
fn lone(sentence: &str, options: &str) -> Option<String> {
    let inner = head(sentence);
    let found = letters_at(inner, "", options)?;
    let is_all =
        after_closers(found.rest).trim_matches(|c: char| c.is_whitespace() || c.is_ascii_punctuation()).is_empty();
    (is_all && !found.outside).then_some(found.letters)
}
