//! Row expressions carried out on one row. The grammar stands with the types in `compass_config`.

use crate::Row;
use crate::bytes;
use crate::error::DataError;
use crate::json_lines::kind_of;
use crate::list_expression;
use compass_pyfmt::literal;
use compass_pyfmt::{digits_beyond_64_bits, python_str, with_texts};
use compass_settings::{Cast, Expression, Group, Key, Pattern, Piece, ReadLimits};
use regex::{Captures, Regex};
use serde_json::{Number, Value};

/// An expression with its regular expression compiled, and the text of the file that it names.
#[derive(Debug)]
pub(crate) struct Compiled<'s> {
    expression: &'s Expression,
    regex: Option<Regex>,
    text: Option<String>,
}

/// Lack of a row for a column; the `default` of the column stands in.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Lacking(pub(crate) String);

/// A row holds what an expression cannot be applied to: no default stands in.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("`{path}` is {found}, not {wanted}")]
    Kind { path: String, found: String, wanted: &'static str },
    #[error("`{path}` is {found}, which no letter stands for")]
    NoLetter { path: String, found: String },
    #[error("`{path}` is {why}")]
    NoLiteral { path: String, why: String },
    #[error("{found} is not {wanted}")]
    NoNumber { found: String, wanted: &'static str },
}

impl Unfit {
    pub(crate) fn kind(path: &str, found: impl Into<String>, wanted: &'static str) -> Self {
        Self::Kind { path: path.to_owned(), found: found.into(), wanted }
    }
}

/// Value of a column, or the statement that there is nothing to compute it from.
pub(crate) enum Found {
    Value(Value),
    Nothing(Lacking),
}

impl<'s> Compiled<'s> {
    /// # Errors
    /// The regular expression cannot be read (a checked configuration has none such), or the file of `text_of` cannot.
    pub(crate) fn new(expression: &'s Expression) -> Result<Self, DataError> {
        let text = match expression {
            Expression::Capture { regex, .. } | Expression::Replace { find: Pattern::Regex(regex), .. } => Some(regex),
            _ => None,
        };
        let regex = text.map(|text| Regex::new(text)).transpose();
        let regex = regex.map_err(|error| DataError::Split(error.to_string()))?;
        let text = match expression {
            Expression::TextOf { file } => {
                let text = String::from_utf8(bytes::load(file, ReadLimits::default())?);
                let damaged = |reason| DataError::Damaged { path: file.clone(), reason };
                Some(text.map_err(|error| damaged(format!("not UTF-8: {error}")))?)
            }
            _ => None,
        };
        Ok(Self { expression, regex, text })
    }

    /// The value for `row`, which is number `at` of the files; `beside` is that of another file, which `lines_of` and
    /// `rows_of` take.
    ///
    /// # Errors
    /// The row holds what the expression cannot be applied to.
    pub(crate) fn value(&self, row: &Row, at: usize, beside: Option<&Value>) -> Result<Found, Unfit> {
        let of = match self.expression {
            Expression::Const { value } => return Ok(Found::Value(value.clone())),
            Expression::LinesOf { .. } => return Ok(Found::Value(beside.cloned().unwrap_or_default())),
            Expression::RowsOf { column, .. } => return Ok(present(beside, column).cloned().into()),
            Expression::TextOf { .. } => return Ok(Found::Value(self.text.clone().into())),
            Expression::List { of } => {
                let values: Option<Vec<Value>> = of.iter().map(|path| look_up(row, path).cloned()).collect();
                let missing = || of.iter().find(|path| look_up(row, path).is_none()).map_or("", String::as_str);
                return Ok(match values {
                    Some(values) => Found::Value(Value::Array(values)),
                    None => Found::Nothing(Lacking(format!("there is no `{}`", missing()))),
                });
            }
            Expression::Object { of } => {
                let values = of.iter().filter_map(|path| Some((path.clone(), look_up(row, path)?.clone())));
                return Ok(Found::Value(Value::Object(values.collect())));
            }
            Expression::Format { template } => return Ok(fill(template, row, None).map(Value::String).into()),
            Expression::Join { of, with } => {
                let texts: Result<Vec<String>, Lacking> =
                    of.iter().map(|path| found(row, path).map(python_str)).collect();
                return Ok(texts.map(|texts| texts.join(with).into()).into());
            }
            Expression::FirstOf { of } => return Ok(list_expression::first_of(row, of).into()),
            Expression::Cycle { values } => {
                return Ok(Found::Value(values.get(at % values.len().max(1)).cloned().unwrap_or_default()));
            }
            Expression::Number { base } => return Ok(Found::Value((at as i64).saturating_add(*base).into())),
            Expression::From { of }
            | Expression::Items { of, .. }
            | Expression::Splice { of, .. }
            | Expression::Upper { of, .. }
            | Expression::JoinItems { of, .. }
            | Expression::Split { of, .. }
            | Expression::Item { of, .. }
            | Expression::LetterOf { of, .. }
            | Expression::IndexOf { of, .. }
            | Expression::Map { of, .. }
            | Expression::Capture { of, .. }
            | Expression::Replace { of, .. }
            | Expression::Strip { of, .. }
            | Expression::Json { of } => of,
        };
        match found(row, of) {
            Ok(value) => self.of(value, of, row),
            Err(nothing) => Ok(Found::Nothing(nothing)),
        }
    }

    /// The value made of the one at `path`.
    fn of(&self, value: &Value, path: &str, row: &Row) -> Result<Found, Unfit> {
        let text = || text_of(value, path);
        Ok(match self.expression {
            Expression::JoinItems { with, each: None, skip, .. } => {
                let items = list_of(value, path)?.iter().filter(|item| !skip.contains(item));
                Found::Value(items.map(python_str).collect::<Vec<_>>().join(with).into())
            }
            Expression::JoinItems { with, each: Some(each), skip, .. } => {
                list_expression::joined(list_of(value, path)?, each, skip, row)
                    .map(|texts| texts.join(with).into())
                    .into()
            }
            Expression::Items { at, order, unique, .. } => {
                let order = match order {
                    None => None,
                    Some(order) => match found(row, order) {
                        Err(nothing) => return Ok(Found::Nothing(nothing)),
                        Ok(positions) => Some((list_of(positions, order)?, order.as_str())),
                    },
                };
                list_expression::items(list_of(value, path)?, path, at.as_ref(), order, *unique, row)?
            }
            Expression::Splice { by, spans, .. } => list_expression::splice(&text()?, path, by, spans, row)?,
            Expression::Upper { first, .. } => {
                let text = text()?;
                let mut characters = text.chars();
                Found::Value(match characters.next().filter(|_| *first) {
                    Some(letter) => letter.to_uppercase().chain(characters).collect::<String>().into(),
                    None => text.to_uppercase().into(),
                })
            }
            Expression::Split { by, at, .. } => {
                let text = text()?;
                let parts: Vec<Value> = text.split(by.as_str()).map(Value::from).collect();
                match at {
                    None => Found::Value(parts.into()),
                    Some(at) => item(&parts, *at, path),
                }
            }
            Expression::Item { at, .. } => place(value, at, path, row)?,
            Expression::LetterOf { base, .. } => Found::Value(letter(value, path, *base)?.into()),
            Expression::IndexOf { base, list: None, .. } => Found::Value(index(&text()?, path, *base)?.into()),
            Expression::IndexOf { base, list: Some(list), .. } => match found(row, list) {
                Err(nothing) => Found::Nothing(nothing),
                Ok(items) => match list_of(items, list)?.iter().position(|item| item == value) {
                    Some(at) => Found::Value((at as i64 + base).into()),
                    None => Found::Nothing(Lacking(format!("`{path}` is {}, which is not in `{list}`", short(value)))),
                },
            },
            Expression::Map { to, .. } => match to.iter().find(|(key, _)| names(key, value)) {
                Some((_, value)) => Found::Value(value.clone()),
                None => Found::Nothing(Lacking(format!("`{path}` is {}, which `to` does not have", short(value)))),
            },
            Expression::Capture { group, .. } => {
                let text = text()?;
                let captured = self.regex.as_ref().and_then(|regex| regex.captures(&text));
                let captured = captured.and_then(|captured| match group {
                    Group::Number(number) => captured.get(*number).map(|found| found.as_str().to_owned()),
                    Group::Name(name) => captured.name(name).map(|found| found.as_str().to_owned()),
                });
                match captured {
                    Some(text) => Found::Value(text.into()),
                    None => {
                        let what = format!("the regex finds nothing in `{path}`, which is {}", short(value));
                        Found::Nothing(Lacking(what))
                    }
                }
            }
            Expression::Replace { find: Pattern::Literal(find), by, .. } => {
                let text = text()?;
                fill(by, row, None).map(|by| text.replace(find.as_str(), &by).into()).into()
            }
            Expression::Replace { by, .. } => self.replaced(&text()?, by, row).map(Value::String).into(),
            Expression::Strip { chars, .. } => {
                let is_off = |c: char| match chars {
                    Some(chars) => chars.contains(c),
                    // What Python's `str.strip` takes off.
                    None => c.is_whitespace() || ('\x1c'..='\x1f').contains(&c),
                };
                Found::Value(text()?.trim_matches(is_off).into())
            }
            Expression::Json { .. } => match value {
                Value::String(text) => {
                    let literal = literal::parse(text);
                    Found::Value(literal.map_err(|why| Unfit::NoLiteral { path: path.to_owned(), why })?)
                }
                // Some rows of a set hold the list itself.
                other => Found::Value(other.clone()),
            },
            _ => Found::Value(value.clone()),
        })
    }

    fn replaced(&self, text: &str, by: &[Piece], row: &Row) -> Result<String, Lacking> {
        let Some(regex) = &self.regex else { return Ok(text.to_owned()) };
        let mut replaced = String::new();
        let mut from = 0;
        for captured in regex.captures_iter(text) {
            let Some(whole) = captured.get(0) else { continue };
            replaced.push_str(&text[from..whole.start()]);
            replaced.push_str(&fill(by, row, Some(&captured))?);
            from = whole.end();
        }
        replaced.push_str(&text[from..]);
        Ok(replaced)
    }
}

impl From<Result<Value, Lacking>> for Found {
    fn from(result: Result<Value, Lacking>) -> Self {
        result.map_or_else(Self::Nothing, Self::Value)
    }
}

/// The value at a path, if it is there: the column of that whole name, or a place inside the column of its first part.
pub(crate) fn look_up<'r>(row: &'r Row, path: &str) -> Option<&'r Value> {
    row.get(path).or_else(|| {
        let (column, inside) = path.split_once('.')?;
        inside.split('.').try_fold(row.get(column)?, |value, step| match value {
            Value::Object(entries) => entries.get(step),
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    })
}

/// Returns the value at a place of a list or an object.
pub(crate) fn place(value: &Value, at: &Key, path: &str, row: &Row) -> Result<Found, Unfit> {
    Ok(match at {
        Key::At(at) => item(list_of(value, path)?, *at, path),
        Key::Name(name) => {
            let object = value.as_object().ok_or_else(|| Unfit::kind(path, kind_of(value), "an object"))?;
            present(object.get(name), &format!("{path}.{name}")).cloned().into()
        }
        Key::Column(column) => match found(row, column) {
            Err(nothing) => Found::Nothing(nothing),
            Ok(Value::String(name)) => place(value, &Key::Name(name.clone()), path, row)?,
            Ok(number) => place(value, &Key::At(position(number, column)?), path, row)?,
        },
    })
}

/// A position in a list.
pub(crate) fn position(value: &Value, path: &str) -> Result<i64, Unfit> {
    value.as_i64().ok_or_else(|| Unfit::kind(path, short(value), "a position"))
}

pub(crate) fn found<'r>(row: &'r Row, path: &str) -> Result<&'r Value, Lacking> {
    present(look_up(row, path), path)
}

