//! Methods of texts.

use super::format::format_method;
use crate::error::{Result, type_error, value_error};
use crate::evaluate::{Arguments, Interpreter};
use crate::value::{Slot, Value, find_char};
use compass_pyfmt::{is_digit, is_space};
use std::rc::Rc;

pub(super) const NAMES: &[&str] = &[
    "capitalize",
    "casefold",
    "center",
    "count",
    "encode",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "index",
    "isalnum",
    "isalpha",
    "isdecimal",
    "isdigit",
    "islower",
    "isnumeric",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "maketrans",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "translate",
    "upper",
    "zfill",
];

pub(super) fn call(
    interpreter: &mut Interpreter<'_>,
    text: &Rc<str>,
    name: &str,
    mut arguments: Arguments,
) -> Result<Value> {
    let place = arguments.place;
    let text: &str = text;
    let out = match name {
        "format" => format_method(interpreter, text, &arguments)?,
        "format_map" => {
            let [map] = arguments.bind("format_map", ["mapping"], 1)?;
            let mut spread = Arguments::none(place);
            if let Some(Value::Dict(dict)) = map {
                for entry in dict.borrow().iter() {
                    if let Value::Text(name) = &entry.key.value {
                        spread.keywords.push((Rc::clone(name), place, entry.slot.clone()));
                    }
                }
            }
            format_method(interpreter, text, &spread)?
        }
        "join" => {
            let [slot] = super::list::exactly("join", arguments)?;
            let items = interpreter.items(&slot.value, slot.place)?;
            let mut out = String::new();
            for (at, item) in items.iter().enumerate() {
                let Value::Text(part) = &item.value else {
                    let kind = item.value.type_name();
                    let text = format!("sequence item {at}: expected str instance, {kind} found");
                    return Err(type_error(text).at(item.place));
                };
                out.push_str(if at > 0 { text } else { "" });
                out.push_str(part);
                interpreter.budget.make(part.len() + text.len())?;
            }
            out
        }
        "translate" => {
            let [table] = super::list::exactly("translate", arguments)?;
            return Ok(Value::text(translated(interpreter, text, &table.value)?));
        }
        "lower" | "casefold" => text.to_lowercase(),
        "upper" => text.to_uppercase(),
        "swapcase" => text.chars().flat_map(swapped).collect(),
        "capitalize" => {
            let mut chars = text.chars();
            let first: String = chars.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
            first + &chars.as_str().to_lowercase()
        }
        "title" => title(text),
        "strip" | "lstrip" | "rstrip" => {
            let [chars] = arguments.bind(name, ["chars"], 0)?;
            stripped(text, name, chars.as_ref())?.to_owned()
        }
        "replace" => {
            let [from, to, count] = arguments.bind("replace", ["old", "new", "count"], 2)?;
            let (from, to) = (part(from, "replace")?, part(to, "replace")?);
            let count = count.and_then(|count| count.as_int()).filter(|count| *count >= 0);
            let count = count.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
            interpreter.budget.make(text.len() + text.matches(&*from).count().saturating_mul(to.len()))?;
            text.replacen(&*from, &to, count)
        }
        "removeprefix" => {
            let prefix = part(arguments.positional.pop().map(|slot| slot.value), name)?;
            text.strip_prefix(&*prefix).unwrap_or(text).to_owned()
        }
        "removesuffix" => {
            let suffix = part(arguments.positional.pop().map(|slot| slot.value), name)?;
            text.strip_suffix(&*suffix).unwrap_or(text).to_owned()
        }
        "expandtabs" => {
            let [size] = arguments.bind("expandtabs", ["tabsize"], 0)?;
            return Ok(Value::text(with_spaces(interpreter, text, size)?));
        }
        "zfill" | "center" | "ljust" | "rjust" => padded(interpreter, text, name, arguments)?,
        "split" | "rsplit" => return split(interpreter, text, name, arguments),
        "splitlines" => {
            let [keep] = arguments.bind("splitlines", ["keepends"], 0)?;
            let is_kept = keep.is_some_and(|keep| keep.is_true());
            let lines = lines(text, is_kept);
            interpreter.budget.make(lines.len() * 2 * size_of::<Slot>() + text.len())?;
            return Ok(Value::list_at(lines, place));
        }
        "partition" | "rpartition" => {
            let [separator] = arguments.bind(name, ["sep"], 1)?;
            let separator = searched(separator)?;
            if separator.is_empty() {
                return Err(value_error("empty separator"));
            }
            let found = if name == "partition" { text.find(&*separator) } else { text.rfind(&*separator) };
            let parts = match found {
                Some(at) => [&text[..at], &separator, &text[at + separator.len()..]],
                None if name == "partition" => [text, "", ""],
                None => ["", "", text],
            };
            return Ok(Value::tuple_at(parts.map(Value::text), place));
        }
        "startswith" | "endswith" => {
            let [wanted, start, end] = arguments.bind(name, ["prefix", "start", "end"], 1)?;
            let (_, text) = cut(text, start, end);
            let is = |wanted: &Value| match wanted {
                Value::Text(part) if name == "startswith" => Ok(text.starts_with(part.as_ref())),
                Value::Text(part) => Ok(text.ends_with(part.as_ref())),
                other => {
                    let kind = other.type_name();
                    Err(type_error(format!("{name} first arg must be str or a tuple of str, not {kind}")))
                }
            };
            let found = match &wanted {
                Some(Value::Tuple(items)) => {
                    items.iter().map(|slot| is(&slot.value)).collect::<Result<Vec<_>>>()?.contains(&true)
                }
                Some(wanted) => is(wanted)?,
                None => false,
            };
            return Ok(Value::Bool(found));
        }
        "find" | "rfind" | "index" | "rindex" | "count" => {
            let [wanted, start, end] = arguments.bind(name, ["sub", "start", "end"], 1)?;
            let wanted = searched(wanted)?;
            let (offset, inside) = cut(text, start, end);
            if name == "count" {
                return Ok(Value::Int(inside.matches(&*wanted).count() as i128));
            }
            let found = if name.starts_with('r') { inside.rfind(&*wanted) } else { inside.find(&*wanted) };
            return match found {
                Some(at) => Ok(Value::Int((offset + find_char(inside, at)) as i128)),
                None if name.ends_with("index") => Err(value_error("substring not found")),
                None => Ok(Value::Int(-1)),
            };
        }
        "encode" => {
            let [encoding, errors] = arguments.bind("encode", ["encoding", "errors"], 0)?;
            let (encoding, errors) = super::codec_names(encoding.as_ref(), errors.as_ref())?;
            interpreter.budget.make(text.len())?;
            return Ok(Value::Bytes(super::codec::encode(text, &encoding, &errors)?.into()));
        }
        "maketrans" => {
            let [from, to, gone] = arguments.bind("maketrans", ["x", "y", "z"], 1)?;
            return table(from.unwrap_or(Value::None), to, gone, place);
        }
        "isspace" => return Ok(Value::Bool(!text.is_empty() && text.chars().all(is_space))),
        "isdigit" | "isdecimal" | "isnumeric" => {
            return Ok(Value::Bool(!text.is_empty() && text.chars().all(is_digit)));
        }
        "isalpha" => return Ok(Value::Bool(!text.is_empty() && text.chars().all(char::is_alphabetic))),
        "isalnum" => return Ok(Value::Bool(!text.is_empty() && text.chars().all(char::is_alphanumeric))),
        "islower" => return Ok(Value::Bool(cased(text, char::is_lowercase, char::is_uppercase))),
        "isupper" => return Ok(Value::Bool(cased(text, char::is_uppercase, char::is_lowercase))),
        _ => return Ok(Value::Bool(!text.is_empty() && title(text) == text)),
    };
    interpreter.budget.make(out.len())?;
    Ok(Value::text(out))
}

