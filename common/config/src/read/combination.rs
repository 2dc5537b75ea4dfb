//! `[[combination]]`: which models run which data sets. Without any, every model runs every data set.

use super::fields::{Fields, table};
use crate::keys::{Kind, TableKeys, key};
use crate::presets::data_sets::Asked;
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, Table, Value};
use compass_diagnostic::spelling;
use compass_settings::{DatasetConfig, ModelConfig};
use std::collections::BTreeSet;

pub(crate) static COMBINATION: TableKeys = TableKeys {
    name: "combination",
    title: "[[combination]]",
    keys: &[
        key("models", Kind::Texts, "models that run these data sets").takes("array of names").required(),
        key("datasets", Kind::Texts, "data sets that these models run: an `abbr`, or a preset")
            .takes("array of names")
            .required(),
    ],
    types: &[],
};

/// The abbrs of what a configuration defines, chosen for the job or not.
pub(crate) struct Names<'n> {
    pub(crate) models: Vec<&'n str>,
    pub(crate) datasets: Vec<&'n str>,
    pub(crate) asked_models: &'n Asked,
    pub(crate) asked_datasets: &'n Asked,
}

static NONE: Asked = Asked::new();

impl<'n> Names<'n> {
    /// Returns the names of a configuration.
    pub(crate) fn of(root: &'n Table) -> Self {
        let abbrs = |list| {
            let tables = root.get(list).map(Node::items).unwrap_or_default();
            tables.iter().filter_map(|node| node.table()?.text("abbr")).collect()
        };
        Self { models: abbrs("model"), datasets: abbrs("dataset"), asked_models: &NONE, asked_datasets: &NONE }
    }
}

/// The pairs of the job's models and data sets that no combination has. `None` when something is wrong, which is reported.
pub(crate) fn read(
    check: &mut Check,
    root: &mut Fields<'_>,
    names: &Names<'_>,
    (models, datasets): (&[ModelConfig], &[DatasetConfig]),
) -> Option<BTreeSet<(String, String)>> {
    let Some(node) = root.get("combination") else { return Some(BTreeSet::new()) };
    let Value::Array(items) = &node.value else {
        let example = "[{ models = [\"...\"], datasets = [\"...\"] }]";
        check.wrong_type("combination", node, "an array of tables", example);
        return None;
    };
    let mut wanted = BTreeSet::new();
    let mut right = true;
    for item in items {
        let Some(mut fields) = table(check, "combination", item, &COMBINATION) else {
            right = false;
            continue;
        };
        let one = |check: &mut Check, fields: &mut Fields<'_>, key, known: &[&str], asked: &Asked| {
            let node = fields.require(check, key, "[\"...\"]")?;
            let texts = check.texts(key, node)?;
            expanded(check, key, &texts, known, asked)
        };
        let of_models = one(check, &mut fields, "models", &names.models, names.asked_models);
        let of_datasets = one(check, &mut fields, "datasets", &names.datasets, names.asked_datasets);
        fields.finish(check);
        match (of_models, of_datasets) {
            (Some(models), Some(datasets)) => {
                let pairs =
                    models.iter().flat_map(|model| datasets.iter().map(|dataset| (model.clone(), dataset.clone())));
                wanted.extend(pairs);
            }
            _ => right = false,
        }
    }
    let all = models.iter().flat_map(|model| datasets.iter().map(|data| (model.abbr.clone(), data.abbr.clone())));
    let (left_out, rest): (BTreeSet<_>, BTreeSet<_>) = all.partition(|pair| !wanted.contains(pair));
    if right && rest.is_empty() {
        let help = "name a model and a data set of this job in one of them";
        check.error(node.span, "no [[combination]] has a model with a data set of this job".into(), Some(help.into()));
        return None;
    }
    right.then_some(left_out)
}

/// The abbrs that names stand for: a preset stands for the data sets that it defines.
fn expanded(
    check: &mut Check,
    key: &str,
    texts: &[(String, Span)],
    known: &[&str],
    asked: &Asked,
) -> Option<Vec<String>> {
    let mut abbrs = Vec::new();
    let mut right = true;
    for (name, span) in texts {
        match asked.get(name) {
            Some(several) => abbrs.extend(several.iter().cloned()),
            None if known.contains(&name.as_str()) => abbrs.push(name.clone()),
            None => {
                let help = spelling::suggest(name, known.iter().copied(), key);
                let message = format!("`{name}` of a [[combination]] is not among the {key} of the configuration");
                check.error(*span, message, Some(help));
                right = false;
            }
        }
    }
    right.then_some(abbrs)
}
