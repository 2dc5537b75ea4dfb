//! `format(value, spec)`, and `"...".format(...)`.

use crate::error::{Result, Stop, type_error, value_error};
use crate::evaluate::{Arguments, Interpreter, has_special};
use crate::value::{Value, str_of, written, written_repr};
use compass_pyfmt::float_text;

/// Wider fields are refused, so that a file's requests are bounded. No float has this many digits.
const WIDEST: usize = 60_000;

/// A format specification: `[[fill]align][sign][#][0][width][,][.precision][type]`.
#[derive(Debug, Default)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    alternate: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
}

fn parse(spec: &str) -> Option<Spec> {
    let mut parsed = Spec::default();
    let chars: Vec<char> = spec.chars().collect();
    let mut at = 0;
    let is_align = |c: &char| matches!(c, '<' | '>' | '^' | '=');
    if chars.get(1).is_some_and(is_align) {
        parsed.fill = chars.first().copied();
        parsed.align = chars.get(1).copied();
        at = 2;
    } else if chars.first().is_some_and(is_align) {
        parsed.align = chars.first().copied();
        at = 1;
    }
    let mut take = |wanted: &[char]| {
        let found = chars.get(at).copied().filter(|c| wanted.contains(c));
        at += usize::from(found.is_some());
        found
    };
    parsed.sign = take(&['+', '-', ' ']);
    parsed.alternate = take(&['#']).is_some();
    if take(&['0']).is_some() {
        parsed.fill.get_or_insert('0');
        parsed.align.get_or_insert('=');
    }
    let digits = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
    let number = |take: &mut dyn FnMut(&[char]) -> Option<char>| -> Option<usize> {
        let mut number: Option<usize> = None;
        while let Some(digit) = take(&digits) {
            let value = digit.to_digit(10).unwrap_or(0) as usize;
            number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(value));
        }
        number
    };
    parsed.width = number(&mut take).unwrap_or(0);
    parsed.grouping = take(&[',', '_']);
    if take(&['.']).is_some() {
        parsed.precision = Some(number(&mut take)?);
    }
    parsed.kind = chars.get(at).copied();
    (at + usize::from(parsed.kind.is_some()) == chars.len()).then_some(parsed)
}

/// Returns the result of `format(value, spec)`.
///
/// # Errors
/// `ValueError` for a specification that the type does not know, as in CPython.
pub(crate) fn format(interpreter: &mut Interpreter<'_>, value: &Value, spec: &str) -> Result<String> {
    let text = formatted(interpreter, value, spec)?;
    interpreter.budget.make(text.len())?;
    Ok(text)
}

fn formatted(interpreter: &mut Interpreter<'_>, value: &Value, spec: &str) -> Result<String> {
    if has_special(value, "__format__") {
        return match interpreter.call_special(value, "__format__", &[&Value::text(spec)])? {
            Value::Text(text) => Ok(text.to_string()),
            other => Err(type_error(format!("__format__ must return a str, not {}", other.type_name()))),
        };
    }
    if spec.is_empty() {
        return written(interpreter, value);
    }
    let invalid = || {
        let text = format!("Invalid format specifier '{spec}' for object of type '{}'", value.type_name());
        Err(value_error(text))
    };
    let Some(spec_read) = parse(spec) else { return invalid() };
    if spec_read.width > WIDEST || spec_read.precision.is_some_and(|precision| precision > WIDEST) {
        return Err(value_error("Too many decimal digits in format string"));
    }
    let unknown = |kind: char| {
        let text = format!("Unknown format code '{kind}' for object of type '{}'", value.type_name());
        Err(value_error(text))
    };
    match value {
        Value::Text(text) => match spec_read.kind {
            None | Some('s') if spec_read.grouping.is_some() => {
                let grouping = spec_read.grouping.unwrap_or(',');
                Err(value_error(format!("Cannot specify '{grouping}' with 's'.")))
            }
            None | Some('s') => {
                let cut: String = match spec_read.precision {
                    Some(most) => text.chars().take(most).collect(),
                    None => text.to_string(),
                };
                Ok(pad(&spec_read, "", &cut, '<'))
            }
            Some(kind) => unknown(kind),
        },
        Value::Bool(_) if spec_read.kind.is_none() => Ok(pad(&spec_read, "", &str_of(value), '<')),
        Value::Bool(_) | Value::Int(_) => match spec_read.kind {
            None | Some('d' | 'n' | 'x' | 'X' | 'o' | 'b' | 'c') if spec_read.precision.is_some() => {
                Err(value_error("Precision not allowed in integer format specifier"))
            }
            None | Some('d' | 'n' | 'x' | 'X' | 'o' | 'b' | 'c') => {
                Ok(integer(&spec_read, value.as_int().unwrap_or(0)))
            }
            Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') => Ok(float(&spec_read, value.as_float().unwrap_or(0.0))),
            Some(kind) => unknown(kind),
        },
        Value::Float(number) => match spec_read.kind {
            None | Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'n' | '%') => Ok(float(&spec_read, *number)),
            Some(kind) => unknown(kind),
        },
        other => Err(type_error(format!("unsupported format string passed to {}.__format__", other.type_name()))),
    }
}

