//! A prompt in rounds as one list with its shots in place, as OpenCompass's `PromptList` is after `replace`.

use super::shot::Shot;
use super::structured::{Prompt, Section, Segment, ShotFormat, Turn};

/// An element of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Flat<'a> {
    Open(Section),
    Close(Section),
    Text(String),
    Turn(FlatTurn<'a>),
}

/// A turn with its words put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FlatTurn<'a> {
    pub(super) turn: &'a Turn,
    pub(super) prompt: Option<String>,
}

/// The list. Shots in turns become elements of their own; shots as text go into the text around them.
pub(super) fn flatten<'a>(prompt: &'a Prompt, shots: &[&'a Shot], format: &ShotFormat) -> Vec<Flat<'a>> {
    let mut list = Vec::new();
    for segment in &prompt.0 {
        add(segment, shots, format, &mut list);
    }
    list
}

/// The list, and how many of its elements stand before the first that holds words of the sample's own.
pub(super) fn flatten_counting<'a>(
    prompt: &'a Prompt,
    shots: &[&'a Shot],
    format: &ShotFormat,
) -> (Vec<Flat<'a>>, usize) {
    let mut list = Vec::new();
    let mut shared = None;
    for segment in &prompt.0 {
        let before = list.len();
        add(segment, shots, format, &mut list);
        if shared.is_none() && Prompt(vec![segment.clone()]).has_own_words() {
            // Words around shots are elements after them.
            shared = Some(list.len().saturating_sub(1).max(before));
        }
    }
    let shared = shared.unwrap_or(list.len());
    (list, shared)
}

/// The shots alone, with what joins and ends them.
pub(super) fn flatten_shots<'a>(shots: &[&'a Shot], format: &ShotFormat) -> Vec<Flat<'a>> {
    let mut list = Vec::new();
    for shot in shots {
        match shot {
            Shot::Text(text) => list.push(Flat::Text(text.clone())),
            Shot::Answered(shot) => list.push(Flat::Text(shot.text())),
            Shot::Turns(turns) => {
                for turn in turns {
                    add(turn, &[], format, &mut list);
                }
            }
        }
        if !format.separator.is_empty() {
            list.push(Flat::Text(format.separator.clone()));
        }
    }
    // The end is an element even where it is empty.
    list.push(Flat::Text(format.end.clone()));
    list
}

/// Shots as text, for a place inside a text. Turns have no business there; their words are joined by newlines.
pub(super) fn inline_shots(shots: &[&Shot], format: &ShotFormat) -> String {
    inline_shots_with_ends(shots, format).0
}

/// As [`inline_shots`], with where each shot ends, what joins it to the next included.
pub(super) fn inline_shots_with_ends(shots: &[&Shot], format: &ShotFormat) -> (String, Vec<usize>) {
    let mut text = String::new();
    let mut ends = Vec::with_capacity(shots.len());
    for (number, shot) in shots.iter().enumerate() {
        match shot {
            Shot::Text(words) => text.push_str(words),
            Shot::Answered(shot) => text.push_str(&shot.text()),
            Shot::Turns(_) => text.push_str(&joined(&flatten_shots(&[shot], &ShotFormat::default()))),
        }
        text.push_str(if number + 1 < shots.len() { &format.separator } else { &format.end });
        ends.push(text.len());
    }
    if shots.is_empty() {
        text.push_str(&format.end);
    }
    (text, ends)
}

fn add<'a>(segment: &'a Segment, shots: &[&'a Shot], format: &ShotFormat, list: &mut Vec<Flat<'a>>) {
    match segment {
        Segment::Open(section) => list.push(Flat::Open(*section)),
        Segment::Close(section) => list.push(Flat::Close(*section)),
        Segment::Header(text) | Segment::System(text) | Segment::Question(text) | Segment::Option(text) => {
            list.push(Flat::Text(text.clone()));
        }
        Segment::Prefix(prefix) => list.push(Flat::Text(format!("{}{}", prefix.delimiter, prefix.text))),
        Segment::Shots => list.extend(flatten_shots(shots, format)),
        Segment::Turn(turn) => {
            let prompt = turn.prompt.as_ref().map(|prompt| prompt.inline(shots, format));
            list.push(Flat::Turn(FlatTurn { turn, prompt }));
        }
        Segment::Item(item) => {
            if !shots.iter().any(|shot| matches!(shot, Shot::Turns(_))) || !item.takes_shots() {
                return list.push(Flat::Text(item.inline(shots, format)));
            }
            for piece in item.0.split_inclusive(|segment| *segment == Segment::Shots) {
                let (text, then) = match piece.split_last() {
                    Some((Segment::Shots, text)) => (text, true),
                    _ => (piece, false),
                };
                let text = Prompt(text.to_vec()).inline(&[], format);
                if !text.is_empty() {
                    list.push(Flat::Text(text));
                }
                if then {
                    list.extend(flatten_shots(shots, format));
                }
            }
        }
    }
}

/// Returns what a model without a meta template reads: elements joined by newlines, empty ones left out. A newline
/// follows an empty first element all the same, as in OpenCompass.
pub(super) fn joined(list: &[Flat<'_>]) -> String {
    joined_with_ends(list).0
}

/// As [`joined`], with where each element ends.
pub(super) fn joined_with_ends(list: &[Flat<'_>]) -> (String, Vec<usize>) {
    let mut text = String::new();
    let mut ends = Vec::with_capacity(list.len());
    let mut separator = "";
    for element in list {
        let words = match element {
            Flat::Open(_) | Flat::Close(_) => None,
            Flat::Text(text) => Some(text.as_str()),
            Flat::Turn(turn) => Some(turn.prompt.as_deref().unwrap_or_default()),
        };
        if let Some(words) = words {
            if !words.is_empty() {
                text.push_str(separator);
                text.push_str(words);
            }
            separator = "\n";
        }
        ends.push(text.len());
    }
    (text, ends)
}
