//! A program under test: sources that one interpreter runs one after the other.

use crate::limits::Limits;
use serde_json::{Value, json};

/// One source text, executed as `exec(source, globals)` with the globals that the stages before it left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    pub source: String,
    /// Compares in `assert a == b` by type and content, as OpenCompass does in MBPP's tests, so that an object whose
    /// `__eq__` always agrees does not pass.
    pub type_aware: bool,
}

/// What to run, and within which bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub stages: Vec<Stage>,
    pub limits: Limits,
}

impl Program {
    /// One source text with the default limits: passed when it runs to its end without raising.
    pub fn new(source: impl Into<String>) -> Self {
        Self { stages: vec![Stage { source: source.into(), type_aware: false }], limits: Limits::default() }
    }

    /// The same program within other bounds.
    #[must_use]
    pub fn within(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The order that the harness reads, one line. `processes` is the bound that it sets on itself, 0 for none.
    pub(crate) fn order(&self, processes: u64) -> String {
        let stage = |stage: &Stage| json!({ "source": stage.source, "type_aware": stage.type_aware });
        let stages: Vec<Value> = self.stages.iter().map(stage).collect();
        json!({ "processes": processes, "stages": stages }).to_string()
    }
}
