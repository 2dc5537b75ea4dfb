//! Comprehensions, and generator expressions, which compute an element when it is requested. Their targets are their own; the first
//! iterable is evaluated outside, as in CPython.

use super::{Interpreter, Items, Kind, Scope};
use crate::error::Result;
use crate::place::Place;
use crate::value::{Dict, Slot, Value};
use ruff_python_ast::{Comprehension, Expr, ExprDictComp, ExprGenerator};
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
        'items: while let Some(slot) = self.next(&mut items)? {
            self.budget.step()?;
            self.assign(inside, &generator.target, slot)?;
            for condition in &generator.ifs {
                if !self.is_true(inside, condition)? {
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

/// A generator expression between two elements.
pub(crate) struct GeneratorExpression {
    expression: Rc<ExprGenerator>,
    inside: Rc<Scope>,
    /// Items of each `for` that has begun.
    levels: Vec<Items>,
}

impl std::fmt::Debug for GeneratorExpression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<generator expression>")
    }
}

impl Interpreter<'_> {
    /// `(element for ...)`: its first iterable is evaluated now, the rest as elements are asked for.
    pub(crate) fn generator_expression(&mut self, scope: &Rc<Scope>, written: &ExprGenerator) -> Result<Value> {
        self.budget.container()?;
        let Some(first) = written.generators.first() else { return Ok(Value::iterating(Items::none())) };
        let place = Place::of(scope.file, first.iter.range());
        let iterated = self.evaluate(scope, &first.iter)?;
        let items = self.iterate(&iterated, place).map_err(|stop| stop.at(place))?;
        let inside = Scope::inside(scope, Kind::Comprehension, Rc::default());
        let expression = self.kept_expression(scope.file, written);
        let expression = GeneratorExpression { expression, inside, levels: vec![items] };
        Ok(Value::iterating(Items::Expression(Box::new(expression))))
    }

    pub(super) fn next_of_expression(&mut self, generator: &mut GeneratorExpression) -> Result<Option<Slot>> {
        let GeneratorExpression { expression, inside, levels } = generator;
        'items: loop {
            let Some(items) = levels.last_mut() else { return Ok(None) };
            let Some(slot) = self.next(items)? else {
                levels.pop();
                continue;
            };
            self.budget.step()?;
            let Some(clause) = expression.generators.get(levels.len() - 1) else { return Ok(None) };
            self.assign(inside, &clause.target, slot)?;
            for condition in &clause.ifs {
                if !self.is_true(inside, condition)? {
                    continue 'items;
                }
            }
            match expression.generators.get(levels.len()) {
                None => return self.slot(inside, &expression.elt).map(Some),
                Some(next) => {
                    let place = Place::of(inside.file, next.iter.range());
                    let iterated = self.evaluate(inside, &next.iter)?;
                    levels.push(self.iterate(&iterated, place).map_err(|stop| stop.at(place))?);
                }
            }
        }
    }
}
