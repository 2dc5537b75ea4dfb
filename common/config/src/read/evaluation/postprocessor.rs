//! `pred_postprocessor` and `dataset_postprocessor`: by name, with parameters, or several in a row.

use crate::keys::Kind;
use crate::opencompass;
use crate::read::fields::one_or_several;
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, Table, Value, json};
use compass_diagnostic::spelling;
use compass_postprocess::{NameError, Postprocessor};
use serde_json::{Map, Value as Json};

/// A postprocessor as models and data sets take it: a name, a table with `type`, or several.
pub(crate) const POSTPROCESSOR: Kind = Kind::Either(&[
    Kind::Text,
    Kind::MapOf(&Kind::Anything),
    Kind::ArrayOf(&Kind::Either(&[Kind::Text, Kind::MapOf(&Kind::Anything)])),
]);

/// Reference to the list of their names: there are too many for a line.
const LISTED: &str = "the chapter on evaluators (docs/src/evaluators.md) lists those that come with the program";

/// The postprocessors in `node`, the value of `key`, applied in order; an empty value asks for none.
pub(crate) fn read(check: &mut Check, key: &str, node: &Node) -> Option<Vec<Postprocessor>> {
    let nodes = if node.is_empty() { &[] } else { one_or_several(node) };
    let read: Vec<Option<Postprocessor>> = nodes.iter().map(|node| one(check, key, node)).collect();
    read.into_iter().collect()
}

fn one(check: &mut Check, key: &str, node: &Node) -> Option<Postprocessor> {
    let (name, parameters) = match &node.value {
        Value::String(name) => (name.as_str(), Map::new()),
        Value::Table(table) => (tag(check, key, node, table)?, parameters(table)),
        _ => {
            check.wrong_type(key, node, "a string or a table with `type`", "{ type = \"general\" }");
            return None;
        }
    };
    // A function of the user's own is that one, whatever has its name here.
    let own = if compass_settings::is_own(name) { of_tree(check, node, name, &parameters) } else { None };
    let named = match own {
        Some(_) => Err(NameError::Unknown(name.to_owned())),
        None => Postprocessor::named(name, &parameters),
    };
    match named {
        Ok(postprocessor) => Some(postprocessor),
        Err(NameError::Unknown(_)) if let Some(found) = of_tree(check, node, name, &parameters) => match found {
            Ok(postprocessor) => Some(postprocessor),
            Err(reason) => {
                let last = name.rsplit('.').next().unwrap_or(name);
                let message = format!("postprocessor `{last}` cannot be evaluated here: {reason}");
                check.unknown_class(
                    node.span,
                    message,
                    "write one that is served, or a function that uses `re` alone".into(),
                );
                None
            }
        },
        Err(NameError::Unknown(name)) if name.contains("postprocess") => {
            let help = format!("name the OpenCompass tree that has it: --opencompass DIR; {LISTED}");
            check.not_yet(node.span, &format!("postprocessor `{name}`"), &help);
            None
        }
        Err(NameError::Unknown(name)) => {
            let names: Vec<&str> = Postprocessor::names().collect();
            let near = spelling::nearest(&name, names.iter().copied());
            let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            let help = format!("{near}{LISTED}");
            check.unknown_class(node.span, format!("unknown {key} `{name}`"), help);
            None
        }
        Err(error) => {
            let span = error.parameter().and_then(|key| parameter_span(node, key)).unwrap_or(node.span);
            check.error(span, error.to_string(), error.remedy().map(str::to_owned));
            None
        }
    }
}

/// Place of a parameter's value.
fn parameter_span(node: &Node, key: &str) -> Option<Span> {
    let Value::Table(table) = &node.value else { return None };
    table.get(key).map(|node| node.span)
}

/// The function of that name in the user's OpenCompass, which is evaluated from its source. Data sets that name it alike have
/// one function.
fn of_tree(
    check: &mut Check,
    node: &Node,
    name: &str,
    parameters: &Map<String, Json>,
) -> Option<Result<Postprocessor, String>> {
    let key = (name.to_owned(), Json::Object(parameters.clone()).to_string());
    if let Some(known) = check.functions.get(&key) {
        return known.clone();
    }
    let config = check.sources.path(node.span.file).to_path_buf();
    let found = opencompass::interpreted(&check.environment.python, &config, name, parameters.clone());
    check.functions.insert(key, found.clone());
    found
}

fn tag<'t>(check: &mut Check, key: &str, node: &Node, table: &'t Table) -> Option<&'t str> {
    let tag = table.text("type");
    if tag.is_none() {
        let help = "write `{ type = \"general\" }`";
        check.error(node.span, format!("`{key}` names no postprocessor"), Some(help.into()));
    }
    tag
}

/// The other keys, as the function's keyword arguments.
fn parameters(table: &Table) -> Map<String, Json> {
    let others = table.entries.iter().filter(|entry| entry.key != "type");
    others.map(|entry| (entry.key.clone(), json(&entry.node))).collect()
}
