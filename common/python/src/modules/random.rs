//! `random`: the draws of CPython's generator. Draws without a seed differ from run to run there, so they are refused here.

use crate::error::{Result, Stop, type_error, value_error};
use crate::evaluate::{Arguments, Interpreter};
use crate::object::{self, Object};
use crate::value::Value;
use compass_pyfmt::PythonRandom;
use std::cell::RefCell;

pub(super) const NAMES: &[&str] = &[
    "Random",
    "choice",
    "choices",
    "getrandbits",
    "randint",
    "random",
    "randrange",
    "sample",
    "seed",
    "shuffle",
    "uniform",
];

fn generator(seed: Option<&Value>) -> Result<PythonRandom> {
    match seed {
        None | Some(Value::None) => Err(Stop::unsupported("draws without a seed differ from run to run")),
        Some(seed) => {
            let number = seed.as_int().and_then(|seed| u64::try_from(seed.unsigned_abs()).ok());
            number.map(PythonRandom::new).ok_or_else(|| Stop::unsupported("a seed that is not an integer of 64 bits"))
        }
    }
}

/// `random.Random(seed)`.
pub(super) fn make(arguments: Arguments) -> Result<Value> {
    let [seed] = arguments.bind("Random", ["x"], 0)?;
    Ok(object::value(Object::Random(Box::new(RefCell::new(generator(seed.as_ref())?)))))
}

/// A function of the module, or the method of a generator.
pub(crate) fn call(
    interpreter: &mut Interpreter<'_>,
    own: Option<&RefCell<PythonRandom>>,
    name: &str,
    arguments: Arguments,
) -> Result<Value> {
    if name == "seed" {
        let [seed, _] = arguments.bind("seed", ["a", "version"], 0)?;
        let seeded = generator(seed.as_ref())?;
        match (own, &mut interpreter.library) {
            (Some(own), _) => *own.borrow_mut() = seeded,
            (None, Some(tree)) => tree.random = Some(seeded),
            (None, None) => {}
        }
        return Ok(Value::None);
    }
    let known = match own {
        Some(own) => Some(own.borrow().clone()),
        None => interpreter.library.as_mut().and_then(|tree| tree.random.take()),
    };
    let mut random =
        known.ok_or_else(|| Stop::unsupported(format!("`random.{name}` without a seed before it in `load`")))?;
    let drawn = draw(interpreter, &mut random, name, arguments);
    match (own, &mut interpreter.library) {
        (Some(own), _) => *own.borrow_mut() = random,
        (None, Some(tree)) => tree.random = Some(random),
        (None, None) => {}
    }
    drawn
}

fn draw(
    interpreter: &mut Interpreter<'_>,
    random: &mut PythonRandom,
    name: &str,
    arguments: Arguments,
) -> Result<Value> {
    let place = arguments.place;
    let int = |value: Option<Value>| -> Result<i128> {
        value.as_ref().and_then(Value::as_int).ok_or_else(|| type_error(format!("{name}() takes integers")))
    };
    let below = |random: &mut PythonRandom, width: i128| -> Result<i128> {
        match u64::try_from(width) {
            Ok(width) if width > 0 => Ok(i128::from(random.randbelow(width))),
            _ => Err(value_error("empty range in randrange")),
        }
    };
    match name {
        "random" => Ok(Value::Float(random.random())),
        "uniform" => {
            let [a, b] = arguments.bind(name, ["a", "b"], 2)?;
            let number = |value: Option<Value>| {
                value.as_ref().and_then(Value::as_float).ok_or_else(|| type_error("must be real number"))
            };
            let (a, b) = (number(a)?, number(b)?);
            Ok(Value::Float(a + (b - a) * random.random()))
        }
        "randint" => {
            let [a, b] = arguments.bind(name, ["a", "b"], 2)?;
            let (a, b) = (int(a)?, int(b)?);
            Ok(Value::Int(a + below(random, b - a + 1)?))
        }
        "randrange" => {
            let [start, stop, step] = arguments.bind(name, ["start", "stop", "step"], 1)?;
            if step.is_some() {
                return Err(Stop::unsupported("`randrange` with a step"));
            }
            let start = int(start)?;
            match stop {
                None => Ok(Value::Int(below(random, start)?)),
                Some(stop) => Ok(Value::Int(start + below(random, int(Some(stop))? - start)?)),
            }
        }
        "getrandbits" => {
            let [bits] = arguments.bind(name, ["k"], 1)?;
            let bits = u32::try_from(int(bits)?).ok().filter(|bits| *bits <= 64);
            let bits = bits.ok_or_else(|| Stop::unsupported("more than 64 random bits"))?;
            Ok(Value::Int(i128::from(random.getrandbits(bits))))
        }
        "choice" => {
            let [items] = arguments.bind(name, ["seq"], 1)?;
            let items = sequence(interpreter, items, place)?;
            if items.is_empty() {
                return Err(Stop::new("IndexError", "Cannot choose from an empty sequence"));
            }
            let at = random.randbelow(items.len() as u64) as usize;
            Ok(items.get(at).map_or(Value::None, |slot| slot.value.clone()))
        }
        "choices" => {
            let [items, weights, cumulative, count] =
                arguments.bind(name, ["population", "weights", "cum_weights", "k"], 1)?;
            if weights.or(cumulative).is_some_and(|weights| !matches!(weights, Value::None)) {
                return Err(Stop::unsupported("`random.choices` with weights"));
            }
            let items = sequence(interpreter, items, place)?;
            let count = usize::try_from(count.map_or(Ok(1), |count| int(Some(count)))?).unwrap_or(0);
            if items.is_empty() {
                return Err(Stop::new("IndexError", "Cannot choose from an empty population"));
            }
            interpreter.budget.make(count.saturating_mul(size_of::<crate::value::Slot>()))?;
            let drawn = (0..count).filter_map(|_| items.get(random.choice_index(items.len())).cloned());
            Ok(Value::list(drawn.collect()))
        }
        "sample" => {
            let [items, count] = arguments.bind(name, ["population", "k"], 2)?;
            let items = sequence(interpreter, items, place)?;
            let count =
                u32::try_from(int(count)?).map_err(|_| value_error("Sample larger than population or is negative"))?;
            let length = u32::try_from(items.len()).map_err(|_| Stop::unsupported("a population of so many"))?;
            let drawn = random
                .sample(length, count)
                .ok_or_else(|| value_error("Sample larger than population or is negative"))?;
            Ok(Value::list(drawn.into_iter().filter_map(|at| items.get(at as usize).cloned()).collect()))
        }
        "shuffle" => {
            let [items] = arguments.bind(name, ["x"], 1)?;
            let Some(Value::List(list)) = items else {
                return Err(Stop::unsupported("`shuffle` of something that is not a list"));
            };
            random.shuffle(&mut list.items.borrow_mut());
            Ok(Value::None)
        }
        _ => Err(Stop::unsupported(format!("`random.{name}` is not evaluated here"))),
    }
}

fn sequence(
    interpreter: &mut Interpreter<'_>,
    items: Option<Value>,
    place: crate::place::Place,
) -> Result<Vec<crate::value::Slot>> {
    match items {
        Some(items @ (Value::List(_) | Value::Tuple(_) | Value::Range(_) | Value::Text(_))) => {
            interpreter.items(&items, place)
        }
        other => {
            let kind = other.as_ref().map_or("NoneType", Value::type_name);
            Err(type_error(format!("Population must be a sequence, not {kind}. For dicts or sets, use sorted(d).")))
        }
    }
}
