//! Facts of a run that is compared: its models and data sets as facts with names, its values, its groups.

use super::observed::UnitData;
use compass_plan::summary::SummaryGroup;
use std::collections::BTreeMap;

/// A run, read.
#[derive(Clone, Debug, Default)]
pub struct RunData {
    /// As a person names it.
    pub name: String,
    /// The digest of its plan.
    pub plan: String,
    /// By abbr: what may change a model's numbers, by name.
    pub models: BTreeMap<String, Facts>,
    /// By abbr: what is asked of a data set, by name.
    pub datasets: BTreeMap<String, Facts>,
    /// Facts of the run as a whole: the version that planned it, its devices.
    pub facts: Facts,
    pub units: Vec<UnitData>,
    pub groups: Vec<SummaryGroup>,
}

/// Facts by name, as texts.
pub type Facts = BTreeMap<&'static str, String>;

/// Something that is not the same in both runs and may explain a difference.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// `model tiny: dtype`.
    pub what: String,
    pub a: String,
    pub b: String,
}

/// The facts that differ; one that only one side has is `unknown` in the other.
pub(crate) fn differences(of: &str, a: &Facts, b: &Facts) -> Vec<Difference> {
    let names: std::collections::BTreeSet<&&str> = a.keys().chain(b.keys()).collect();
    let value = |facts: &Facts, name: &str| facts.get(name).cloned().unwrap_or_else(|| "unknown".into());
    let found = names.into_iter().map(|name| Difference {
        what: if of.is_empty() { (*name).to_owned() } else { format!("{of}: {name}") },
        a: value(a, name),
        b: value(b, name),
    });
    found.filter(|difference| difference.a != difference.b).collect()
}
