//! The values of `--mode`.

use crate::job::Mode;
use clap::ValueEnum;
use clap::builder::PossibleValue;

impl ValueEnum for Mode {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::All, Self::Infer, Self::Eval, Self::Viz]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::All => ("all", "Inference, then scores and the table"),
            Self::Infer => ("infer", "Inference alone"),
            Self::Eval => ("eval", "Scores and the table of a run that has its results (-r)"),
            Self::Viz => ("viz", "The table of a run that has its results (-r)"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}
