//! A program under test: sources that one interpreter runs in order.

use crate::limits::Limits;
use serde_json::{Value, json};

/// One source text, executed as `exec(source, globals)` with the globals left by earlier stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    pub source: String,
    /// Set if `assert a == b` compares by type and content, as OpenCompass does in MBPP's tests, so that an object
    /// whose `__eq__` always returns true does not pass.
    pub type_aware: bool,
}

/// A program and its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub stages: Vec<Stage>,
    pub limits: Limits,
}

impl Program {
    /// A program of one source text with the default limits; it passes if it runs to its end without raising.
    pub fn new(source: impl Into<String>) -> Self {
        Self { stages: vec![Stage { source: source.into(), type_aware: false }], limits: Limits::default() }
    }

    /// Returns the program with other limits.
    #[must_use]
    pub fn within(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the request that the harness reads, one line. `processes` is the process limit to set, 0 for none.
    pub(crate) fn request(&self, processes: u64) -> String {
        let stage = |stage: &Stage| json!({ "source": stage.source, "type_aware": stage.type_aware });
        let stages: Vec<Value> = self.stages.iter().map(stage).collect();
        json!({ "processes": processes, "stages": stages }).to_string()
    }
}