/// `str.maketrans`: numbers of characters by what they become.
fn table(from: Value, to: Option<Value>, gone: Option<Value>, place: crate::place::Place) -> Result<Value> {
    let slot = |value: Value| Slot { value, place };
    let code = |c: char| Value::Int(u32::from(c).into());
    let mut table = crate::value::Dict::default();
    match (from, to) {
        (Value::Dict(given), None) => {
            for entry in given.borrow().iter() {
                let key = match &entry.key.value {
                    Value::Text(text) if text.chars().count() == 1 => code(text.chars().next().unwrap_or_default()),
                    Value::Text(_) => return Err(value_error("string keys in translate table must be of length 1")),
                    Value::Int(key) => Value::Int(*key),
                    _ => return Err(type_error("keys in translate table must be strings or integers")),
                };
                table.insert(slot(key), entry.slot.clone())?;
            }
        }
        (_, None) => return Err(type_error("if you give only one argument to maketrans it must be a dict")),
        (Value::Text(from), Some(Value::Text(to))) => {
            if from.chars().count() != to.chars().count() {
                return Err(value_error("the first two maketrans arguments must have equal length"));
            }
            for (a, b) in from.chars().zip(to.chars()) {
                table.insert(slot(code(a)), slot(code(b)))?;
            }
            for c in gone.iter().filter_map(Value::as_text).flat_map(|gone| gone.chars()) {
                table.insert(slot(code(c)), slot(Value::None))?;
            }
        }
        _ => return Err(type_error("maketrans arguments must be texts")),
    }
    Ok(Value::dict(table))
}

