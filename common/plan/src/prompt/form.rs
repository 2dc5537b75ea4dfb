//! One template of a prompt, whichever way it is written, and how a row and the place for shots go into it.

use super::chat;
use super::format::{Row, fill};
use super::jinja;
use super::messages;
use super::rounds::{Rounds, TemplateLine};
use super::shot::Shot;
use super::structured::{Prompt, Section, Segment, Turn};
use super::template::Template;
use super::template_text::TemplateText;
use std::borrow::Cow;

/// One template.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form<'a> {
    Text(&'a str),
    Rounds(&'a Rounds),
    Jinja(&'a str),
}

/// One template, or one per label.
#[derive(Clone, Debug)]
pub(super) enum Forms<'a> {
    One(Form<'a>),
    Labels(Vec<(&'a str, Form<'a>)>),
}

impl<'a> Forms<'a> {
    pub(super) fn of(template: &'a Template) -> Self {
        match template {
            Template::Text(text) => Self::One(Form::Text(text)),
            Template::Rounds(rounds) => Self::One(Form::Rounds(rounds)),
            Template::Jinja(source) => Self::One(Form::Jinja(source)),
            Template::Labels(map) => {
                Self::Labels(map.iter().map(|(label, text)| (label.as_str(), Form::Text(text))).collect())
            }
            Template::TemplateTexts(map) => {
                let form = |text_template: &'a TemplateText| match text_template {
                    TemplateText::Text(text) => Form::Text(text),
                    TemplateText::Jinja(source) => Form::Jinja(source),
                };
                Self::Labels(map.iter().map(|(label, text_template)| (label.as_str(), form(text_template))).collect())
            }
            Template::LabelRounds(map) => {
                Self::Labels(map.iter().map(|(label, rounds)| (label.as_str(), Form::Rounds(rounds))).collect())
            }
        }
    }

    pub(super) fn in_rounds(&self) -> bool {
        self.all().iter().any(|form| form.rounds().is_some())
    }

    pub(super) fn all(&self) -> Vec<Form<'a>> {
        match self {
            Self::One(form) => vec![*form],
            Self::Labels(map) => map.iter().map(|(_, form)| *form).collect(),
        }
    }
}

/// Content in the place of the ice token.
#[derive(Clone, Copy, Debug)]
pub(super) struct IceContent<'a> {
    pub(super) token: &'a str,
    /// Set if the template holds the token; where it does not, shots go first.
    pub(super) in_template: bool,
    pub(super) shows_shots: bool,
    /// OpenCompass's `sep_token`, which is not part of a prompt.
    pub(super) separator: Option<&'a str>,
}

impl IceContent<'_> {
    /// No shots, nothing to take out.
    pub(super) fn none() -> Self {
        Self { token: "", in_template: false, shows_shots: false, separator: None }
    }

    fn without_separator<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.separator.filter(|separator| !separator.is_empty() && text.contains(separator)) {
            Some(separator) => Cow::Owned(text.replace(separator, "")),
            None => Cow::Borrowed(text),
        }
    }
}

