//! JSON as Python's `json` reads and writes it: `NaN` and `Infinity` are floats, integers have any size that is evaluated here,
//! of two equal keys the last one counts.

use crate::error::{Result, Stop, type_error, value_error};
use crate::limits::Budget;
use crate::place::Place;
use crate::value::{Dict, Slot, Value};
use compass_pyfmt::{json_float, json_text};

/// Containers inside each other deeper than this are refused.
const DEEPEST: u32 = 500;

/// A reader of one document.
pub(super) struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    place: Place,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str, place: Place) -> Self {
        Self { text, bytes: text.as_bytes(), at: 0, place }
    }

    /// The whole text as one value.
    pub(super) fn document(&mut self, budget: &mut Budget) -> Result<Value> {
        if self.text.starts_with('\u{feff}') {
            return Err(self.fault("Unexpected UTF-8 BOM (decode using utf-8-sig)", 0));
        }
        self.blank();
        let value = self.value(budget, 0)?;
        self.blank();
        if self.at < self.bytes.len() {
            return Err(self.fault("Extra data", self.at));
        }
        Ok(value)
    }

    fn fault(&self, what: &str, at: usize) -> Stop {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let text = format!("{what}: line {line} column {column} (char {})", before.chars().count());
        Stop::raised(crate::value::Exception::builtin("JSONDecodeError", vec![Value::text(text)]))
    }

    fn blank(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, budget: &mut Budget, depth: u32) -> Result<Value> {
        budget.step()?;
        budget.make(size_of::<Slot>())?;
        if depth > DEEPEST {
            return Err(Stop::new("RecursionError", "maximum recursion depth exceeded while decoding a JSON document"));
        }
        let begun = self.at;
        match self.bytes.get(self.at) {
            Some(b'"') => {
                self.at += 1;
                let text = self.string()?;
                budget.make(text.len())?;
                Ok(Value::text(text))
            }
            Some(b'{') => self.object(budget, depth),
            Some(b'[') => self.array(budget, depth),
            Some(b'-' | b'0'..=b'9') => self.number(begun),
            _ => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                let known = [
                    ("null", Value::None),
                    ("true", Value::Bool(true)),
                    ("false", Value::Bool(false)),
                    ("NaN", Value::Float(f64::NAN)),
                    ("Infinity", Value::Float(f64::INFINITY)),
                ];
                match known.into_iter().find(|(word, _)| rest.starts_with(word)) {
                    Some((word, value)) => {
                        self.at += word.len();
                        Ok(value)
                    }
                    None => Err(self.fault("Expecting value", begun)),
                }
            }
        }
    }

    fn number(&mut self, begun: usize) -> Result<Value> {
        if self.text.get(begun..).is_some_and(|rest| rest.starts_with("-Infinity")) {
            self.at += "-Infinity".len();
            return Ok(Value::Float(f64::NEG_INFINITY));
        }
        let digits = |reader: &mut Self| {
            let from = reader.at;
            while reader.bytes.get(reader.at).is_some_and(u8::is_ascii_digit) {
                reader.at += 1;
            }
            reader.at - from
        };
        self.at += usize::from(self.bytes.get(self.at) == Some(&b'-'));
        if self.bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else if digits(self) == 0 {
            return Err(self.fault("Expecting value", begun));
        }
        let mut is_float = false;
        let after = self.at;
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            if digits(self) == 0 {
                self.at = after;
            } else {
                is_float = true;
            }
        }
        let before_exponent = self.at;
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            if digits(self) == 0 {
                self.at = before_exponent;
            } else {
                is_float = true;
            }
        }
        let written = self.text.get(begun..self.at).unwrap_or_default();
        if is_float {
            return written.parse().map(Value::Float).map_err(|_| self.fault("Expecting value", begun));
        }
        let beyond = |_| Stop::unsupported("integers beyond 128 bits are not evaluated here");
        written.parse().map(Value::Int).map_err(beyond)
    }

    fn array(&mut self, budget: &mut Budget, depth: u32) -> Result<Value> {
        self.at += 1;
        let mut items = Vec::new();
        self.blank();
        if self.bytes.get(self.at) == Some(&b']') {
            self.at += 1;
            return Ok(Value::list(items));
        }
        loop {
            self.blank();
            let value = self.value(budget, depth + 1)?;
            items.push(Slot { value, place: self.place });
            self.blank();
            match self.bytes.get(self.at) {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Value::list(items));
                }
                _ => return Err(self.fault("Expecting ',' delimiter", self.at)),
            }
        }
    }

    fn object(&mut self, budget: &mut Budget, depth: u32) -> Result<Value> {
        self.at += 1;
        let mut dict = Dict::default();
        self.blank();
        if self.bytes.get(self.at) == Some(&b'}') {
            self.at += 1;
            return Ok(Value::dict(dict));
        }
        loop {
            self.blank();
            if self.bytes.get(self.at) != Some(&b'"') {
                return Err(self.fault("Expecting property name enclosed in double quotes", self.at));
            }
            self.at += 1;
            let key = self.string()?;
            self.blank();
            if self.bytes.get(self.at) != Some(&b':') {
                return Err(self.fault("Expecting ':' delimiter", self.at));
            }
            self.at += 1;
            self.blank();
            let value = self.value(budget, depth + 1)?;
            budget.make(key.len() + size_of::<Slot>() * 2)?;
            dict.insert_text(&key, self.place, Slot { value, place: self.place });
            self.blank();
            match self.bytes.get(self.at) {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Value::dict(dict));
                }
                _ => return Err(self.fault("Expecting ',' delimiter", self.at)),
            }
        }
    }

    /// A string after its opening quote.
    fn string(&mut self) -> Result<String> {
        let begun = self.at - 1;
        let mut out = String::new();
        loop {
            let from = self.at;
            while self.bytes.get(self.at).is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            out.push_str(self.text.get(from..self.at).unwrap_or_default());
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape(&mut out, begun)?;
                }
                Some(_) => return Err(self.fault("Invalid control character at", self.at)),
                None => return Err(self.fault("Unterminated string starting at", begun)),
            }
        }
    }

    fn escape(&mut self, out: &mut String, begun: usize) -> Result<()> {
        let at = self.at;
        self.at += 1;
        match self.bytes.get(at) {
            Some(byte @ (b'"' | b'\\' | b'/')) => out.push(char::from(*byte)),
            Some(b'b') => out.push('\u{8}'),
            Some(b'f') => out.push('\u{c}'),
            Some(b'n') => out.push('\n'),
            Some(b'r') => out.push('\r'),
            Some(b't') => out.push('\t'),
            Some(b'u') => {
                let first = self.hex(at)?;
                let code = if (0xd800..0xdc00).contains(&first)
                    && self.text.get(self.at..).is_some_and(|rest| rest.starts_with("\\u"))
                {
                    self.at += 2;
                    let second = self.hex(self.at - 1)?;
                    if !(0xdc00..0xe000).contains(&second) {
                        return Err(lone_surrogate());
                    }
                    0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                } else {
                    first
                };
                out.push(char::from_u32(code).ok_or_else(lone_surrogate)?);
            }
            Some(_) => return Err(self.fault("Invalid \\escape", at - 1)),
            None => return Err(self.fault("Unterminated string starting at", begun)),
        }
        Ok(())
    }

    fn hex(&mut self, at: usize) -> Result<u32> {
        let digits = self.text.get(self.at..self.at + 4).filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        code.ok_or_else(|| self.fault("Invalid \\uXXXX escape", at))
    }
}

