//! `ast.literal_eval`, and what `eval` does of library code: literals alone.

use crate::error::{Result, Stop, type_error, value_error};
use crate::place::Place;
use crate::value::{Dict, Layout, Slot, Value};
use ruff_python_ast::{Expr, Number, UnaryOp};

/// Literals inside each other deeper than this are refused.
const DEEPEST: u32 = 200;

pub(crate) fn literal_eval(value: &Value, place: Place) -> Result<Value> {
    let Value::Text(text) = value else {
        return Err(type_error(format!("a text of a literal is expected, not {}", value.type_name())));
    };
    let tree = ruff_python_parser::parse_expression(text.trim_start_matches([' ', '\t']))
        .map_err(|error| Stop::new("SyntaxError", error.error.to_string()))?;
    literal(&tree.syntax().body, place, 0)
}

fn literal(expression: &Expr, place: Place, depth: u32) -> Result<Value> {
    if depth > DEEPEST {
        return Err(Stop::new("RecursionError", "literals lie too deep inside each other"));
    }
    let slot = |expression: &Expr| Ok(Slot { value: literal(expression, place, depth + 1)?, place });
    Ok(match expression {
        Expr::StringLiteral(text) => Value::text(text.value.to_str()),
        Expr::BytesLiteral(bytes) => Value::Bytes(bytes.value.bytes().collect()),
        Expr::BooleanLiteral(value) => Value::Bool(value.value),
        Expr::NoneLiteral(_) => Value::None,
        Expr::NumberLiteral(number) => number_of(&number.value)?,
        Expr::UnaryOp(operation) => match (operation.op, literal(&operation.operand, place, depth + 1)?) {
            (UnaryOp::USub, Value::Int(int)) => Value::Int(-int),
            (UnaryOp::USub, Value::Float(float)) => Value::Float(-float),
            (UnaryOp::UAdd, value @ (Value::Int(_) | Value::Float(_))) => value,
            _ => return Err(malformed()),
        },
        Expr::List(list) => Value::list(list.elts.iter().map(slot).collect::<Result<_>>()?),
        Expr::Tuple(tuple) => Value::Tuple(tuple.elts.iter().map(slot).collect::<Result<Vec<_>>>()?.into()),
        Expr::Set(set) => super::set_of(set.elts.iter().map(slot).collect::<Result<_>>()?, Layout::Added)?,
        Expr::Dict(written) => {
            let mut dict = Dict::default();
            for item in &written.items {
                let key = item.key.as_ref().ok_or_else(malformed)?;
                dict.insert(slot(key)?, slot(&item.value)?)?;
            }
            Value::dict(dict)
        }
        _ => return Err(malformed()),
    })
}

fn number_of(number: &Number) -> Result<Value> {
    match number {
        Number::Int(int) => int
            .to_string()
            .parse()
            .map(Value::Int)
            .map_err(|_| Stop::unsupported("integers beyond 128 bits, or not written in decimal")),
        Number::Float(float) => Ok(Value::Float(*float)),
        Number::Complex { .. } => Err(Stop::unsupported("complex numbers are not evaluated here")),
    }
}

/// CPython's `eval` would run it; nothing tells the two apart here, so no `except` may hide it.
fn malformed() -> Stop {
    value_error("malformed node or string: only literals are evaluated here").finally()
}