fn present<'r>(value: Option<&'r Value>, path: &str) -> Result<&'r Value, Lacking> {
    match value {
        None => Err(Lacking(format!("there is no `{path}`"))),
        Some(Value::Null) => Err(Lacking(format!("`{path}` is null"))),
        Some(value) => Ok(value),
    }
}

pub(crate) fn fill(template: &[Piece], row: &Row, captured: Option<&Captures<'_>>) -> Result<String, Lacking> {
    let mut text = String::new();
    for piece in template {
        match (piece, captured) {
            (Piece::Text(piece), _) => text.push_str(piece),
            (Piece::Path(path), Some(captured)) if path.parse::<usize>().is_ok() => {
                let group = path.parse().ok().and_then(|group: usize| captured.get(group));
                text.push_str(group.map_or("", |group| group.as_str()));
            }
            (Piece::Path(path), _) => text.push_str(&python_str(found(row, path)?)),
        }
    }
    Ok(text)
}

pub(crate) fn item(items: &[Value], at: i64, path: &str) -> Found {
    let from_start = if at < 0 { at + items.len() as i64 } else { at };
    match usize::try_from(from_start).ok().and_then(|at| items.get(at)) {
        Some(value) => Found::Value(value.clone()),
        None => Found::Nothing(Lacking(format!("`{path}` has {} items, none at {at}", items.len()))),
    }
}

