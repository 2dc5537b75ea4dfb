//! A postprocessor of the user's own OpenCompass: its source is in the plan, and the interpreter of the program calls
//! it.
//!
//! The plan holds the source that the function can reach, so an answer is judged alike wherever and whenever it is judged, and a
//! change of the function is a change of the plan.

use super::pattern::Undecided;
use compass_types::function::{self, Function, FunctionFault, FunctionSource, FunctionValue, Limits, ModulePart};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock};

/// Limits of one answer. A pattern with look-around has its own bound.
const LIMITS: Limits = Limits { steps: 5_000_000, bytes: 1 << 30, depth: 200, file_bytes: 8 << 20 };

/// Classes of what a function raises where it needs something that is not evaluated here, or a file.
const UNSERVED: &[&str] = &["", "NotImplementedError", "PermissionError"];

/// A function from a text to a text, with its source.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Interpreted {
    /// Name of its definition: `opencompass.datasets.game24.game24_postprocess`.
    pub function: String,
    /// Its keyword arguments.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// Parts of its tree that it needs, by the names of modules.
    pub modules: Vec<ModulePart>,
    #[serde(skip)]
    running: Running,
}

/// The function on its thread, once it was called; copies share it.
#[derive(Clone, Debug, Default)]
struct Running(Arc<OnceLock<Result<Box<dyn Function>, FunctionFault>>>);

impl Interpreted {
    /// The function of `source`, with these keyword arguments.
    pub fn new(source: FunctionSource, parameters: Map<String, Value>) -> Self {
        Self { function: source.name, parameters, modules: source.modules, running: Running::default() }
    }

    /// Calls it with `text`. Returns `str()` of a number or a truth value, `None` for Python's.
    ///
    /// # Errors
    /// [`Undecided::Raised`]: it raised, or gave something else than a text, or needs what is not evaluated here.
    pub fn extract(&self, text: &str) -> Result<Option<String>, Undecided> {
        let raised = |reason: String| Undecided::Raised { function: self.name().to_owned(), reason };
        match self.call(text) {
            Ok(FunctionValue::None) => Ok(None),
            Ok(FunctionValue::Text(text) | FunctionValue::Plain(text)) => Ok(Some(text)),
            Ok(FunctionValue::Other(kind)) => Err(raised(format!("it gives a {kind}, and answers are texts"))),
            Err(fault) => Err(raised(fault.to_string())),
        }
    }

    /// Returns why it is not evaluated here, found by calling it with `texts`. An exception of its own on a text is not a reason.
    pub fn refusal(&self, texts: &[&str]) -> Option<String> {
        texts.iter().find_map(|text| match self.call(text) {
            Ok(FunctionValue::Other(kind)) => Some(format!("it gives a {kind}, and answers are texts")),
            Err(fault) if UNSERVED.contains(&fault.class.as_str()) => Some(fault.to_string()),
            // Parameters that it does not have, or wants.
            Err(fault) if fault.class == "TypeError" && fault.text.starts_with(&format!("{}()", self.name())) => {
                Some(fault.to_string())
            }
            _ => None,
        })
    }

    fn call(&self, text: &str) -> Result<FunctionValue, FunctionFault> {
        let source = || FunctionSource { name: self.function.clone(), modules: self.modules.clone() };
        let running = self.running.0.get_or_init(|| function::start(source(), self.parameters.clone(), LIMITS));
        running.as_ref().map_err(FunctionFault::clone)?.call(text)
    }

    /// The function without its module.
    pub fn name(&self) -> &str {
        self.function.rsplit('.').next().unwrap_or(&self.function)
    }
}

impl PartialEq for Interpreted {
    fn eq(&self, other: &Self) -> bool {
        self.function == other.function && self.parameters == other.parameters && self.modules == other.modules
    }
}

impl Eq for Interpreted {}
