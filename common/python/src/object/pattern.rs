//! Patterns of Python's `re`: compiled by `fancy-regex` after the translation of the dialects, searched as `re` searches.
//!
//! An empty match may touch the end of the match before it, as in Python since 3.7; one difference remains: where Python would
//! then look for a longer match at the same place, the search continues one character further.

use super::{Object, value};
use crate::error::{Result, Stop, attribute_error, type_error};
use crate::evaluate::{Arguments, Interpreter};
use crate::place::Place;
use crate::value::{Dict, Slot, Value, repr};
use compass_pyfmt::{Dollar, translate};
use std::cell::OnceCell;
use std::rc::Rc;

/// Most steps back that a pattern may take on one text.
const STEPS: usize = 10_000_000;

pub(crate) const IGNORE_CASE: i128 = 2;
pub(crate) const MULTI_LINE: i128 = 8;
pub(crate) const DOT_ALL: i128 = 16;
pub(crate) const UNICODE: i128 = 32;

/// `re.compile(written, flags)`.
#[derive(Debug)]
pub(crate) struct Pattern {
    written: String,
    flags: i128,
    search: fancy_regex::Regex,
    begins: OnceCell<fancy_regex::Regex>,
    whole: OnceCell<fancy_regex::Regex>,
}

/// A match: where it and its groups lie, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Match {
    text: Rc<str>,
    groups: Vec<Option<(usize, usize)>>,
    names: Rc<[Option<String>]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Search,
    Match,
    Full,
}

impl Pattern {
    fn new(written: &str, flags: i128) -> Result<Self> {
        if flags & !(IGNORE_CASE | MULTI_LINE | DOT_ALL | UNICODE) != 0 {
            return Err(Stop::unsupported("flags of `re` other than IGNORECASE, MULTILINE and DOTALL"));
        }
        let search = build(written, flags, "", "")?;
        Ok(Self { written: written.to_owned(), flags, search, begins: OnceCell::new(), whole: OnceCell::new() })
    }

    pub(super) fn written(&self) -> &str {
        &self.written
    }

    pub(super) fn shown(&self) -> String {
        repr(&Value::text(self.written.as_str()))
    }

    fn regex(&self, how: How) -> Result<&fancy_regex::Regex> {
        let (cell, end) = match how {
            How::Search => return Ok(&self.search),
            How::Match => (&self.begins, ")"),
            How::Full => (&self.whole, r")\Z"),
        };
        if let Some(regex) = cell.get() {
            return Ok(regex);
        }
        let regex = build(&self.written, self.flags, r"\A(?:", end)?;
        Ok(cell.get_or_init(|| regex))
    }

    fn find(&self, how: How, text: &Rc<str>, from: usize) -> Result<Option<Match>> {
        let regex = self.regex(how)?;
        let found = regex.captures_from_pos(text, from).map_err(|_| {
            Stop::unsupported(format!("the pattern {} takes more than {STEPS} steps on a text", self.shown()))
        })?;
        Ok(found.map(|captures| Match {
            text: Rc::clone(text),
            groups: captures.iter().map(|group| group.map(|group| (group.start(), group.end()))).collect(),
            names: self.search.capture_names().map(|name| name.map(str::to_owned)).collect(),
        }))
    }

    /// `finditer`.
    fn find_all(&self, interpreter: &mut Interpreter<'_>, text: &Rc<str>) -> Result<Vec<Match>> {
        let (mut found, mut at, mut empty_at) = (Vec::new(), 0, None);
        while let Some(next) = self.find(How::Search, text, at)? {
            interpreter.budget.step()?;
            let (start, end) = next.span(0).unwrap_or((at, at));
            if start == end && empty_at == Some(end) {
                let Some(next) = text.get(at..).and_then(|rest| rest.chars().next()) else { break };
                at += next.len_utf8();
                continue;
            }
            empty_at = (start == end).then_some(end);
            at = end;
            interpreter.budget.make(next.groups.len() * 32)?;
            found.push(next);
        }
        Ok(found)
    }
}

fn build(written: &str, flags: i128, before: &str, after: &str) -> Result<fancy_regex::Regex> {
    let mut set = String::new();
    for (flag, letter) in [(IGNORE_CASE, 'i'), (MULTI_LINE, 'm'), (DOT_ALL, 's')] {
        if flags & flag != 0 {
            set.push(letter);
        }
    }
    let prefix = if set.is_empty() { String::new() } else { format!("(?{set})") };
    let translated = translate(&format!("{prefix}{before}{written}{after}"), Dollar::BeforeLastNewline);
    fancy_regex::RegexBuilder::new(&translated).backtrack_limit(STEPS).build().map_err(|error| {
        let pattern = repr(&Value::text(written));
        Stop::unsupported(format!("the pattern {pattern} cannot be used: {error}"))
    })
}

impl Match {
    fn span(&self, group: usize) -> Option<(usize, usize)> {
        self.groups.get(group).copied().flatten()
    }

