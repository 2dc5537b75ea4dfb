//! `itertools`. What it makes computes an element when it is asked for; `product`, `combinations` and `permutations` read all that
//! they are given at once, as in CPython.

use crate::error::{Result, Stop, type_error, value_error};
use crate::evaluate::{Arguments, Interpreter, Items, binary};
use crate::place::Place;
use crate::value::{Slot, Value};
use ruff_python_ast::Operator;

/// An iterator of `itertools` between two elements.
#[derive(Debug)]
pub(crate) enum Tool {
    /// Source of the iterables, and the one that is read.
    Chain(Items, Option<Items>),
    /// Elements that are skipped before the next one, those that may still be read, and the step.
    Slice {
        items: Items,
        skipped: usize,
        left: usize,
        step: usize,
    },
    Count {
        next: Value,
        step: Value,
        place: Place,
    },
    /// Items that are read for the first time, and then the elements that were read.
    Cycle {
        items: Option<Items>,
        read: Vec<Slot>,
        at: usize,
    },
    Repeat(Slot, Option<usize>),
    Accumulate {
        items: Items,
        function: Option<Value>,
        total: Option<Value>,
        place: Place,
    },
    Longest {
        columns: Vec<Option<Items>>,
        fill: Slot,
    },
    TakeWhile {
        function: Value,
        items: Option<Items>,
        place: Place,
    },
    DropWhile {
        function: Value,
        items: Items,
        is_past: bool,
        place: Place,
    },
    StarMap {
        function: Value,
        items: Items,
        place: Place,
    },
}

impl Tool {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Chain(..) => "itertools.chain",
            Self::Slice { .. } => "itertools.islice",
            Self::Count { .. } => "itertools.count",
            Self::Cycle { .. } => "itertools.cycle",
            Self::Repeat(..) => "itertools.repeat",
            Self::Accumulate { .. } => "itertools.accumulate",
            Self::Longest { .. } => "itertools.zip_longest",
            Self::TakeWhile { .. } => "itertools.takewhile",
            Self::DropWhile { .. } => "itertools.dropwhile",
            Self::StarMap { .. } => "itertools.starmap",
        }
    }
}

/// The next element.
pub(crate) fn next(interpreter: &mut Interpreter<'_>, tool: &mut Tool) -> Result<Option<Slot>> {
    match tool {
        Tool::Chain(iterables, current) => loop {
            if let Some(items) = current
                && let Some(slot) = interpreter.next(items)?
            {
                return Ok(Some(slot));
            }
            let Some(slot) = interpreter.next(iterables)? else {
                *current = None;
                return Ok(None);
            };
            *current = Some(interpreter.iterate(&slot.value, slot.place)?);
        },
        Tool::Slice { items, skipped, left, step } => {
            while *skipped > 0 && *left > 0 {
                interpreter.budget.step()?;
                (*skipped, *left) = (*skipped - 1, *left - 1);
                if interpreter.next(items)?.is_none() {
                    *left = 0;
                }
            }
            if *left == 0 {
                return Ok(None);
            }
            (*skipped, *left) = (*step - 1, *left - 1);
            interpreter.next(items)
        }
        Tool::Count { next, step, place } => {
            let after = binary(interpreter, next, Operator::Add, step, *place)?;
            Ok(Some(Slot { value: std::mem::replace(next, after), place: *place }))
        }
        Tool::Cycle { items, read, at } => {
            if let Some(first) = items {
                if let Some(slot) = interpreter.next(first)? {
                    read.push(slot.clone());
                    return Ok(Some(slot));
                }
                *items = None;
            }
            let slot = read.get(*at).cloned();
            *at = if *at + 1 < read.len() { *at + 1 } else { 0 };
            Ok(slot)
        }
        Tool::Repeat(slot, times) => Ok(match times {
            None => Some(slot.clone()),
            Some(0) => None,
            Some(left) => {
                *left -= 1;
                Some(slot.clone())
            }
        }),
        Tool::Accumulate { items, function, total, place } => {
            let Some(slot) = interpreter.next(items)? else { return Ok(None) };
            let value = match (total.take(), function) {
                (None, _) => slot.value,
                (Some(total), None) => binary(interpreter, &total, Operator::Add, &slot.value, *place)?,
                (Some(total), Some(function)) => {
                    let pair = vec![Slot { value: total, place: *place }, slot];
                    interpreter.call(function, Arguments::of(pair, *place))?
                }
            };
            *total = Some(value.clone());
            Ok(Some(Slot { value, place: *place }))
        }
        Tool::Longest { columns, fill } => {
            interpreter.budget.make(columns.len() * size_of::<Slot>())?;
            let mut row = Vec::with_capacity(columns.len());
            for column in columns.iter_mut() {
                let slot = match column {
                    Some(items) => interpreter.next(items)?,
                    None => None,
                };
                if slot.is_none() {
                    *column = None;
                }
                row.push(slot.unwrap_or_else(|| fill.clone()));
            }
            let is_over = columns.iter().all(Option::is_none);
            Ok((!is_over).then(|| Slot { value: Value::Tuple(row.into()), place: fill.place }))
        }
        Tool::TakeWhile { function, items, place } => {
            let Some(source) = items else { return Ok(None) };
            let Some(slot) = interpreter.next(source)? else { return Ok(None) };
            let given = interpreter.call(function, Arguments::of(vec![slot.clone()], *place))?;
            if interpreter.truth(&given)? {
                return Ok(Some(slot));
            }
            *items = None;
            Ok(None)
        }
        Tool::DropWhile { function, items, is_past, place } => loop {
            let Some(slot) = interpreter.next(items)? else { return Ok(None) };
            if !*is_past {
                let given = interpreter.call(function, Arguments::of(vec![slot.clone()], *place))?;
                *is_past = !interpreter.truth(&given)?;
            }
            if *is_past {
                return Ok(Some(slot));
            }
        },
        Tool::StarMap { function, items, place } => {
            let Some(slot) = interpreter.next(items)? else { return Ok(None) };
            let given = interpreter.items(&slot.value, slot.place)?;
            let value = interpreter.call(function, Arguments::of(given, *place))?;
            Ok(Some(Slot { value, place: slot.place }))
        }
    }
}