/// Fills up to the width; `sign` is put before the characters with which `=` fills.
fn pad(spec: &Spec, sign: &str, body: &str, default: char) -> String {
    let length = sign.chars().count() + body.chars().count();
    let missing = spec.width.saturating_sub(length);
    let fill = |count: usize| spec.fill.unwrap_or(' ').to_string().repeat(count);
    match spec.align.unwrap_or(default) {
        '<' => format!("{sign}{body}{}", fill(missing)),
        '^' => format!("{}{sign}{body}{}", fill(missing / 2), fill(missing - missing / 2)),
        '=' => format!("{sign}{}{body}", fill(missing)),
        _ => format!("{}{sign}{body}", fill(missing)),
    }
}

fn sign_of(spec: &Spec, is_negative: bool) -> &'static str {
    match (is_negative, spec.sign) {
        (true, _) => "-",
        (false, Some('+')) => "+",
        (false, Some(' ')) => " ",
        _ => "",
    }
}

fn grouped(digits: &str, separator: char, every: usize) -> String {
    let mut out = String::new();
    for (at, c) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(every) {
            out.push(separator);
        }
        out.push(c);
    }
    out
}

fn integer(spec: &Spec, value: i128) -> String {
    let magnitude = value.unsigned_abs();
    let (prefix, mut digits) = match spec.kind {
        Some('x') => ("0x", format!("{magnitude:x}")),
        Some('X') => ("0X", format!("{magnitude:X}")),
        Some('o') => ("0o", format!("{magnitude:o}")),
        Some('b') => ("0b", format!("{magnitude:b}")),
        Some('c') => {
            let c = u32::try_from(magnitude).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
            return pad(spec, "", &c.to_string(), '<');
        }
        _ => ("", magnitude.to_string()),
    };
    if let Some(separator) = spec.grouping {
        digits = grouped(&digits, separator, if prefix.is_empty() { 3 } else { 4 });
    }
    let sign = sign_of(spec, value < 0).to_owned() + if spec.alternate { prefix } else { "" };
    pad(spec, &sign, &digits, '>')
}

fn float(spec: &Spec, value: f64) -> String {
    let is_negative = value.is_sign_negative() && !value.is_nan();
    let magnitude = value.abs();
    let kind = spec.kind.unwrap_or(' ');
    let body = if magnitude.is_infinite() || magnitude.is_nan() {
        let text = if magnitude.is_nan() { "nan" } else { "inf" };
        let text = if kind.is_ascii_uppercase() { text.to_uppercase() } else { text.to_owned() };
        if kind == '%' { text + "%" } else { text }
    } else {
        let precision = spec.precision;
        match kind {
            'f' | 'F' => format!("{magnitude:.*}", precision.unwrap_or(6)),
            '%' => format!("{:.*}%", precision.unwrap_or(6), magnitude * 100.0),
            'e' | 'E' => scientific(magnitude, precision.unwrap_or(6), kind),
            'g' | 'G' | 'n' => general(magnitude, precision.unwrap_or(6), kind == 'G', spec.alternate),
            _ => match precision {
                Some(precision) => {
                    let text = general(magnitude, precision, false, false);
                    if text.contains(['.', 'e']) { text } else { text + ".0" }
                }
                None => float_text(magnitude),
            },
        }
    };
    let body = match spec.grouping {
        Some(separator) => {
            let end = body.find(|c: char| !c.is_ascii_digit()).unwrap_or(body.len());
            grouped(&body[..end], separator, 3) + &body[end..]
        }
        None => body,
    };
    pad(spec, sign_of(spec, is_negative), &body, '>')
}

fn scientific(magnitude: f64, precision: usize, kind: char) -> String {
    let text = format!("{magnitude:.precision$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}{kind}{sign}{:02}", exponent.unsigned_abs())
}

