//! `csv.reader` and `csv.DictReader`: the states of CPython's reader. A quote opens a field at its beginning alone.

use super::host::text;
use crate::error::{Result, Stop};
use crate::evaluate::{Arguments, Interpreter};
use crate::place::Place;
use crate::value::{Dict, Slot, Value};
use std::rc::Rc;

/// Format in which a file is written.
struct Dialect {
    delimiter: char,
    /// `None` where nothing is quoted.
    quote: Option<char>,
    is_initial_space_skipped: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Field,
    Quoted,
    /// After a quote inside a quoted field: the end of it, or half of a quote.
    QuoteInQuoted,
}

pub(super) fn call(interpreter: &mut Interpreter<'_>, name: &str, mut arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    let delimiter = arguments.take("delimiter").map(|slot| slot.value);
    let quote = arguments.take("quotechar").map(|slot| slot.value);
    let is_initial_space_skipped = arguments.take("skipinitialspace").is_some_and(|slot| slot.value.is_true());
    let fieldnames = arguments.take("fieldnames").map(|slot| slot.value);
    let one = |value: Option<Value>, default: char| -> Result<char> {
        let Some(value) = value else { return Ok(default) };
        let written = text(Some(value), "csv")?;
        let mut chars = written.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => Ok(c),
            _ => Err(Stop::new("TypeError", "\"delimiter\" must be a 1-character string")),
        }
    };
    let dialect = Dialect { delimiter: one(delimiter, ',')?, quote: Some(one(quote, '"')?), is_initial_space_skipped };
    if let Some((keyword, at, _)) = arguments.keywords.first() {
        return Err(Stop::unsupported(format!("`{keyword}` of `csv.{name}`")).at(*at));
    }
    let [lines] = arguments.bind(name, ["csvfile"], 1)?;
    let lines = interpreter.items(&lines.unwrap_or(Value::None), place)?;
    let rows = rows(interpreter, &lines, &dialect)?;
    let listed = |row: Vec<String>| Value::list_at(row.into_iter().map(Value::text), place);
    if name == "reader" {
        return Ok(Value::iterator(rows.into_iter().map(|row| Slot { value: listed(row), place })));
    }
    let mut rows = rows.into_iter();
    let names: Vec<Rc<str>> = match fieldnames {
        Some(names) if !matches!(names, Value::None) => {
            let names = interpreter.items(&names, place)?;
            names.into_iter().map(|slot| text(Some(slot.value), "fieldnames")).collect::<Result<_>>()?
        }
        _ => rows.next().unwrap_or_default().into_iter().map(Rc::from).collect(),
    };
    let dicts = rows.filter(|row| !row.is_empty()).map(|row| Slot { value: dict(&names, row, place), place });
    Ok(Value::iterator(dicts.collect::<Vec<_>>()))
}

fn dict(names: &[Rc<str>], row: Vec<String>, place: Place) -> Value {
    let mut dict = Dict::default();
    let mut fields = row.into_iter();
    for name in names {
        let value = fields.next().map_or(Value::None, Value::text);
        dict.insert_text(name, place, Slot { value, place });
    }
    let rest: Vec<Value> = fields.map(Value::text).collect();
    if !rest.is_empty() {
        let key = Slot { value: Value::None, place };
        // `None` is hashable.
        let _ = dict.insert(key, Slot { value: Value::list_at(rest, place), place });
    }
    Value::dict(dict)
}

fn rows(interpreter: &mut Interpreter<'_>, lines: &[Slot], dialect: &Dialect) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    let mut row: Vec<String> = Vec::new();
    let mut field = String::new();
    let mut state = State::Start;
    let mut has_begun = false;
    for line in lines {
        let Value::Text(line) = &line.value else {
            let kind = line.value.type_name();
            return Err(Stop::new("ValueError", format!("iterator should return strings, not {kind}")));
        };
        interpreter.budget.step()?;
        interpreter.budget.make(line.len() * 2)?;
        let body = line.trim_end_matches(['\n', '\r']);
        if state != State::Quoted && body.contains(['\n', '\r']) {
            let text = "new-line character seen in unquoted field - do you need to open the file with newline=''?";
            return Err(Stop::new("ValueError", text));
        }
        for c in line.chars() {
            let is_end = matches!(c, '\n' | '\r');
            match state {
                State::Start | State::Field if is_end => break,
                State::Start if Some(c) == dialect.quote => {
                    state = State::Quoted;
                    has_begun = true;
                }
                State::Start if c == ' ' && dialect.is_initial_space_skipped => {}
                State::Start | State::Field if c == dialect.delimiter => {
                    row.push(std::mem::take(&mut field));
                    state = State::Start;
                    has_begun = true;
                }
                State::Start | State::Field => {
                    field.push(c);
                    state = State::Field;
                    has_begun = true;
                }
                State::Quoted if Some(c) == dialect.quote => state = State::QuoteInQuoted,
                State::Quoted => field.push(c),
                State::QuoteInQuoted if Some(c) == dialect.quote => {
                    field.push(c);
                    state = State::Quoted;
                }
                State::QuoteInQuoted if c == dialect.delimiter => {
                    row.push(std::mem::take(&mut field));
                    state = State::Start;
                }
                State::QuoteInQuoted if is_end => break,
                State::QuoteInQuoted => {
                    field.push(c);
                    state = State::Field;
                }
            }
        }
        if state == State::Quoted {
            continue;
        }
        if has_begun {
            row.push(std::mem::take(&mut field));
        }
        rows.push(std::mem::take(&mut row));
        state = State::Start;
        has_begun = false;
    }
    if state == State::Quoted {
        row.push(field);
        rows.push(row);
    }
    Ok(rows)
}
