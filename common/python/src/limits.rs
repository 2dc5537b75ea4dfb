//! What an evaluation may use. No file can exceed it: an endless loop, a list that grows without bound and a function that
//! calls itself end with an error at their place.

/// The bounds of one evaluation, all files that it imports included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Expressions and statements that are evaluated.
    pub steps: u64,
    /// Bytes of all values that are made, those given up again included.
    pub bytes: u64,
    /// Calls of functions inside each other, and imports inside each other.
    pub depth: u32,
    /// Bytes of one file.
    pub file_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 50_000_000, bytes: 2 << 30, depth: 200, file_bytes: 1 << 20 }
    }
}

/// Expressions inside each other. Far above what people write, and what the stack of an evaluation holds.
pub(crate) const MOST_NESTED: u32 = 4_000;

/// What is left of the limits.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    steps: u64,
    bytes: u64,
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exhausted {
    Steps(u64),
    Bytes(u64),
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, steps: 0, bytes: 0 }
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    pub(crate) fn step(&mut self) -> Result<(), Exhausted> {
        self.steps += 1;
        if self.steps > self.limits.steps { Err(Exhausted::Steps(self.limits.steps)) } else { Ok(()) }
    }

    /// Counts `bytes` before they are made.
    pub(crate) fn make(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes > self.limits.bytes { Err(Exhausted::Bytes(self.limits.bytes)) } else { Ok(()) }
    }
}

impl Exhausted {
    /// What is said of it, and what to do.
    pub(crate) fn told(self) -> (String, String) {
        match self {
            Self::Steps(steps) => (
                format!("the configuration did not end after {steps} steps"),
                "a loop in it does not end, or runs far too often".to_owned(),
            ),
            Self::Bytes(bytes) => (
                format!("the configuration made values of more than {} MiB", bytes >> 20),
                "a list or a text in it grows without bound".to_owned(),
            ),
        }
    }
}
