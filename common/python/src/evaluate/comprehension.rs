//! Comprehensions. Their targets are their own; the first iterable is evaluated outside, as in CPython.

use super::{Interpreter, Kind, Scope};
use crate::error::Result;
use crate::place::Place;
use crate::value::{Dict, Slot, Value};
use ruff_python_ast::{Comprehension, Expr, ExprDictComp};
use ruff_text_size::Ranged;
use std::rc::Rc;

impl Interpreter<'_> {
    /// The elements of `[element for ...]`.
    pub(crate) fn comprehend(
        &mut self,
        scope: &Rc<Scope>,
        element: &Expr,
        generators: &[Comprehension],
    ) -> Result<Vec<Slot>> {
        let mut slots = Vec::new();
        self.budget.container()?;
        self.generate(scope, generators, &mut |this, inside| {
            this.budget.make(size_of::<Slot>())?;
            slots.push(this.slot(inside, element)?);
            Ok(())
        })?;
        Ok(slots)
    }

    pub(crate) fn comprehend_dict(&mut self, scope: &Rc<Scope>, comprehension: &ExprDictComp) -> Result<Value> {
        let mut dict = Dict::default();
        self.budget.container()?;
        self.generate(scope, &comprehension.generators, &mut |this, inside| {
            this.budget.make(size_of::<Slot>() * 2)?;
            let Some(key) = &comprehension.key else { return Ok(()) };
            let key = this.slot(inside, key)?;
            let value = this.slot(inside, &comprehension.value)?;
            let place = key.place;
            dict.insert(key, value).map_err(|stop| stop.at(place))
        })?;
        Ok(Value::dict(dict))
    }

    fn generate(
        &mut self,
        scope: &Rc<Scope>,
        generators: &[Comprehension],
        each: &mut dyn FnMut(&mut Self, &Rc<Scope>) -> Result<()>,
    ) -> Result<()> {
        let Some((first, rest)) = generators.split_first() else { return Ok(()) };
        let place = Place::of(scope.file, first.iter.range());
        let iterated = self.evaluate(scope, &first.iter)?;
        let inside = Scope::inside(scope, Kind::Comprehension, Rc::default());
        self.generate_from(&inside, first, rest, (&iterated, place), each)
    }

    fn generate_from(
        &mut self,
        inside: &Rc<Scope>,
        generator: &Comprehension,
        rest: &[Comprehension],
        (iterated, place): (&Value, Place),
        each: &mut dyn FnMut(&mut Self, &Rc<Scope>) -> Result<()>,
    ) -> Result<()> {
        let mut items = self.iterate(iterated, place).map_err(|stop| stop.at(place))?;
        'items: while let Some(slot) = items.next_slot() {
            self.budget.step()?;
            self.assign(inside, &generator.target, slot)?;
            for condition in &generator.ifs {
                if !self.evaluate(inside, condition)?.is_true() {
                    continue 'items;
                }
            }
            match rest.split_first() {
                None => each(self, inside)?,
                Some((next, after)) => {
                    let place = Place::of(inside.file, next.iter.range());
                    let iterated = self.evaluate(inside, &next.iter)?;
                    self.generate_from(inside, next, after, (&iterated, place), each)?;
                }
            }
        }
        Ok(())
    }
}
