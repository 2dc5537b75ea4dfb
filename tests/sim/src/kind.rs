//! Kinds of data sets of a history: as they are asked and judged.

use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::{Decoding, GenSpec, InferSpec};

/// Way in which a data set is asked and judged. By number, for a scenario to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Options,
    Answers,
    Overlap,
    Corpus,
    Labels,
}

impl Kind {
    pub(super) const COUNT: u64 = 5;

    pub(super) fn numbered(number: u8) -> Self {
        match number {
            0 => Self::Options,
            1 => Self::Answers,
            2 => Self::Overlap,
            3 => Self::Corpus,
            _ => Self::Labels,
        }
    }

    pub(super) fn evaluator(self) -> EvaluatorSpec {
        match self {
            Self::Options => EvaluatorSpec::Acc,
            Self::Answers => EvaluatorSpec::Em,
            Self::Overlap => EvaluatorSpec::Rouge { stemming: Default::default() },
            Self::Corpus => EvaluatorSpec::Chrf { word_order: 2 },
            Self::Labels => EvaluatorSpec::Mcc,
        }
    }

    /// The request; for this number of answers where it is one for answers.
    pub(super) fn infer(self, answers: u32) -> InferSpec {
        let is_drawn = answers > 1;
        let decoding = Decoding {
            do_sample: is_drawn.then_some(true),
            num_return_sequences: is_drawn.then_some(answers),
            ..Decoding::default()
        };
        match self {
            Self::Options => InferSpec::Ppl,
            _ => InferSpec::Gen(GenSpec { decoding, ..GenSpec::default() }),
        }
    }
}