/// Each character as the table has it by its number: a text, a number, or nothing for `None`.
fn translated(interpreter: &mut Interpreter<'_>, text: &str, table: &Value) -> Result<String> {
    let Value::Dict(table) = table else {
        return Err(crate::error::Stop::unsupported("`translate` with a table that is not a dict"));
    };
    let table = table.borrow();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        interpreter.budget.step()?;
        match table.get(&Value::Int(u32::from(c).into()))?.map(|slot| &slot.value) {
            None => out.push(c),
            Some(Value::None) => {}
            Some(Value::Text(other)) => {
                interpreter.budget.make(other.len())?;
                out.push_str(other);
            }
            Some(other) => {
                let code = other.as_int().and_then(|code| u32::try_from(code).ok()).and_then(char::from_u32);
                out.push(code.ok_or_else(|| type_error("character mapping must return integer, None or str"))?);
            }
        }
    }
    interpreter.budget.make(text.len())?;
    Ok(out)
}

/// Each tab as spaces up to the next column that `size` divides (8 without one), none where it is not positive; a line begins at
/// column 0.
fn with_spaces(interpreter: &mut Interpreter<'_>, text: &str, size: Option<Value>) -> Result<String> {
    let size = match size {
        None => 8,
        Some(size) => {
            let size = size.as_int().ok_or_else(|| {
                type_error(format!("'{}' object cannot be interpreted as an integer", size.type_name()))
            })?;
            usize::try_from(size.max(0)).unwrap_or(usize::MAX)
        }
    };
    let (mut out, mut column) = (String::new(), 0);
    for c in text.chars() {
        match c {
            '\t' => {
                let spaces = if size == 0 { 0 } else { size - column % size };
                interpreter.budget.make(spaces)?;
                out.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            }
            c => {
                out.push(c);
                column = if matches!(c, '\n' | '\r') { 0 } else { column + 1 };
            }
        }
    }
    interpreter.budget.make(text.len())?;
    Ok(out)
}

/// A text that is looked for.
fn searched(value: Option<Value>) -> Result<Rc<str>> {
    match value {
        Some(Value::Text(text)) => Ok(text),
        other => Err(type_error(format!("must be str, not {}", other.as_ref().map_or("NoneType", Value::type_name)))),
    }
}

fn part(value: Option<Value>, function: &str) -> Result<Rc<str>> {
    match value {
        Some(Value::Text(text)) => Ok(text),
        other => {
            let kind = other.as_ref().map_or("NoneType", Value::type_name);
            Err(type_error(format!("{function}() argument must be str, not {kind}")))
        }
    }
}

fn swapped(c: char) -> Vec<char> {
    if c.is_uppercase() { c.to_lowercase().collect() } else { c.to_uppercase().collect() }
}

fn cased(text: &str, is: fn(char) -> bool, is_other: fn(char) -> bool) -> bool {
    text.chars().any(is) && !text.chars().any(is_other)
}

fn title(text: &str) -> String {
    let mut is_inside = false;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_inside {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
        is_inside = c.is_alphabetic();
    }
    out
}

fn stripped<'t>(text: &'t str, name: &str, chars: Option<&Value>) -> Result<&'t str> {
    let chars = match chars {
        None | Some(Value::None) => None,
        Some(Value::Text(chars)) => Some(chars),
        Some(_) => return Err(type_error(format!("{name} arg must be None or str"))),
    };
    let is_stripped = |c: char| chars.map_or_else(|| is_space(c), |chars| chars.contains(c));
    Ok(match name {
        "strip" => text.trim_matches(is_stripped),
        "lstrip" => text.trim_start_matches(is_stripped),
        _ => text.trim_end_matches(is_stripped),
    })
}

