//! Results of functions of an OpenCompass tree for texts, as JSON lines: `interpreted TREE FUNCTION[:PARAMETERS]... < TEXTS`, where
//! standard input is a JSON list of texts and PARAMETERS a JSON object. `tests/peers/opencompass_functions.py`
//! says where CPython gives something else.

use compass_postprocess::Interpreted;
use compass_python::{LibrarySource, link_interpreter, trace_function};
use serde_json::{Map, Value, json};
use std::io::Read;
use std::path::{Path, PathBuf};

fn module(tree: &Path, dotted: &str) -> Option<LibrarySource> {
    let relative: PathBuf = dotted.strip_prefix("opencompass.")?.split('.').collect();
    let at = tree.join("opencompass").join(relative);
    let package = at.join("__init__.py");
    let (path, is_package) = if package.exists() { (package, true) } else { (at.with_extension("py"), false) };
    let text = std::fs::read_to_string(&path).ok()?;
    Some(LibrarySource { path, text, is_package })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    link_interpreter();
    let mut arguments = std::env::args().skip(1);
    let tree = PathBuf::from(arguments.next().ok_or("name a tree")?);
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let texts: Vec<String> = serde_json::from_str(&input)?;
    for argument in arguments {
        let (dotted, parameters) = argument.split_once(':').unwrap_or((&argument, "{}"));
        let parameters: Map<String, Value> = serde_json::from_str(parameters)?;
        let given: Value = match trace_function(dotted, &|dotted| module(&tree, dotted)) {
            Err(fault) => json!({ "refused": fault.to_string() }),
            Ok(source) => {
                let bytes: usize = source.modules.iter().map(|module| module.text.len()).sum();
                let function = Interpreted::new(source, parameters);
                match function.refusal(&texts.iter().map(String::as_str).collect::<Vec<_>>()) {
                    Some(reason) => json!({ "refused": reason }),
                    None => {
                        let given = texts.iter().map(|text| match function.extract(text) {
                            Ok(given) => json!({ "gives": given }),
                            Err(error) => json!({ "raises": error.to_string() }),
                        });
                        json!({ "given": given.collect::<Vec<_>>(), "bytes": bytes })
                    }
                }
            }
        };
        println!("{}", json!({ "function": argument, "result": given }));
    }
    Ok(())
}
