//! `[summarizer]`: which rows the table shows in which order, and OpenCompass's groups, by name or written out.

use super::{files, group};
use crate::keys::{Kind, TableKeys, ignored, key};
use crate::read::fields::{Fields, text};
use crate::read::summary::group::SUMMARY_GROUP;
use crate::report::check::Check;
use crate::syntax::tree::{Node, Table, Value};
use compass_plan::summary::{RowName, SummaryGroup};

pub(crate) static SUMMARIZER: TableKeys = TableKeys {
    name: "summarizer",
    title: "[summarizer]",
    keys: &[
        key(
            "dataset_abbrs",
            Kind::ArrayOf(&Kind::Either(&[Kind::Text, Kind::Texts])),
            "the rows that the table shows, in this order: data sets and groups, by their first metric or by the one named; any \
             other text is a heading, and `\"\"` a blank row",
        )
        .takes("array of names, or of `[\"name\", \"metric\"]`")
        .default("every data set, then every group"),
        key(
            "groups",
            Kind::Texts,
            "OpenCompass's groups by the names of its files (`mmlu`, `ceval`, `cmmlu`, `bbh`, `mathbench` ...)",
        )
        .takes("array of names")
        .default("none"),
        key(
            "summary_groups",
            Kind::Tables(&SUMMARY_GROUP),
            "as [[summary_group]], but shown only where every subset is in the job, or where `dataset_abbrs` names it",
        )
        .default("none"),
        ignored("type", Kind::Anything, "there is one table, that of OpenCompass's `DefaultSummarizer`"),
        ignored("prompt_db", Kind::Anything, "a key of OpenCompass's"),
    ],
    types: &[],
};

/// Contents of the table beside the data sets.
#[derive(Debug, Default)]
pub(crate) struct Summarizer {
    pub(crate) groups: Vec<SummaryGroup>,
    pub(crate) rows: Option<Vec<RowName>>,
}

/// Reads `[[summary_group]]` and `[summarizer]`. `None` when something is wrong, which is reported.
pub(crate) fn read(check: &mut Check, root: &mut Fields<'_>) -> Option<Summarizer> {
    let own = group::read(check, root);
    let Some(mut fields) = root.table(check, "summarizer", &SUMMARIZER) else {
        return root.table.get("summarizer").is_none().then_some(Summarizer { groups: own?, rows: None });
    };
    let rows = match fields.get("dataset_abbrs") {
        Some(node) => rows(check, node).map(Some),
        None => Some(None),
    };
    let named = fields.texts(check, "groups").unwrap_or_default();
    let mut groups = Vec::new();
    for (name, span) in named {
        let Some(nodes) = files::groups(check, &name, span) else { continue };
        groups.extend(nodes.iter().filter_map(|node| group::published(check, node)));
    }
    if let Some(node) = fields.get("summary_groups") {
        match &node.value {
            Value::Array(items) => groups.extend(items.iter().filter_map(|item| group::published(check, item))),
            _ => check.wrong_type(
                "summary_groups",
                node,
                "an array of tables",
                "[{ name = \"...\", subsets = [\"...\"] }]",
            ),
        }
    }
    fields.finish(check);
    let groups = own?.into_iter().chain(groups).collect();
    Some(Summarizer { groups, rows: rows? })
}

/// Names, or pairs of name and metric; other texts are headings.
fn rows(check: &mut Check, node: &Node) -> Option<Vec<RowName>> {
    let Value::Array(items) = &node.value else {
        check.wrong_type(
            "dataset_abbrs",
            node,
            "an array of rows",
            "[\"---- exams ----\", \"piqa\", [\"mmlu\", \"naive_average\"]]",
        );
        return None;
    };
    let rows: Vec<Option<RowName>> = items.iter().enumerate().map(|(at, item)| row(check, at, item)).collect();
    rows.into_iter().collect()
}

fn row(check: &mut Check, at: usize, item: &Node) -> Option<RowName> {
    let key = format!("dataset_abbrs[{at}]");
    match item.items() {
        [name, metric] => {
            let (name, metric) = (text(check, &key, name), text(check, &key, metric));
            Some(RowName { name: name?.to_owned(), metric: Some(metric?.to_owned()) })
        }
        _ if item.text().is_some() => Some(RowName { name: item.text()?.to_owned(), metric: None }),
        _ => {
            check.wrong_type(&key, item, "a row, or a pair of row and metric", "[\"squad\", \"f1\"]");
            None
        }
    }
}

/// `groups = [name]`, as `--summarizer NAME` asks for.
pub(crate) fn of_groups(name: &str, span: crate::syntax::source::Span) -> Node {
    let groups = Node { value: Value::Array(vec![Node { value: Value::String(name.to_owned()), span }]), span };
    let mut table = Table::default();
    table.entries.push(crate::syntax::tree::KeyValue { key: "groups".to_owned(), key_span: span, node: groups });
    Node { value: Value::Table(table), span }
}
