//! `[import]`.

use super::key::Kind::{Boolean, Path};
use super::key::{TableKeys, key};

pub(crate) static IMPORT: TableKeys = TableKeys {
    name: "import",
    title: "[import]",
    keys: &[
        key(
            "python",
            Path,
            "the Python in whose environment OpenCompass is installed: its own loaders read the data sets that cannot be read without \
             it (`--python`); a path, or a name that is looked for on the `PATH`",
        )
        .default("none: no Python is started"),
        key(
            "python_network",
            Boolean,
            "whether that Python may use the network, and write what it downloads to the hub's cache and the data folder \
             (`--python-network`)",
        )
        .default("`false`"),
        key(
            "opencompass",
            Path,
            "folder that holds the package `opencompass`, or the package: where imports of `opencompass.configs` are found \
             (`--opencompass`)",
        )
        .default("beside the file, above it, in the environment of `python`, in the active environment"),
    ],
    types: &[],
};
