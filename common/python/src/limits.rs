//! Limits of an evaluation. No file can exceed them: an endless loop, a list that grows without bound and a function that
//! calls itself end with an error at their place.

pub(crate) use compass_types::function::Limits;
use std::cell::Cell;

/// Expressions inside each other. Far above what people write, and what the stack of an evaluation holds.
pub(crate) const MOST_NESTED: u32 = 20_000;

/// Bytes that a list, a dict or a call counts for beside what is in it. It bounds how deep values lie inside each other: they are
/// freed from the outside in, on the stack.
const CONTAINER: usize = 1 << 10;
/// Comparisons and keys of parts of values, which are made without a step of the evaluation: lists that share their parts have
/// more of them than they have bytes.
const MOST_PARTS: u64 = 20_000_000;

thread_local! {
    /// Parts that this thread's evaluation has looked at.
    static PARTS: Cell<u64> = const { Cell::new(0) };
}

/// Counts parts of values; whether more may be looked at. Where not, the next step ends the evaluation.
pub(crate) fn look_at(parts: u64) -> bool {
    PARTS.with(|seen| {
        seen.set(seen.get().saturating_add(parts));
        seen.get() <= MOST_PARTS
    })
}

/// Remainder of the limits.
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
        PARTS.with(|seen| seen.set(0));
        Self { limits, steps: 0, bytes: 0 }
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    pub(crate) fn step(&mut self) -> Result<(), Exhausted> {
        self.steps += 1;
        if self.steps > self.limits.steps {
            return Err(Exhausted::Steps(self.limits.steps));
        }
        if look_at(0) { Ok(()) } else { Err(Exhausted::Steps(MOST_PARTS)) }
    }

    /// Counts a container, or a call, beside what is in it.
    pub(crate) fn container(&mut self) -> Result<(), Exhausted> {
        self.make(CONTAINER)
    }

    /// Bytes that may still be made.
    pub(crate) fn left(&self) -> usize {
        usize::try_from(self.limits.bytes.saturating_sub(self.bytes)).unwrap_or(usize::MAX)
    }

    /// Counts `bytes` before they are made.
    pub(crate) fn make(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes > self.limits.bytes { Err(Exhausted::Bytes(self.limits.bytes)) } else { Ok(()) }
    }
}

impl Exhausted {
    /// Returns its description, and advice on what to do.
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