pub(super) fn call(interpreter: &mut Interpreter<'_>, name: &str, mut arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    let tool = match name {
        "chain" => {
            let iterables = std::mem::take(&mut arguments.positional);
            Tool::Chain(Items::All(iterables.into_iter()), None)
        }
        "from_iterable" => {
            let [iterables] = arguments.bind(name, ["iterable"], 1)?;
            Tool::Chain(interpreter.iterate(&iterables.unwrap_or(Value::None), place)?, None)
        }
        "islice" => {
            let [items, a, b, c] = arguments.bind(name, ["iterable", "a", "b", "c"], 2)?;
            let items = interpreter.iterate(&items.unwrap_or(Value::None), place)?;
            let (start, stop) = match &b {
                Some(_) => (a, b),
                None => (None, a),
            };
            let start = bound(start, "Indices")?.unwrap_or(0);
            let stop = bound(stop, "Stop argument")?.unwrap_or(usize::MAX);
            let step = bound(c, "Step")?.unwrap_or(1);
            if step == 0 {
                return Err(value_error("Step for islice() must be a positive integer or None."));
            }
            Tool::Slice { items, skipped: start, left: stop, step }
        }
        "combinations" | "permutations" => {
            let [items, count] = arguments.bind(name, ["iterable", "r"], 1)?;
            let items = interpreter.items(&items.unwrap_or(Value::None), place)?;
            let count = count.and_then(|count| count.as_int()).and_then(|count| usize::try_from(count).ok());
            let count = count.unwrap_or(items.len());
            let mut rows = Vec::new();
            choose(interpreter, &items, count, name == "combinations", &mut Vec::new(), &mut rows)?;
            let rows = rows.into_iter().map(|row: Vec<Slot>| Slot { value: Value::Tuple(row.into()), place });
            return Ok(Value::iterator(rows));
        }
        "accumulate" => {
            let [items, function, initial] = arguments.bind(name, ["iterable", "func", "initial"], 1)?;
            if initial.is_some_and(|initial| !matches!(initial, Value::None)) {
                return Err(Stop::unsupported("`itertools.accumulate` with `initial` is not evaluated here"));
            }
            let items = interpreter.iterate(&items.unwrap_or(Value::None), place)?;
            let function = function.filter(|function| !matches!(function, Value::None));
            Tool::Accumulate { items, function, total: None, place }
        }
        "count" => {
            let [start, step] = arguments.bind(name, ["start", "step"], 0)?;
            Tool::Count { next: start.unwrap_or(Value::Int(0)), step: step.unwrap_or(Value::Int(1)), place }
        }
        "cycle" => {
            let [items] = arguments.bind(name, ["iterable"], 1)?;
            let items = interpreter.iterate(&items.unwrap_or(Value::None), place)?;
            Tool::Cycle { items: Some(items), read: Vec::new(), at: 0 }
        }
        "repeat" => {
            let [value, times] = arguments.bind(name, ["object", "times"], 1)?;
            let times = times.and_then(|times| times.as_int()).map(|times| usize::try_from(times).unwrap_or(0));
            Tool::Repeat(Slot { value: value.unwrap_or(Value::None), place }, times)
        }
        "zip_longest" => {
            let fill = arguments.take("fillvalue").map_or(Value::None, |slot| slot.value);
            let mut columns = Vec::new();
            for slot in &arguments.positional {
                columns.push(Some(interpreter.iterate(&slot.value, slot.place)?));
            }
            Tool::Longest { columns, fill: Slot { value: fill, place } }
        }
        "takewhile" | "dropwhile" | "starmap" => {
            let [function, items] = arguments.bind(name, ["function", "iterable"], 2)?;
            let function = function.unwrap_or(Value::None);
            let items = interpreter.iterate(&items.unwrap_or(Value::None), place)?;
            match name {
                "takewhile" => Tool::TakeWhile { function, items: Some(items), place },
                "dropwhile" => Tool::DropWhile { function, items, is_past: false, place },
                _ => Tool::StarMap { function, items, place },
            }
        }
        _ => return Err(Stop::unsupported(format!("`itertools.{name}` is not evaluated here"))),
    };
    Ok(Value::iterating(Items::Tool(Box::new(tool))))
}

/// A bound of `islice`.
fn bound(value: Option<Value>, what: &str) -> Result<Option<usize>> {
    match value {
        None | Some(Value::None) => Ok(None),
        Some(value) => match value.as_int().and_then(|at| usize::try_from(at).ok()) {
            Some(at) => Ok(Some(at)),
            None if what == "Step" => Err(value_error("Step for islice() must be a positive integer or None.")),
            None if value.as_int().is_none() && what == "Indices" => {
                Err(type_error("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize."))
            }
            None => Err(value_error(format!("{what} for islice() must be None or an integer: 0 <= x <= sys.maxsize."))),
        },
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
