//! What becomes of a data set's number before its group's is made of it.

use compass_python::{Function, FunctionSource, FunctionValue, LibraryFault, Limits, ModulePart};
use serde::{Deserialize, Serialize};
use serde_json::Map;

/// What one number may cost.
const LIMITS: Limits = Limits { steps: 100_000, bytes: 16 << 20, depth: 100, file_bytes: 1 << 20 };

/// A Python expression of `x`, the number: `max((2 - x) / 2, 0) * 100`. OpenCompass's `DefaultSummarizer` evaluates it where it
/// has imported `math`; here it is evaluated without Python.
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
            Err(LibraryFault { class, text, .. }) if !class.is_empty() => {
                Err(format!("`{expression}`: {class}: {text}"))
            }
            Err(fault) => Err(format!("`{expression}`: {fault}")),
        }
    }

    fn function(&self) -> Result<Function, LibraryFault> {
        let text = format!("import math\n\ndef transform(text):\n    x = float(text)\n    return (\n{}\n)\n", self.0);
        let module = ModulePart { name: "opencompass.summary_group".into(), is_package: false, text };
        let source = FunctionSource { name: "opencompass.summary_group.transform".into(), modules: vec![module] };
        Function::start(source, Map::new(), LIMITS)
    }
}

#[cfg(test)]
mod tests {
    //! Expected numbers were printed by CPython 3.11.
    use super::*;

    #[test]
    fn expressions_give_what_python_gives() {
        for (expression, x, expected) in [
            ("((2 - x) / 2) * 100", 0.3517, 82.414_999_999_999_99),
            ("max((1.2 - x) / 1.2, 0) * 100", 0.7, 41.666_666_666_666_67),
            ("max((1.2 - x) / 1.2, 0) * 100", 1.3, 0.0),
            ("min(100, max(0, 100*x/(1+x)))", 0.81, 44.751_381_215_469_614),
            ("math.sqrt(x)", 2.0, std::f64::consts::SQRT_2),
            (" x ", 1e300, 1e300),
            ("7", 1.0, 7.0),
        ] {
            assert_eq!(Transform::new(expression).unwrap().of(x), Ok(expected), "{expression}");
        }
    }

    #[test]
    fn what_is_no_expression_of_x_is_refused_with_the_reason() {
        for (expression, reason) in [
            ("y * 100", "NameError: name 'y' is not defined"),
            ("x *", "SyntaxError"),
            ("", "it says nothing"),
            ("[x]", "`[x]` gives a list for x = 50, and no number"),
            ("'a'", "gives a text for x = 50, and no number"),
            ("x > 3", "gives True for x = 50, and no number"),
            ("x / (x - 50)", "ZeroDivisionError: float division by zero"),
            ("open('/etc/passwd')", "open"),
        ] {
            let why = Transform::new(expression).unwrap_err();
            assert!(why.contains(reason), "{expression}: {why}");
        }
    }
}
