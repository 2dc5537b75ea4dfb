//! The decision on two answers, the rules it is made by, and the bounds within which it is sought.

/// Longest text that is read, in bytes.
const TEXT: usize = 4 * 1024;
/// Deepest nesting of brackets, exponents and commands.
const DEPTH: u32 = 64;
/// Most steps of a comparison: a token, a term of a product, a division by a possible factor.
const STEPS: u32 = 200_000;

/// Verdict on two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Shown equal by exact rules.
    Equal,
    /// Equal at every sampled point, or to the digits that a decimal gives.
    EqualNumerically,
    Unequal,
    /// Neither could be shown within the bounds.
    Undecided(Why),
}

/// Reason for which nothing was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A text has more than 4 KiB.
    TooLong,
    /// Brackets, exponents or commands nest deeper than 64.
    TooDeep,
    /// A polynomial grows beyond 256 terms.
    TooManyTerms,
    /// A number grows beyond 4,096 bits, or the exponent of a sum beyond 64.
    TooLarge,
    /// The comparison takes more than 200,000 steps.
    TooManySteps,
    /// A text is not a formula of a known kind.
    Unread,
    /// A formula has no value, for example a quotient by zero.
    Undefined,
    /// The sampled points show neither.
    Unsettled,
}

/// Rules in the cases where math-verify 0.9.0 and mathematics differ.
///
/// Ours calls equal: `12.5\% ~ 12.5`, `6.02\times 10^{23} ~ 6.02e23`, `1<x<2 ~ 2>x>1`, `2x>6 ~ x>3`, `i^2 ~ -1`,
/// `\varnothing ~ \emptyset`, `(1,2) ~ 1<x<2`. Ours calls unequal: `0.0000001 ~ 0.0000002`, `43_5 ~ 43_6`, `5\text{ m} ~
/// 5\text{ cm}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// The decision of math-verify.
    Peer,
    Ours,
}

impl Verdict {
    /// Returns whether the answers count as equal.
    pub fn is_equal(self) -> bool {
        matches!(self, Self::Equal | Self::EqualNumerically)
    }

    /// Equal where all are; unequal where one is.
    pub(super) fn together(decisions: impl IntoIterator<Item = Self>) -> Self {
        let mut joined = Self::Equal;
        for decision in decisions {
            joined = match (joined, decision) {
                (_, Self::Unequal) => return Self::Unequal,
                (Self::Undecided(_), _) | (_, Self::Equal) => joined,
                (_, worse) => worse,
            };
        }
        joined
    }

    /// Equal where one is; unequal where all are.
    pub(super) fn best(decisions: impl IntoIterator<Item = Self>) -> Self {
        let mut best = Self::Unequal;
        for decision in decisions {
            best = match (best, decision) {
                (_, Self::Equal) => return Self::Equal,
                (Self::EqualNumerically, _) | (_, Self::Unequal) => best,
                (Self::Undecided(_), Self::Undecided(_)) => best,
                (_, better) => better,
            };
        }
        best
    }

    pub(super) fn exact(equal: bool) -> Self {
        if equal { Self::Equal } else { Self::Unequal }
    }
}

impl From<Result<Verdict, Why>> for Verdict {
    fn from(decision: Result<Verdict, Why>) -> Self {
        decision.unwrap_or_else(Self::Undecided)
    }
}

/// Steps and depth that a comparison may still use. Counted, so that a decision is the same on every machine.
#[derive(Debug)]
pub(super) struct Budget {
    steps: u32,
    depth: u32,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { steps: STEPS, depth: 0 }
    }

    pub(super) fn check_length(text: &str) -> Result<(), Why> {
        if text.len() > TEXT { Err(Why::TooLong) } else { Ok(()) }
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), Why> {
        let steps = u32::try_from(steps).map_err(|_| Why::TooManySteps)?;
        self.steps = self.steps.checked_sub(steps).ok_or(Why::TooManySteps)?;
        Ok(())
    }

    /// Goes one level deeper; `leave` comes back.
    pub(super) fn enter(&mut self) -> Result<(), Why> {
        self.depth += 1;
        if self.depth > DEPTH { Err(Why::TooDeep) } else { Ok(()) }
    }

    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Comes back to a level, also behind a text that was not read to its end.
    pub(super) fn return_to(&mut self, depth: u32) {
        self.depth = depth;
    }
}
