//! OpenCompass's loader classes: the rows that each reads with its parameters, as splits of ours. Presets name a class by
//! `loader`, entries of configurations in Python by `type`.

use crate::passes::for_each;
use crate::report::check::Check;
use crate::syntax::merge::merge_tables;
use crate::syntax::parse::parse;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Node, Table, Value, same};
use std::path::Path;
use std::sync::LazyLock;

const TABLE: &str = include_str!("../../loaders/opencompass.toml");
/// Our names of the splits, with the keys of `reader_cfg` that hold the class's.
pub(crate) const SPLITS: [(&str, &str); 2] = [("test", "test_split"), ("train", "train_split")];

/// The table for presets, whose places are their own.
static LOADERS: LazyLock<Loaders> = LazyLock::new(|| Loaders::read(&mut Check::default()));

/// Every record of the table.
#[derive(Clone, Debug)]
pub(crate) struct Loaders(Vec<Node>);

/// Knowledge of a class with its parameters.
pub(crate) enum Rows {
    /// The split, with the parameters in their places, and what else the class does.
    Known(Box<Known>),
    /// The class is known, with other parameters or another split.
    Otherwise(String),
    Unknown,
}

/// Equivalent of a class.
pub(crate) struct Known {
    pub(crate) source: Node,
    /// Postprocessor with which it reads the right answer.
    pub(crate) dataset_postprocessor: Option<KeyValue>,
}

impl Loaders {
    pub(crate) fn read(check: &mut Check) -> Self {
        let file = check.sources.add_shipped(Path::new("loaders/opencompass.toml"), TABLE.to_owned());
        let table = parse(check, file).unwrap_or_default();
        Self(table.get("loader").map(Node::items).unwrap_or_default().to_vec())
    }

    /// The rows of `split` of the class `name` with `parameters`.
    pub(crate) fn rows(&self, name: &str, parameters: &[(&str, &Node)], split: &str) -> Rows {
        let of_class = self.0.iter().filter_map(Node::table).filter(|record| record.text("class") == Some(name));
        let mut nearest = None;
        for (record, file) in of_class.flat_map(|record| files(record).map(move |file| (record, file))) {
            let (Some(known), Some(path)) = (file.get("params").and_then(Node::table), file.entry("path")) else {
                continue;
            };
            let splits = file.get("split").map(one_or_several).unwrap_or_default();
            match values(known, parameters) {
                Ok(values) if splits.iter().any(|one| one.text() == Some(split)) => {
                    return Rows::Known(Box::new(Known::new(record, path, values, split)));
                }
                Ok(_) => {
                    let has = splits.first().and_then(Node::text).unwrap_or_default();
                    nearest.get_or_insert(format!("its split `{split}` is not known here, and `{has}` is"));
                }
                Err(reason) => {
                    nearest.get_or_insert(reason);
                }
            }
        }
        nearest.map_or(Rows::Unknown, Rows::Otherwise)
    }
}

/// Puts the splits of the class that `loader` names into a data set of a preset, which stands at `span`, below what it says of
/// them itself.
pub(super) fn put_splits(dataset: &mut Table, span: Span) {
    let Some(Node { value: Value::Table(call), .. }) = dataset.remove("loader") else { return };
    let class = call.text("class").unwrap_or_default();
    let parameters: Vec<(&str, &Node)> = call
        .entries
        .iter()
        .filter(|entry| entry.key != "class")
        .map(|entry| (entry.key.as_str(), &entry.node))
        .collect();
    let has_shots = wants_shots(dataset);
    for (ours, theirs) in SPLITS {
        let named = match dataset.get_mut("reader_cfg") {
            Some(Node { value: Value::Table(reader), .. }) => reader.remove(theirs),
            _ => None,
        };
        let split = named.as_ref().and_then(Node::text).unwrap_or(ours);
        if ours == "train" && !has_shots {
            continue;
        }
        let Rows::Known(mut known) = LOADERS.rows(class, &parameters, split) else { continue };
        known.place(span);
        if let (Some(Node { value: Value::Table(own), .. }), Value::Table(source)) =
            (dataset.remove(ours), &mut known.source.value)
        {
            merge_tables(source, own);
        }
        known.put(dataset, ours);
    }
}

