//! `filters`: lm-eval's pipelines, `[{ name = "strict-match", steps = [{ type = "regex", ... }, "take_first"] }]`.

use crate::keys::{Kind, TableKeys, key};
use crate::read::fields::{Fields, one_or_several, table, text};
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value, json};
use compass_diagnostic::spelling;
use compass_plan::evaluation::FilterPipeline;
use compass_postprocess::{Filter, NameError};
use serde_json::Map;

pub(crate) static PIPELINE: TableKeys = TableKeys {
    name: "filters",
    title: "`filters`",
    keys: &[
        key("name", Kind::Text, "stands in the names of the metrics").required(),
        key(
            "steps",
            Kind::Either(&[
                Kind::Text,
                Kind::MapOf(&Kind::Anything),
                Kind::ArrayOf(&Kind::Either(&[Kind::Text, Kind::MapOf(&Kind::Anything)])),
            ]),
            "lm-eval's filters in order, each a name or a table with `type` (or `function`) and its parameters",
        )
        .or(&["filter"])
        .takes("array of filters")
        .required(),
    ],
    types: &[],
};

/// The pipelines in `node`. lm-eval's own keys `filter` and `function` are understood for `steps` and `type`.
pub(crate) fn read(check: &mut Check, node: &Node) -> Option<Vec<FilterPipeline>> {
    let nodes = if node.is_empty() { &[] } else { one_or_several(node) };
    let read: Vec<Option<FilterPipeline>> = nodes
        .iter()
        .map(|node| {
            let fields = table(check, "filters", node, &PIPELINE)?;
            pipeline(check, fields)
        })
        .collect();
    let pipelines: Option<Vec<FilterPipeline>> = read.into_iter().collect();
    let pipelines = pipelines?;
    let twice = (1..pipelines.len()).find(|&at| pipelines[..at].iter().any(|one| one.name == pipelines[at].name));
    if let Some(at) = twice {
        let message = format!("two filters are called `{}`", pipelines[at].name);
        check.error(nodes[at].span, message, Some("their metrics would have one name: rename one".into()));
        return None;
    }
    Some(pipelines)
}

fn pipeline(check: &mut Check, mut fields: Fields<'_>) -> Option<FilterPipeline> {
    let name = fields.require(check, "name", "\"strict-match\"").and_then(|node| text(check, "name", node));
    let steps = fields.either(check, "steps");
    if steps.is_none() && fields.table.get("steps").is_none() {
        let help = "write `steps = [{ type = \"regex\", regex_pattern = '(-?\\d+)' }, \"take_first\"]`";
        check.error(fields.span, "missing key `steps` in `filters`".into(), Some(help.into()));
    }
    let steps = steps.map(|(_, node)| one_or_several(node).iter().map(|node| step(check, node)).collect::<Vec<_>>());
    fields.finish(check);
    let steps: Option<Vec<Filter>> = steps?.into_iter().collect();
    Some(FilterPipeline { name: name?.to_owned(), steps: steps? })
}

fn step(check: &mut Check, node: &Node) -> Option<Filter> {
    let (name, parameters) = match &node.value {
        Value::String(name) => (name.as_str(), Map::new()),
        Value::Table(table) => {
            let Some(name) = table.text("type").or_else(|| table.text("function")) else {
                let help = "write `{ type = \"regex\", regex_pattern = '(-?\\d+)' }`";
                check.error(node.span, "the step names no filter".into(), Some(help.into()));
                return None;
            };
            let others = table.entries.iter().filter(|entry| entry.key != "type" && entry.key != "function");
            (name, others.map(|entry| (entry.key.clone(), json(&entry.node))).collect())
        }
        _ => {
            check.wrong_type("steps", node, "filters, each a string or a table with `type`", "[\"take_first\"]");
            return None;
        }
    };
    match Filter::named(name, &parameters) {
        Ok(filter) => Some(filter),
        Err(error) => {
            let unknown = matches!(error, NameError::UnknownFilter(_));
            let help = unknown.then(|| {
                let near = spelling::nearest(name, Filter::NAMES).map(|near| format!("did you mean `{near}`? "));
                format!("{}served are {}", near.unwrap_or_default(), spelling::list(&Filter::NAMES))
            });
            check.error(node.span, error.to_string(), help);
            None
        }
    }
}
