//! One line of a comparison.

use super::estimate::{Estimate, Method};
use super::pairs_that_tell::pairs_that_tell;
use super::values::Direction;
use compass_stats::{Interval, SignFlip};
use serde_json::{Map, Value, json};

/// A metric of a data set, or the number of a group, in both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub model_a: String,
    pub model_b: String,
    pub dataset: String,
    pub metric: String,
    pub is_group: bool,
    /// Set if the number is in percent, so that a difference is in points.
    pub is_percent: bool,
    pub direction: Direction,
    pub estimate: Estimate,
    /// The p-value after the correction for all that is tested.
    pub adjusted_p: f64,
    pub conclusion: Conclusion,
}

/// Statement of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Conclusion {
    /// The second run is better, worse, or cannot be told from the first.
    Better,
    Worse,
    Undecided,
    /// With a margin: no worse than the first by more than the margin, ...
    WithinMargin,
    /// ... worse by more, ...
    BeyondMargin,
    /// ... or not known; with the number of pairs that would tell with a power of 80 %, if any would.
    Inconclusive {
        needed: Option<u64>,
    },
}

impl Conclusion {
    /// For a table and for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Undecided => "no difference seen",
            Self::WithinMargin => "no worse",
            Self::BeyondMargin => "worse than the margin",
            Self::Inconclusive { .. } => "inconclusive",
        }
    }
}

/// Compares an estimate with a margin of non-inferiority: on the interval, and with what answers without a score could change.
pub fn against_margin(estimate: &Estimate, direction: Direction, margin: f64, confidence: f64) -> Conclusion {
    let oriented = |interval: Interval| if direction == Direction::Higher { interval } else { interval.negated() };
    let interval = oriented(estimate.interval);
    if let Some(bounds) = estimate.bounds.map(oriented) {
        if interval.low.min(bounds.low) > -margin {
            return Conclusion::WithinMargin;
        }
        if interval.high.max(bounds.high) < -margin {
            return Conclusion::BeyondMargin;
        }
    }
    // More pairs do not help where answers are missing.
    let is_whole = estimate.unscored == (0, 0);
    let needed = if is_whole { pairs_that_tell(estimate, direction, margin, confidence) } else { None };
    Conclusion::Inconclusive { needed }
}

impl Row {
    /// Says what the row says, once its p-value is adjusted.
    pub(crate) fn decide(&mut self, margin: Option<f64>, confidence: f64) {
        self.conclusion = match margin {
            Some(margin) => against_margin(&self.estimate, self.direction, margin, confidence),
            None => {
                let better = self.direction.sign() * self.estimate.difference;
                // Unrounded 1 - 0.95 is a little more than 0.05.
                let level = ((1.0 - confidence) * 1e12).round() / 1e12;
                match self.adjusted_p < level {
                    true if better > 0.0 => Conclusion::Better,
                    true if better < 0.0 => Conclusion::Worse,
                    _ => Conclusion::Undecided,
                }
            }
        };
    }

    /// Returns whether nothing at all differs.
    pub fn is_identical(&self) -> bool {
        let estimate = &self.estimate;
        let no_pair_differs = match estimate.method {
            Method::McNemar { gained, lost, .. } => gained + lost == 0,
            _ => estimate.stderr == 0.0,
        };
        no_pair_differs && estimate.difference == 0.0
    }

    /// `mmlu accuracy`, with the models where they are several.
    pub fn label(&self) -> String {
        format!("{} {}", self.dataset, self.metric)
    }

    /// Names the method of its test in a few words.
    pub fn method(&self) -> String {
        let clustered = match self.estimate.clusters {
            Some(count) => format!(", {count} clusters"),
            None => String::new(),
        };
        match self.estimate.method {
            Method::McNemar { .. } => "exact McNemar, Tango".into(),
            Method::SignFlip { flips: SignFlip::Exact { .. }, .. } => format!("exact sign-flip, t{clustered}"),
            Method::SignFlip { flips: SignFlip::Drawn { draws, .. }, .. } => {
                format!("sign-flip of {draws}, t{clustered}")
            }
            Method::SignFlip { flips: SignFlip::Normal { .. }, .. } => {
                format!("sign-flip (normal limit), t{clustered}")
            }
            Method::Bootstrap { resamples } => format!("paired bootstrap of {resamples}{clustered}"),
            Method::Normal => "normal".into(),
        }
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let Estimate { pairs, unscored, a, b, difference, stderr, interval, p, detectable, clusters, .. } =
            &self.estimate;
        let mut row = Map::new();
        let mut put = |key: &str, value: Value| row.insert(key.to_owned(), value);
        put("model_a", json!(self.model_a));
        put("model_b", json!(self.model_b));
        put("dataset", json!(self.dataset));
        put("metric", json!(self.metric));
        put("group", json!(self.is_group));
        put("unit", json!(if self.is_percent { "percent" } else { "" }));
        put("lower_is_better", json!(self.direction == Direction::Lower));
        put("pairs", json!(pairs));
        put("unscored_a", json!(unscored.0));
        put("unscored_b", json!(unscored.1));
        put("left_out", json!(self.estimate.left_out));
        put("a", json!(a));
        put("b", json!(b));
        put("difference", json!(difference));
        put("stderr", json!(stderr));
        put("interval", json!([interval.low, interval.high]));
        put("bounds", self.estimate.bounds.map_or(Value::Null, |bounds| json!([bounds.low, bounds.high])));
        put("p", json!(p));
        put("adjusted_p", json!(self.adjusted_p));
        put("method", json!(self.method()));
        put("clusters", json!(clusters));
        put("detectable", json!(detectable));
        match self.estimate.method {
            Method::McNemar { gained, lost, mid_p } => {
                put("gained", json!(gained));
                put("lost", json!(lost));
                put("mid_p", json!(mid_p));
            }
            Method::SignFlip { t_p, .. } => {
                put("t_p", json!(t_p));
            }
            Method::Bootstrap { .. } | Method::Normal => {}
        }
        if let Some((questions, answers)) = self.estimate.variance {
            put("variance", json!({"questions": questions, "answers": answers}));
        }
        put("conclusion", json!(self.conclusion.name()));
        if let Conclusion::Inconclusive { needed } = self.conclusion {
            put("pairs_needed", json!(needed));
        }
        Value::Object(row)
    }
}
