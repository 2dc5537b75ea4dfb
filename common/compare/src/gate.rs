//! A gate: rules over a comparison of a candidate with a baseline, each judged on the interval, and what they come to.

use super::comparison::{CompareError, Comparison, Correction, Options, compare};
use super::report::counted;
use super::row::{Conclusion, Row, against_margin};
use super::run::RunData;
use compass_stats::{normal_tail, two_sided_z};
use serde_json::{Value, json};

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Where it stands: `gate.toml:3:1`.
    pub place: String,
    /// A name of a data set or a group, or a pattern with `*`.
    pub dataset: String,
    /// The first of each data set unless given.
    pub metric: Option<String>,
    pub tier: Tier,
    /// In the unit of the metric.
    pub margin: Option<f64>,
    /// In percent of the baseline's number.
    pub relative: Option<f64>,
    pub min_samples: u64,
    pub required: bool,
}

/// What a rule decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// A breach is a no-go, and what cannot be told keeps the gate from a go.
    Critical,
    /// A breach is a no-go.
    Supporting,
    /// It is shown.
    Advisory,
}

impl Tier {
    /// As a policy names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Supporting => "supporting",
            Self::Advisory => "advisory",
        }
    }
}

/// What a gate comes to.
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
    pub tier: Tier,
    /// The rule's place.
    pub place: String,
    pub dataset: String,
    pub metric: String,
    /// `1 points`, `2 % of A`.
    pub allowed: String,
    /// What the row's difference is held against: 0 where a relative margin is in the difference already.
    pub margin: f64,
    /// `None` where the candidate does not have it.
    pub row: Option<Row>,
    pub decision: Decision,
    /// Why, in words.
    pub why: String,
    /// How many pairs would tell.
    pub needed: Option<u64>,
}

