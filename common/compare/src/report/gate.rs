//! A gate for a terminal, as Markdown and as JUnit's XML.

use super::escape::{markdown_text, plain_text, xml_text};
use super::layout::{Table, wrapped_all};
use super::numbers::signed;
use super::text::provenance;
use crate::gate::{Decision, Gate, RuleOutcome};
use compass_settings::GateTier;
use std::fmt::Write;

/// Says in one sentence what a gate comes to.
pub fn gate_headline(gate: &Gate) -> String {
    let count = |decision| gate.outcomes.iter().filter(|one| one.decision == decision).count();
    let needed = gate.outcomes.iter().filter(|one| one.decision == Decision::CannotTell).filter_map(|one| one.needed);
    let needed = match (gate.decision, needed.max()) {
        (Decision::CannotTell, Some(needed)) => format!("; {needed} pairs would tell"),
        _ => String::new(),
    };
    format!(
        "{}: {} of {} hold, {} do not, {} cannot be told{needed}",
        gate.decision.name(),
        count(Decision::Go),
        gate.outcomes.len(),
        count(Decision::NoGo),
        count(Decision::CannotTell)
    )
}

/// `-1 point`, or `-5 % of the baseline = -4.31`.
fn allowed(one: &RuleOutcome) -> String {
    match (&one.row, one.allowance) {
        (Some(row), Some(allowance)) if one.allowed.contains('%') => {
            format!("{} = {}", one.allowed, signed(allowance, row.is_percent))
        }
        _ => one.allowed.clone(),
    }
}

fn cells(one: &RuleOutcome) -> [String; 8] {
    let (pairs, difference, interval) = match &one.row {
        None => ("-".into(), "-".into(), "-".into()),
        Some(row) => {
            let estimate = &row.estimate;
            let show = |value| signed(value, row.is_percent);
            let interval = format!("{} to {}", show(estimate.interval.low), show(estimate.interval.high));
            (estimate.pairs.to_string(), show(estimate.difference), interval)
        }
    };
    [
        one.dataset.clone(),
        one.metric.clone(),
        one.tier.name().into(),
        pairs,
        allowed(one),
        difference,
        interval,
        format!("{}: {}", one.decision.name(), one.why),
    ]
}

const HEAD: [&str; 8] = ["dataset", "metric", "tier", "pairs", "allowed", "difference", "interval", "conclusion"];

/// For a terminal of so many columns, or as wide as it comes; ends with a newline. Differences are candidate minus baseline.
pub fn gate_text(gate: &Gate, width: Option<usize>) -> String {
    let mut grid = vec![HEAD.map(str::to_owned).to_vec()];
    grid.extend(gate.outcomes.iter().map(|one| cells(one).map(|cell| plain_text(&cell)).to_vec()));
    let mut lines = wrapped_all([plain_text(&gate_headline(gate)), String::new()], width);
    lines.extend(wrapped_all(provenance(&gate.comparison, ["the baseline", "the candidate"]), width));
    lines.extend(Table { grid, names: 2, words: 3, turns: false }.lines(width));
    lines.push(String::new());
    lines.extend(wrapped_all(gate.skipped.iter().map(|why| plain_text(&format!("not required: {why}"))), width));
    lines.into_iter().map(|line| line + "\n").collect()
}

/// As Markdown.
pub fn gate_markdown(gate: &Gate) -> String {
    let mut out = format!("# Gate\n\n**{}**\n\n", markdown_text(&gate_headline(gate)));
    let _ = writeln!(out, "| {} |\n|---|---|---|--:|--:|--:|--:|---|", HEAD.join(" | "));
    for one in &gate.outcomes {
        let _ = writeln!(out, "| {} |", cells(one).map(|cell| markdown_text(&cell)).join(" | "));
    }
    out
}

/// As JUnit's XML: a breach is a failure, of an advisory rule it is skipped; what cannot be told is an error of a critical rule, and of
/// any other it is skipped.
pub fn gate_junit(gate: &Gate) -> String {
    let mut cases = String::new();
    let (mut failures, mut errors, mut skipped) = (0, 0, 0);
    for one in &gate.outcomes {
        let name = xml_text(&format!("{} {} ({})", one.dataset, one.metric, one.allowed));
        let _ = write!(cases, "  <testcase classname=\"gate.{}\" name=\"{name}\"", one.tier.name());
        let why = xml_text(&one.why);
        let element = match (one.decision, one.tier) {
            (Decision::Go, _) => None,
            (Decision::NoGo, GateTier::Critical | GateTier::Supporting) => Some("failure"),
            (Decision::CannotTell, GateTier::Critical) => Some("error"),
            _ => Some("skipped"),
        };
        match element {
            None => cases.push_str("/>\n"),
            Some(element) => {
                match element {
                    "failure" => failures += 1,
                    "error" => errors += 1,
                    _ => skipped += 1,
                }
                let detail = xml_text(&cells(one).join(" | "));
                let _ = match element {
                    "skipped" => writeln!(cases, "><skipped message=\"{why}\"/></testcase>"),
                    _ => writeln!(cases, "><{element} message=\"{why}\">{detail}</{element}></testcase>"),
                };
            }
        }
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"compass gate\" tests=\"{}\" \
         failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">\n{cases}</testsuite>\n</testsuites>\n",
        gate.outcomes.len()
    )
}
