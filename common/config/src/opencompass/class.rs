//! The class that a dict names in `type`.

use super::tree;
use compass_python::{Node, Plain};

/// The class without the packages around it, from a name that was imported or from a text.
pub(super) fn of(node: &Node) -> Option<&str> {
    match &node.get("type")?.value {
        Plain::Symbol(dotted) | Plain::Text(dotted) => Some(tree::last(dotted)),
        _ => None,
    }
}

/// The class as the file names it, for messages.
pub(super) fn dotted(node: &Node) -> Option<&str> {
    match &node.get("type")?.value {
        Plain::Symbol(dotted) | Plain::Text(dotted) => Some(dotted),
        _ => None,
    }
}
