//! The choice among candidates: corrections, instructions that are repeated, further questions that the model asks itself.

use super::candidate::{Candidate, Reading};
use super::folded::{WINDOW, beginning, constant};
use super::found::{AnswerKind, FoundBy};
use super::kinds::{Extent, read};
use regex::Regex;
use std::sync::LazyLock;

/// A line that begins another question, or another speaker's words.
static QUESTION: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?im)^[#*_>\s]*(?:question|q|problem|human|user|问题|题目|问)[ \t]*\d*[ \t*]*:"));
/// Words that take back what was said.
static RETRACTION: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        r"(?i)\b(?:wait|oops|sorry|scratch that|on second thought|my mistake|correction|hold on)\b|\bactually,|\bno, (?:that|it|the|this)\b|(?:\.{3}|…|[?—])\s*no,",
        r"|\bi made (?:a|an) (?:mistake|error)|\b(?:that|this|it)(?:'s| is| was) (?:wrong|incorrect|not right)",
        r"|\blet me (?:re-?(?:check|do|calculate|consider|compute|think|examine|read)|correct|fix)",
        r"|不对|等等|等一下|更正|纠正|我错了|算错|看错|重新(?:计算|考虑|检查|审视)|抱歉|修正",
    ))
});
/// Words of a correction that announce what holds instead.
static INSTEAD: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)\b(?:should|must)\s+(?:actually\s+|really\s+|instead\s+)?(?:be|have been)\b|\b(?:it's|it is)(?:\s+actually|\s+really)?\b|\bactually,?\s|\bno,\s|应该是|应该选|应为|应是|而是",
    )
});

/// Returns the byte at which the answer's own text ends: the first line with a further question behind a candidate, or behind any text
/// without one.
pub(super) fn end_of_answer(text: &str, candidates: &[Candidate]) -> usize {
    let first = candidates.iter().filter(|candidate| candidate.counts()).map(|candidate| candidate.start).min();
    let begins_another = |at: &usize| match first {
        Some(first) => first < *at,
        None => !text[..*at].trim().is_empty(),
    };
    QUESTION.find_iter(text).map(|line| line.start()).find(begins_another).unwrap_or(text.len())
}

/// Drops candidates that a later correction takes back, where it is followed by another candidate.
pub(super) fn without_corrected(text: &str, kind: &AnswerKind, mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    let Some(last) = candidates.iter().filter(|candidate| candidate.counts()).map(|candidate| candidate.start).max()
    else {
        return candidates;
    };
    let mut corrections: Vec<usize> = RETRACTION.find_iter(text).map(|found| found.start()).collect();
    if let Some(at) = corrections.last().copied().filter(|at| *at > last)
        && let Some(instead) = correction(text, kind, at)
    {
        return vec![instead];
    }
    corrections.retain(|at| *at < last);
    if let Some(at) = corrections.last() {
        candidates.retain(|candidate| candidate.start > *at);
    }
    candidates
}

/// Reads what a correction puts in the place of an answer: `it should be 7`.
fn correction(text: &str, kind: &AnswerKind, at: usize) -> Option<Candidate> {
    let piece = beginning(&text[at..], WINDOW);
    let found = INSTEAD.find_iter(piece).filter_map(|word| read(&piece[word.end()..], kind, Extent::Head));
    let reading = found.map(|found| found.reading).filter(|reading| matches!(reading, Reading::Valid { .. })).last()?;
    Some(Candidate::new(at, FoundBy::Marker, reading))
}

/// Returns the candidate that counts: the last of the first tier that has one.
///
/// A final answer that follows a box counts more than the box, and a tag more than a marker before it.
pub(super) fn choose(candidates: Vec<Candidate>) -> Option<Candidate> {
    let mut candidates = without_quoted(candidates);
    let last = |how: FoundBy, candidates: &[Candidate]| {
        candidates.iter().rposition(|candidate| candidate.how == how && candidate.counts())
    };
    let (boxed, marker, tag) =
        (last(FoundBy::Boxed, &candidates), last(FoundBy::Marker, &candidates), last(FoundBy::Tag, &candidates));
    let is_final = marker.is_some_and(|at| candidates[at].is_final && Some(at) > boxed);
    let chosen = if is_final { marker } else { boxed };
    let chosen = chosen.or_else(|| marker.filter(|at| tag < Some(*at))).or(tag);
    chosen.map(|at| candidates.swap_remove(at))
}

/// Drops candidates between quotes where others stand, and quoted ones that differ.
fn without_quoted(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    let differ = candidates.windows(2).any(|pair| pair[0].reading != pair[1].reading);
    if differ {
        candidates.retain(|candidate| !candidate.is_quoted);
    }
    candidates
}
