//! A postprocessor that stands in the user's own OpenCompass: its source is in the plan, and is evaluated without Python.
//!
//! The plan holds the source that the function can reach, so an answer is judged alike wherever and whenever it is judged, and a
//! change of the function is a change of the plan.

use super::pattern::Undecided;
use compass_python::{Function, FunctionSource, FunctionValue, LibraryFault, Limits, ModulePart};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock};

/// What one answer may cost. A pattern with look-around has a bound of its own.
const LIMITS: Limits = Limits { steps: 5_000_000, bytes: 1 << 30, depth: 200, file_bytes: 8 << 20 };

/// Classes of what a function raises where it needs something that is not evaluated here, or a file.
const UNSERVED: &[&str] = &["", "NotImplementedError", "PermissionError"];

/// A function from a text to a text, with its source.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Interpreted {
    /// Where it is defined: `opencompass.datasets.game24.game24_postprocess`.
    pub function: String,
    /// Its keyword arguments.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// What it needs of its tree, by the names of modules.
    pub modules: Vec<InterpretedModule>,
    #[serde(skip)]
    running: Running,
}

/// The statements of a module that the function needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterpretedModule {
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_package: bool,
    pub text: String,
}

/// The function on its thread, once it was called; copies share it.
#[derive(Clone, Debug, Default)]
struct Running(Arc<OnceLock<Result<Function, LibraryFault>>>);

impl Interpreted {
    /// The function of `source`, with these keyword arguments.
    pub fn new(source: FunctionSource, parameters: Map<String, Value>) -> Self {
        let module =
            |part: ModulePart| InterpretedModule { name: part.name, is_package: part.is_package, text: part.text };
        Self {
            function: source.name,
            parameters,
            modules: source.modules.into_iter().map(module).collect(),
            running: Running::default(),
        }
    }

    /// What it gives for `text`: `str()` of a number or a truth value, `None` for Python's.
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

    /// Why it is not evaluated here, found by calling it with `texts`. What it raises by itself on a text is no reason.
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

    fn call(&self, text: &str) -> Result<FunctionValue, LibraryFault> {
        let running = self.running.0.get_or_init(|| Function::start(self.source(), self.parameters.clone(), LIMITS));
        running.as_ref().map_err(LibraryFault::clone)?.call(text)
    }

    /// The function without its module.
    pub fn name(&self) -> &str {
        self.function.rsplit('.').next().unwrap_or(&self.function)
    }

    fn source(&self) -> FunctionSource {
        let part = |module: &InterpretedModule| ModulePart {
            name: module.name.clone(),
            is_package: module.is_package,
            text: module.text.clone(),
        };
        FunctionSource { name: self.function.clone(), modules: self.modules.iter().map(part).collect() }
    }
}

impl PartialEq for Interpreted {
    fn eq(&self, other: &Self) -> bool {
        self.function == other.function && self.parameters == other.parameters && self.modules == other.modules
    }
}

impl Eq for Interpreted {}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn interpreted(text: &str, parameters: Value) -> Interpreted {
        let module = ModulePart { name: "opencompass.own".into(), is_package: false, text: text.into() };
        let source = FunctionSource { name: "opencompass.own.f".into(), modules: vec![module] };
        Interpreted::new(source, parameters.as_object().unwrap().clone())
    }

    #[test]
    fn texts_numbers_and_none() {
        let f = interpreted(
            "import re\n\ndef f(text, tag='b'):\n    found = re.findall(f'<{tag}>(.*?)</{tag}>', text)\n    \
             if not found:\n        return None\n    return float(found[-1]) if found[-1].isdigit() else found[-1]\n",
            json!({"tag": "a"}),
        );
        assert_eq!(f.extract("<a>x</a><a>yes</a>"), Ok(Some("yes".into())));
        assert_eq!(f.extract("<b>x</b>"), Ok(None));
        assert_eq!(f.extract("<a>12</a>"), Ok(Some("12.0".into())));
    }

    #[test]
    fn an_answer_depends_on_no_other() {
        let f = interpreted("SEEN = []\n\ndef f(text):\n    SEEN.append(text)\n    return str(len(SEEN))\n", json!({}));
        assert_eq!(f.extract("a"), Ok(Some("1".into())));
        assert_eq!(f.clone().extract("b"), Ok(Some("1".into())));
    }

    #[test]
    fn what_it_raises_is_told_and_the_next_answer_is_judged() {
        let f = interpreted("def f(text):\n    return text.split('=')[1]\n", json!({}));
        let error = f.extract("none").unwrap_err().to_string();
        assert_eq!(
            error,
            "undecided: `f` fails on this text: opencompass.own.py:2:12: IndexError: list index out of range"
        );
        assert_eq!(f.extract("a=b"), Ok(Some("b".into())));
        let endless = interpreted("def f(text):\n    while True:\n        pass\n", json!({}));
        let error = endless.extract("x").unwrap_err().to_string();
        assert!(error.contains("did not end after 5000000 steps"), "{error}");
        let list = interpreted("def f(text):\n    return [text]\n", json!({}));
        let error = list.extract("x").unwrap_err().to_string();
        assert_eq!(error, "undecided: `f` fails on this text: it gives a list, and answers are texts");
    }

    #[test]
    fn files_are_no_part_of_a_function() {
        for body in [
            "open('/etc/hostname').read()",
            "pathlib.Path('names.txt').read_text()",
            "json.load(open('a.json'))",
            "str(os.listdir('.'))",
        ] {
            let f = interpreted(
                &format!("import json\nimport os\nimport pathlib\n\ndef f(text):\n    return {body}\n"),
                json!({}),
            );
            let refused = f.refusal(&["a"]).unwrap_or_default();
            assert!(
                refused.contains("reads no files") || refused.contains("cannot be evaluated here"),
                "{body}: {refused}"
            );
        }
        let caught =
            "def f(text):\n    try:\n        return open('a').read()\n    except Exception:\n        return ''\n";
        assert!(interpreted(caught, json!({})).refusal(&["a"]).is_some());
        let raises = "def f(text):\n    return text.split('=')[1]\n";
        assert_eq!(interpreted(raises, json!({})).refusal(&["a"]), None);
    }

    #[test]
    fn a_plan_holds_it() {
        let f = interpreted("def f(text):\n    return text[::-1]\n", json!({}));
        let read: Interpreted = serde_json::from_value(serde_json::to_value(&f).unwrap()).unwrap();
        assert_eq!(read, f);
        assert_eq!(read.extract("abc"), Ok(Some("cba".into())));
    }
}
