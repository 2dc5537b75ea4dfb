//! `str` and `repr`, as CPython writes them.

use super::{Dict, Slot, Value};
use crate::error::{Result, Stop, type_error};
use crate::evaluate::{Interpreter, has_special};
use compass_pyfmt::{float_text, python_repr_text};
use std::fmt::Write;
use std::rc::Rc;

/// Containers inside each other deeper than this are refused.
const DEEPEST: usize = 1_000;
/// Longest text of a value within a message.
const LONGEST: usize = 1 << 16;

/// Returns the result of `str(value)`, for a message: cut off where it is long.
pub(crate) fn str_of(value: &Value) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        Value::Exception(exception) => exception.text(),
        Value::Object(object) => object.text(),
        other => repr(other),
    }
}

/// Returns the result of `repr(value)`, for a message: cut off where it is long.
pub(crate) fn repr(value: &Value) -> String {
    let mut writer =
        Writer { text: String::new(), open: Vec::new(), most: LONGEST, is_cut: false, interpreter: None, failed: None };
    writer.value(value);
    writer.text
}

/// Returns the result of `str(value)`.
///
/// # Errors
/// It has more bytes than may be made, or is nested too deeply; any exception of a method of the file.
pub(crate) fn written(interpreter: &mut Interpreter<'_>, value: &Value) -> Result<String> {
    match value {
        Value::Text(text) => Ok(text.to_string()),
        Value::Object(object) => Ok(object.text()),
        Value::Instance(instance) if instance.class.member("__str__").is_some() => told(interpreter, value, "__str__"),
        Value::Exception(exception) => match exception.class.as_ref().and_then(|class| class.member("__str__")) {
            Some(function @ Value::Function(_)) => {
                let slot = Slot { value: value.clone(), place: Default::default() };
                let arguments = crate::evaluate::Arguments::of(vec![slot], Default::default());
                text_of(interpreter.call(&function, arguments)?, "__str__")
            }
            _ => Ok(exception.text()),
        },
        Value::Instance(instance) if let Some(name) = instance.enum_name() => {
            Ok(format!("{}.{name}", instance.class.name))
        }
        other => written_repr(interpreter, other),
    }
}

/// Returns the result of `repr(value)`.
///
/// # Errors
/// As [`written`].
pub(crate) fn written_repr(interpreter: &mut Interpreter<'_>, value: &Value) -> Result<String> {
    let most = interpreter.budget.left();
    let mut writer = Writer {
        text: String::new(),
        open: Vec::new(),
        most,
        is_cut: false,
        interpreter: Some(&mut *interpreter),
        failed: None,
    };
    writer.value(value);
    let (text, is_cut, failed) = (writer.text, writer.is_cut, writer.failed);
    if let Some(stop) = failed {
        return Err(stop);
    }
    let is_too_long = text.len() >= most;
    if is_cut && !is_too_long {
        return Err(Stop::new(
            "RecursionError",
            "maximum recursion depth exceeded while getting the repr of an object",
        ));
    }
    interpreter.budget.make(text.len().saturating_add(usize::from(is_too_long)))?;
    Ok(text)
}

/// Returns the result of `__str__` or `__repr__` of an object.
fn told(interpreter: &mut Interpreter<'_>, value: &Value, name: &str) -> Result<String> {
    text_of(interpreter.call_special(value, name, &[])?, name)
}

fn text_of(value: Value, name: &str) -> Result<String> {
    match value {
        Value::Text(text) => Ok(text.to_string()),
        other => Err(type_error(format!("{name} returned non-string (type {})", other.type_name()))),
    }
}

/// A text being written, and the containers around what is written next.
struct Writer<'i, 'h> {
    text: String,
    /// Addresses: a container within itself is `[...]`.
    open: Vec<usize>,
    most: usize,
    is_cut: bool,
    /// With it, `__repr__` of objects is asked; messages show them without.
    interpreter: Option<&'i mut Interpreter<'h>>,
    failed: Option<Stop>,
}

impl Writer<'_, '_> {
    fn value(&mut self, value: &Value) {
        if self.open.len() > DEEPEST || self.text.len() >= self.most || self.failed.is_some() {
            self.is_cut = true;
            return self.text.push_str("...");
        }
        let (address, again) = match value {
            Value::List(list) => (Rc::as_ptr(list) as usize, "[...]"),
            Value::Dict(dict) => (Rc::as_ptr(dict) as usize, "{...}"),
            _ => (0, ""),
        };
        if address != 0 && self.open.contains(&address) {
            return self.text.push_str(again);
        }
        if has_special(value, "__repr__")
            && let Some(interpreter) = &mut self.interpreter
        {
            match told(interpreter, value, "__repr__") {
                Ok(text) => self.text.push_str(&text),
                Err(stop) => self.failed = Some(stop),
            }
            return;
        }
        self.open.push(address);
        write_repr(self, value);
        self.open.pop();
    }
}