/// C's `%g`.
fn general(magnitude: f64, precision: usize, is_upper: bool, keeps_zeros: bool) -> String {
    let precision = precision.max(1);
    let kind = if is_upper { 'E' } else { 'e' };
    let rounded = format!("{magnitude:.*e}", precision - 1);
    let exponent: i32 = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let trim = |text: String| {
        if keeps_zeros || !text.contains('.') {
            return text;
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if exponent < -4 || exponent >= i32::try_from(precision).unwrap_or(i32::MAX) {
        let text = scientific(magnitude, precision - 1, kind);
        let Some((mantissa, rest)) = text.split_once(kind) else { return text };
        return format!("{}{kind}{rest}", trim(mantissa.to_owned()));
    }
    let decimals = usize::try_from(i32::try_from(precision).unwrap_or(0) - 1 - exponent).unwrap_or(0);
    trim(format!("{magnitude:.decimals$}"))
}

/// `text.format(...)`.
pub(super) fn format_method(interpreter: &mut Interpreter<'_>, text: &str, arguments: &Arguments) -> Result<String> {
    let mut next = 0;
    fill(interpreter, text, arguments, &mut next, 0)
}

fn fill(
    interpreter: &mut Interpreter<'_>,
    text: &str,
    arguments: &Arguments,
    next: &mut usize,
    depth: u32,
) -> Result<String> {
    if depth > 2 {
        return Err(value_error("Max string recursion exceeded"));
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let brace = &rest[at..at + 1];
        rest = &rest[at + 1..];
        if rest.starts_with(brace) {
            out.push_str(brace);
            rest = &rest[1..];
            continue;
        }
        if brace == "}" {
            return Err(value_error("Single '}' encountered in format string"));
        }
        let end = closing(rest).ok_or_else(|| value_error("expected '}' before end of string"))?;
        let field = &rest[..end];
        rest = &rest[end + 1..];
        let (name, spec) = match field.find(['!', ':']) {
            Some(at) if field[at..].starts_with(':') => (&field[..at], ("", &field[at + 1..])),
            Some(at) => {
                let (conversion, spec) = field[at + 1..].split_once(':').unwrap_or((&field[at + 1..], ""));
                (&field[..at], (conversion, spec))
            }
            None => (field, ("", "")),
        };
        let (conversion, spec) = spec;
        let value = looked_up(interpreter, name, arguments, next)?;
        let value = match conversion {
            "" => value,
            "s" => Value::text(written(interpreter, &value)?),
            "r" | "a" => Value::text(written_repr(interpreter, &value)?),
            other => {
                return Err(value_error(format!("Unknown conversion specifier '{other}'")));
            }
        };
        let spec = fill(interpreter, spec, arguments, next, depth + 1)?;
        out.push_str(&format(interpreter, &value, &spec)?);
    }
    out.push_str(rest);
    Ok(out)
}

/// The brace that closes the field.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The value of `0`, `name`, `name.attribute` or `name[key]`.
fn looked_up(interpreter: &mut Interpreter<'_>, name: &str, arguments: &Arguments, next: &mut usize) -> Result<Value> {
    let end = name.find(['.', '[']).unwrap_or(name.len());
    let (first, mut rest) = name.split_at(end);
    let position = if first.is_empty() {
        *next += 1;
        Some(*next - 1)
    } else {
        first.parse::<usize>().ok()
    };
    let mut value = match position {
        Some(at) => arguments.positional.get(at).map(|slot| slot.value.clone()).ok_or_else(|| {
            Stop::new("IndexError", format!("Replacement index {at} out of range for positional args tuple"))
        })?,
        None => {
            let found = arguments.keywords.iter().find(|(known, _, _)| &**known == first);
            found
                .map(|(_, _, slot)| slot.value.clone())
                .ok_or_else(|| crate::evaluate::key_error(&Value::text(first)))?
        }
    };
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (key, after) = inner.split_once(']').ok_or_else(|| value_error("Missing ']' in format string"))?;
            let key = key.parse::<i128>().map_or_else(|_| Value::text(key), Value::Int);
            value = interpreter.item(&value, &key)?.value;
            rest = after;
        } else {
            let inner = &rest[1..];
            let end = inner.find(['.', '[']).unwrap_or(inner.len());
            value = interpreter.attribute(&value, &inner[..end])?;
            rest = &inner[end..];
        }
    }
    Ok(value)
}
