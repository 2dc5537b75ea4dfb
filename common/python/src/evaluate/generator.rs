//! Functions with a `yield`: each call makes a generator, which runs from one `yield` to the next.
//!
//! Its position is a path of frames, one for each statement around the `yield`; to continue, it walks that path from the body of the
//! function. A `yield` is a statement of its own, or the whole value of an assignment or of a `return`; within another expression
//! it is refused at its place.

use super::iterate::{Items, returned};
use super::statement::Flow;
use super::{Interpreter, Scope};
use crate::error::{Raised, Result, Stop};
use crate::place::Place;
use crate::value::{Body, Function, Slot, Value};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt, StmtFor, StmtTry, StmtWhile};
use ruff_text_size::Ranged;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A generator between two elements.
pub(crate) struct Generator {
    function: Rc<Function>,
    scope: Rc<Scope>,
    frames: Vec<Frame>,
    /// Value that `send` gave: the value of the `yield` at which it is.
    sent: Value,
}

impl std::fmt::Debug for Generator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<generator {}>", self.function.name)
    }
}

/// Position in a statement that has a `yield` in it.
enum Frame {
    /// The statement of a block that runs, or runs next.
    Block(usize),
    /// A `yield` that has given its element.
    Yielded,
    /// A `yield from`, with the items that it goes through.
    From(Items),
    /// The part of an `if`, or the case of a `match`, that was taken.
    Branch(usize),
    /// A `for`, in its body.
    For(Items),
    /// A `while`, in its body.
    While,
    /// The `else` of a loop.
    Else,
    Try(Phase),
    /// The objects of a `with` that were entered.
    With(Vec<Value>),
}

/// The part of a `try` that runs.
enum Phase {
    Body,
    Handler(usize, Box<Raised>),
    Else,
    /// With what comes of the statement afterwards.
    Finally(Result<Flow>),
}

/// Outcome of a statement's step.
enum Step {
    Yield(Slot),
    Flow(Flow),
}

/// Outcome of a `yield`.
enum Yielded {
    Given(Slot),
    Value(Slot),
}

impl Generator {
    pub(crate) fn new(function: &Rc<Function>, scope: Rc<Scope>) -> Self {
        Self { function: Rc::clone(function), scope, frames: Vec::new(), sent: Value::None }
    }

    /// Returns whether it has given no element yet.
    pub(crate) fn is_new(&self) -> bool {
        self.frames.is_empty()
    }

    /// Returns whether something has to be done before it may be given up.
    pub(crate) fn has_cleanup(&self) -> bool {
        self.frames.iter().any(|frame| matches!(frame, Frame::Try(_) | Frame::With(_)))
    }

    pub(crate) fn send(&mut self, value: Value) {
        self.sent = value;
    }

    fn take(&mut self, depth: usize) -> Option<Frame> {
        self.frames.get_mut(depth).map(|frame| std::mem::replace(frame, Frame::Yielded))
    }

    fn set(&mut self, depth: usize, frame: Frame) {
        match self.frames.get_mut(depth) {
            Some(known) => *known = frame,
            None => self.frames.push(frame),
        }
    }
}

/// Places in the text of a function's statements that have a `yield` in them.
#[derive(Default)]
pub(crate) struct Yielding {
    pub(crate) statements: BTreeSet<u32>,
    is_found: bool,
}

impl Yielding {
    pub(crate) fn of(statements: &[Stmt]) -> BTreeSet<u32> {
        let mut yielding = Self::default();
        yielding.visit_body(statements);
        yielding.statements
    }

    /// Returns whether a lambda of this expression is a generator.
    pub(crate) fn is_in(expression: &Expr) -> bool {
        let mut yielding = Self::default();
        yielding.visit_expr(expression);
        yielding.is_found
    }
}

impl<'a> Visitor<'a> for Yielding {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            return;
        }
        let is_before = std::mem::take(&mut self.is_found);
        visitor::walk_stmt(self, statement);
        if self.is_found {
            self.statements.insert(statement.range().start().to_u32());
        }
        self.is_found |= is_before;
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Lambda(_) => {}
            Expr::Yield(_) | Expr::YieldFrom(_) => self.is_found = true,
            _ => visitor::walk_expr(self, expression),
        }
    }
}

