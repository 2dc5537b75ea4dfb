//! The tiers: boxes, markers, tags, the last line, the last resort.

use super::boxes::{Boxed, boxes, joins};
use super::candidate::{Candidate, Reading};
use super::conclusions::{concluded, conclusion};
use super::exclusions::WITHDRAWN;
use super::folded::{WINDOW, beginning, constant, ending, fold, last_ones, sentence};
use super::found::{AnswerKind, FoundAnswer, FoundBy};
use super::kinds::{Extent, read};
use super::markers::{Marker, markers};
use super::resort::{last_formula, last_line, last_number, last_phrase};
use super::select::{choose, end_of_answer, without_corrected};
use regex::Regex;
use std::sync::LazyLock;

/// Bytes of a tag's content.
const LONGEST_TAG: usize = 4096;
/// Bytes of a text's end that a last resort looks at.
const RESORT: usize = 16 << 10;

/// Finds the answer in a text; `None` where it has none, or says so.
///
/// The last valid candidate counts of the first tier that has one: a box, words that announce an answer, `<answer>`, a last line that is nothing
/// else, a last resort. What a correction takes back does not count, nor does what a model asks itself next. The time is linear in the length of
/// the text. A change of what it reads is a change of scores, and raises the version of compass-eval's evaluators.
pub fn answer(text: &str, kind: &AnswerKind) -> Option<FoundAnswer> {
    let folded = fold(text);
    let text = behind_thinking(&folded)?;
    let mut candidates = candidates(text, kind);
    let end = end_of_answer(text, &candidates);
    candidates.retain(|candidate| candidate.start < end);
    let text = &text[..end];
    let mut candidates = without_corrected(text, kind, candidates);
    candidates.sort_by_key(|candidate| candidate.start);
    let position = [FoundBy::Boxed, FoundBy::Marker, FoundBy::Tag].into_iter().find_map(|how| {
        candidates.iter().rposition(|candidate| candidate.how == how && !candidate.counts() && !candidate.is_quoted)
    });
    let other = position.map(|at| candidates.swap_remove(at));
    candidates.sort_by_key(|candidate| candidate.start);
    if let Some(chosen) = choose(candidates) {
        let conclusion = || conclusion(&text[chosen.start..], kind.options());
        return match &chosen.reading {
            Reading::Nothing => conclusion().map(|letter| found(letter, FoundBy::LastResort, kind)),
            _ => chosen.into_answer(),
        };
    }
    let other = other.and_then(Candidate::into_answer);
    match kind {
        // A value in a box, and the option that it is behind it.
        AnswerKind::Choice { .. } => match unmarked(text, kind) {
            Some(found) if !found.outside => Some(found),
            unmarked => other.or(unmarked),
        },
        AnswerKind::Number | AnswerKind::Math | AnswerKind::Text => other.or_else(|| unmarked(text, kind)),
    }
}

/// Returns what is behind the last `</think>`; `None` of a text that is thinking alone.
fn behind_thinking(text: &str) -> Option<&str> {
    match text.rsplit_once("</think>") {
        Some((_, answer)) => Some(answer),
        None => (!text.trim_start().starts_with("<think>")).then_some(text),
    }
}

fn unmarked(text: &str, kind: &AnswerKind) -> Option<FoundAnswer> {
    if ends_in_box(text) {
        return None;
    }
    if let Some(line) = last_line(text, kind) {
        return Some(found(line, FoundBy::LastLine, kind));
    }
    let text = ending(text, RESORT);
    let resort = match kind {
        AnswerKind::Choice { .. } => concluded(text, kind),
        AnswerKind::Number => last_number(text),
        AnswerKind::Math => last_formula(text),
        AnswerKind::Text => last_phrase(text),
    };
    resort.filter(|text| !text.trim().is_empty()).map(|text| found(text, FoundBy::LastResort, kind))
}

/// An answer; letters that are no single option are outside.
fn found(text: String, how: FoundBy, kind: &AnswerKind) -> FoundAnswer {
    let is_one = |options: &str| text.chars().count() == 1 && options.contains(&text);
    let outside = matches!(kind, AnswerKind::Choice { options } if !is_one(options.as_str()));
    FoundAnswer { text, how, outside }
}

fn candidates(text: &str, kind: &AnswerKind) -> Vec<Candidate> {
    let mut found = in_boxes(text, kind);
    found.extend(behind_markers(text, kind));
    found.extend(in_tags(text, kind));
    found.sort_by_key(|candidate| candidate.start);
    found
}

