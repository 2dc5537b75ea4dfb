//! Further functions of `itertools`. What has no end is refused: iterators are computed at once here.

use crate::error::{Result, Stop};
use crate::evaluate::{Arguments, Interpreter, binary};
use crate::value::{Slot, Value};
use ruff_python_ast::Operator;

pub(super) fn call(interpreter: &mut Interpreter<'_>, name: &str, mut arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    match name {
        "islice" => {
            let [items, a, b, c] = arguments.bind(name, ["iterable", "a", "b", "c"], 2)?;
            let items = interpreter.items(&items.unwrap_or(Value::None), place)?;
            let (lower, upper) = match &b {
                Some(_) => (a.unwrap_or(Value::None), b.unwrap_or(Value::None)),
                None => (Value::None, a.unwrap_or(Value::None)),
            };
            let slice = crate::value::Slice { lower, upper, step: c.unwrap_or(Value::None) };
            let indices = crate::evaluate::slice_indices(&slice, items.len())?;
            let picked: Vec<Slot> = indices.filter_map(|at| items.get(at).cloned()).collect();
            Ok(Value::iterator(picked))
        }
        "combinations" | "permutations" => {
            let [items, count] = arguments.bind(name, ["iterable", "r"], 1)?;
            let items = interpreter.items(&items.unwrap_or(Value::None), place)?;
            let count = count.and_then(|count| count.as_int()).and_then(|count| usize::try_from(count).ok());
            let count = count.unwrap_or(items.len());
            let mut rows = Vec::new();
            choose(interpreter, &items, count, name == "combinations", &mut Vec::new(), &mut rows)?;
            let rows = rows.into_iter().map(|row: Vec<Slot>| Slot { value: Value::Tuple(row.into()), place });
            Ok(Value::iterator(rows))
        }
        "accumulate" => {
            let [items] = arguments.bind(name, ["iterable"], 1)?;
            let mut total: Option<Value> = None;
            let mut totals = Vec::new();
            for slot in interpreter.items(&items.unwrap_or(Value::None), place)? {
                let next = match &total {
                    None => slot.value,
                    Some(total) => binary(interpreter, total, Operator::Add, &slot.value, place)?,
                };
                totals.push(Slot { value: next.clone(), place });
                total = Some(next);
            }
            Ok(Value::iterator(totals))
        }
        "repeat" => {
            let [value, times] = arguments.bind(name, ["object", "times"], 1)?;
            let times = times.and_then(|times| times.as_int()).and_then(|times| usize::try_from(times).ok());
            let times = times.ok_or_else(|| Stop::unsupported("`itertools.repeat` without an end"))?;
            interpreter.budget.make(times.saturating_mul(size_of::<Slot>()))?;
            let value = value.unwrap_or(Value::None);
            Ok(Value::iterator(std::iter::repeat_n(Slot { value, place }, times)))
        }
        "zip_longest" => {
            let fill = arguments.take("fillvalue").map_or(Value::None, |slot| slot.value);
            let mut columns = Vec::new();
            for slot in &arguments.positional {
                columns.push(interpreter.items(&slot.value, slot.place)?);
            }
            let length = columns.iter().map(Vec::len).max().unwrap_or(0);
            interpreter.budget.make(length.saturating_mul(columns.len()).saturating_mul(size_of::<Slot>()))?;
            let row = |at: usize| {
                let fill = Slot { value: fill.clone(), place };
                columns.iter().map(|column| column.get(at).cloned().unwrap_or_else(|| fill.clone())).collect()
            };
            let rows: Vec<Slot> = (0..length).map(|at| Slot { value: Value::Tuple(row(at)), place }).collect();
            Ok(Value::iterator(rows))
        }
        _ => Err(Stop::unsupported(format!("`itertools.{name}` has no end, and iterators are computed at once here"))),
    }
}

fn choose(
    interpreter: &mut Interpreter<'_>,
    items: &[Slot],
    count: usize,
    is_sorted: bool,
    taken: &mut Vec<usize>,
    rows: &mut Vec<Vec<Slot>>,
) -> Result<()> {
    interpreter.budget.step()?;
    if taken.len() == count {
        interpreter.budget.make(count * size_of::<Slot>())?;
        rows.push(taken.iter().filter_map(|at| items.get(*at).cloned()).collect());
        return Ok(());
    }
    let from = if is_sorted { taken.last().map_or(0, |last| last + 1) } else { 0 };
    for at in from..items.len() {
        if taken.contains(&at) {
            continue;
        }
        taken.push(at);
        choose(interpreter, items, count, is_sorted, taken, rows)?;
        taken.pop();
    }
    Ok(())
}