impl Interpreter<'_> {
    /// Runs to the next `yield`: its element, or what the function returned.
    pub(super) fn resume(&mut self, generator: &mut Generator) -> Result<Result<Slot, Value>> {
        let body = generator.function.body.clone();
        let step = self.deeper(|this| match &body {
            Body::Statements(statements) => this.block_of(generator, statements, 0),
            Body::Expression(expression) => Ok(match this.yielded(generator, expression, 0)? {
                Yielded::Given(slot) => Step::Yield(slot),
                Yielded::Value(slot) => Step::Flow(Flow::Return(slot)),
            }),
        });
        match step {
            Ok(Step::Yield(slot)) => Ok(Ok(slot)),
            Ok(Step::Flow(Flow::Return(slot))) => Ok(Err(slot.value)),
            Ok(Step::Flow(_)) => Ok(Err(Value::None)),
            Err(stop) if stop.is_of("StopIteration") => {
                Err(Stop::new("RuntimeError", "generator raised StopIteration"))
            }
            Err(stop) => Err(stop),
        }
    }

    fn block_of(&mut self, generator: &mut Generator, block: &[Stmt], depth: usize) -> Result<Step> {
        let mut at = match generator.frames.get(depth) {
            Some(Frame::Block(at)) => *at,
            _ => 0,
        };
        while let Some(statement) = block.get(at) {
            generator.set(depth, Frame::Block(at));
            let place = Place::of(generator.scope.file, statement.range());
            let yields = generator.function.yielding.contains(&statement.range().start().to_u32());
            let step = self.nested(|this| match yields {
                true => this.statement_of(generator, statement, depth + 1),
                false => this.statement(&generator.scope, statement).map(Step::Flow),
            });
            match step.map_err(|stop| stop.at(place)) {
                Ok(Step::Yield(slot)) => return Ok(Step::Yield(slot)),
                Ok(Step::Flow(Flow::Next)) => {
                    generator.frames.truncate(depth + 1);
                    at += 1;
                }
                left => {
                    generator.frames.truncate(depth);
                    return left;
                }
            }
        }
        generator.frames.truncate(depth);
        Ok(Step::Flow(Flow::Next))
    }

    /// A statement with a `yield` in it.
    fn statement_of(&mut self, generator: &mut Generator, statement: &Stmt, depth: usize) -> Result<Step> {
        let value = match statement {
            Stmt::Expr(statement) => &statement.value,
            Stmt::Assign(assign) => &assign.value,
            Stmt::AnnAssign(assign) if let Some(value) = &assign.value => value,
            Stmt::Return(statement) if let Some(value) = &statement.value => value,
            Stmt::If(choice) => {
                let taken = match generator.frames.get(depth) {
                    Some(Frame::Branch(taken)) => Some(*taken),
                    _ => self.branch(&generator.scope.clone(), choice)?,
                };
                let block = match taken {
                    None => return Ok(Step::Flow(Flow::Next)),
                    Some(0) => &choice.body,
                    Some(at) => match choice.elif_else_clauses.get(at - 1) {
                        Some(clause) => &clause.body,
                        None => return Ok(Step::Flow(Flow::Next)),
                    },
                };
                generator.set(depth, Frame::Branch(taken.unwrap_or(0)));
                return self.block_of(generator, block, depth + 1);
            }
            Stmt::Match(matched) => {
                let taken = match generator.frames.get(depth) {
                    Some(Frame::Branch(taken)) => Some(*taken),
                    _ => self.case(&generator.scope.clone(), matched)?,
                };
                let Some((taken, case)) = taken.and_then(|at| Some((at, matched.cases.get(at)?))) else {
                    return Ok(Step::Flow(Flow::Next));
                };
                generator.set(depth, Frame::Branch(taken));
                return self.block_of(generator, &case.body, depth + 1);
            }
            Stmt::For(inner) => return self.for_of(generator, inner, depth),
            Stmt::While(inner) => return self.while_of(generator, inner, depth),
            Stmt::Try(inner) => return self.try_of(generator, inner, depth),
            Stmt::With(inner) => {
                let entered = match generator.take(depth) {
                    Some(Frame::With(entered)) => entered,
                    _ => self.enter(&generator.scope.clone(), inner)?,
                };
                generator.set(depth, Frame::With(entered.clone()));
                let step = self.block_of(generator, &inner.body, depth + 1);
                return match step {
                    Ok(Step::Yield(slot)) => Ok(Step::Yield(slot)),
                    Ok(Step::Flow(flow)) => self.leave(entered, Ok(flow)).map(Step::Flow),
                    Err(stop) => self.leave(entered, Err(stop)).map(Step::Flow),
                };
            }
            _ => return Err(within_an_expression()),
        };
        let slot = match self.yielded(generator, value, depth)? {
            Yielded::Given(slot) => return Ok(Step::Yield(slot)),
            Yielded::Value(slot) => slot,
        };
        let scope = Rc::clone(&generator.scope);
        match statement {
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.assign(&scope, target, slot.clone())?;
                }
            }
            Stmt::AnnAssign(assign) => self.assign(&scope, &assign.target, slot)?,
            Stmt::Return(_) => return Ok(Step::Flow(Flow::Return(slot))),
            _ => {}
        }
        Ok(Step::Flow(Flow::Next))
    }

    fn yielded(&mut self, generator: &mut Generator, expression: &Expr, depth: usize) -> Result<Yielded> {
        let place = Place::of(generator.scope.file, expression.range());
        let scope = Rc::clone(&generator.scope);
        match expression {
            Expr::Yield(_) if matches!(generator.frames.get(depth), Some(Frame::Yielded)) => {
                generator.frames.truncate(depth);
                let value = std::mem::replace(&mut generator.sent, Value::None);
                Ok(Yielded::Value(Slot { value, place }))
            }
            Expr::Yield(statement) => {
                let slot = match &statement.value {
                    Some(value) => self.slot(&scope, value)?,
                    None => Slot { value: Value::None, place },
                };
                generator.set(depth, Frame::Yielded);
                Ok(Yielded::Given(slot))
            }
            Expr::YieldFrom(statement) => {
                let mut items = match generator.take(depth) {
                    Some(Frame::From(items)) => items,
                    _ => {
                        let slot = self.slot(&scope, &statement.value)?;
                        self.iterate(&slot.value, slot.place).map_err(|stop| stop.at(slot.place))?
                    }
                };
                if !matches!(std::mem::replace(&mut generator.sent, Value::None), Value::None) {
                    return Err(Stop::unsupported("`send` through a `yield from` is not evaluated here"));
                }
                match self.next(&mut items)? {
                    Some(slot) => {
                        generator.set(depth, Frame::From(items));
                        Ok(Yielded::Given(slot))
                    }
                    None => {
                        generator.frames.truncate(depth);
                        let value = match &items {
                            Items::Shared(shared) => returned(shared),
                            _ => Value::None,
                        };
                        Ok(Yielded::Value(Slot { value, place }))
                    }
                }
            }
            _ => Err(within_an_expression().at(place)),
        }
    }

    fn for_of(&mut self, generator: &mut Generator, statement: &StmtFor, depth: usize) -> Result<Step> {
        let scope = Rc::clone(&generator.scope);
        let mut is_inside = true;
        let mut items = match generator.take(depth) {
            Some(Frame::Else) => {
                generator.set(depth, Frame::Else);
                return self.block_of(generator, &statement.orelse, depth + 1);
            }
            Some(Frame::For(items)) => items,
            _ => {
                is_inside = false;
                let place = Place::of(scope.file, statement.iter.range());
                let iterated = self.evaluate(&scope, &statement.iter)?;
                self.iterate(&iterated, place).map_err(|stop| stop.at(place))?
            }
        };
        loop {
            if !is_inside {
                self.budget.step()?;
                let Some(slot) = self.next(&mut items)? else { break };
                self.assign(&scope, &statement.target, slot)?;
            }
            is_inside = false;
            generator.set(depth, Frame::For(items));
            match self.block_of(generator, &statement.body, depth + 1)? {
                Step::Flow(Flow::Next | Flow::Continue) => {}
                Step::Flow(Flow::Break) => return Ok(Step::Flow(Flow::Next)),
                left => return Ok(left),
            }
            items = match generator.take(depth) {
                Some(Frame::For(items)) => items,
                _ => Items::none(),
            };
        }
        generator.set(depth, Frame::Else);
        self.block_of(generator, &statement.orelse, depth + 1)
    }

    fn while_of(&mut self, generator: &mut Generator, statement: &StmtWhile, depth: usize) -> Result<Step> {
        let scope = Rc::clone(&generator.scope);
        let mut is_inside = matches!(generator.frames.get(depth), Some(Frame::While));
        if !matches!(generator.frames.get(depth), Some(Frame::Else)) {
            loop {
                if !is_inside {
                    self.budget.step()?;
                    let test = self.evaluate(&scope, &statement.test)?;
                    if !self.truth(&test)? {
                        break;
                    }
                }
                is_inside = false;
                generator.set(depth, Frame::While);
                match self.block_of(generator, &statement.body, depth + 1)? {
                    Step::Flow(Flow::Next | Flow::Continue) => {}
                    Step::Flow(Flow::Break) => return Ok(Step::Flow(Flow::Next)),
                    left => return Ok(left),
                }
            }
        }
        generator.set(depth, Frame::Else);
        self.block_of(generator, &statement.orelse, depth + 1)
    }

    fn try_of(&mut self, generator: &mut Generator, attempt: &StmtTry, depth: usize) -> Result<Step> {
        let scope = Rc::clone(&generator.scope);
        let mut phase = match generator.take(depth) {
            Some(Frame::Try(phase)) => phase,
            _ => Phase::Body,
        };
        loop {
            let (block, handled) = match &phase {
                Phase::Body => (&attempt.body, None),
                Phase::Handler(at, _) => {
                    let ruff_python_ast::ExceptHandler::ExceptHandler(handler) = match attempt.handlers.get(*at) {
                        Some(handler) => handler,
                        None => return Ok(Step::Flow(Flow::Next)),
                    };
                    (&handler.body, handler.name.as_ref())
                }
                Phase::Else => (&attempt.orelse, None),
                Phase::Finally(_) => (&attempt.finalbody, None),
            };
            generator.set(depth, Frame::Try(phase));
            let step = self.block_of(generator, block, depth + 1);
            if let Ok(Step::Yield(slot)) = step {
                return Ok(Step::Yield(slot));
            }
            let Some(Frame::Try(ran)) = generator.take(depth) else { return Ok(Step::Flow(Flow::Next)) };
            let flow = step.map(|step| match step {
                Step::Flow(flow) => flow,
                Step::Yield(_) => Flow::Next,
            });
            if let Some(name) = handled {
                scope.unbind(name.as_str());
            }
            phase = match (ran, flow) {
                (Phase::Body, Ok(Flow::Next)) => Phase::Else,
                (Phase::Body, Err(Stop::Raised(raised))) if !raised.is_final => {
                    match self.handler(&scope, attempt, &raised)? {
                        Some(at) => Phase::Handler(at, raised),
                        None => Phase::Finally(Err(Stop::Raised(raised))),
                    }
                }
                (Phase::Handler(_, raised), Err(Stop::Raised(again))) if super::statement::is_bare_raise(&again) => {
                    Phase::Finally(Err(Stop::Raised(raised)))
                }
                (Phase::Finally(left), Ok(Flow::Next)) => return left.map(Step::Flow),
                (Phase::Finally(_), left) => return left.map(Step::Flow),
                (_, left) => Phase::Finally(left),
            };
        }
    }
}

pub(super) fn within_an_expression() -> Stop {
    Stop::unsupported("a `yield` within another expression is not evaluated here: give its value a name of its own")
}
