//! Exceptions and their classes.

use super::{Class, Value, str_of};
use std::cell::RefCell;
use std::rc::Rc;

/// An exception.
#[derive(Debug)]
pub(crate) struct Exception {
    /// The built-in class: its own, or the nearest above its own.
    pub(crate) builtin: &'static str,
    /// A class that the file defines.
    pub(crate) class: Option<Rc<Class>>,
    pub(crate) arguments: RefCell<Vec<Value>>,
    /// Attributes of an exception whose class the file defines.
    pub(crate) attributes: RefCell<super::Dict>,
}

/// Each built-in class with the class above it.
const CLASSES: &[(&str, &str)] = &[
    ("Exception", "BaseException"),
    ("SystemExit", "BaseException"),
    ("KeyboardInterrupt", "BaseException"),
    ("ArithmeticError", "Exception"),
    ("OverflowError", "ArithmeticError"),
    ("ZeroDivisionError", "ArithmeticError"),
    ("FloatingPointError", "ArithmeticError"),
    ("AssertionError", "Exception"),
    ("AttributeError", "Exception"),
    ("EOFError", "Exception"),
    ("ImportError", "Exception"),
    ("ModuleNotFoundError", "ImportError"),
    ("LookupError", "Exception"),
    ("IndexError", "LookupError"),
    ("KeyError", "LookupError"),
    ("MemoryError", "Exception"),
    ("NameError", "Exception"),
    ("UnboundLocalError", "NameError"),
    ("OSError", "Exception"),
    ("FileNotFoundError", "OSError"),
    ("IsADirectoryError", "OSError"),
    ("NotADirectoryError", "OSError"),
    ("FileExistsError", "OSError"),
    ("GeneratorExit", "BaseException"),
    ("PermissionError", "OSError"),
    ("RuntimeError", "Exception"),
    ("NotImplementedError", "RuntimeError"),
    ("RecursionError", "RuntimeError"),
    ("StopIteration", "Exception"),
    ("SyntaxError", "Exception"),
    ("IndentationError", "SyntaxError"),
    ("TabError", "IndentationError"),
    ("TypeError", "Exception"),
    ("ValueError", "Exception"),
    ("JSONDecodeError", "ValueError"),
    ("UnicodeError", "ValueError"),
    ("UnicodeDecodeError", "UnicodeError"),
    ("UnicodeEncodeError", "UnicodeError"),
    ("Warning", "Exception"),
    ("UserWarning", "Warning"),
    ("DeprecationWarning", "Warning"),
];

/// The class of this name, if it is an exception's.
pub(crate) fn builtin_class(name: &str) -> Option<&'static str> {
    match name {
        "BaseException" => Some("BaseException"),
        "IOError" | "EnvironmentError" => Some("OSError"),
        _ => CLASSES.iter().find(|(class, _)| *class == name).map(|(class, _)| *class),
    }
}

/// Returns whether `class` is `above`, or below it.
pub(crate) fn is_subclass(class: &str, above: &str) -> bool {
    let mut class = class;
    loop {
        if class == above {
            return true;
        }
        match CLASSES.iter().find(|(name, _)| *name == class) {
            Some((_, next)) => class = next,
            None => return false,
        }
    }
}

impl Exception {
    pub(crate) fn builtin(class: &'static str, arguments: Vec<Value>) -> Rc<Self> {
        Rc::new(Self {
            builtin: class,
            class: None,
            arguments: RefCell::new(arguments),
            attributes: RefCell::default(),
        })
    }

    pub(crate) fn class_name(&self) -> String {
        self.short_class().to_owned()
    }

    pub(crate) fn short_class(&self) -> &str {
        self.class.as_ref().map_or(self.builtin, |class| &class.name)
    }

    /// Returns the result of `str`.
    pub(crate) fn text(&self) -> String {
        match self.arguments.borrow().as_slice() {
            [] => String::new(),
            [one] if self.builtin == "KeyError" => super::repr(one),
            [one] => str_of(one),
            many => {
                let parts: Vec<String> = many.iter().map(super::repr).collect();
                format!("({})", parts.join(", "))
            }
        }
    }
}
