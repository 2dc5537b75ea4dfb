//! Enumerations: classes below `enum.Enum`, whose members are objects with a name and a value.

use super::equal;
use crate::error::{Result, Stop, value_error};
use crate::value::{Class, Dict, Exception, Instance, Slot, Value, repr};
use std::cell::RefCell;
use std::rc::Rc;

/// Returns whether a class with these bases is an enumeration.
///
/// # Errors
/// Its members would be values of another type as well, or combine.
pub(super) fn kind(bases: &[Value]) -> Result<bool> {
    for base in bases {
        match base {
            Value::Symbol(symbol) if symbol.dotted() == "enum.Enum" && bases.len() == 1 => return Ok(true),
            Value::Symbol(symbol) if symbol.dotted().starts_with("enum.") => {
                let text = format!("an enumeration that stands on more than `enum.Enum` ({})", symbol.dotted());
                return Err(Stop::unsupported(text));
            }
            Value::Class(class) if class.above.iter().chain([class]).any(|class| class.is_enum()) => {
                if class.enum_members().is_empty() && bases.len() == 1 {
                    return Ok(true);
                }
                return Err(Stop::unsupported(format!("a class that stands on the enumeration `{}`", class.name)));
            }
            _ => {}
        }
    }
    Ok(false)
}

/// Makes the members of an enumeration of what its class binds.
pub(super) fn enumerate(class: &Rc<Class>) -> Result<()> {
    if let Some(special) = ["__init__", "__new__", "_missing_"].into_iter().find(|name| class.member(name).is_some()) {
        return Err(Stop::unsupported(format!("an enumeration with `{special}`")));
    }
    let entries: Vec<(Rc<str>, Slot)> = class
        .members
        .borrow()
        .iter()
        .filter_map(|entry| Some((entry.key.value.as_text()?.clone(), entry.slot.clone())))
        .collect();
    let mut members: Vec<(Value, Value)> = Vec::new();
    // So that objects of the class are members while they are made.
    *class.enumerated.borrow_mut() = Some(Vec::new());
    for (name, slot) in entries {
        if name.starts_with('_') || matches!(slot.value, Value::Function(_) | Value::Object(_) | Value::Class(_)) {
            continue;
        }
        if matches!(slot.value, Value::Symbol(_)) {
            return Err(
                Stop::unsupported("a member of an enumeration whose value is not evaluated here").at(slot.place)
            );
        }
        let known = members.iter().find(|(value, _)| equal(value, &slot.value)).map(|(_, member)| member.clone());
        let member = known.unwrap_or_else(|| {
            let mut attributes = Dict::default();
            let text = Slot { value: Value::Text(Rc::clone(&name)), place: slot.place };
            for (attribute, slot) in [("name", &text), ("_name_", &text), ("value", &slot), ("_value_", &slot)] {
                attributes.insert_text(attribute, slot.place, slot.clone());
            }
            let member = Instance { class: Rc::clone(class), attributes: RefCell::new(attributes) };
            let member = Value::Instance(Rc::new(member));
            members.push((slot.value.clone(), member.clone()));
            member
        });
        class.members.borrow_mut().insert_text(&name, slot.place, Slot { value: member, place: slot.place });
    }
    *class.enumerated.borrow_mut() = Some(members.into_iter().map(|(_, member)| member).collect());
    Ok(())
}

fn attribute(member: &Value, name: &str) -> Option<Value> {
    match member {
        Value::Instance(instance) => instance.attributes.borrow().get_text(name).map(|slot| slot.value.clone()),
        _ => None,
    }
}

/// `Enumeration(value)`.
pub(super) fn by_value(class: &Class, value: &Value) -> Result<Value> {
    let mut members = class.enum_members().into_iter();
    let found =
        members.find(|member| member.is(value) || attribute(member, "value").is_some_and(|known| equal(&known, value)));
    found.ok_or_else(|| value_error(format!("{} is not a valid {}", repr(value), class.name)))
}

/// `Enumeration[name]`; other names of a member find it, too.
pub(super) fn by_name(class: &Class, name: &Value) -> Result<Value> {
    let is_member = |value: &Value| class.enum_members().iter().any(|member| member.is(value));
    let found = name.as_text().and_then(|name| class.member(name)).filter(is_member);
    found.ok_or_else(|| Stop::raised(Exception::builtin("KeyError", vec![name.clone()])))
}