fn lone_surrogate() -> Stop {
    Stop::unsupported("half of a pair of surrogates in a text of JSON")
}

/// Style in which `dumps` writes.
pub(super) struct Style {
    pub(super) is_ascii: bool,
    pub(super) indent: Option<String>,
    pub(super) item: String,
    pub(super) key: String,
    pub(super) is_sorted: bool,
}

/// Writes a value as `json.dumps` does.
pub(super) fn write(budget: &mut Budget, out: &mut String, value: &Value, style: &Style, depth: u32) -> Result<()> {
    budget.step()?;
    if depth > DEEPEST {
        return Err(value_error("Circular reference detected"));
    }
    let line = |out: &mut String, depth: u32| {
        if let Some(indent) = &style.indent {
            out.push('\n');
            (0..depth).for_each(|_| out.push_str(indent));
        }
    };
    let list = |budget: &mut Budget, out: &mut String, items: &[Slot]| -> Result<()> {
        if items.is_empty() {
            out.push_str("[]");
            return Ok(());
        }
        out.push('[');
        for (at, slot) in items.iter().enumerate() {
            out.push_str(if at > 0 { &style.item } else { "" });
            line(out, depth + 1);
            write(budget, out, &slot.value, style, depth + 1)?;
        }
        line(out, depth);
        out.push(']');
        Ok(())
    };
    match value {
        Value::None => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Int(value) => out.push_str(&value.to_string()),
        Value::Float(value) => out.push_str(&json_float(*value)),
        Value::Text(text) => json_text(out, text, style.is_ascii),
        Value::List(items) => list(budget, out, &items.items.borrow())?,
        Value::Tuple(items) => list(budget, out, items)?,
        Value::Dict(dict) => {
            let mut entries = Vec::new();
            for entry in dict.borrow().iter() {
                let key = match &entry.key.value {
                    Value::Text(text) => text.to_string(),
                    Value::Bool(true) => "true".to_owned(),
                    Value::Bool(false) => "false".to_owned(),
                    Value::None => "null".to_owned(),
                    Value::Int(int) => int.to_string(),
                    Value::Float(float) => json_float(*float),
                    other => {
                        let text = format!("keys must be str, int, float, bool or None, not {}", other.type_name());
                        return Err(type_error(text));
                    }
                };
                entries.push((key, entry.slot.value.clone()));
            }
            if style.is_sorted {
                entries.sort_by(|a, b| a.0.cmp(&b.0));
            }
            if entries.is_empty() {
                out.push_str("{}");
                return Ok(());
            }
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                out.push_str(if at > 0 { &style.item } else { "" });
                line(out, depth + 1);
                json_text(out, key, style.is_ascii);
                out.push_str(&style.key);
                write(budget, out, value, style, depth + 1)?;
            }
            line(out, depth);
            out.push('}');
        }
        other => return Err(type_error(format!("Object of type {} is not JSON serializable", other.type_name()))),
    }
    budget.make(8)?;
    Ok(())
}
