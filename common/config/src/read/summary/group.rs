//! `[[summary_group]]`: data sets that the table also shows as one.

use crate::keys::{Kind, TableKeys, key};
use crate::read::fields::{Fields, text};
use crate::report::check::Check;
use crate::syntax::tree::{KeyValue, Node, Value};
use compass_diagnostic::spelling;
use compass_plan::summary::{Average, Subset, SummaryGroup, Transform, shipped_group, shipped_groups};
use std::collections::BTreeMap;

pub(crate) static SUMMARY_GROUP: TableKeys = TableKeys {
    name: "summary_group",
    title: "[[summary_group]]",
    keys: &[
        key(
            "name",
            Kind::Text,
            "row of the table; the groups of the presets (mmlu, ceval, bbh ...) are there without being written",
        )
        .required(),
        key("subsets", Kind::ArrayOf(&Kind::Either(&[Kind::Text, Kind::Texts])), "what is averaged")
            .takes("array of names, or of `[\"name\", \"metric\"]`")
            .default("required for a new name"),
        key("metric", Kind::Text, "what the group's number is called").default("by its kind: `naive_average`, `weighted_average` ..."),
        key("weights", Kind::Either(&[Kind::ArrayOf(&Kind::Number), Kind::MapOf(&Kind::Number)]), "weighted mean")
            .takes("table or array of numbers")
            .default("none"),
        key(
            "weight_by_size",
            Kind::Boolean,
            "lm-eval's mean of a group, over data sets, those of groups within the group too: each weighs as many samples as it has, or, with `false`, as much as any other",
        )
        .default("none: the mean of the subsets, groups among them, as in OpenCompass"),
        key("sum", Kind::Boolean, "the sum; at most one of `weights`, `weight_by_size`, `sum`, `harmonic` and `std`").default("`false`"),
        key("harmonic", Kind::Boolean, "the harmonic mean").or(&["harmonic_mean"]).default("`false`"),
        key("std", Kind::Boolean, "the standard deviation").default("`false`"),
        key(
            "transforms",
            Kind::MapOf(&Kind::Text),
            "Python expressions of `x`, a subset's number, by subset: what is taken in its place",
        )
        .default("none"),
    ],
    types: &[],
};

const TITLE: &str = "[[summary_group]]";

/// Reads every group; their names are known to differ. `None` when something is wrong, which is reported.
pub(crate) fn read(check: &mut Check, root: &mut Fields<'_>) -> Option<Vec<SummaryGroup>> {
    let Some(node) = root.get("summary_group") else { return Some(Vec::new()) };
    let Value::Array(items) = &node.value else {
        check.wrong_type("summary_group", node, "an array of tables", "[{ name = \"...\", subsets = [\"...\"] }]");
        return None;
    };
    let groups: Vec<Option<SummaryGroup>> = items.iter().map(|item| group(check, item, false)).collect();
    groups.into_iter().collect()
}

/// Reads a group as OpenCompass has them: it is shown where all of it is there, and weighs only what its weights name. One that
/// cannot be shown is left out, and said.
pub(crate) fn published(check: &mut Check, node: &Node) -> Option<SummaryGroup> {
    let table = crate::read::fields::any_table(check, "summary_groups", node)?;
    let name = table.text("name").unwrap_or_default();
    let subsets = table.get("subsets");
    if subsets.is_some_and(Node::is_empty) {
        return None;
    }
    if subsets.is_none() {
        let message = format!("the group `{name}` is left out: it names no subsets");
        check.note(node.span, message, "its data sets are shown all the same");
        return None;
    }
    group(check, node, true)
}

fn group(check: &mut Check, node: &Node, whole: bool) -> Option<SummaryGroup> {
    let mut fields = crate::read::fields::table(check, "summary_group", node, &SUMMARY_GROUP)?;
    let name = fields.require(check, "name", "\"mmlu\"").and_then(|node| text(check, "name", node));
    let subsets = match fields.get("subsets") {
        Some(node) => subsets(check, node),
        None => shipped(check, &fields, name?),
    };
    let metric = fields.text(check, "metric").map(str::to_owned);
    let average = average(check, &mut fields, subsets.as_deref(), whole);
    let transforms = match fields.get("transforms").filter(|node| !node.is_empty()) {
        Some(node) => transforms(check, node, subsets.as_deref(), whole),
        None => Some(BTreeMap::new()),
    };
    fields.finish(check);
    let (name, transforms) = (name?.to_owned(), transforms?);
    Some(SummaryGroup { name, subsets: subsets?, average: average?, metric, whole, transforms })
}