impl<'a> Form<'a> {
    /// Every text of it into which a row can put something.
    pub(super) fn texts(&self) -> Vec<&'a str> {
        match self {
            Self::Text(text) => vec![text],
            Self::Rounds(rounds) => rounds.lines().filter_map(TemplateLine::text).collect(),
            Self::Jinja(_) => Vec::new(),
        }
    }

    pub(super) fn rounds(&self) -> Option<&'a Rounds> {
        match self {
            Self::Rounds(rounds) => Some(rounds),
            Self::Text(_) | Self::Jinja(_) => None,
        }
    }

    /// Returns whether it is messages as a service takes them.
    pub(super) fn is_raw(&self) -> bool {
        self.rounds().is_some_and(|rounds| rounds.raw)
    }

    /// Returns whether it is in Jinja.
    pub(super) fn is_jinja(&self) -> bool {
        matches!(self, Self::Jinja(_))
    }

    /// Returns whether it takes messages from a column.
    pub(super) fn expands(&self) -> bool {
        self.rounds().is_some_and(|rounds| rounds.lines().any(|line| matches!(line, TemplateLine::Expand(_))))
    }

    pub(super) fn holds(&self, token: &str) -> bool {
        let text = |text: &str| !token.is_empty() && text.contains(token);
        match self {
            Self::Jinja(source) => text(source),
            _ => self.texts().into_iter().any(text),
        }
    }

    /// The prompt of a row.
    ///
    /// # Errors
    /// In words: what a Jinja template does not find or cannot do.
    pub(super) fn prompt(&self, row: &Row, blank: Option<&str>, place: IceContent<'_>) -> Result<Prompt, String> {
        let blank = blank.filter(|_| !self.is_raw());
        let mut filler = Filler { row, blank, place, after_shots: !place.in_template };
        let mut segments = Vec::new();
        if place.shows_shots && !place.in_template {
            segments.push(Segment::Shots);
        }
        match self {
            Self::Jinja(source) if !place.in_template => {
                let text = jinja::text(source, row)?;
                segments.extend(cut_off(source, place.without_separator(&text).into_owned()));
            }
            Self::Jinja(source) => segments.extend(filler.rendered(source, &jinja::text(source, row)?)),
            Self::Text(text) if !place.in_template => {
                let text = place.without_separator(text);
                segments.extend(cut_off(&text, fill(&text, row, blank)));
            }
            Self::Text(text) => segments.extend(filler.pieces(text, cut_off)),
            Self::Rounds(rounds) => {
                for (section, lines) in
                    [(Section::Begin, &rounds.begin), (Section::Round, &rounds.round), (Section::End, &rounds.end)]
                {
                    if !lines.is_empty() || section == Section::Round {
                        let asked = last_of_user(&mut segments, rounds.raw && lines.is_empty());
                        segments.push(Segment::Open(section));
                        segments.extend(asked);
                        for line in lines {
                            filler.line(line, &mut segments)?;
                        }
                        segments.push(Segment::Close(section));
                    }
                }
            }
        }
        Ok(Prompt(segments))
    }

    /// The shot of a training row: the answer shown, the ice token gone, of rounds the dialogue alone.
    ///
    /// OpenCompass means to take the `sep_token` out of shots too, and does not.
    ///
    /// # Errors
    /// As [`Form::prompt`].
    pub(super) fn shot(&self, row: &Row, token: &str) -> Result<Shot, String> {
        let place = IceContent { token, ..IceContent::none() };
        let mut filler = Filler { row, blank: None, place, after_shots: true };
        match self {
            Self::Text(text) => Ok(Shot::Text(filler.without_token(text))),
            Self::Jinja(source) => {
                let text = jinja::text(source, row)?;
                Ok(Shot::Text(if token.is_empty() { text } else { text.replace(token, "") }))
            }
            Self::Rounds(rounds) => {
                let mut turns = vec![Segment::Open(Section::Ice)];
                for line in &rounds.round {
                    filler.line(line, &mut turns)?;
                }
                turns.push(Segment::Close(Section::Ice));
                Ok(Shot::Turns(turns))
            }
        }
    }

    /// The question alone, as a shot repeats it: what stands before the ice token introduces the whole prompt.
    ///
    /// # Errors
    /// As [`Form::prompt`]; and for rounds, which are not text.
    pub(super) fn question(&self, row: &Row, token: &str) -> Result<String, String> {
        match self {
            Self::Text(text) if token.is_empty() => Ok(fill(text, row, None)),
            Self::Text(text) => {
                let question = text.rsplit_once(token).map_or(*text, |(_, after)| after);
                Ok(fill(question, row, None))
            }
            Self::Jinja(source) => {
                let text = jinja::text(source, row)?;
                let question = if token.is_empty() { None } else { text.rsplit_once(token) };
                Ok(question.map_or(text.as_str(), |(_, after)| after).to_owned())
            }
            Self::Rounds(_) => Err("is asked in rounds: write its shots as an `ice_template`".into()),
        }
    }
}