/// A gate that was judged.
#[derive(Clone, Debug)]
pub struct Gate {
    pub decision: Decision,
    pub outcomes: Vec<RuleOutcome>,
    pub comparison: Comparison,
    /// Of rules that are not required and found nothing.
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
    rules: &[Rule],
    options: &Options,
    matches: &dyn Fn(&str, &str) -> bool,
) -> Result<Gate, Vec<CompareError>> {
    check(baseline, rules, matches)?;
    let metrics: Vec<String> = rules.iter().filter_map(|rule| rule.metric.clone()).collect();
    let options = Options { metrics, first_metric: true, margin: None, ..options.clone() };
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
fn check(baseline: &RunData, rules: &[Rule], matches: &dyn Fn(&str, &str) -> bool) -> Result<(), Vec<CompareError>> {
    let mut known: Vec<&str> = baseline.units.iter().map(|unit| unit.dataset.as_str()).collect();
    known.extend(baseline.groups.iter().map(|group| group.name.as_str()));
    known.dedup();
    let is_idle = |rule: &&Rule| !known.iter().any(|name| matches(&rule.dataset, name));
    let errors: Vec<CompareError> = rules
        .iter()
        .filter(is_idle)
        .map(|rule| {
            let message = format!(
                "{}: the rule matches nothing: no data set of {} is called `{}`",
                rule.place, baseline.name, rule.dataset
            );
            CompareError::new(message, format!("its data sets are {}", known.join(", ")))
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn no_metric(rule: &Rule, comparison: &Comparison, matches: &dyn Fn(&str, &str) -> bool) -> CompareError {
    let of = |row: &&Row| matches(&rule.dataset, &row.dataset);
    let mut names: Vec<&str> = comparison.rows.iter().filter(of).map(|row| row.metric.as_str()).collect();
    names.dedup();
    let metric = rule.metric.as_deref().unwrap_or("any metric");
    let message =
        format!("{}: the rule matches nothing: no data set called `{}` has `{metric}`", rule.place, rule.dataset);
    let help = match names.as_slice() {
        [] => comparison.left_out.join("; "),
        names => format!("the first metrics there are {}", names.join(", ")),
    };
    CompareError::new(message, help)
}

fn apply(
    rule: &Rule,
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
            let unit = if row.is_percent { " points" } else { "" };
            let allowed = format!("{margin}{unit}");
            gate.outcomes.push(judged(rule, row.clone(), margin, allowed, options.confidence));
        }
        if let Some((percent, relative)) = relative {
            let is_same = |other: &&Row| {
                (&other.dataset, &other.metric, &other.model_a, &other.model_b)
                    == (&row.dataset, &row.metric, &row.model_a, &row.model_b)
            };
            if let Some(scaled) = relative.rows.iter().find(is_same) {
                let allowed = format!("{percent} % of A");
                gate.outcomes.push(judged(rule, scaled.clone(), 0.0, allowed, options.confidence));
            }
        }
    }
    // What the baseline has and the candidate does not.
    let mut names: Vec<&str> = baseline.units.iter().map(|unit| unit.dataset.as_str()).collect();
    names.dedup();
    for name in names.into_iter().filter(|name| matches(&rule.dataset, name)) {
        if gate.comparison.rows.iter().any(|row| row.dataset == name) {
            continue;
        }
        let reason = gate.comparison.left_out.iter().find(|why| why.starts_with(name));
        let why = reason.cloned().unwrap_or_else(|| format!("{name}: it is not compared"));
        match rule.required {
            false => gate.skipped.push(why),
            true => gate.outcomes.push(RuleOutcome {
                tier: rule.tier,
                place: rule.place.clone(),
                dataset: name.to_owned(),
                metric: rule.metric.clone().unwrap_or_else(|| "-".into()),
                allowed: "-".into(),
                margin: 0.0,
                row: None,
                decision: Decision::CannotTell,
                why,
                needed: None,
            }),
        }
    }
}

fn judged(rule: &Rule, mut row: Row, margin: f64, allowed: String, confidence: f64) -> RuleOutcome {
    row.conclusion = against_margin(&row.estimate, row.direction, margin, confidence);
    let pairs = row.estimate.pairs;
    let too_few = pairs < rule.min_samples;
    let (decision, why, needed) = match row.conclusion {
        _ if too_few => {
            let why = format!("{pairs} pairs are fewer than the {} of the rule", rule.min_samples);
            (Decision::CannotTell, why, Some(rule.min_samples))
        }
        Conclusion::WithinMargin => (Decision::Go, "no worse than allowed".to_owned(), None),
        Conclusion::BeyondMargin => (Decision::NoGo, "worse than allowed".to_owned(), None),
        Conclusion::Inconclusive { needed } => (Decision::CannotTell, undecided(&row, needed), needed),
        _ => (Decision::CannotTell, "not judged".to_owned(), None),
    };
    RuleOutcome {
        tier: rule.tier,
        place: rule.place.clone(),
        dataset: row.dataset.clone(),
        metric: row.metric.clone(),
        allowed,
        margin,
        row: Some(row),
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
            "the interval holds the margin; {needed} pairs would tell, of which there are {}",
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
    let adjusted = correction.apply(&p);
    for (outcome, adjusted) in gate.outcomes.iter_mut().zip(adjusted) {
        if outcome.decision == Decision::NoGo && adjusted > level + 1e-12 {
            outcome.decision = Decision::CannotTell;
            outcome.why = format!("worse than allowed alone, but not after the correction for {} rules", p.len());
        }
    }
}

/// The one-sided p-value of a breach, from how far the interval is from the margin in its own widths: below the level exactly
/// where the interval is beyond the margin.
fn breach(outcome: &RuleOutcome, confidence: f64, level: f64) -> f64 {
    let Some(row) = &outcome.row else { return 1.0 };
    if outcome.decision != Decision::NoGo {
        return 1.0;
    }
    let (estimate, sign) = (&row.estimate, row.direction.sign());
    let high = if sign > 0.0 { estimate.interval.high } else { -estimate.interval.low };
    let centre = sign * estimate.difference;
    let half = high - centre;
    if half <= 0.0 {
        return 0.0;
    }
    normal_tail((-outcome.margin - centre) / half * two_sided_z(confidence)).min(level)
}

fn decide(outcomes: &[RuleOutcome]) -> Decision {
    let binding = |tier: Tier| tier != Tier::Advisory;
    if outcomes.iter().any(|one| binding(one.tier) && one.decision == Decision::NoGo) {
        return Decision::NoGo;
    }
    match outcomes.iter().any(|one| one.tier == Tier::Critical && one.decision == Decision::CannotTell) {
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
