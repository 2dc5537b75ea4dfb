//! Runs `compass-master gate`.

use super::command::refused;
use super::facts;
use super::files::write_file;
use super::reading::{Clusters, find_run, open_both};
use crate::DatasetReader;
use crate::arguments::GateArguments;
use crate::arguments::NameFilter;
use compass_cli::exit;
use compass_cli::terminal::terminal_width;
use compass_common::status_output::{OutputError, print};
use compass_compare::Options;
use compass_compare::gate::{Decision, judge};
use compass_compare::report::{gate_junit, gate_markdown, gate_text};
use compass_jobs::Failure;
use compass_plan::summary::SummaryGroup;
use compass_settings::{GatePolicy, GateRule};

/// Judges a candidate against a baseline by a policy. The exit code is the decision: 0 go, 1 no-go, 5 cannot tell.
///
/// # Errors
/// A run cannot be read, the two cannot be compared, or a report cannot be written.
pub fn run(arguments: &GateArguments, policy: GatePolicy, datasets: DatasetReader) -> Result<u8, Failure> {
    let work_dir = arguments.work_dir();
    let cluster = arguments.cluster();
    let folders = (find_run(&arguments.baseline, &work_dir)?, find_run(&arguments.candidate, &work_dir)?);
    let GatePolicy { confidence, correction, rules } = policy;
    let groups = facts::groups(&folders.0);
    let clusters = Clusters { by: &cluster, datasets: Some(datasets) };
    // What no rule names is not read: nothing in it can keep the gate from its answer.
    let (a, b) = open_both((&folders.0, &folders.1), clusters, |name| is_asked(&rules, &groups, name))?;
    let options = Options {
        models: arguments.models.clone(),
        metrics: Vec::new(),
        first_metric: true,
        relative: 0.0,
        cluster,
        margin: None,
        correction,
        confidence,
        allow_partial: arguments.allow_partial,
        flips: 0,
        may_be_empty: true,
    };
    let gate = judge(&a.data, &b.data, &rules, &options, &matches).map_err(refused)?;
    if let Some(path) = &arguments.json {
        write_file(path, &format!("{:#}\n", gate.json()))?;
    }
    if let Some(path) = &arguments.junit {
        write_file(path, &gate_junit(&gate))?;
    }
    if let Some(path) = &arguments.md {
        write_file(path, &gate_markdown(&gate))?;
    }
    print(gate_text(&gate, terminal_width()))
        .map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?;
    Ok(match gate.decision {
        Decision::Go => exit::SCORED,
        Decision::NoGo => exit::INCOMPLETE,
        Decision::CannotTell => exit::INCONCLUSIVE,
    })
}

/// Returns whether a rule names a data set, or a group that it is part of.
fn is_asked(rules: &[GateRule], groups: &[SummaryGroup], name: &str) -> bool {
    let is_named = |name: &str| rules.iter().any(|rule| matches(&rule.dataset, name));
    let mut parts: Vec<&str> = Vec::new();
    // Groups are made of groups that come before them.
    for group in groups.iter().rev() {
        if is_named(&group.name) || parts.contains(&group.name.as_str()) {
            parts.extend(group.subsets.iter().map(|subset| subset.name.as_str()));
        }
    }
    is_named(name) || parts.contains(&name)
}

/// A name is meant whole, unlike a filter's: `mmlu` is not `mmlu_pro`.
fn matches(pattern: &str, name: &str) -> bool {
    if pattern.contains('*') { NameFilter::from(pattern).matches(name) } else { pattern == name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_diagnostic::Origin;
    use compass_settings::GateTier;

    fn group(name: &str, subsets: &[&str]) -> SummaryGroup {
        SummaryGroup::naive(name, subsets.iter().map(|subset| (*subset).to_owned()))
    }

    #[test]
    fn what_no_rule_names_is_not_asked_for() {
        let rule = |dataset: &str| GateRule {
            origin: Origin::default(),
            dataset: dataset.into(),
            metric: None,
            tier: GateTier::Critical,
            margin: Some(1.0),
            relative: None,
            min_samples: 0,
            required: true,
        };
        let groups = [group("mmlu", &["law", "physics"]), group("exams", &["mmlu", "gaokao"])];
        let names = ["law", "physics", "gaokao", "piqa"];
        let asked = |rules: &[GateRule]| {
            names.iter().filter(|name| is_asked(rules, &groups, name)).copied().collect::<Vec<_>>()
        };
        assert_eq!(asked(&[rule("piqa")]), ["piqa"]);
        assert_eq!(asked(&[rule("mmlu")]), ["law", "physics"]);
        assert_eq!(asked(&[rule("exams")]), ["law", "physics", "gaokao"]);
        assert_eq!(asked(&[rule("*")]), names);
    }
}