/// A filled template in two: what stands before its first brace is the same for every row, the rest is the row's own.
fn cut_off(template: &str, filled: String) -> Vec<Segment> {
    let alike = template.find('{').unwrap_or(0);
    match (filled.split_at_checked(alike), template.get(..alike)) {
        (Some((start, own)), Some(head)) if !head.is_empty() && start == head && !own.is_empty() => {
            vec![Segment::Header(head.to_owned()), Segment::Question(own.to_owned())]
        }
        _ => vec![Segment::Question(filled)],
    }
}

/// The same, not cut: what a role always says is the same for every row.
fn in_one(template: &str, filled: String) -> Vec<Segment> {
    vec![if template.contains('{') { Segment::Question(filled) } else { Segment::Header(filled) }]
}

/// Takes the message that asks from the end of what stands before the dialogue: one that came out of a column is known only
/// now.
fn last_of_user(segments: &mut Vec<Segment>, wanted: bool) -> Option<Segment> {
    let before = segments.len().checked_sub(2)?;
    match segments.get(before) {
        Some(Segment::Turn(turn)) if wanted && turn.role == "user" => Some(segments.remove(before)),
        _ => None,
    }
}

struct Filler<'a> {
    row: &'a Row,
    blank: Option<&'a str>,
    place: IceContent<'a>,
    /// Set once the place of the shots has been passed.
    after_shots: bool,
}

impl Filler<'_> {
    fn line(&mut self, line: &TemplateLine, segments: &mut Vec<Segment>) -> Result<(), String> {
        let segment = match line {
            TemplateLine::Text(text) => Segment::Item(Prompt(self.pieces(text, in_one))),
            TemplateLine::Expand(column) => {
                segments.extend(chat::messages(self.row, column)?.into_iter().map(|turn| {
                    let fallback_role = Some(messages::api_role(&turn.role).to_owned());
                    let prompt = Some(Prompt::question(turn.content));
                    Segment::Turn(Turn { role: turn.role, fallback_role, prompt, ..Turn::default() })
                }));
                return Ok(());
            }
            TemplateLine::Role(role) => Segment::Turn(Turn {
                role: role.role.clone(),
                fallback_role: role.fallback_role.clone(),
                begin: role.begin.clone(),
                end: role.end.clone(),
                prompt: role.prompt.as_ref().map(|prompt| Prompt(self.pieces(prompt, in_one))),
            }),
        };
        segments.push(segment);
        Ok(())
    }

    /// A text filled from the row, cut where its shots go; `after` makes segments of what stands after them. Empty stretches
    /// are left out.
    fn pieces(&mut self, text: &str, after: fn(&str, String) -> Vec<Segment>) -> Vec<Segment> {
        let mut segments = Vec::new();
        let text = self.place.without_separator(text);
        let text = text.as_ref();
        let pieces: Vec<&str> = match self.place.token {
            "" => vec![text],
            token => text.split(token).collect(),
        };
        for (at, piece) in pieces.into_iter().enumerate() {
            if at > 0 {
                self.after_shots = true;
                if self.place.shows_shots {
                    segments.push(Segment::Shots);
                }
            }
            let text = fill(piece, self.row, self.blank);
            match (text.is_empty(), self.after_shots) {
                (true, _) => {}
                (false, false) => segments.push(Segment::Header(text)),
                (false, true) => segments.extend(after(piece, text)),
            }
        }
        segments
    }

    /// Returns what Jinja made of a row, cut where its shots go. The text before them is a header where no expression made it.
    fn rendered(&self, source: &str, text: &str) -> Vec<Segment> {
        let text = self.place.without_separator(text);
        let alike = source.split(self.place.token).next().is_some_and(|head| !head.contains('{'));
        let mut segments = Vec::new();
        for (at, piece) in text.split(self.place.token).enumerate() {
            if at > 0 && self.place.shows_shots {
                segments.push(Segment::Shots);
            }
            match (piece.is_empty(), at == 0 && alike) {
                (true, _) => {}
                (false, true) => segments.push(Segment::Header(piece.to_owned())),
                (false, false) => segments.push(Segment::Question(piece.to_owned())),
            }
        }
        segments
    }

    fn without_token(&self, text: &str) -> String {
        let token = self.place.token;
        if token.is_empty() { fill(text, self.row, None) } else { fill(&text.replace(token, ""), self.row, None) }
    }
}
