//! `[dataset.test]` and `[dataset.train]`: the files of a split.

use super::check::Check;
use super::fields::{self, Fields};
use super::paths;
use super::resolved::{ExtraColumn, SourceConfig};
use super::tree::Node;
use std::path::Path;

/// Reads a split and checks that its files exist.
pub(super) fn read(check: &mut Check, key: &'static str, node: &Node, data_dir: Option<&Path>) -> Option<SourceConfig> {
    let mut fields = fields::table(check, key, node, format!("[dataset.{key}]"))?;
    let path = fields.require(check, "path", "\"...\"");
    let file = path.and_then(|node| paths::data_file(check, "path", node, data_dir));
    let columns = match fields.table(check, "columns", "`columns`") {
        Some(columns) => read_columns(check, columns, data_dir),
        None => Some(Vec::new()),
    };
    fields.finish(check);
    Some(SourceConfig { path: file?, columns: columns?, origin: check.sources.origin(path?.span) })
}

fn read_columns(check: &mut Check, columns: Fields<'_>, data_dir: Option<&Path>) -> Option<Vec<ExtraColumn>> {
    // All are read before any is missed, so that every error is found.
    let read: Vec<Option<ExtraColumn>> = columns
        .table
        .entries
        .iter()
        .map(|entry| {
            let column = fields::table(check, &entry.key, &entry.node, format!("column `{}`", entry.key))?;
            read_column(check, &entry.key, column, data_dir)
        })
        .collect();
    read.into_iter().collect()
}

fn read_column(check: &mut Check, name: &str, mut fields: Fields<'_>, data_dir: Option<&Path>) -> Option<ExtraColumn> {
    let lines_of = fields.require(check, "lines_of", "\"...\"");
    let lines_of = lines_of.and_then(|node| paths::data_file(check, "lines_of", node, data_dir));
    let as_int = match fields.get("as") {
        Some(node) => AS.named(check, "column type", "as", node),
        None => Some(false),
    };
    fields.finish(check);
    Some(ExtraColumn { name: name.into(), lines_of: lines_of?, as_int: as_int? })
}

const AS: super::choice::Choices<'_, bool> = super::choice::Choices {
    now: &[("int", true), ("str", false)],
    aliases: &[],
    later: &[],
    meanwhile: "",
    suffix: None,
};
