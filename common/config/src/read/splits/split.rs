//! `[dataset.test]` and `[dataset.train]`: the files of a split and what is made of their rows.

use super::{circular, columns, files, keep, lists};
use crate::keys::vocabulary::FORMAT;
use crate::keys::{Kind, TableKeys, key};
use crate::read::fields::{self, Fields, flag_of};
use crate::read::splits::circular::CIRCULAR;
use crate::read::splits::columns::COLUMN;
use crate::read::splits::keep::KEEP;
use crate::report::check::Check;
use crate::syntax::tree::{Node, Table};
use compass_settings::{ReadLimits, ReadOptions, SourceConfig};
use std::ops::Range;
use std::path::Path;

pub(crate) static SPLIT: TableKeys = TableKeys {
    name: "split",
    title: "[dataset.test]",
    keys: &[
        key(
            "path",
            Kind::Either(&[Kind::Text, Kind::Texts]),
            "a file, a folder of one kind of file, a name with `*`, or `hub:owner/name[@revision][/config]`",
        )
        .takes("string or array")
        .required(),
        key("split", Kind::Text, "which split of a hub data set").default("`test` or `train`"),
        key("format", Kind::Choice(|| FORMAT.words()), "layout of the files")
            .default("by the name; `.gz` is read as what it holds"),
        key("header", Kind::Boolean, "csv, tsv: the first row names the columns").default("`true`"),
        key("names", Kind::Texts, "csv, tsv: names of the columns; txt: of its one column; json: of rows that are lists").default("the header's"),
        key("delimiter", Kind::Text, "csv, tsv: between two values").takes("one ASCII character").default("the format's own"),
        key("quoted", Kind::Boolean, "whether `\"` quotes").default("csv `true`, tsv `false`"),
        key("rows", Kind::Text, "json: where the rows are, as in `data.test`").takes("dotted path").default("the document"),
        key("key_column", Kind::Text, "json: rows are the values of an object, whose keys become this column")
            .default("none"),
        key("whole", Kind::Boolean, "txt: the file is one row").default("`false`"),
        key("file_column", Kind::Text, "column that gets what `*` stood for, else the file's name").default("none"),
        key("max_line_mb", Kind::from(1), "bound of a line or record, in millions of bytes").default("64"),
        key("max_document_mb", Kind::from(1), "bound of a file that is read whole").default("1024"),
        key(
            "each",
            Kind::MapOf(&Kind::Either(&[Kind::Text, Kind::ArrayOf(&Kind::Anything)])),
            "`{ qa = \"paragraph.qas\" }`: before all else, a row for every item of that list, in a new column; several nest; \
             of an array, a row for every value",
        )
        .takes("table from column to `PATH` or array")
        .default("none"),
        key("columns", Kind::MapOf(&Kind::Table(&COLUMN)), "new columns").takes("table").default("none"),
        key(
            "lists_to_columns",
            Kind::MapOf(&Kind::Texts),
            "`{ choices = [\"A\", \"B\", \"C\", \"D\"] }`: an item a column; the list goes",
        )
        .takes("table")
        .default("none"),
        key("keep", Kind::Either(&[Kind::Table(&KEEP), Kind::ArrayOf(&Kind::Table(&KEEP))]), "rows that are used; all conditions must hold")
            .takes("condition or array")
            .default("all rows"),
        key("slice", Kind::Text, "rows that there are, of those: `\"[10:510]\"`; `test_range` takes from them").default("all"),
        key("drop_columns", Kind::Texts, "columns that go").takes("array").default("none"),
        key("order", Kind::Texts, "columns that stand first").takes("array").default("as read"),
        key("only", Kind::Texts, "these columns alone, in this order").takes("array").default("all"),
        key(
            "circular",
            Kind::Table(&CIRCULAR),
            "last of all, a row for every order of its options, with the columns `qid` and `circular_pattern`: CircularEval",
        )
        .takes("table")
        .default("none"),
    ],
    types: &[],
};

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
