//! A gate: rules over a comparison of a candidate with a baseline, each judged on the interval, and what they come to.

use super::compare::compare;
use super::comparison::{CompareError, Comparison, Options, corrected};
use super::estimate::Estimate;
use super::pairs_that_tell::pairs_that_tell;
use super::report::counted;
use super::row::{Conclusion, Row, against_margin};
use super::run::RunData;
use super::values::Direction;
use compass_settings::{Correction, GateRule, GateTier};
use compass_stats::{normal_tail, two_sided_z};
use serde_json::{Value, json};

/// Outcome of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Go,
    NoGo,
    CannotTell,
}

impl Decision {
    /// As a person reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::NoGo => "no-go",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// One thing that was judged.
#[derive(Clone, Debug)]
pub struct RuleOutcome {
    pub tier: GateTier,
    /// The rule's place.
    pub place: String,
    pub dataset: String,
    pub metric: String,
    /// Difference that the rule allows, in its own words: `-1 point`, `-2 % of the baseline`. The same for every pair of runs.
    pub allowed: String,
    /// The difference that this comes to, in the unit of the metric; `None` where nothing is compared.
    pub allowance: Option<f64>,
    /// The plain difference, candidate minus baseline; `None` where the candidate does not have it.
    pub row: Option<Row>,
    /// Estimate and margin that were judged.
    held: Option<Held>,
    pub decision: Decision,
    /// Reason, in words.
    pub why: String,
    /// Number of pairs that would tell.
    pub needed: Option<u64>,
}

/// An estimate, and the margin that it is held against.
#[derive(Clone, Debug)]
struct Held {
    /// The estimate that is judged. For a relative margin: the difference from what it leaves of the baseline's number, so that the
    /// baseline's own error is in the interval.
    estimate: Estimate,
    direction: Direction,
    margin: f64,
}

impl Held {
    fn judged(&self, confidence: f64) -> Conclusion {
        against_margin(&self.estimate, self.direction, self.margin, confidence)
    }
}

/// A gate that was judged.
#[derive(Clone, Debug)]
pub struct Gate {
    pub decision: Decision,
    pub outcomes: Vec<RuleOutcome>,
    pub comparison: Comparison,
    /// Notes on rules that are not required and found nothing.
    pub skipped: Vec<String>,
}

/// Judges a candidate by rules. `options` says how runs are paired; what of them is compared, the rules say. `matches` tells
/// whether a pattern names a data set.
///
/// # Errors
/// The runs cannot be compared, or a rule matches nothing.
pub fn judge(
    baseline: &RunData,
    candidate: &RunData,
    rules: &[GateRule],
    options: &Options,
    matches: &dyn Fn(&str, &str) -> bool,
) -> Result<Gate, Vec<CompareError>> {
    check(baseline, rules, matches)?;
    let metrics: Vec<String> = rules.iter().filter_map(|rule| rule.metric.clone()).collect();
    let options = Options { metrics, first_metric: true, margin: None, may_be_empty: true, ..options.clone() };
    let comparison = compare(baseline, candidate, &options)?;
    let mut gate = Gate { decision: Decision::Go, outcomes: Vec::new(), comparison, skipped: Vec::new() };
    let mut errors = Vec::new();
    for rule in rules {
        let relative = match rule.relative {
            Some(percent) => {
                let options = Options { relative: percent / 100.0, ..options.clone() };
                Some((percent, compare(baseline, candidate, &options)?))
            }
            None => None,
        };
        let found = gate.outcomes.len() + gate.skipped.len();
        apply(rule, baseline, relative.as_ref(), &options, matches, &mut gate);
        if gate.outcomes.len() + gate.skipped.len() == found {
            errors.push(no_metric(rule, &gate.comparison, matches));
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    correct(&mut gate, options.correction, options.confidence);
    gate.decision = decide(&gate.outcomes);
    Ok(gate)
}

/// Every rule has to match a data set or a group of the baseline.
fn check(
    baseline: &RunData,
    rules: &[GateRule],
    matches: &dyn Fn(&str, &str) -> bool,
) -> Result<(), Vec<CompareError>> {
    // In the order of the run; those of which nothing was read come last.
    let mut known: Vec<&str> = baseline.units.iter().map(|unit| unit.dataset.as_str()).collect();
    known.dedup();
    let others = baseline.datasets.keys().map(String::as_str);
    known.extend(others.filter(|name| !baseline.units.iter().any(|unit| unit.dataset == *name)));
    known.extend(baseline.groups.iter().map(|group| group.name.as_str()));
    let is_idle = |rule: &&GateRule| !known.iter().any(|name| matches(&rule.dataset, name));
    let errors: Vec<CompareError> = rules
        .iter()
        .filter(is_idle)
        .map(|rule| {
            let message = format!(
                "{}: the rule matches nothing: no data set of {} is called `{}`",
                rule.origin, baseline.name, rule.dataset
            );
            CompareError::new(message, format!("its data sets are {}", known.join(", ")))
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn no_metric(rule: &GateRule, comparison: &Comparison, matches: &dyn Fn(&str, &str) -> bool) -> CompareError {
    let of = |row: &&Row| matches(&rule.dataset, &row.dataset);
    let mut names: Vec<&str> = comparison.rows.iter().filter(of).map(|row| row.metric.as_str()).collect();
    names.dedup();
    let metric = rule.metric.as_deref().unwrap_or("any metric");
    let message =
        format!("{}: the rule matches nothing: no data set called `{}` has `{metric}`", rule.origin, rule.dataset);
    let help = match names.as_slice() {
        [] => comparison.left_out.join("; "),
        names => format!("the first metrics there are {}", names.join(", ")),
    };
    CompareError::new(message, help)
}

fn apply(
    rule: &GateRule,
    baseline: &RunData,
    relative: Option<&(f64, Comparison)>,
    options: &Options,
    matches: &dyn Fn(&str, &str) -> bool,
    gate: &mut Gate,
) {
    let is_meant = |row: &&Row| {
        let mut of_dataset = gate.comparison.rows.iter().filter(|other| {
            other.dataset == row.dataset && other.model_a == row.model_a && other.model_b == row.model_b
        });
        let is_metric = match &rule.metric {
            Some(metric) => row.metric == *metric,
            None => of_dataset.next().is_some_and(|first| first.metric == row.metric),
        };
        is_metric && matches(&rule.dataset, &row.dataset)
    };
    let rows: Vec<Row> = gate.comparison.rows.iter().filter(is_meant).cloned().collect();
    for row in &rows {
        if let Some(margin) = rule.margin {
            let held = Held { estimate: row.estimate.clone(), direction: row.direction, margin };
            gate.outcomes.push(judged(rule, row.clone(), held, allowed(row, margin), options.confidence));
        }
        if let Some((percent, relative)) = relative {
            let is_same = |other: &&Row| {
                (&other.dataset, &other.metric, &other.model_a, &other.model_b)
                    == (&row.dataset, &row.metric, &row.model_a, &row.model_b)
            };
            if let Some(scaled) = relative.rows.iter().find(is_same) {
                let sign = sign_of_loss(row.direction);
                let allowance = sign * percent / 100.0 * row.estimate.a.abs();
                let allowed = (format!("{}{percent} % of the baseline", mark(sign * percent)), allowance);
                let held = Held { estimate: scaled.estimate.clone(), direction: row.direction, margin: 0.0 };
                gate.outcomes.push(judged(rule, row.clone(), held, allowed, options.confidence));
            }
        }
    }
    // What the baseline has and the candidate does not.
    let mut names: Vec<&str> = baseline.units.iter().map(|unit| unit.dataset.as_str()).collect();
    names.dedup();
    // A group that comes with the presets and is no part of the run is not missed: nothing is said of it.
    let groups = baseline.groups.iter().map(|group| group.name.as_str());
    names.extend(groups.filter(|name| reason(&gate.comparison.left_out, name, &[name]).is_some()));
    let all = names.clone();
    for name in names.into_iter().filter(|name| matches(&rule.dataset, name)) {
        if gate.comparison.rows.iter().any(|row| row.dataset == name) {
            continue;
        }
        let why =
            reason(&gate.comparison.left_out, name, &all).unwrap_or_else(|| format!("{name}: it is not compared"));
        match rule.required {
            false => gate.skipped.push(why),
            true => gate.outcomes.push(RuleOutcome {
                tier: rule.tier,
                place: rule.origin.to_string(),
                dataset: name.to_owned(),
                metric: rule.metric.clone().unwrap_or_else(|| "-".into()),
                allowed: "-".into(),
                allowance: None,
                row: None,
                held: None,
                decision: Decision::CannotTell,
                why,
                needed: None,
            }),
        }
    }
}

/// -1 where a greater number is better: a loss goes down.
fn sign_of_loss(direction: Direction) -> f64 {
    -direction.sign()
}

/// The sign of a number; none of 0.
fn mark(value: f64) -> &'static str {
    match value {
        value if value < 0.0 => "-",
        value if value > 0.0 => "+",
        _ => "",
    }
}

/// Returns the loss that an absolute margin allows, in words and as a difference.
fn allowed(row: &Row, margin: f64) -> (String, f64) {
    let unit = match (row.is_percent, margin.abs() == 1.0) {
        (false, _) => "",
        (true, true) => " point",
        (true, false) => " points",
    };
    let allowance = sign_of_loss(row.direction) * margin;
    (format!("{}{}{unit}", mark(allowance), margin.abs()), allowance)
}

/// Returns the reason why a data set is not compared: what was left out under its whole name. `text_bleu: only in a` is no reason
/// of `text`, and where one name continues after a space, the longest one is meant.
fn reason(left_out: &[String], name: &str, names: &[&str]) -> Option<String> {
    let is_of = |why: &str, name: &str| why.strip_prefix(name).is_some_and(|rest| rest.starts_with([':', ' ']));
    let is_meant =
        |why: &&String| is_of(why, name) && !names.iter().any(|other| other.len() > name.len() && is_of(why, other));
    left_out.iter().find(is_meant).cloned()
}

fn judged(
    rule: &GateRule,
    mut row: Row,
    held: Held,
    (allowed, allowance): (String, f64),
    confidence: f64,
) -> RuleOutcome {
    row.conclusion = held.judged(confidence);
    let pairs = row.estimate.pairs;
    let too_few = pairs < rule.min_samples;
    let (decision, why, needed) = match row.conclusion {
        _ if too_few => {
            let are = if pairs == 1 { "is" } else { "are" };
            let why =
                format!("{} {are} fewer than the {} of the rule", counted(pairs, "pair", "pairs"), rule.min_samples);
            (Decision::CannotTell, why, Some(rule.min_samples))
        }
        Conclusion::WithinMargin => (Decision::Go, "no worse than allowed".to_owned(), None),
        Conclusion::BeyondMargin => (Decision::NoGo, "worse than allowed".to_owned(), None),
        Conclusion::Inconclusive { needed } => (Decision::CannotTell, undecided(&row, needed), needed),
        _ => (Decision::CannotTell, "not judged".to_owned(), None),
    };
    RuleOutcome {
        tier: rule.tier,
        place: rule.origin.to_string(),
        dataset: row.dataset.clone(),
        metric: row.metric.clone(),
        allowed,
        allowance: Some(allowance),
        row: Some(row),
        held: Some(held),
        decision,
        why,
        needed,
    }
}

fn undecided(row: &Row, needed: Option<u64>) -> String {
    match (row.estimate.left_out, needed) {
        (left_out @ 1.., _) => {
            format!("{} without a score could change it", counted(left_out, "pair", "pairs"))
        }
        (_, Some(needed)) => format!(
            "the interval holds the margin; {needed} pairs would tell, and there {} {}",
            if row.estimate.pairs == 1 { "is" } else { "are" },
            row.estimate.pairs
        ),
        (_, None) => "the interval holds the margin; how many pairs would tell is not known".to_owned(),
    }
}

/// A no-go of one rule among many may be a false alarm: what is no breach after the correction cannot be told. A go needs no
/// correction, since every rule has to hold for it.
fn correct(gate: &mut Gate, correction: Correction, confidence: f64) {
    let level = 0.5 * (1.0 - confidence);
    let p: Vec<f64> = gate.outcomes.iter().map(|outcome| breach(outcome, confidence, level)).collect();
    let adjusted = corrected(correction, &p);
    for (outcome, adjusted) in gate.outcomes.iter_mut().zip(adjusted) {
        if outcome.decision == Decision::NoGo && adjusted > level + 1e-12 {
            outcome.decision = Decision::CannotTell;
            outcome.why = format!(
                "worse than allowed alone, but not after the correction for {}",
                counted(p.len() as u64, "rule", "rules")
            );
            // By the strictest correction, which asks each rule for its share of the level.
            let strict = 1.0 - (1.0 - confidence) / p.len() as f64;
            let tells = |held: &Held| pairs_that_tell(&held.estimate, held.direction, held.margin, strict);
            outcome.needed = outcome.held.as_ref().and_then(tells);
            if let Some(needed) = outcome.needed {
                outcome.why += &format!("; {needed} pairs would tell");
            }
        }
    }
}

/// The one-sided p-value of a breach, from how far the interval is from the margin in its own widths: below the level exactly
/// where the interval is beyond the margin.
fn breach(outcome: &RuleOutcome, confidence: f64, level: f64) -> f64 {
    let Some(Held { estimate, direction, margin }) = &outcome.held else { return 1.0 };
    if outcome.decision != Decision::NoGo {
        return 1.0;
    }
    let sign = direction.sign();
    let high = if sign > 0.0 { estimate.interval.high } else { -estimate.interval.low };
    let centre = sign * estimate.difference;
    let half = high - centre;
    if half <= 0.0 {
        return 0.0;
    }
    normal_tail((-margin - centre) / half * two_sided_z(confidence)).min(level)
}

fn decide(outcomes: &[RuleOutcome]) -> Decision {
    let binding = |tier: GateTier| tier != GateTier::Advisory;
    if outcomes.iter().any(|one| binding(one.tier) && one.decision == Decision::NoGo) {
        return Decision::NoGo;
    }
    match outcomes.iter().any(|one| one.tier == GateTier::Critical && one.decision == Decision::CannotTell) {
        true => Decision::CannotTell,
        false => Decision::Go,
    }
}

impl Gate {
    /// For programs.
    pub fn json(&self) -> Value {
        let outcomes = self.outcomes.iter().map(|one| {
            json!({
                "rule": one.place,
                "tier": one.tier.name(),
                "dataset": one.dataset,
                "metric": one.metric,
                "allowed": one.allowed,
                "allowance": one.allowance,
                "decision": one.decision.name(),
                "why": one.why,
                "pairs_needed": one.needed,
                "row": one.row.as_ref().map(Row::json),
            })
        });
        json!({
            "decision": self.decision.name(),
            "baseline": self.comparison.a,
            "candidate": self.comparison.b,
            "outcomes": outcomes.collect::<Vec<_>>(),
            "skipped": self.skipped,
            "comparison": super::report::json(&self.comparison, &[]),
        })
    }
}
