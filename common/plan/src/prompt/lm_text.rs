//! Text for a model with a meta template, by the rules of OpenCompass's `LMTemplateParser`.
//!
//! This parser continues where the original stops with an error: a role that only its fallback knows may speak in a
//! round, a section `end` is read like `begin`, and shots may be inside a round.

use super::flat::{Flat, FlatTurn};
use super::meta_template::{MetaItem, MetaRole, MetaTemplate};
use super::rendered::Mode;
use super::structured::Section;

/// The whole text.
pub(super) fn parse(list: &[Flat<'_>], meta: &MetaTemplate, mode: Mode) -> String {
    parse_with_ends(list, meta, mode).0
}

/// As [`parse`], with how far the text is after each element.
pub(super) fn parse_with_ends(list: &[Flat<'_>], meta: &MetaTemplate, mode: Mode) -> (String, Vec<usize>) {
    let mut text = meta.begin.clone();
    let mut ends = Vec::with_capacity(list.len());
    let mut open: Vec<(Section, usize)> = Vec::new();
    for (at, element) in list.iter().enumerate() {
        match element {
            Flat::Text(words) => text.push_str(words),
            Flat::Open(section) => open.push((*section, at + 1)),
            Flat::Turn(turn) => {
                if matches!(open.last(), Some((Section::Begin | Section::End, _)) | None) {
                    said_outside(turn, meta, &mut text);
                }
            }
            Flat::Close(_) => {
                if let Some((section @ (Section::Round | Section::Ice), start)) = open.pop()
                    && !say_section(list.get(start..at).unwrap_or_default(), section, meta, mode, &mut text)
                {
                    return (text, ends);
                }
            }
        }
        ends.push(text.len());
    }
    text.push_str(&meta.end);
    (text, ends)
}

/// Writes a dialogue; `false` when it ended where the model is to speak.
fn say_section(list: &[Flat<'_>], section: Section, meta: &MetaTemplate, mode: Mode, text: &mut String) -> bool {
    let dialogue = turns(list);
    let rounds = rounds(&dialogue, meta);
    for (number, round) in rounds.iter().enumerate() {
        let generates = mode == Mode::Gen && section == Section::Round && number + 1 == rounds.len();
        if !say_round(round, meta, generates, text) {
            return false;
        }
    }
    true
}

/// The turns of a section, without those of the sections inside it.
pub(super) fn turns<'l>(list: &'l [Flat<'l>]) -> Vec<&'l FlatTurn<'l>> {
    let mut depth = 0usize;
    let mut turns = Vec::new();
    for element in list {
        match element {
            Flat::Open(_) => depth += 1,
            Flat::Close(_) => depth = depth.saturating_sub(1),
            Flat::Turn(turn) if depth == 0 => turns.push(turn),
            Flat::Turn(_) | Flat::Text(_) => {}
        }
    }
    turns
}

/// Splits a dialogue: a role that does not come after the one before it begins a new round. Never empty.
pub(super) fn rounds<'l>(dialogue: &[&'l FlatTurn<'l>], meta: &MetaTemplate) -> Vec<Vec<&'l FlatTurn<'l>>> {
    let mut rounds = vec![Vec::new()];
    let mut last = None;
    for turn in dialogue {
        let speaker = meta.spoken_by(&turn.turn.role, turn.turn.fallback_role.as_deref(), true);
        let order = speaker.and_then(|speaker| meta.round_roles().position(|role| role.role == speaker.role));
        if order.is_some() && order <= last {
            rounds.push(Vec::new());
        }
        last = order.or(last);
        if let Some(round) = rounds.last_mut() {
            round.push(*turn);
        }
    }
    rounds
}

/// The words of `role` in a round: those of its last turn, or the meta template's own.
pub(super) fn said<'t>(role: &'t MetaRole, round: &[&'t FlatTurn<'t>], meta: &MetaTemplate) -> Words<'t> {
    let mut words = Words { begin: &role.begin, prompt: &role.prompt, end: &role.end };
    for turn in round {
        let speaker = meta.spoken_by(&turn.turn.role, turn.turn.fallback_role.as_deref(), true);
        if speaker.is_some_and(|speaker| speaker.role == role.role) {
            words.take(turn);
        }
    }
    words
}

/// Texts that are written for a role.
pub(super) struct Words<'t> {
    pub(super) begin: &'t str,
    pub(super) prompt: &'t str,
    pub(super) end: &'t str,
}

impl<'t> Words<'t> {
    pub(super) fn take(&mut self, turn: &'t FlatTurn<'t>) {
        self.begin = turn.turn.begin.as_deref().unwrap_or(self.begin);
        self.prompt = turn.prompt.as_deref().unwrap_or(self.prompt);
        self.end = turn.turn.end.as_deref().unwrap_or(self.end);
    }
}

/// Writes a round; `false` when it ended where the model is to speak.
fn say_round(round: &[&FlatTurn<'_>], meta: &MetaTemplate, generates: bool, text: &mut String) -> bool {
    for item in &meta.round {
        let role = match item {
            MetaItem::Text(words) => {
                text.push_str(words);
                continue;
            }
            MetaItem::Role(role) => role,
        };
        let words = said(role, round, meta);
        text.push_str(words.begin);
        if generates && role.generate {
            return false;
        }
        text.push_str(words.prompt);
        text.push_str(words.end);
    }
    true
}

/// A turn before or after the dialogue. An unknown role's words stay, unwrapped.
fn said_outside(turn: &FlatTurn<'_>, meta: &MetaTemplate, text: &mut String) {
    let role = meta.spoken_by(&turn.turn.role, turn.turn.fallback_role.as_deref(), false);
    let mut words = role.map_or(Words { begin: "", prompt: "", end: "" }, |role| Words {
        begin: &role.begin,
        prompt: &role.prompt,
        end: &role.end,
    });
    words.take(turn);
    text.push_str(words.begin);
    text.push_str(words.prompt);
    text.push_str(words.end);
}