fn padded(interpreter: &mut Interpreter<'_>, text: &str, name: &str, arguments: Arguments) -> Result<String> {
    let [width, fill] = arguments.bind(name, ["width", "fillchar"], 1)?;
    let width = width.and_then(|width| width.as_int()).unwrap_or(0);
    let length = text.chars().count();
    let missing = usize::try_from(width).unwrap_or(0).saturating_sub(length);
    interpreter.budget.make(missing.saturating_mul(4))?;
    let fill = match fill {
        None => if name == "zfill" { "0" } else { " " }.to_owned(),
        Some(Value::Text(fill)) if fill.chars().count() == 1 => fill.to_string(),
        Some(_) => return Err(type_error("The fill character must be exactly one character long")),
    };
    Ok(match name {
        "ljust" => format!("{text}{}", fill.repeat(missing)),
        "rjust" => format!("{}{text}", fill.repeat(missing)),
        "center" => {
            // CPython gives the odd one to the left where the width is odd.
            let left = missing / 2 + (missing & usize::try_from(width).unwrap_or(0) & 1);
            format!("{}{text}{}", fill.repeat(left), fill.repeat(missing - left))
        }
        _ => match text.strip_prefix(['-', '+']) {
            Some(rest) => format!("{}{}{rest}", &text[..1], fill.repeat(missing)),
            None => format!("{}{text}", fill.repeat(missing)),
        },
    })
}

fn split(interpreter: &mut Interpreter<'_>, text: &str, name: &str, arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    let [separator, most] = arguments.bind(name, ["sep", "maxsplit"], 0)?;
    let most = most.and_then(|most| most.as_int()).filter(|most| *most >= 0);
    let most = most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let is_right = name == "rsplit";
    let parts: Vec<&str> = match separator {
        None | Some(Value::None) => words(text, most, is_right),
        Some(Value::Text(separator)) if separator.is_empty() => return Err(value_error("empty separator")),
        Some(Value::Text(separator)) => {
            let pieces = most.saturating_add(1);
            if is_right {
                let mut parts: Vec<&str> = text.rsplitn(pieces, separator.as_ref()).collect();
                parts.reverse();
                parts
            } else {
                text.splitn(pieces, separator.as_ref()).collect()
            }
        }
        Some(other) => return Err(type_error(format!("must be str or None, not {}", other.type_name()))),
    };
    interpreter.budget.make(parts.len() * 2 * size_of::<Slot>() + text.len())?;
    Ok(Value::list(parts.into_iter().map(|part| Slot { value: Value::text(part), place }).collect()))
}

/// The words between white space, at most `most` cuts from one side.
fn words(text: &str, most: usize, is_right: bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_matches(is_space);
    while !rest.is_empty() {
        if parts.len() == most {
            parts.push(rest);
            break;
        }
        let found = if is_right { rest.rfind(is_space) } else { rest.find(is_space) };
        let Some(at) = found else {
            parts.push(rest);
            break;
        };
        if is_right {
            let width = rest[at..].chars().next().map_or(1, char::len_utf8);
            parts.push(&rest[at + width..]);
            rest = rest[..at].trim_end_matches(is_space);
        } else {
            parts.push(&rest[..at]);
            rest = rest[at..].trim_start_matches(is_space);
        }
    }
    if is_right {
        parts.reverse();
    }
    parts
}

/// The lines, at every end of line that Python knows.
fn lines(text: &str, is_kept: bool) -> Vec<Value> {
    const ENDS: [char; 10] =
        ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let Some(at) = rest.find(ENDS) else {
            lines.push(Value::text(rest));
            break;
        };
        let end = if rest[at..].starts_with("\r\n") { 2 } else { rest[at..].chars().next().map_or(1, char::len_utf8) };
        lines.push(Value::text(&rest[..if is_kept { at + end } else { at }]));
        rest = &rest[at + end..];
    }
    lines
}

/// The part between two places in characters, and where it begins.
fn cut(text: &str, start: Option<Value>, end: Option<Value>) -> (usize, &str) {
    let length = text.chars().count();
    let bound = |value: Option<Value>, default: usize| {
        let Some(at) = value.and_then(|value| value.as_int()) else { return default };
        let at = if at < 0 { (at + length as i128).max(0) } else { at };
        usize::try_from(at).unwrap_or(length).min(length)
    };
    let (start, end) = (bound(start, 0), bound(end, length));
    let byte = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
    (start, text.get(byte(start)..byte(end.max(start))).unwrap_or(""))
}