    /// An attribute that is not a method.
    pub(super) fn attribute(&self, name: &str) -> Option<Value> {
        // The group that was closed last: of the groups that end at one place, the outermost, which has the lowest number.
        let last = (1..self.groups.len()).filter(|group| self.span(*group).is_some());
        let last = last.max_by_key(|group| (self.span(*group).map(|(_, end)| end), std::cmp::Reverse(*group)));
        Some(match name {
            "string" => Value::Text(Rc::clone(&self.text)),
            "pos" => Value::Int(0),
            "endpos" => Value::Int(self.text.chars().count() as i128),
            "lastindex" => last.map_or(Value::None, |group| Value::Int(group as i128)),
            "lastgroup" => {
                let name = last.and_then(|group| self.names.get(group).cloned().flatten());
                name.map_or(Value::None, Value::text)
            }
            _ => return None,
        })
    }

    fn text_of(&self, group: usize) -> Value {
        let part = self.span(group).and_then(|(start, end)| self.text.get(start..end));
        part.map_or(Value::None, Value::text)
    }

    fn position(&self, key: &Value) -> Result<usize> {
        let at = match key {
            Value::Text(name) => self.names.iter().position(|known| known.as_deref() == Some(name)),
            other => other.as_int().and_then(|at| usize::try_from(at).ok()).filter(|at| *at < self.groups.len()),
        };
        at.ok_or_else(|| Stop::new("IndexError", "no such group"))
    }

    pub(super) fn group(&self, key: &Value) -> Result<Value> {
        Ok(self.text_of(self.position(key)?))
    }
}

/// The pattern of a text, or the pattern itself.
pub(crate) fn compiled(interpreter: &mut Interpreter<'_>, pattern: &Value, flags: i128) -> Result<Rc<Object>> {
    match pattern {
        Value::Object(object) if matches!(&**object, Object::Pattern(_)) => Ok(Rc::clone(object)),
        Value::Text(written) => {
            let key = (Rc::clone(written), flags);
            let known = interpreter.library.as_ref().and_then(|tree| tree.patterns.get(&key).cloned());
            if let Some(known) = known {
                return Ok(known);
            }
            interpreter.budget.make(written.len() * 64)?;
            let made = Rc::new(Object::Pattern(Box::new(Pattern::new(written, flags)?)));
            if let Some(tree) = &mut interpreter.library {
                tree.patterns.insert(key, Rc::clone(&made));
            }
            Ok(made)
        }
        other => {
            Err(type_error(format!("first argument must be string or compiled pattern, not {}", other.type_name())))
        }
    }
}

pub(super) fn call(
    interpreter: &mut Interpreter<'_>,
    object: &Rc<Object>,
    pattern: &Pattern,
    name: &str,
    mut arguments: Arguments,
) -> Result<Value> {
    let place = arguments.place;
    let subject = |value: Option<Value>| match value {
        Some(Value::Text(text)) => Ok(text),
        other => {
            let kind = other.as_ref().map_or("NoneType", Value::type_name);
            Err(type_error(format!("expected string or bytes-like object, got '{kind}'")))
        }
    };
    let _ = object;
    match name {
        "search" | "match" | "fullmatch" => {
            let [text] = arguments.bind(name, ["string"], 1)?;
            let how = match name {
                "search" => How::Search,
                "match" => How::Match,
                _ => How::Full,
            };
            let found = pattern.find(how, &subject(text)?, 0)?;
            Ok(found.map_or(Value::None, |found| value(Object::Match(found))))
        }
        "findall" => {
            let [text] = arguments.bind(name, ["string"], 1)?;
            let found = pattern.find_all(interpreter, &subject(text)?)?;
            let empty = |value: Value| if matches!(value, Value::None) { Value::text("") } else { value };
            let values = found.iter().map(|found| match found.groups.len() {
                1 => found.text_of(0),
                2 => empty(found.text_of(1)),
                many => Value::tuple_at((1..many).map(|at| empty(found.text_of(at))), place),
            });
            Ok(Value::list_at(values, place))
        }
        "finditer" => {
            let [text] = arguments.bind(name, ["string"], 1)?;
            let found = pattern.find_all(interpreter, &subject(text)?)?;
            Ok(Value::iterator(found.into_iter().map(|found| Slot { value: value(Object::Match(found)), place })))
        }
        "split" => {
            let [text, most] = arguments.bind(name, ["string", "maxsplit"], 1)?;
            let text = subject(text)?;
            let most = most.and_then(|most| most.as_int()).filter(|most| *most > 0);
            let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
            let mut parts = Vec::new();
            let mut from = 0;
            for found in pattern.find_all(interpreter, &text)?.iter().take(most) {
                let (start, end) = found.span(0).unwrap_or((from, from));
                parts.push(Value::text(text.get(from..start).unwrap_or_default()));
                parts.extend((1..found.groups.len()).map(|at| found.text_of(at)));
                from = end;
            }
            parts.push(Value::text(text.get(from..).unwrap_or_default()));
            Ok(Value::list_at(parts, place))
        }
        "sub" | "subn" => {
            let count = arguments.take("count").map(|slot| slot.value);
            let [replacement, text, by_position] = arguments.bind(name, ["repl", "string", "count "], 2)?;
            let text = subject(text)?;
            let count = count.or(by_position).and_then(|count| count.as_int()).filter(|count| *count > 0);
            let count = count.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
            let replacement = replacement.unwrap_or(Value::None);
            let mut out = String::with_capacity(text.len());
            let (mut from, mut made) = (0, 0);
            for found in pattern.find_all(interpreter, &text)?.into_iter().take(count) {
                let (start, end) = found.span(0).unwrap_or((from, from));
                out.push_str(text.get(from..start).unwrap_or_default());
                match &replacement {
                    Value::Text(template) => expand(&found, template, &mut out)?,
                    function => {
                        let found = Slot { value: value(Object::Match(found)), place };
                        let given = interpreter.call(function, Arguments::of(vec![found], place))?;
                        let Value::Text(given) = &given else {
                            return Err(type_error(format!("expected str instance, {} found", given.type_name())));
                        };
                        out.push_str(given);
                    }
                }
                from = end;
                made += 1;
                interpreter.budget.make(out.len() / (made as usize))?;
            }
            out.push_str(text.get(from..).unwrap_or_default());
            interpreter.budget.make(out.len())?;
            let out = Value::text(out);
            Ok(if name == "sub" { out } else { Value::tuple_at([out, Value::Int(made)], place) })
        }
        _ => Err(attribute_error(format!("'re.Pattern' object has no attribute '{name}'")).finally()),
    }
}