fn letter(value: &Value, path: &str, base: i64) -> Result<String, Unfit> {
    let number = value.as_i64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()));
    let letter = number.and_then(|number| u8::try_from(number.checked_sub(base)?).ok()).filter(|at| *at < 26);
    match letter {
        Some(at) => Ok(char::from(b'A' + at).to_string()),
        None => Err(Unfit::NoLetter { path: path.to_owned(), found: short(value) }),
    }
}

fn index(text: &str, path: &str, base: i64) -> Result<i64, Unfit> {
    match text.trim().as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Ok(i64::from(letter.to_ascii_uppercase() - b'A') + base),
        _ => Err(Unfit::kind(path, short(&text.into()), "one letter")),
    }
}

/// Returns whether a key of `to` names the value: as a prompt prints it, or as JSON writes it (`true`, `null`).
fn names(key: &str, value: &Value) -> bool {
    let as_json = if value.is_string() { None } else { Some(value.to_string()) };
    python_str(value) == key || as_json.is_some_and(|json| json == key)
}

/// The value as a type, for `as`.
///
/// # Errors
/// It is none.
pub(crate) fn cast(value: Value, cast: Cast) -> Result<Value, Unfit> {
    let number = match (&value, cast) {
        (_, Cast::Text) => return Ok(python_str(&value).into()),
        (Value::Bool(flag), Cast::Int) => Some(Number::from(i64::from(*flag))),
        (Value::Number(number), Cast::Int) => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 2f64.powi(53));
            number.as_i64().or(whole.map(|float| float as i64)).map(Number::from)
        }
        (Value::String(text), Cast::Int) => text.trim().parse::<i64>().ok().map(Number::from),
        (Value::Number(number), Cast::Float) => number.as_f64().and_then(Number::from_f64),
        (number, Cast::Int) if digits_beyond_64_bits(number).is_some() => return Ok(value),
        (number, Cast::Float) if let Some(digits) = digits_beyond_64_bits(number) => {
            digits.parse().ok().and_then(Number::from_f64)
        }
        (Value::String(text), Cast::Float) => text.trim().parse().ok().and_then(Number::from_f64),
        _ => None,
    };
    let wanted = if cast == Cast::Int { "an integer" } else { "a number" };
    number.map(Value::Number).ok_or_else(|| {
        let found = match &value {
            Value::String(text) => format!("`{}`", text.trim()),
            other => short(other),
        };
        Unfit::NoNumber { found, wanted }
    })
}

/// Numbers and booleans are read as a prompt prints them; lists and objects are not texts.
fn text_of(value: &Value, path: &str) -> Result<String, Unfit> {
    match value {
        number if digits_beyond_64_bits(number).is_some() => Ok(python_str(number)),
        Value::Array(_) | Value::Object(_) => Err(Unfit::kind(path, kind_of(value), "a text")),
        other => Ok(python_str(other)),
    }
}

fn list_of<'v>(value: &'v Value, path: &str) -> Result<&'v [Value], Unfit> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| Unfit::kind(path, kind_of(value), "a list"))
}

/// The value in a message.
fn short(value: &Value) -> String {
    const MOST: usize = 60;
    let text = with_texts(value.clone()).to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
