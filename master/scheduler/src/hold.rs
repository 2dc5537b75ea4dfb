//! State of a grant's revocation: the samples that its holder was asked to return, and its answer.
//!
//! A grant has at most one open request. A request for the whole grant is only made of one that is not known to have begun.
//! A new grant begins as [`Hold::Unasked`], and every other state of a task forgets what was asked.

/// State of the revocation of one grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Hold {
    /// Nothing was asked back, or the holder has returned what was asked.
    #[default]
    Unasked,
    /// As [`Hold::Unasked`], of a grant whose holder has said that it is at its samples.
    Begun,
    /// The holder was asked for the whole grant, of so many samples, unless any of it has begun.
    AskedWhole { samples: u32 },
    /// The holder was asked for so many samples from the end of the grant.
    AskedPart { samples: u32, begun: bool },
    /// The holder had nothing to return when it was asked last.
    Exhausted { begun: bool },
}

impl Hold {
    /// Returns the number of samples that the open request is for; 0 without one.
    pub(super) fn asked(self) -> u32 {
        match self {
            Self::AskedWhole { samples } | Self::AskedPart { samples, .. } => samples,
            Self::Unasked | Self::Begun | Self::Exhausted { .. } => 0,
        }
    }

    /// Returns whether the holder has said that it is at its samples.
    pub(super) fn has_begun(self) -> bool {
        match self {
            Self::Begun => true,
            Self::AskedPart { begun, .. } | Self::Exhausted { begun } => begun,
            Self::Unasked | Self::AskedWhole { .. } => false,
        }
    }

    /// The state after a request for so many samples; with `whole` for the grant as it is, if none of it has begun.
    pub(super) fn ask(self, samples: u32, whole: bool) -> Self {
        match whole {
            true => Self::AskedWhole { samples },
            false => Self::AskedPart { samples, begun: self.has_begun() },
        }
    }

    /// The state after the holder has returned samples, or has said that it has none to return.
    pub(super) fn answered(self, has_returned: bool) -> Self {
        match (self, has_returned) {
            (Self::AskedWhole { .. }, false) => Self::Begun,
            (_, false) => Self::Exhausted { begun: self.has_begun() },
            (_, true) if self.has_begun() => Self::Begun,
            (_, true) => Self::Unasked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_grant_that_does_not_come_back_has_begun() {
        let hold = Hold::Unasked.ask(7, true);
        assert_eq!((hold.asked(), hold.has_begun()), (7, false));
        assert_eq!(hold.answered(true), Hold::Unasked);
        assert_eq!(hold.answered(false), Hold::Begun);
    }

    #[test]
    fn a_holder_with_nothing_to_return_is_exhausted_until_it_returns_something() {
        let hold = Hold::Begun.ask(3, false).answered(false);
        assert_eq!(hold, Hold::Exhausted { begun: true });
        assert_eq!(hold.answered(true), Hold::Begun);
        assert_eq!(Hold::Unasked.answered(false), Hold::Exhausted { begun: false }, "asked for all of it, not by name");
    }
}