/// A replacement with its `\1` and `\g<name>`.
fn expand(found: &Match, template: &str, out: &mut String) -> Result<()> {
    let mut rest = template.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(escaped) = rest.next() else {
            return Err(Stop::unsupported("a replacement that ends in a backslash"));
        };
        let key = match escaped {
            'n' => {
                out.push('\n');
                continue;
            }
            't' => {
                out.push('\t');
                continue;
            }
            'r' => {
                out.push('\r');
                continue;
            }
            'g' => {
                let name: String = rest.by_ref().skip(1).take_while(|c| *c != '>').collect();
                match name.parse::<i128>() {
                    Ok(number) => Value::Int(number),
                    Err(_) => Value::text(name),
                }
            }
            '0' => return Err(Stop::unsupported("octal escapes in a replacement")),
            digit if digit.is_ascii_digit() => {
                let mut number = String::from(digit);
                if let Some(second) = rest.next_if(char::is_ascii_digit) {
                    number.push(second);
                }
                Value::Int(number.parse().unwrap_or(0))
            }
            letter if letter.is_ascii_alphabetic() => {
                return Err(Stop::new("ValueError", format!("bad escape \\{letter} at position 0")));
            }
            '\\' => {
                out.push('\\');
                continue;
            }
            other => {
                out.extend(['\\', other]);
                continue;
            }
        };
        let position = found.position(&key).map_err(|_| Stop::new("IndexError", "invalid group reference"))?;
        if let Value::Text(part) = found.text_of(position) {
            out.push_str(&part);
        }
    }
    Ok(())
}

pub(super) fn call_match(found: &Match, name: &str, arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    match name {
        "group" => match arguments.positional.as_slice() {
            [] => Ok(found.text_of(0)),
            [one] => found.group(&one.value),
            many => {
                let groups: Result<Vec<Value>> = many.iter().map(|slot| found.group(&slot.value)).collect();
                Ok(Value::tuple_at(groups?, place))
            }
        },
        "groups" => {
            let [default] = arguments.bind(name, ["default"], 0)?;
            let default = default.unwrap_or(Value::None);
            let value = |at| match found.text_of(at) {
                Value::None => default.clone(),
                text => text,
            };
            Ok(Value::tuple_at((1..found.groups.len()).map(value), place))
        }
        "groupdict" => {
            let mut dict = Dict::default();
            for (at, name) in found.names.iter().enumerate() {
                if let Some(name) = name {
                    dict.insert_text(name, place, Slot { value: found.text_of(at), place });
                }
            }
            Ok(Value::dict(dict))
        }
        "start" | "end" | "span" => {
            let [group] = arguments.bind(name, ["group"], 0)?;
            let at = found.position(&group.unwrap_or(Value::Int(0)))?;
            let chars = |at: usize| Value::Int(crate::value::find_char(&found.text, at) as i128);
            let (start, end) = match found.span(at) {
                Some((start, end)) => (chars(start), chars(end)),
                None => (Value::Int(-1), Value::Int(-1)),
            };
            Ok(match name {
                "start" => start,
                "end" => end,
                _ => Value::tuple_at([start, end], Place::default()),
            })
        }
        _ => Err(attribute_error(format!("'re.Match' object has no attribute '{name}'")).finally()),
    }
}
