//! The policy of a gate: what is judged, how strictly, and how sure one has to be.

use compass_diagnostic::Origin;

/// A policy.
#[derive(Clone, Debug, PartialEq)]
pub struct GatePolicy {
    pub confidence: f64,
    pub correction: Correction,
    /// At least one.
    pub rules: Vec<GateRule>,
}

/// The correction for several tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correction {
    Holm,
    BenjaminiHochberg,
    None,
}

impl Correction {
    /// As a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holm => "Holm",
            Self::BenjaminiHochberg => "Benjamini-Hochberg",
            Self::None => "no correction",
        }
    }
}

/// A number that is judged, and how strictly. At least one of `margin` and `relative` is given.
#[derive(Clone, Debug, PartialEq)]
pub struct GateRule {
    /// Place where it is written.
    pub origin: Origin,
    /// A name of a data set or a group, or a pattern with `*`.
    pub dataset: String,
    /// The first of each data set unless given.
    pub metric: Option<String>,
    pub tier: GateTier,
    /// In the unit of the metric: points of percentages.
    pub margin: Option<f64>,
    /// In percent of the baseline's number.
    pub relative: Option<f64>,
    pub min_samples: u64,
    pub required: bool,
}

/// Effect of a rule on the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateTier {
    /// A breach is a no-go, and what cannot be told keeps the gate from a go.
    Critical,
    /// A breach is a no-go.
    Supporting,
    /// It is shown.
    Advisory,
}

impl GateTier {
    /// As a policy names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Supporting => "supporting",
            Self::Advisory => "advisory",
        }
    }
}
