//! Columns and rows made of lists, and texts made of pieces: `each`, and the verbs that read several values of a row.

use super::row_template;
use crate::keys::{Kind, TableKeys, key};
use crate::read::fields::{self, Fields, flag_of, literal, required_text};
use crate::report::check::Check;
use crate::syntax::tree::{Node, Table, Value};
use compass_settings::{Expression, Key, Repeat, TextSpan};

pub(crate) static SPAN: TableKeys = TableKeys {
    name: "span",
    title: "a span",
    keys: &[
        key("at", Kind::Text, "`PATH` of the position of its first piece, from 0").required(),
        key("like", Kind::Text, "`PATH` of a text that has as many pieces").default("one piece"),
        key("put", Kind::Text, "`TEMPLATE` that stands in its place").required(),
    ],
    types: &[],
};

/// `each`: in order, columns and what their values are.
pub(crate) fn each(check: &mut Check, table: &Table) -> Option<Vec<(String, Repeat)>> {
    let one = |check: &mut Check, key: &str, node: &Node| match &node.value {
        Value::String(path) if !path.is_empty() => Some(Repeat::Items(path.clone())),
        Value::Array(values) if !values.is_empty() => {
            values.iter().map(|value| literal(check, key, value)).collect::<Option<Vec<_>>>().map(Repeat::Values)
        }
        Value::String(_) | Value::Array(_) => {
            let help = "name a list of the row, as in `{ qa = \"paragraph.qas\" }`, or write the values";
            check.error(node.span, format!("`each.{key}` is empty"), Some(help.into()));
            None
        }
        _ => {
            check.wrong_type(&format!("each.{key}"), node, "a string or an array", "\"paragraph.qas\"");
            None
        }
    };
    let read: Vec<_> =
        table.entries.iter().map(|entry| Some((entry.key.clone(), one(check, &entry.key, &entry.node)?))).collect();
    read.into_iter().collect()
}

pub(crate) fn join(check: &mut Check, node: &Node, fields: &mut Fields<'_>) -> Option<Expression> {
    let with = fields.text(check, "with").unwrap_or_default().to_owned();
    let (each_node, skip_node) = (fields.get("each"), fields.get("skip"));
    if let Value::String(of) = &node.value {
        let each = match each_node {
            Some(node) => row_template::read(check, "each", node).map(Some),
            None => Some(None),
        };
        let skip = skip_node.map_or(Some(Vec::new()), |node| values(check, "skip", node));
        return Some(Expression::JoinItems { of: of.clone(), with, each: each?, skip: skip? });
    }
    let of = check.texts("join", node)?.into_iter().map(|(path, _)| path).collect();
    if let Some(node) = each_node.or(skip_node) {
        let help = "name the one list whose items are joined, as in `join = \"choices\"`";
        check.error(node.span, "`each` and `skip` are for the items of one list".into(), Some(help.into()));
        return None;
    }
    Some(Expression::Join { of, with })
}

fn values(check: &mut Check, key: &str, node: &Node) -> Option<Vec<serde_json::Value>> {
    match literal(check, key, node)? {
        serde_json::Value::Array(values) => Some(values),
        _ => {
            check.wrong_type(key, node, "an array", "[\"...\"]");
            None
        }
    }
}

pub(crate) fn first_of(check: &mut Check, node: &Node) -> Option<Expression> {
    let of: Vec<String> = check.texts("first_of", node)?.into_iter().map(|(path, _)| path).collect();
    if of.is_empty() {
        check.error(node.span, "`first_of` is empty".into(), Some("name the columns, the first choice first".into()));
        return None;
    }
    Some(Expression::FirstOf { of })
}

pub(crate) fn cycle(check: &mut Check, node: &Node) -> Option<Expression> {
    let values = values(check, "cycle", node)?;
    if values.is_empty() {
        check.error(node.span, "`cycle` is empty".into(), Some("write the values that rows take in turn".into()));
        return None;
    }
    Some(Expression::Cycle { values })
}

pub(crate) fn item(check: &mut Check, of: String, fields: &mut Fields<'_>) -> Option<Expression> {
    let at = match fields.get("at_column") {
        None => fields.require(check, "at", "0").and_then(|node| field_key(check, node)),
        Some(node) => {
            if let Some(at) = fields.get("at") {
                let help = "remove one: `at` is the same for every row, `at_column` is not";
                check.error(at.span, "`at` and `at_column` are given".into(), Some(help.into()));
                return None;
            }
            fields::text(check, "at_column", node).map(|path| Key::Column(path.to_owned()))
        }
    };
    at.map(|at| Expression::Item { of, at })
}

pub(crate) fn items(check: &mut Check, of: String, fields: &mut Fields<'_>) -> Option<Expression> {
    let at = match fields.get("at") {
        Some(node) => field_key(check, node).map(Some),
        None => Some(None),
    };
    let order = fields.text(check, "order").map(str::to_owned);
    let unique = flag_of(check, fields, "unique").unwrap_or(false);
    Some(Expression::Items { of, at: at?, order, unique })
}

fn field_key(check: &mut Check, node: &Node) -> Option<Key> {
    match &node.value {
        Value::Integer(at) => Some(Key::At(*at)),
        Value::String(name) => Some(Key::Name(name.clone())),
        _ => {
            check.wrong_type("at", node, "a whole number or a string", "0");
            None
        }
    }
}

pub(crate) fn splice(check: &mut Check, of: String, fields: &mut Fields<'_>) -> Option<Expression> {
    let by = fields.require(check, "by", "\" \"").and_then(|node| fields::text(check, "by", node));
    let node = fields.require(check, "spans", "[{ at = \"...\", put = \"...\" }]")?;
    let Value::Array(nodes) = &node.value else {
        check.wrong_type("spans", node, "an array of tables", "[{ at = \"...\", put = \"...\" }]");
        return None;
    };
    // All are read before any is missed, so that every error is found.
    let spans: Vec<Option<TextSpan>> = nodes.iter().map(|node| span(check, node)).collect();
    let spans = spans.into_iter().collect::<Option<Vec<_>>>();
    Some(Expression::Splice { of, by: by?.to_owned(), spans: spans? })
}

fn span(check: &mut Check, node: &Node) -> Option<TextSpan> {
    let mut fields = fields::table(check, "spans", node, &SPAN)?;
    let at = required_text(check, &mut fields, "at", "\"...\"");
    let like = fields.text(check, "like").map(str::to_owned);
    let put = fields.require(check, "put", "\"...\"").and_then(|node| row_template::read(check, "put", node));
    fields.finish(check);
    Some(TextSpan { at: at?, like, put: put? })
}
