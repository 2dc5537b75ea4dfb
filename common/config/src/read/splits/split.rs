//! `[dataset.test]` and `[dataset.train]`: the files of a split and what is made of their rows.

use super::{circular, columns, files, keep, lists};
use crate::keys::SPLIT;
use crate::keys::vocabulary::FORMAT;
use crate::read::fields::{self, Fields, flag_of};
use crate::report::check::Check;
use crate::syntax::tree::{Node, Table};
use compass_settings::{ReadLimits, ReadOptions, SourceConfig};
use std::ops::Range;
use std::path::Path;

/// Reads a split and checks that its files exist.
pub(crate) fn read(check: &mut Check, key: &'static str, node: &Node, data_dir: Option<&Path>) -> Option<SourceConfig> {
    let mut fields = fields::table(check, key, node, &SPLIT)?.titled(format!("[dataset.{key}]"));
    let path = fields.require(check, "path", "\"...\"");
    let split = fields.text(check, "split").unwrap_or(key);
    let options = read_options(check, &mut fields);
    let has_format = options.as_ref().is_none_or(|options| options.format.is_some());
    let files = path.and_then(|path| files::read(check, path, split, has_format, data_dir));
    let file_column = fields.text(check, "file_column").map(str::to_owned);
    let mut table = |check: &mut Check, key| fields.get(key).and_then(|node| fields::any_table(check, key, node));
    let each = match table(check, "each") {
        Some(each) => lists::each(check, each),
        None => Some(Vec::new()),
    };
    let columns = match table(check, "columns") {
        Some(columns) => columns::read(check, columns, data_dir),
        None => Some(Vec::new()),
    };
    let lists_to_columns = match table(check, "lists_to_columns") {
        Some(lists) => read_lists(check, lists),
        None => Some(Vec::new()),
    };
    let keep = fields.get("keep").map_or(Some(Vec::new()), |node| keep::read(check, node));
    let slice = match fields.get("slice") {
        Some(node) => slice(check, node).map(Some),
        None => Some(None),
    };
    let circular = fields.get("circular").map_or(Some(None), |node| circular::read(check, node).map(Some));
    let mut names = |key| fields.texts(check, key).unwrap_or_default().into_iter().map(|(name, _)| name).collect();
    let (drop_columns, order, only) = (names("drop_columns"), names("order"), names("only"));
    fields.finish(check);
    Some(SourceConfig {
        files: files?,
        read: options?,
        file_column,
        each: each?,
        columns: columns?,
        lists_to_columns: lists_to_columns?,
        keep: keep?,
        slice: slice?,
        drop_columns,
        order,
        only,
        circular: circular?,
        origin: check.sources.origin(path?.span),
    })
}

fn read_options(check: &mut Check, fields: &mut Fields<'_>) -> Option<ReadOptions> {
    let format = match fields.get("format") {
        Some(node) => FORMAT.pick(check, "format", node).map(Some),
        None => Some(None),
    };
    let header = flag_of(check, fields, "header");
    let names = fields.texts(check, "names").unwrap_or_default();
    let twice = names.iter().enumerate().find(|(at, (name, _))| names[..*at].iter().any(|(other, _)| other == name));
    if let Some((_, (name, span))) = twice {
        check.error(*span, format!("`names` has `{name}` twice"), Some("give every column a name of its own".into()));
    }
    if header == Some(false) && names.is_empty() {
        let message = "without a header the columns have no names".into();
        check.error(fields.span, message, Some("write `names = [\"...\"]`, one for each column".into()));
    }
    let delimiter = match fields.get("delimiter") {
        Some(node) => delimiter(check, node).map(Some),
        None => Some(None),
    };
    let quoted = flag_of(check, fields, "quoted");
    let rows = fields.text(check, "rows").filter(|path| !path.is_empty());
    let rows = rows.map(|path| path.split('.').map(str::to_owned).collect()).unwrap_or_default();
    let key_column = fields.text(check, "key_column").map(str::to_owned);
    let whole = flag_of(check, fields, "whole").unwrap_or(false);
    let names = names.into_iter().map(|(name, _)| name).collect();
    let header = header.unwrap_or(true);
    let usual = ReadLimits::default();
    let limits = ReadLimits {
        line_mb: fields.u32(check, "max_line_mb").unwrap_or(usual.line_mb),
        document_mb: fields.u32(check, "max_document_mb").unwrap_or(usual.document_mb),
    };
    let (format, delimiter) = (format?, delimiter?);
    Some(ReadOptions { format, header, names, delimiter, quoted, rows, key_column, whole, limits })
}

/// `[10:510]`, with either end left out.
fn slice(check: &mut Check, node: &Node) -> Option<Range<usize>> {
    let text = fields::text(check, "slice", node)?;
    let ends =
        text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']')).and_then(|text| text.split_once(':'));
    let end = |text: &str, none: usize| if text.trim().is_empty() { Some(none) } else { text.trim().parse().ok() };
    let range =
        ends.and_then(|(start, stop)| Some(end(start, 0)?..end(stop, usize::MAX)?)).filter(|range| !range.is_empty());
    if range.is_none() {
        let message = format!("`slice` cannot be `{}`", text.escape_debug());
        check.error(
            node.span,
            message,
            Some("write the first row and the one behind the last, as in `slice = \"[10:510]\"`".into()),
        );
    }
    range
}

fn delimiter(check: &mut Check, node: &Node) -> Option<char> {
    let text = fields::text(check, "delimiter", node)?;
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(one), None) if one.is_ascii() && !matches!(one, '"' | '\n' | '\r') => Some(one),
        _ => {
            let message = format!("`delimiter` cannot be `{}`", text.escape_debug());
            check.error(node.span, message, Some("write one ASCII character, as in `delimiter = \";\"`".into()));
            None
        }
    }
}

fn read_lists(check: &mut Check, lists: &Table) -> Option<Vec<(String, Vec<String>)>> {
    let read: Vec<_> = lists
        .entries
        .iter()
        .map(|entry| {
            let names = check.texts(&entry.key, &entry.node)?;
            Some((entry.key.clone(), names.into_iter().map(|(name, _)| name).collect()))
        })
        .collect();
    read.into_iter().collect()
}
