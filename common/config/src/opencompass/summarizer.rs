//! `summarizer`: groups of data sets that the table shows as one. The table shows every data set of the job beside them.

use super::array;
use super::tree::{self, Places};
use crate::check::Check;
use crate::tree::{Node, Value};
use compass_python::Node as PythonNode;

/// Groups whose subsets are not all in the job are not shown, as in OpenCompass; so a list of all groups can be written.
pub(super) fn read(check: &mut Check, places: &Places, node: &PythonNode) -> Option<Node> {
    let groups = node.get("summary_groups")?;
    let span = places.span(groups.place);
    let mut tables: Vec<Node> = Vec::new();
    for group in groups.items() {
        let Some(mut node) = tree::convert(check, places, group) else { continue };
        let Value::Table(table) = &mut node.value else { continue };
        let name = table.text("name").map(str::to_owned);
        // A later group of the same name takes the place of an earlier one.
        let twin =
            tables.iter().position(|there| there.table().and_then(|there| there.text("name")) == name.as_deref());
        match twin.and_then(|at| tables.get_mut(at)) {
            Some(there) => *there = node,
            None => tables.push(node),
        }
    }
    (!tables.is_empty()).then(|| array(tables, span))
}
