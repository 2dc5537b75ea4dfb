//! One row of the table.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Outcome of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// The goal is met.
    Passed,
    /// The goal is not met, or the section broke.
    Failed,
    /// Measured; there is no goal for this, or not on this device.
    Measured,
    /// Not run.
    Skipped,
}

impl CheckStatus {
    /// As the table has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
            Self::Measured => "measured",
            Self::Skipped => "skipped",
        }
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub section: String,
    pub name: String,
    /// A number, a text or a list; null where nothing was measured.
    pub value: Value,
    /// Unit of a number; empty for other values.
    #[serde(default)]
    pub unit: String,
    /// The goal, in words; empty without one.
    #[serde(default)]
    pub goal: String,
    pub status: CheckStatus,
}

impl Finding {
    /// A measured value without a goal.
    pub fn measured(section: &str, name: impl Into<String>, value: impl Into<Value>, unit: &str) -> Self {
        Self {
            section: section.into(),
            name: name.into(),
            value: value.into(),
            unit: unit.into(),
            goal: String::new(),
            status: CheckStatus::Measured,
        }
    }

    /// Adds a goal: it is judged if it applies here, and only shown beside the value otherwise.
    #[must_use]
    pub fn judged(self, goal: impl Into<String>, is_met: Option<bool>) -> Self {
        let status = match is_met {
            Some(true) => CheckStatus::Passed,
            Some(false) => CheckStatus::Failed,
            None => CheckStatus::Measured,
        };
        Self { goal: goal.into(), status, ..self }
    }

    /// A row for a section that broke or was not run.
    pub fn ended(section: &str, status: CheckStatus, why: impl Into<String>) -> Self {
        Self { status, ..Self::measured(section, "section", why.into(), "") }
    }
}
