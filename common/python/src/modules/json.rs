//! `json`.

use super::host::text;
use super::json_text::{Reader, Style, write};
use crate::error::{Result, Stop, type_error};
use crate::evaluate::{Arguments, Interpreter};
use crate::value::Value;

pub(super) fn call(interpreter: &mut Interpreter<'_>, name: &str, mut arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    match name {
        "loads" => {
            arguments.take("encoding");
            let [document] = arguments.bind(name, ["s"], 1)?;
            let document = match document {
                Some(Value::Text(text)) => text,
                Some(Value::Bytes(bytes)) => match std::str::from_utf8(&bytes) {
                    Ok(text) => text.into(),
                    Err(_) => return Err(Stop::new("UnicodeDecodeError", "the bytes are not UTF-8")),
                },
                other => {
                    let kind = other.as_ref().map_or("NoneType", Value::type_name);
                    return Err(type_error(format!("the JSON object must be str, bytes or bytearray, not {kind}")));
                }
            };
            Reader::new(&document, place).document(&mut interpreter.budget)
        }
        "load" => {
            let [file] = arguments.bind(name, ["fp"], 1)?;
            let file = file.unwrap_or(Value::None);
            let read = interpreter.call_method(&file, "read", Arguments::none(place))?;
            let document = text(Some(read), "json.load")?;
            Reader::new(&document, place).document(&mut interpreter.budget)
        }
        _ => {
            let is =
                |slot: Option<crate::value::Slot>, default: bool| slot.map_or(default, |slot| slot.value.is_true());
            let is_ascii = is(arguments.take("ensure_ascii"), true);
            let is_sorted = is(arguments.take("sort_keys"), false);
            let indent = match arguments.take("indent").map(|slot| slot.value) {
                None | Some(Value::None) => None,
                Some(Value::Text(indent)) => Some(indent.to_string()),
                Some(other) => {
                    Some(" ".repeat(other.as_int().and_then(|n| usize::try_from(n).ok()).unwrap_or(0).min(100)))
                }
            };
            let mut style = Style {
                is_ascii,
                item: if indent.is_some() { "," } else { ", " }.to_owned(),
                key: ": ".to_owned(),
                indent,
                is_sorted,
            };
            if let Some(separators) = arguments.take("separators") {
                let parts = interpreter.items(&separators.value, place)?;
                let [item, key] = parts.as_slice() else { return Err(type_error("separators is a pair of texts")) };
                style.item = text(Some(item.value.clone()), "separators")?.to_string();
                style.key = text(Some(key.value.clone()), "separators")?.to_string();
            }
            let [value] = arguments.bind(name, ["obj"], 1)?;
            let mut out = String::new();
            write(&mut interpreter.budget, &mut out, &value.unwrap_or(Value::None), &style, 0)?;
            interpreter.budget.make(out.len())?;
            Ok(Value::text(out))
        }
    }
}
