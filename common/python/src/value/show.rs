//! `str` and `repr`, as CPython writes them.

use super::{Dict, Slot, Value};
use compass_pyfmt::{float_text, python_repr_text};
use std::fmt::Write;

/// Containers inside each other deeper than this are shown as `...`: one that holds itself has no end.
const DEEPEST: u32 = 200;

/// What `str(value)` gives.
pub(crate) fn str_of(value: &Value) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        Value::Exception(exception) => exception.text(),
        Value::Object(object) => object.text(),
        other => repr(other),
    }
}

/// What `repr(value)` gives.
pub(crate) fn repr(value: &Value) -> String {
    let mut text = String::new();
    write_repr(&mut text, value, 0);
    text
}

fn write_repr(out: &mut String, value: &Value, depth: u32) {
    if depth > DEEPEST {
        return out.push_str("...");
    }
    match value {
        Value::None => out.push_str("None"),
        Value::Ellipsis => out.push_str("Ellipsis"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(value) => push(out, format_args!("{value}")),
        Value::Float(value) => out.push_str(&float_text(*value)),
        Value::Text(text) => out.push_str(&python_repr_text(text)),
        Value::Bytes(bytes) => write_bytes(out, bytes),
        Value::List(list) => sequence(out, ("[", "]"), &list.items.borrow(), depth),
        Value::View(items) => {
            out.push_str("dict_view(");
            sequence(out, ("[", "]"), items, depth);
            out.push(')');
        }
        Value::Tuple(items) if items.len() == 1 => sequence(out, ("(", ",)"), items, depth),
        Value::Tuple(items) => sequence(out, ("(", ")"), items, depth),
        Value::Dict(dict) => write_dict(out, &dict.borrow(), depth),
        Value::Set(set) => {
            let items = set.items.borrow();
            if items.is_empty() {
                return out.push_str(if set.frozen.get() { "frozenset()" } else { "set()" });
            }
            out.push_str(if set.frozen.get() { "frozenset({" } else { "{" });
            for (at, item) in items.values().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_repr(out, item, depth + 1);
            }
            out.push_str(if set.frozen.get() { "})" } else { "}" });
        }
        Value::Range(range) if range.step == 1 => push(out, format_args!("range({}, {})", range.start, range.stop)),
        Value::Range(range) => push(out, format_args!("range({}, {}, {})", range.start, range.stop, range.step)),
        Value::Slice(slice) => {
            out.push_str("slice(");
            for (at, part) in [&slice.lower, &slice.upper, &slice.step].into_iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_repr(out, part, depth + 1);
            }
            out.push(')');
        }
        Value::Iterator(_) => out.push_str("<generator object>"),
        Value::Function(function) => push(out, format_args!("<function {}>", function.name)),
        Value::Native(native) if native.is_type() => push(out, format_args!("<class '{}'>", native.name)),
        Value::Native(native) => push(out, format_args!("<built-in function {}>", native.name)),
        Value::Method(method) => push(out, format_args!("<bound method {}>", method.name)),
        Value::Partial(_) => out.push_str("functools.partial(...)"),
        Value::Class(class) => push(out, format_args!("<class '{}'>", class.name)),
        Value::Instance(instance) => push(out, format_args!("<{} object>", instance.class.name)),
        Value::Exception(exception) => {
            out.push_str(exception.short_class());
            out.push('(');
            for (at, argument) in exception.arguments.borrow().iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_repr(out, argument, depth + 1);
            }
            out.push(')');
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

fn sequence(out: &mut String, (open, close): (&str, &str), items: &[Slot], depth: u32) {
    out.push_str(open);
    for (at, item) in items.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        write_repr(out, &item.value, depth + 1);
    }
    out.push_str(close);
}

fn write_dict(out: &mut String, dict: &Dict, depth: u32) {
    out.push('{');
    for (at, entry) in dict.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        write_repr(out, &entry.key.value, depth + 1);
        out.push_str(": ");
        write_repr(out, &entry.slot.value, depth + 1);
    }
    out.push('}');
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
