//! `inherit`: a model takes every key of another, then overrides. Runs after the files were merged.

use crate::report::check::Check;
use crate::syntax::merge::merge_tables;
use crate::syntax::tree::{Node, Table, Value};
use compass_diagnostic::spelling;

/// Resolves `inherit` in every [[model]] of `root`. Unknown names and circles are reported and left as they are.
pub(crate) fn resolve(check: &mut Check, root: &mut Table) {
    let Some(Node { value: Value::Array(models), .. }) = root.get_mut("model") else { return };
    let written = models.clone();
    for (at, model) in models.iter_mut().enumerate() {
        if let Value::Table(table) = &mut model.value {
            *table = resolved(check, &written, table, &mut vec![at]);
        }
    }
}

/// `table` over what it inherits; `path` holds the models being resolved, the last of which it is.
fn resolved(check: &mut Check, models: &[Node], table: &Table, path: &mut Vec<usize>) -> Table {
    let Some(node) = table.get("inherit") else { return table.clone() };
    let Some(name) = node.text().filter(|name| !name.is_empty()) else { return table.clone() };
    let abbr_of = |node: &Node| node.table().and_then(|table| table.text("abbr")).map(str::to_owned);

    let Some(parent) = models.iter().position(|model| abbr_of(model).as_deref() == Some(name)) else {
        let names: Vec<String> = models.iter().filter_map(abbr_of).collect();
        let help = spelling::suggest(name, names.iter().map(String::as_str), "models");
        check.error(node.span, format!("no [[model]] has the abbr `{name}`"), Some(help));
        return table.clone();
    };
    if path.contains(&parent) {
        // Each model of a circle finds it; the first of them says so.
        if path.first() == Some(&parent) && path.iter().min() == Some(&parent) {
            let message = format!("`inherit = \"{name}\"` leads back to this model");
            check.error(node.span, message, Some("a chain of `inherit` has to end: remove one".into()));
        }
        return table.clone();
    }
    let Some(above) = models.get(parent).and_then(Node::table) else { return table.clone() };
    path.push(parent);
    let mut base = resolved(check, models, above, path);
    path.pop();
    base.remove("inherit");
    base.remove("abbr");
    merge_tables(&mut base, table.clone());
    base
}
