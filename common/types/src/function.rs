//! Functions of the user's own Python that a plan holds by their source, and the interpreter that calls them.
//!
//! A plan and what judges answers by it know a function by its source and call it through [`start`]; they do not depend on what
//! evaluates it. A program links one interpreter when it starts, with [`link`].

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt::Debug;
use std::sync::OnceLock;

/// The statements of a module that a function needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModulePart {
    /// `opencompass.datasets.ceval`.
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_package: bool,
    pub text: String,
}

/// A function with all the source that it can reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSource {
    /// Module and name: `opencompass.datasets.humaneval.humaneval_postprocess_v2`.
    pub name: String,
    /// In the order of their names.
    pub modules: Vec<ModulePart>,
}

/// The bounds of one evaluation. No source can exceed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Expressions and statements that are evaluated.
    pub steps: u64,
    /// Bytes of all values that are made, those given up again included.
    pub bytes: u64,
    /// Calls of functions inside each other, and imports inside each other.
    pub depth: u32,
    /// Bytes of one file.
    pub file_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 50_000_000, bytes: 1 << 30, depth: 1_000, file_bytes: 1 << 20 }
    }
}

/// The value that a function returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionValue {
    None,
    Text(String),
    /// A number or a truth value, as `str()` of it.
    Plain(String),
    /// A value of this type, not a text: `list`.
    Other(String),
}

/// The reason that a function returned nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionFault {
    /// CPython's class, `IndexError`; empty where the interpreter stopped by itself.
    pub class: String,
    pub text: String,
    /// Place, class and text in one line.
    pub line: String,
}

impl std::fmt::Display for FunctionFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.line)
    }
}

impl std::error::Error for FunctionFault {}

/// A function that can be called. What it returns depends on its argument alone, not on earlier calls.
pub trait Function: Debug + Send + Sync {
    /// Calls it with `text`.
    ///
    /// # Errors
    /// It raised; or it needs something that the interpreter lacks, or more than its limits allow.
    fn call(&self, text: &str) -> Result<FunctionValue, FunctionFault>;
}

/// Makes a function out of its source, its keyword arguments, and the limits of each call.
pub type Start = fn(FunctionSource, Map<String, Value>, Limits) -> Result<Box<dyn Function>, FunctionFault>;

static INTERPRETER: OnceLock<Start> = OnceLock::new();

/// Links the interpreter of this process. The first one stays.
pub fn link(interpreter: Start) {
    INTERPRETER.get_or_init(|| interpreter);
}

/// Starts a function on the linked interpreter.
///
/// # Errors
/// The interpreter cannot start it, or the program has linked none.
pub fn start(
    source: FunctionSource,
    parameters: Map<String, Value>,
    limits: Limits,
) -> Result<Box<dyn Function>, FunctionFault> {
    match INTERPRETER.get() {
        Some(interpreter) => interpreter(source, parameters, limits),
        None => {
            let text = "this program has no interpreter for functions in Python".to_owned();
            Err(FunctionFault { class: String::new(), line: text.clone(), text })
        }
    }
}
