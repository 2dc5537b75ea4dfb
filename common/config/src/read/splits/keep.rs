//! `keep`: which rows of a split are used.

use crate::keys::{Kind, TableKeys, key};
use crate::read::fields::{self, Fields, flag_of, literal, regex};
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_settings::{Condition, Test};

pub(crate) static KEEP: TableKeys = TableKeys {
    name: "keep",
    title: "`keep`",
    keys: &[
        key("column", Kind::Text, "what is asked").required(),
        key("equals", Kind::Anything, "the value is this one").takes("any value").default("one of four"),
        key("in", Kind::ArrayOf(&Kind::Anything), "the value is one of these").takes("array").default("one of four"),
        key("regex", Kind::Text, "the value matches").default("one of four"),
        key("exists", Kind::Boolean, "whether there is a value").default("one of four"),
        key("not", Kind::Boolean, "the reverse").default("`false`"),
    ],
    types: &[],
};

/// One condition, or a list of which all must hold.
pub(crate) fn read(check: &mut Check, node: &Node) -> Option<Vec<Condition>> {
    let one = std::slice::from_ref(node);
    let nodes = if let Value::Array(nodes) = &node.value { nodes.as_slice() } else { one };
    // All are read before any is missed, so that every error is found.
    let read: Vec<_> = nodes.iter().map(|node| condition(check, node)).collect();
    read.into_iter().collect()
}

fn condition(check: &mut Check, node: &Node) -> Option<Condition> {
    let Value::Table(_) = &node.value else {
        check.wrong_type("keep", node, "a table or an array of tables", "{ column = \"...\", equals = \"...\" }");
        return None;
    };
    let mut fields = fields::table(check, "keep", node, &KEEP)?;
    let column = fields.require(check, "column", "\"...\"");
    let column = column.and_then(|node| fields::text(check, "column", node));
    let asked = TESTS.iter().filter(|key| fields.table.get(key).is_some()).count();
    let test = test(check, &mut fields);
    let not = flag_of(check, &mut fields, "not").unwrap_or(false);
    // A misspelt question is reported as an unknown key.
    let is_misspelt = fields.table.entries.iter().any(|entry| !KEEP.keys.iter().any(|key| key.name == entry.key));
    if asked > 1 || asked == 0 && !is_misspelt {
        let message = if asked == 0 { "`keep` asks nothing of the column" } else { "`keep` asks two things at once" };
        let help = "write one of `equals = ...`, `in = [...]`, `regex = \"...\"` and `exists = true`; several conditions \
                    stand in a list: `keep = [{ ... }, { ... }]`";
        check.error(node.span, message.into(), Some(help.into()));
    }
    fields.finish(check);
    let test = test.filter(|_| asked == 1)?;
    Some(Condition { column: column?.to_owned(), test, not, origin: check.sources.origin(node.span) })
}

const TESTS: [&str; 4] = ["equals", "in", "regex", "exists"];

fn test(check: &mut Check, fields: &mut Fields<'_>) -> Option<Test> {
    let equals = fields.get("equals").and_then(|node| literal(check, "equals", node)).map(Test::Equals);
    let among = fields.get("in").and_then(|node| match literal(check, "in", node)? {
        serde_json::Value::Array(values) => Some(Test::In(values)),
        _ => {
            check.wrong_type("in", node, "an array", "[\"...\"]");
            None
        }
    });
    let regex = fields.get("regex").and_then(|node| regex(check, node)).map(|(text, _)| Test::Regex(text));
    let exists = flag_of(check, fields, "exists").map(Test::Exists);
    equals.or(among).or(regex).or(exists)
}
