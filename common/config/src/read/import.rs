//! `[import]`: what configurations in Python need beside their files. Flags override it, and a file what it includes.

use super::fields::{table, text};
use super::paths;
use crate::keys::{Kind, TableKeys, key};
use crate::opencompass;
use crate::report::check::Check;
use crate::syntax::tree::{Node, Table, Value};
use std::path::PathBuf;

pub(crate) static IMPORT: TableKeys = TableKeys {
    name: "import",
    title: "[import]",
    keys: &[
        key(
            "python",
            Kind::Path,
            "the Python in whose environment OpenCompass is installed: its own loaders read the data sets that cannot be read without \
             it (`--python`); a path, or a name that is looked for on the `PATH`",
        )
        .default("none: no Python is started"),
        key(
            "python_network",
            Kind::Boolean,
            "whether that Python may use the network, and write what it downloads to the hub's cache and the data folder \
             (`--python-network`)",
        )
        .default("`false`"),
        key(
            "opencompass",
            Kind::Path,
            "folder that holds the package `opencompass`, or the package: where imports of `opencompass.configs` are found \
             (`--opencompass`)",
        )
        .default("beside the file, above it, in the environment of `python`, in the active environment"),
    ],
    types: &[],
};

/// Takes over what the table says. It is read before the file's includes, which may be in Python.
pub(crate) fn apply(check: &mut Check, root: &Table) {
    let Some(node) = root.get("import") else { return };
    let Some(mut fields) = table(check, "import", node, &IMPORT) else { return };
    let python = fields.get("python").filter(|node| !node.is_empty()).and_then(|node| program(check, node));
    let opencompass = fields.get("opencompass").filter(|node| !node.is_empty());
    let opencompass = opencompass.and_then(|node| {
        let folder = paths::resolve(check, "opencompass", node)?;
        match opencompass::no_tree(&folder) {
            None => Some(folder),
            Some((message, help)) => {
                check.error(node.span, message, Some(help));
                None
            }
        }
    });
    let network = match fields.get("python_network") {
        None => false,
        Some(Node { value: Value::Boolean(network), .. }) => *network,
        Some(node) => {
            check.wrong_type("python_network", node, "a boolean", "true");
            false
        }
    };
    fields.finish(check);
    let world = &mut check.environment.python;
    world.opencompass = world.opencompass.take().or(opencompass);
    world.interpreter = world.interpreter.take().or(python);
    world.network |= network;
}

/// A path, relative to the file, or the name of a program.
fn program(check: &mut Check, node: &Node) -> Option<PathBuf> {
    let named = text(check, "python", node)?;
    if named.contains('/') || named.starts_with('~') {
        return paths::resolve(check, "python", node);
    }
    Some(named.into())
}