fn in_boxes(text: &str, kind: &AnswerKind) -> Vec<Candidate> {
    let boxes = last_ones(boxes(text));
    let mut lists: Vec<Vec<&Boxed<'_>>> = Vec::new();
    for found in &boxes {
        match lists.last_mut() {
            Some(list)
                if list.last().is_some_and(|last| last.end <= found.start && joins(&text[last.end..found.start])) =>
            {
                list.push(found)
            }
            _ => lists.push(vec![found]),
        }
    }
    let candidate = |list: Vec<&Boxed<'_>>| {
        let contents: Vec<&str> = list.iter().map(|found| found.content).collect();
        let (first, last) = (list.first()?, list.last()?);
        let content = contents.join(", ");
        let is_withdrawn = WITHDRAWN.is_match(beginning(&text[last.end..], 80)) || is_denied(&text[..first.start]);
        let read = read(&content, kind, Extent::Whole).filter(|_| !is_withdrawn)?;
        Some(Candidate::new(first.start, FoundBy::Boxed, read.reading))
    };
    lists.into_iter().filter_map(candidate).collect()
}

/// Returns `true` if a text ends in a word that denies what follows: `not $`.
fn is_denied(before: &str) -> bool {
    let words = ending(before, 24).trim_end_matches(|c: char| c.is_whitespace() || "$\\([*".contains(c));
    [" not", "不是", "并非", " than", "instead of"].iter().any(|word| words.ends_with(word))
}

fn behind_markers(text: &str, kind: &AnswerKind) -> Vec<Candidate> {
    let markers = markers(text);
    let headings = markers.iter().filter(|marker| heading_number(text, marker).is_some()).count();
    let is_heading =
        |marker: &&Marker| heading_number(text, marker).is_some_and(|number| headings > 1 || number == "1");
    markers.iter().filter(|marker| !is_heading(marker)).filter_map(|marker| behind_marker(text, kind, marker)).collect()
}

/// Returns the number of `#### 2. Add them`, a heading unless it stands alone: then it is an answer as GSM8K writes it.
fn heading_number<'t>(text: &'t str, marker: &Marker) -> Option<&'t str> {
    static HEADING: LazyLock<Regex> = LazyLock::new(|| constant(r"^ (\d{1,2})[.)] \p{L}"));
    let is_mark = text[marker.start..marker.end].starts_with('#');
    HEADING.captures(beginning(&text[marker.end..], 16)).filter(|_| is_mark)?.get(1).map(|number| number.as_str())
}

fn behind_marker(text: &str, kind: &AnswerKind, marker: &Marker) -> Option<Candidate> {
    let piece = beginning(&text[marker.end..], WINDOW);
    let spoken = sentence(piece);
    let is_last = text[marker.end + spoken.len()..]
        .trim_start_matches(|c: char| c.is_whitespace() || ".!*。".contains(c))
        .is_empty();
    let extent = if marker.is_label && !is_last { Extent::Head } else { Extent::Sentence };
    let found = read(piece, kind, extent).filter(|_| !ends_in_box(piece))?;
    let is_value = matches!(found.reading, Reading::Valid { .. });
    if is_value && WITHDRAWN.is_match(beginning(found.rest, 80)) {
        return None;
    }
    let is_quoted = marker.is_quoted && found.rest.starts_with(['\'', '"', '”', '’', '」', '`', '.']);
    Some(Candidate {
        is_quoted,
        is_final: marker.is_final,
        ..Candidate::new(marker.start, FoundBy::Marker, found.reading)
    })
}

/// Returns `true` if a text ends within a box: its value may go on.
fn ends_in_box(text: &str) -> bool {
    let Some(at) = text.rfind("\\boxed{") else { return false };
    let mut depth = 0;
    for c in text[at..].chars().filter(|c| matches!(c, '{' | '}')) {
        depth += if c == '{' { 1 } else { -1 };
        if depth == 0 {
            return false;
        }
    }
    true
}

fn in_tags(text: &str, kind: &AnswerKind) -> Vec<Candidate> {
    static OPEN: LazyLock<Regex> = LazyLock::new(|| constant(r"(?i)<(?:final[_ -]?)?answer>"));
    let candidate = |open: regex::Match<'_>| {
        let piece = beginning(&text[open.end()..], LONGEST_TAG);
        let content = piece.split("</").next().unwrap_or_default();
        let content =
            if content.len() < piece.len() { content } else { content.trim_start().lines().next().unwrap_or_default() };
        let reading = read(content.trim(), kind, Extent::Whole).filter(|_| !content.starts_with('<'))?.reading;
        Some(Candidate::new(open.start(), FoundBy::Tag, reading))
    };
    let open = last_ones(OPEN.find_iter(text).collect());
    open.into_iter().filter_map(candidate).collect()
}
