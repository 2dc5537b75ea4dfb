//! Answers as models write them, in English and Chinese, with what a person reads in them.

mod choices;
mod values;

pub(crate) use choices::CHOICES;
pub(crate) use values::VALUES;

/// One answer.
pub(crate) struct Case(
    /// Its kind; letters are the options of a choice.
    pub(crate) &'static str,
    /// The model's text.
    pub(crate) &'static str,
    /// The answer; it ends in `!` where it is outside its kind, and is empty without one.
    pub(crate) &'static str,
    /// Its tier.
    pub(crate) &'static str,
);