/// Expressions by subset. Of a `whole` group, those of other names mean nothing, as in OpenCompass.
fn transforms(
    check: &mut Check,
    node: &Node,
    subsets: Option<&[Subset]>,
    whole: bool,
) -> Option<BTreeMap<String, Transform>> {
    let Value::Table(table) = &node.value else {
        check.wrong_type("transforms", node, "a table of Python expressions of `x`", "{ piqa = \"x * 100\" }");
        return None;
    };
    let names = || subsets.into_iter().flatten().map(|subset| subset.name.as_str());
    let mut one = |entry: &KeyValue| {
        if !whole && subsets.is_some() && !names().any(|name| name == entry.key) {
            let help = spelling::suggest(&entry.key, names(), "subsets");
            let message = format!("`transforms` has `{}`, which is not a subset", entry.key);
            check.error(entry.key_span, message, Some(help));
            return None;
        }
        let expression = text(check, &format!("transforms.{}", entry.key), &entry.node)?;
        match Transform::new(expression) {
            Ok(transform) => Some((entry.key.clone(), transform)),
            Err(why) => {
                let help = "write a Python expression of `x`, the number: `max((2 - x) / 2, 0) * 100`";
                check.error(entry.node.span, format!("transform of `{}`: {why}", entry.key), Some(help.into()));
                None
            }
        }
    };
    let read: Vec<_> = table.entries.iter().map(&mut one).collect();
    read.into_iter().collect()
}

/// Without subsets the name stands for a group that comes with the program.
fn shipped(check: &mut Check, fields: &Fields<'_>, name: &str) -> Option<Vec<Subset>> {
    if shipped_group(name).is_some() {
        return Some(Vec::new());
    }
    let groups = shipped_groups();
    let near = spelling::nearest(name, groups.iter().map(|group| group.name.as_str()));
    let near = near.map(|near| format!("; did you mean `{near}`, which needs none?")).unwrap_or_default();
    let help = format!("write `subsets = [\"...\"]`{near}");
    check.error(
        fields.span,
        format!("missing key `subsets` in {TITLE}: no group called `{name}` is known"),
        Some(help),
    );
    None
}

/// Names, or pairs of name and metric: `["a", ["b", "f1"]]`.
fn subsets(check: &mut Check, node: &Node) -> Option<Vec<Subset>> {
    let example = "[\"piqa\", [\"squad\", \"f1\"]]";
    let Value::Array(items) = &node.value else {
        check.wrong_type("subsets", node, "an array of data sets", example);
        return None;
    };
    if items.is_empty() {
        check.error(node.span, "`subsets` names no data set".into(), Some(format!("write `subsets = {example}`")));
        return None;
    }
    let read: Vec<Option<Subset>> = items.iter().enumerate().map(|(at, item)| subset(check, at, item)).collect();
    read.into_iter().collect()
}

fn subset(check: &mut Check, at: usize, item: &Node) -> Option<Subset> {
    if let Some(name) = item.text() {
        return Some(Subset { name: name.to_owned(), metric: None });
    }
    let key = format!("subsets[{at}]");
    if let Value::Array(pair) = &item.value
        && let [name, metric] = pair.as_slice()
    {
        let (name, metric) = (text(check, &key, name), text(check, &key, metric));
        return Some(Subset { name: name?.to_owned(), metric: Some(metric?.to_owned()) });
    }
    check.wrong_type(&key, item, "a data set, or a pair of data set and metric", "[\"squad\", \"f1\"]");
    None
}