impl Known {
    fn new(record: &Table, path: &KeyValue, values: Vec<(&str, String)>, split: &str) -> Self {
        let mut source = record.get("source").and_then(Node::table).cloned().unwrap_or_default();
        source.entries.insert(0, path.clone());
        let mut source = Node { value: Value::Table(source), span: path.node.span };
        // A parameter of the name `split` comes before the split.
        let values = values.into_iter().chain([("split", split.to_owned())]);
        let values: Vec<(String, String)> = values.map(|(name, value)| (format!("${{{name}}}"), value)).collect();
        for_each::replace(&mut source, &values);
        Self { source, dataset_postprocessor: record.entry("dataset_postprocessor").cloned() }
    }

    fn place(&mut self, span: Span) {
        self.source.place(span);
        if let Some(gold) = &mut self.dataset_postprocessor {
            gold.key_span = span;
            gold.node.place(span);
        }
    }

    /// Adds the split to a data set, and the postprocessor where the data set has none.
    pub(crate) fn put(self, dataset: &mut Table, ours: &str) {
        dataset.entries.push(KeyValue { key: ours.to_owned(), key_span: self.source.span, node: self.source });
        if let Some(gold) = self.dataset_postprocessor
            && let Some(Node { value: Value::Table(eval), .. }) = dataset.get_mut("eval_cfg")
            && eval.get(&gold.key).is_none()
        {
            eval.entries.push(gold);
        }
    }
}

fn files(record: &Table) -> impl Iterator<Item = &Table> {
    record.get("files").map(Node::items).unwrap_or_default().iter().filter_map(Node::table)
}

fn one_or_several(node: &Node) -> &[Node] {
    match &node.value {
        Value::Array(several) => several,
        _ => std::slice::from_ref(node),
    }
}

/// Returns `true` if the retriever shows rows of the train split.
fn wants_shots(dataset: &Table) -> bool {
    let retriever = dataset.get("infer_cfg").and_then(Node::table).and_then(|infer| infer.get("retriever"));
    let name = retriever.and_then(|node| node.text().or_else(|| node.table()?.text("type")));
    name.is_some_and(|name| name != "zero")
}

/// Returns the texts of the parameters, if they are the record's own.
fn values<'p>(known: &Table, parameters: &[(&'p str, &Node)]) -> Result<Vec<(&'p str, String)>, String> {
    if let Some(missing) = known.entries.iter().find(|entry| parameters.iter().all(|(name, _)| *name != entry.key)) {
        return Err(format!("it is known here with its parameter `{}` alone", missing.key));
    }
    let mut values = Vec::new();
    for (name, node) in parameters {
        let Some(wanted) = known.get(name) else { return Err(format!("its parameter `{name}` is not known here")) };
        if !one_or_several(wanted).iter().any(|one| same(one, node)) {
            let given = node.text().map_or_else(|| "another value".to_owned(), |text| format!("\"{text}\""));
            return Err(format!("it is not known here with `{name} = {given}`"));
        }
        if let Some(text) = node.text() {
            values.push((*name, text.to_owned()));
        }
    }
    Ok(values)
}

/// Every class with a split, the parameters in words, and what is known of the rows.
#[cfg(test)]
pub(crate) fn known_splits() -> Vec<(String, String, Known)> {
    let loaders = Loaders::read(&mut Check::default());
    let mut all = Vec::new();
    for record in loaders.0.iter().filter_map(Node::table) {
        let class = record.text("class").unwrap_or_default();
        for file in files(record) {
            let mut every: Vec<Vec<(&str, &Node)>> = vec![Vec::new()];
            for entry in file.get("params").and_then(Node::table).into_iter().flat_map(|table| &table.entries) {
                let with = |value| {
                    every.iter().map(move |chosen| [chosen.clone(), vec![(entry.key.as_str(), value)]].concat())
                };
                every = one_or_several(&entry.node).iter().flat_map(with).collect();
            }
            for split in file.get("split").map(one_or_several).unwrap_or_default().iter().filter_map(Node::text) {
                for chosen in &mut every {
                    chosen.sort_by_key(|(name, _)| *name);
                    let words: Vec<String> = chosen
                        .iter()
                        .map(|(name, node)| format!("{name} = {}", crate::syntax::tree::json(node)))
                        .collect();
                    if let Rows::Known(known) = loaders.rows(class, chosen, split) {
                        all.push((class.to_owned(), format!("{split}: {}", words.join(", ")), *known));
                    }
                }
            }
        }
    }
    all
}