fn write_repr(writer: &mut Writer<'_, '_>, value: &Value) {
    let out = &mut writer.text;
    match value {
        Value::None => out.push_str("None"),
        Value::Ellipsis => out.push_str("Ellipsis"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(value) => push(out, format_args!("{value}")),
        Value::Float(value) => out.push_str(&float_text(*value)),
        Value::Text(text) => out.push_str(&python_repr_text(text)),
        Value::Bytes(bytes) => write_bytes(out, bytes),
        Value::List(list) => sequence(writer, ("[", "]"), &list.items.borrow().clone()),
        Value::View(view) => {
            out.push_str(view.kind.type_name());
            out.push('(');
            sequence(writer, ("[", "]"), &view.slots());
            writer.text.push(')');
        }
        Value::Tuple(items) if items.len() == 1 => sequence(writer, ("(", ",)"), items),
        Value::Tuple(items) => sequence(writer, ("(", ")"), items),
        Value::Dict(dict) => write_dict(writer, &dict.borrow().clone()),
        Value::Set(set) => {
            let items: Vec<Value> = set.ordered().unwrap_or_else(|| set.items.borrow().values().cloned().collect());
            if items.is_empty() {
                return out.push_str(if set.frozen.get() { "frozenset()" } else { "set()" });
            }
            out.push_str(if set.frozen.get() { "frozenset({" } else { "{" });
            for (at, item) in items.iter().enumerate() {
                writer.text.push_str(if at > 0 { ", " } else { "" });
                writer.value(item);
            }
            writer.text.push_str(if set.frozen.get() { "})" } else { "}" });
        }
        Value::Range(range) if range.step == 1 => push(out, format_args!("range({}, {})", range.start, range.stop)),
        Value::Range(range) => push(out, format_args!("range({}, {}, {})", range.start, range.stop, range.step)),
        Value::Slice(slice) => {
            out.push_str("slice(");
            for (at, part) in [&slice.lower, &slice.upper, &slice.step].into_iter().enumerate() {
                writer.text.push_str(if at > 0 { ", " } else { "" });
                writer.value(part);
            }
            writer.text.push(')');
        }
        Value::Iterator(_) => push(out, format_args!("<{} object>", value.type_name())),
        Value::Function(function) => push(out, format_args!("<function {}>", function.name)),
        Value::Native(native) if native.is_type() => push(out, format_args!("<class '{}'>", native.name)),
        Value::Native(native) => push(out, format_args!("<built-in function {}>", native.name)),
        Value::Method(method) => push(out, format_args!("<bound method {}>", method.name)),
        Value::Partial(_) => out.push_str("functools.partial(...)"),
        Value::Class(class) => push(out, format_args!("<class '{}'>", class.name)),
        Value::Instance(instance) if let Some(name) = instance.enum_name() => {
            push(out, format_args!("<{}.{name}: ", instance.class.name));
            let value = instance.attributes.borrow().get_text("value").map(|slot| slot.value.clone());
            writer.value(&value.unwrap_or(Value::None));
            writer.text.push('>');
        }
        Value::Instance(instance) => push(out, format_args!("<{} object>", instance.class.name)),
        Value::Exception(exception) => {
            out.push_str(exception.short_class());
            out.push('(');
            for (at, argument) in exception.arguments.borrow().iter().enumerate() {
                writer.text.push_str(if at > 0 { ", " } else { "" });
                writer.value(argument);
            }
            writer.text.push(')');
        }
        Value::Symbol(symbol) => out.push_str(symbol.dotted()),
        Value::Module(name) => push(out, format_args!("<module '{name}'>")),
        Value::Object(object) => object.write_repr(out),
    }
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(text);
}

fn sequence(writer: &mut Writer<'_, '_>, (open, close): (&str, &str), items: &[Slot]) {
    writer.text.push_str(open);
    for (at, item) in items.iter().enumerate() {
        writer.text.push_str(if at > 0 { ", " } else { "" });
        writer.value(&item.value);
        if writer.is_cut {
            break;
        }
    }
    writer.text.push_str(close);
}

fn write_dict(writer: &mut Writer<'_, '_>, dict: &Dict) {
    writer.text.push('{');
    for (at, entry) in dict.iter().enumerate() {
        writer.text.push_str(if at > 0 { ", " } else { "" });
        writer.value(&entry.key.value);
        writer.text.push_str(": ");
        writer.value(&entry.slot.value);
        if writer.is_cut {
            break;
        }
    }
    writer.text.push('}');
}

fn write_bytes(out: &mut String, bytes: &[u8]) {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    out.push('b');
    out.push(quote);
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ if char::from(byte) == quote => {
                out.push('\\');
                out.push(quote);
            }
            b' '..=b'~' => out.push(char::from(byte)),
            _ => push(out, format_args!("\\x{byte:02x}")),
        }
    }
    out.push(quote);
}
