//! Transform of a data set's number before its group's is made of it.

use compass_types::function::{self, Function, FunctionFault, FunctionSource, FunctionValue, Limits, ModulePart};
use serde::{Deserialize, Serialize};
use serde_json::Map;

/// Limits on the cost of one number.
const LIMITS: Limits = Limits { steps: 100_000, bytes: 16 << 20, depth: 100, file_bytes: 1 << 20 };

/// A Python expression of `x`, the number: `max((2 - x) / 2, 0) * 100`. OpenCompass's `DefaultSummarizer` evaluates it where it
/// has imported `math`; here the interpreter of the program evaluates it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Transform(String);

impl Transform {
    /// The transform that `expression` says.
    ///
    /// # Errors
    /// Why it is none: it is no expression of `x`, or gives no number for 50.
    pub fn new(expression: &str) -> Result<Self, String> {
        let transform = Self(expression.trim().to_owned());
        if transform.0.is_empty() {
            return Err("it says nothing".into());
        }
        transform.of(50.0).map(|_| transform)
    }

    /// The number for `x`.
    ///
    /// # Errors
    /// What it raises, or that it gives no number.
    pub fn of(&self, x: f64) -> Result<f64, String> {
        let expression = &self.0;
        let no_number = |what: &str| format!("`{expression}` gives {what} for x = {x}, and no number");
        match self.function().and_then(|function| function.call(&format!("{x:?}"))) {
            Ok(FunctionValue::Plain(number)) => number.parse().map_err(|_| no_number(&number)),
            Ok(FunctionValue::None) => Err(no_number("None")),
            Ok(FunctionValue::Text(_)) => Err(no_number("a text")),
            Ok(FunctionValue::Other(kind)) => Err(no_number(&format!("a {kind}"))),
            // Its place is in a module that no file has.
            Err(FunctionFault { class, text, .. }) if !class.is_empty() => {
                Err(format!("`{expression}`: {class}: {text}"))
            }
            Err(fault) => Err(format!("`{expression}`: {fault}")),
        }
    }

    fn function(&self) -> Result<Box<dyn Function>, FunctionFault> {
        let text = format!("import math\n\ndef transform(text):\n    x = float(text)\n    return (\n{}\n)\n", self.0);
        let module = ModulePart { name: "opencompass.summary_group".into(), is_package: false, text };
        let source = FunctionSource { name: "opencompass.summary_group.transform".into(), modules: vec![module] };
        function::start(source, Map::new(), LIMITS)
    }
}