/// At most one of `weights`, `weight_by_size`, `sum`, `harmonic` and `std`. `weight_by_size`, lm-eval's key, says a mean over data
/// sets either way; the others say nothing where they are false.
fn average(check: &mut Check, fields: &mut Fields<'_>, subsets: Option<&[Subset]>, whole: bool) -> Option<Average> {
    let mut chosen = Vec::new();
    let mut right = true;
    let mut flag =
        |check: &mut Check, key: &'static str, node: Option<&Node>, on: Average, off: Option<Average>| match node {
            None => {}
            Some(Node { value: Value::Boolean(true), .. }) => chosen.push(on),
            Some(Node { value: Value::Boolean(false), .. }) => chosen.extend(off),
            Some(node) => {
                check.wrong_type(key, node, "a boolean", "true");
                right = false;
            }
        };
    flag(check, "std", fields.get("std"), Average::StandardDeviation, None);
    flag(check, "sum", fields.get("sum"), Average::Sum, None);
    flag(check, "weight_by_size", fields.get("weight_by_size"), Average::BySize, Some(Average::ByDataSet));
    let harmonic = fields.either(check, "harmonic").map(|(_, node)| node);
    flag(check, "harmonic", harmonic, Average::Harmonic, None);
    if let Some(node) = fields.get("weights").filter(|node| !node.is_empty()) {
        chosen.push(Average::Weighted(weights(check, node, subsets?, whole)?));
    }
    if chosen.len() > 1 {
        let message = format!("{TITLE} has more than one of `weights`, `weight_by_size`, `sum`, `harmonic` and `std`");
        check.error(fields.span, message, Some("keep one, and make a group for each of the others".into()));
        return None;
    }
    right.then(|| chosen.pop().unwrap_or_default())
}

/// One number per subset: a table by name, or by `name@metric` where several metrics of one data set are subsets, or a list in
/// their order. Of a `whole` group, what the table does not name weighs nothing.
fn weights(check: &mut Check, node: &Node, subsets: &[Subset], whole: bool) -> Option<Vec<f64>> {
    let weights: Option<Vec<f64>> = match &node.value {
        Value::Array(items) if items.len() == subsets.len() => {
            let read: Vec<Option<f64>> = items.iter().map(|item| weight(check, "weights", item)).collect();
            read.into_iter().collect()
        }
        Value::Array(items) => {
            let message = format!("`weights` has {} numbers for {} subsets", items.len(), subsets.len());
            check.error(node.span, message, Some("give one for each, in their order".into()));
            None
        }
        Value::Table(table) => {
            let names = || subsets.iter().map(|subset| subset.name.as_str());
            let is_known = |key: &str| subsets.iter().any(|subset| subset.name == key || full(subset) == key);
            for entry in table.entries.iter().filter(|entry| !is_known(&entry.key)) {
                let help = spelling::suggest(&entry.key, names(), "subsets");
                check.error(
                    entry.key_span,
                    format!("`weights` has `{}`, which is not a subset", entry.key),
                    Some(help),
                );
            }
            let one = |(at, subset): (usize, &Subset)| match weighed(table, subsets, at, subset) {
                Some(item) => weight(check, "weights", item),
                None if whole => Some(0.0),
                None => {
                    let name = &subset.name;
                    let help = format!("write `{name} = 1`, or 0 to leave it out of the number");
                    check.error(node.span, format!("`weights` lacks the subset `{name}`"), Some(help));
                    None
                }
            };
            let read: Vec<Option<f64>> = subsets.iter().enumerate().map(one).collect();
            read.into_iter().collect()
        }
        _ => {
            check.wrong_type("weights", node, "a table of numbers", "{ piqa = 1.0, squad = 2.0 }");
            None
        }
    };
    let weights = weights?;
    if weights.iter().sum::<f64>() <= 0.0 {
        check.error(node.span, "`weights` are all zero".into(), Some("give at least one subset a weight".into()));
        return None;
    }
    Some(weights)
}

/// `name@metric`.
fn full(subset: &Subset) -> String {
    format!("{}@{}", subset.name, subset.metric.as_deref().unwrap_or_default())
}

/// The weight of the subset at a position. That of a name counts once: for the last subset of that name, as in OpenCompass.
fn weighed<'t>(
    table: &'t crate::syntax::tree::Table,
    subsets: &[Subset],
    at: usize,
    subset: &Subset,
) -> Option<&'t Node> {
    let is_last = || !subsets.iter().skip(at + 1).any(|later| later.name == subset.name);
    table.get(&full(subset)).or_else(|| table.get(&subset.name).filter(|_| is_last()))
}

fn weight(check: &mut Check, key: &str, node: &Node) -> Option<f64> {
    let number = node.number().unwrap_or(f64::NAN);
    if number.is_finite() && number >= 0.0 {
        return Some(number);
    }
    check.wrong_type(key, node, "numbers of 0 or more", "{ piqa = 1.0 }");
    None
}
