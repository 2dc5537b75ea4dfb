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

/// The shots alone, with what joins and ends them.
pub(super) fn flatten_shots<'a>(shots: &[&'a Shot], format: &ShotFormat) -> Vec<Flat<'a>> {
    let mut list = Vec::new();
    for shot in shots {
        match shot {
            Shot::Text(text) => list.push(Flat::Text(text.clone())),
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
    let texts: Vec<String> = shots
        .iter()
        .map(|shot| match shot {
            Shot::Text(text) => text.clone(),
            Shot::Turns(_) => joined(&flatten_shots(&[shot], &ShotFormat::default())),
        })
        .collect();
    texts.join(&format.separator) + &format.end
}

fn add<'a>(segment: &'a Segment, shots: &[&'a Shot], format: &ShotFormat, list: &mut Vec<Flat<'a>>) {
    match segment {
        Segment::Open(section) => list.push(Flat::Open(*section)),
        Segment::Close(section) => list.push(Flat::Close(*section)),
        Segment::Header(text) | Segment::Question(text) | Segment::Option(text) => list.push(Flat::Text(text.clone())),
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

/// What a model without a meta template reads: elements joined by newlines, empty ones left out. A newline follows an
/// empty first element all the same, as in OpenCompass.
pub(super) fn joined(list: &[Flat<'_>]) -> String {
    let mut text = String::new();
    let mut separator = "";
    for element in list {
        let words = match element {
            Flat::Open(_) | Flat::Close(_) => continue,
            Flat::Text(text) => text.as_str(),
            Flat::Turn(turn) => turn.prompt.as_deref().unwrap_or_default(),
        };
        if !words.is_empty() {
            text.push_str(separator);
            text.push_str(words);
        }
        separator = "\n";
    }
    text
}
