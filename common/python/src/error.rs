//! Errors of an evaluation: exceptions, which Python can catch, and limits, which it cannot.

use crate::limits::Exhausted;
use crate::place::Place;
use crate::value::{Exception, Value};
use std::rc::Rc;

/// An evaluation that failed, told as CPython tells it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.line())]
pub struct PythonError {
    /// Place of the error; `None` where a whole file is meant, which `text` names.
    pub place: Option<Place>,
    /// The places of the calls and imports that led there, the innermost first.
    pub trace: Vec<Place>,
    /// CPython's class: `KeyError`; empty where CPython has none.
    pub class: String,
    /// CPython's text.
    pub text: String,
    /// Advice on what to do.
    pub help: Option<String>,
}

impl PythonError {
    /// Class and text as the last line of a traceback has them.
    pub fn line(&self) -> String {
        match (self.class.as_str(), self.text.as_str()) {
            ("", text) => text.to_owned(),
            (class, "") => class.to_owned(),
            (class, text) => format!("{class}: {text}"),
        }
    }
}

pub(crate) type Result<T, E = Stop> = std::result::Result<T, E>;

/// Reason why an evaluation stops, here or altogether.
#[derive(Debug)]
pub(crate) enum Stop {
    Raised(Box<Raised>),
    Limit(Box<Limit>),
}

/// An exception on its way up.
#[derive(Debug)]
pub(crate) struct Raised {
    pub(crate) exception: Rc<Exception>,
    pub(crate) place: Option<Place>,
    pub(crate) trace: Vec<Place>,
    pub(crate) help: Option<String>,
    /// Set for what is not evaluated here: it must not pass for what CPython would raise, and no `except` catches it.
    pub(crate) is_final: bool,
}

#[derive(Debug)]
pub(crate) struct Limit {
    text: String,
    help: String,
    place: Option<Place>,
    trace: Vec<Place>,
}

impl Stop {
    pub(crate) fn new(class: &'static str, text: impl Into<String>) -> Self {
        Self::raised(Exception::builtin(class, vec![Value::text(text.into())]))
    }

    pub(crate) fn raised(exception: Rc<Exception>) -> Self {
        Self::Raised(Box::new(Raised { exception, place: None, trace: Vec::new(), help: None, is_final: false }))
    }

    /// The same, past every `except`.
    pub(crate) fn finally(mut self) -> Self {
        if let Self::Raised(raised) = &mut self {
            raised.is_final = true;
        }
        self
    }

    /// Reports what this evaluator does not do, though CPython does.
    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::new("NotImplementedError", what)
            .with_help("this is evaluated without Python here, which is a part of the language: write it more plainly")
            .finally()
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        if let Self::Raised(raised) = &mut self {
            raised.help.get_or_insert(help.into());
        }
        self
    }

    /// Returns whether it is an exception of the built-in class itself, not of one below it.
    pub(crate) fn is_of(&self, class: &str) -> bool {
        matches!(self, Self::Raised(raised) if raised.exception.builtin == class)
    }

    /// Says where, unless that is known.
    pub(crate) fn at(mut self, at: Place) -> Self {
        match &mut self {
            Self::Raised(raised) => raised.place.get_or_insert(at),
            Self::Limit(limit) => limit.place.get_or_insert(at),
        };
        self
    }

    /// Adds the place of a call or an import through which it came.
    pub(crate) fn through(mut self, at: Place) -> Self {
        let (place, trace) = match &mut self {
            Self::Raised(raised) => (raised.place, &mut raised.trace),
            Self::Limit(limit) => (limit.place, &mut limit.trace),
        };
        if place != Some(at) && trace.len() < 20 {
            trace.push(at);
        }
        self
    }

    pub(crate) fn told(self) -> PythonError {
        match self {
            Self::Raised(raised) => PythonError {
                place: raised.place,
                trace: raised.trace,
                class: raised.exception.class_name(),
                text: bounded(raised.exception.text()),
                help: raised.help,
            },
            Self::Limit(limit) => PythonError {
                place: limit.place,
                trace: limit.trace,
                class: String::new(),
                text: limit.text,
                help: Some(limit.help),
            },
        }
    }
}

/// A text that a person reads: cut in its middle where it is long.
fn bounded(text: String) -> String {
    const LONGEST: usize = 4_000;
    if text.len() <= LONGEST {
        return text;
    }
    let head: String = text.chars().take(LONGEST / 4).collect();
    let length = text.chars().count();
    let tail: String = text.chars().skip(length.saturating_sub(LONGEST / 4)).collect();
    if length <= LONGEST / 2 { text } else { format!("{head} ... ({length} characters) ... {tail}") }
}

impl From<Exhausted> for Stop {
    fn from(exhausted: Exhausted) -> Self {
        let (text, help) = exhausted.told();
        Self::Limit(Box::new(Limit { text, help, place: None, trace: Vec::new() }))
    }
}

/// `TypeError`.
pub(crate) fn type_error(text: impl Into<String>) -> Stop {
    Stop::new("TypeError", text)
}

/// `ValueError`.
pub(crate) fn value_error(text: impl Into<String>) -> Stop {
    Stop::new("ValueError", text)
}

/// `AttributeError`.
pub(crate) fn attribute_error(text: impl Into<String>) -> Stop {
    Stop::new("AttributeError", text)
}
