//! `match`: the patterns of its cases.

use super::{Interpreter, Scope};
use crate::error::{Result, Stop};
use crate::place::Place;
use crate::value::{Dict, Slot, Value};
use ruff_python_ast::{CmpOp, Pattern, PatternMatchMapping, Singleton, StmtMatch};
use ruff_text_size::Ranged;
use std::rc::Rc;

impl Interpreter<'_> {
    /// The case that is taken; its names are bound.
    pub(super) fn case(&mut self, scope: &Rc<Scope>, matched: &StmtMatch) -> Result<Option<usize>> {
        let subject = self.slot(scope, &matched.subject)?;
        for (at, case) in matched.cases.iter().enumerate() {
            self.budget.step()?;
            let fits = self.fits(scope, &case.pattern, &subject);
            if !fits.map_err(|stop| stop.at(Place::of(scope.file, case.pattern.range())))? {
                continue;
            }
            let is_taken = match &case.guard {
                Some(guard) => self.is_true(scope, guard)?,
                None => true,
            };
            if is_taken {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    fn fits(&mut self, scope: &Rc<Scope>, pattern: &Pattern, subject: &Slot) -> Result<bool> {
        self.nested(|this| this.fits_within(scope, pattern, subject))
    }

    fn fits_within(&mut self, scope: &Rc<Scope>, pattern: &Pattern, subject: &Slot) -> Result<bool> {
        match pattern {
            Pattern::MatchValue(pattern) => {
                let value = self.evaluate(scope, &pattern.value)?;
                self.compare(&subject.value, CmpOp::Eq, &value)
            }
            Pattern::MatchSingleton(pattern) => Ok(subject.value.is(&match pattern.value {
                Singleton::None => Value::None,
                Singleton::True => Value::Bool(true),
                Singleton::False => Value::Bool(false),
            })),
            Pattern::MatchAs(pattern) => {
                if let Some(inner) = &pattern.pattern
                    && !self.fits(scope, inner, subject)?
                {
                    return Ok(false);
                }
                if let Some(name) = &pattern.name {
                    scope.bind(name.as_str(), subject.clone());
                }
                Ok(true)
            }
            Pattern::MatchOr(pattern) => {
                for pattern in &pattern.patterns {
                    if self.fits(scope, pattern, subject)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Pattern::MatchSequence(pattern) => self.fits_sequence(scope, &pattern.patterns, subject),
            Pattern::MatchMapping(pattern) => self.fits_mapping(scope, pattern, subject),
            Pattern::MatchStar(_) | Pattern::MatchClass(_) => {
                Err(Stop::unsupported("a pattern of a class is not evaluated here"))
            }
        }
    }

    fn fits_sequence(&mut self, scope: &Rc<Scope>, patterns: &[Pattern], subject: &Slot) -> Result<bool> {
        if !matches!(subject.value, Value::List(_) | Value::Tuple(_) | Value::Range(_)) {
            return Ok(false);
        }
        let items = self.items(&subject.value, subject.place)?;
        let star = patterns.iter().position(|pattern| matches!(pattern, Pattern::MatchStar(_)));
        let fixed = patterns.len() - usize::from(star.is_some());
        if items.len() < fixed || star.is_none() && items.len() > fixed {
            return Ok(false);
        }
        let starred = items.len() - fixed;
        let mut at = 0;
        for pattern in patterns {
            if let Pattern::MatchStar(pattern) = pattern {
                if let Some(name) = &pattern.name {
                    let taken = items.get(at..at + starred).unwrap_or_default().to_vec();
                    scope.bind(name.as_str(), Slot { value: Value::list(taken), place: subject.place });
                }
                at += starred;
                continue;
            }
            let Some(item) = items.get(at) else { return Ok(false) };
            if !self.fits(scope, pattern, item)? {
                return Ok(false);
            }
            at += 1;
        }
        Ok(true)
    }

    fn fits_mapping(&mut self, scope: &Rc<Scope>, pattern: &PatternMatchMapping, subject: &Slot) -> Result<bool> {
        let Value::Dict(dict) = &subject.value else { return Ok(false) };
        let mut rest: Dict = dict.borrow().clone();
        for (key, pattern) in pattern.keys.iter().zip(&pattern.patterns) {
            let key = self.evaluate(scope, key)?;
            let Some(entry) = rest.remove(&key)? else { return Ok(false) };
            if !self.fits(scope, pattern, &entry.slot)? {
                return Ok(false);
            }
        }
        if let Some(name) = &pattern.rest {
            scope.bind(name.as_str(), Slot { value: Value::dict(rest), place: subject.place });
        }
        Ok(true)
    }
}
