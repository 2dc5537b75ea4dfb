//! The form that a result must have to be a result of its sample: the kind of request, one entry per option, finite numbers.
//!
//! This check says nothing of whether the numbers are right; a result without this form is no result, whichever worker sends it.

use super::{Body, ChatMode, GenSpec, InferSpec, ModelKind, Unit};
use compass_types::result::{Outcome, PplScore};

/// Role of the turns of a conversation that the model answers.
const ASSISTANT: &str = "assistant";

/// Reason that a result does not fit the plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    #[error("a result of kind `{found}`, where the plan asks for `{expected}`")]
    Kind { expected: &'static str, found: &'static str },
    #[error("{found} entries, where the plan has {expected}")]
    Count { expected: u32, found: u32 },
    #[error("an option without its normalizer")]
    Normalizer,
    /// The one misfit that may be the model's own.
    #[error("numbers that are not finite (NaN or infinity)")]
    NotFinite,
    /// Not even a result.
    #[error("{0}")]
    Malformed(String),
}

/// The kinds of outcomes that carry scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ppl,
    Loglikelihood,
    Clp,
    Rolling,
    Generated,
    Executed,
}

impl Kind {
    fn of(outcome: &Outcome) -> Option<Self> {
        Some(match outcome {
            Outcome::Ppl(_) => Self::Ppl,
            Outcome::Loglikelihood(_) => Self::Loglikelihood,
            Outcome::Clp(_) => Self::Clp,
            Outcome::Rolling(_) => Self::Rolling,
            Outcome::Generated(_) => Self::Generated,
            Outcome::Executed(_) => Self::Executed,
            Outcome::Failed { .. } | Outcome::NoRoom { .. } => return None,
        })
    }

    fn asked(infer: &InferSpec) -> Self {
        match infer {
            InferSpec::Ppl | InferSpec::PplNormalized { .. } | InferSpec::PplOnly | InferSpec::InferencePpl => {
                Self::Ppl
            }
            InferSpec::Loglikelihood | InferSpec::MeanLoglikelihood => Self::Loglikelihood,
            InferSpec::Clp => Self::Clp,
            InferSpec::Rolling | InferSpec::SwceLoss { .. } => Self::Rolling,
            InferSpec::Gen(_) | InferSpec::Chat { .. } => Self::Generated,
            InferSpec::Execute => Self::Executed,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Ppl => "ppl",
            Self::Loglikelihood => "loglikelihood",
            Self::Clp => "clp",
            Self::Rolling => "rolling",
            Self::Generated => "generation",
            Self::Executed => "execution",
        }
    }
}

/// Shape of the results of one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultShape {
    kind: Kind,
    normalized: bool,
    /// End of each run of samples, and how many entries a result of them has.
    runs: Vec<(u32, u32)>,
}

impl ResultShape {
    /// Results of kind `ppl` with `options` entries for each of `samples` samples.
    pub fn ppl(samples: u32, options: u32) -> Self {
        Self { kind: Kind::Ppl, normalized: false, runs: vec![(samples, options)] }
    }

    /// Returns the number of entries in a result of a sample; `None` where the plan does not say.
    fn entries(&self, index: u32) -> Option<u32> {
        let at = self.runs.partition_point(|(end, _)| *end <= index);
        self.runs.get(at).map(|(_, entries)| *entries)
    }

    /// Returns why this is not a result of the sample; `None` when it is. The failure of a sample always is a result.
    pub fn misfit(&self, index: u32, outcome: &Outcome) -> Option<Misfit> {
        if let Outcome::NoRoom { reason } = outcome {
            return Some(Misfit::Malformed(format!("it is none: {reason}")));
        }
        let found = Kind::of(outcome)?;
        if found != self.kind {
            return Some(Misfit::Kind { expected: self.kind.name(), found: found.name() });
        }
        let (entries, finite) = entries(outcome);
        if let Some(expected) = self.entries(index).filter(|expected| *expected != entries) {
            return Some(Misfit::Count { expected, found: entries });
        }
        if let Outcome::Ppl(scores) = outcome
            && self.normalized
            && scores.iter().any(|score| score.normalizer.is_none())
        {
            return Some(Misfit::Normalizer);
        }
        (!finite).then_some(Misfit::NotFinite)
    }
}

/// Returns the number of entries in an outcome, and whether all their numbers are finite.
fn entries(outcome: &Outcome) -> (u32, bool) {
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let ppl =
        |score: &PplScore| score.nll_sum.is_finite() && score.normalizer.is_none_or(|own| own.nll_sum.is_finite());
    match outcome {
        Outcome::Ppl(scores) => (count(scores.len()), scores.iter().all(ppl)),
        Outcome::Loglikelihood(scores) => (count(scores.len()), scores.iter().all(|score| score.sum.is_finite())),
        Outcome::Clp(scores) => (count(scores.len()), scores.iter().all(|score| score.is_finite())),
        Outcome::Rolling(score) => (1, score.sum.is_finite()),
        Outcome::Generated(answers) => (count(answers.len()), true),
        Outcome::Executed(executions) => (count(executions.len()), true),
        Outcome::Failed { .. } | Outcome::NoRoom { .. } => (0, true),
    }
}

impl Unit<'_> {
    /// Shape of the unit's results.
    pub fn shape(&self) -> ResultShape {
        let infer = &self.dataset.infer;
        let kind = Kind::asked(infer);
        let runs = match infer {
            InferSpec::Gen(spec) => vec![(self.dataset.samples, self.sequences(spec))],
            _ => {
                let mut end = 0;
                let ends = self.dataset.entries.iter().map(|&(samples, entries)| {
                    end += samples;
                    (end, entries)
                });
                ends.collect()
            }
        };
        // The echo engine scores no normalizer.
        let normalized = matches!(infer, InferSpec::PplNormalized { .. }) && self.model.kind != ModelKind::Echo;
        ResultShape { kind, normalized, runs }
    }

    /// Returns the number of answers to each prompt; `None` where a sample is no prompt to be answered.
    pub fn answers(&self) -> Option<u32> {
        match &self.dataset.infer {
            InferSpec::Gen(spec) => Some(self.sequences(spec)),
            _ => None,
        }
    }

    /// Answers to one prompt are a matter of the model too; the echo engine knows the data set's wish alone.
    fn sequences(&self, spec: &GenSpec) -> u32 {
        match self.model.kind {
            ModelKind::Echo => spec.decoding.sequences(),
            _ => spec.decoding.over(&self.model.decoding).sequences(),
        }
    }
}

/// Returns the number of entries in the result of a sample: its options, choices, programs, or answers of the assistant.
fn entries_of(infer: &InferSpec, body: &Body) -> u32 {
    let count = match body {
        Body::Ppl { options } => options.len(),
        Body::Loglikelihood { options, .. } => options.len(),
        Body::Clp { choices, .. } => choices.len(),
        Body::Execute { programs } => programs.len(),
        Body::Chat { turns } => {
            let answers = turns.iter().filter(|turn| turn.role == ASSISTANT).count();
            if matches!(infer, InferSpec::Chat { infer_mode: ChatMode::Last, .. }) { answers.min(1) } else { answers }
        }
        Body::Gen { .. } | Body::Rolling { .. } | Body::Windows { .. } => 1,
    };
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Runs of samples whose results have equally many entries, as samples come one after the other.
#[derive(Clone, Debug, Default)]
pub struct EntryRuns(Vec<(u32, u32)>);

impl EntryRuns {
    /// Counts the next sample.
    pub fn count(&mut self, infer: &InferSpec, body: &Body) {
        let entries = entries_of(infer, body);
        match self.0.last_mut().filter(|(_, known)| *known == entries) {
            Some((samples, _)) => *samples += 1,
            None => self.0.push((1, entries)),
        }
    }

    /// Returns, for each run, the number of samples and the number of entries.
    pub fn finish(self) -> Vec<(u32, u32)> {
        self.0
    }
}

/// The runs of all of these.
pub fn entries_of_all<'a>(infer: &InferSpec, bodies: impl Iterator<Item = &'a Body>) -> Vec<(u32, u32)> {
    let mut runs = EntryRuns::default();
    bodies.for_each(|body| runs.count(infer, body));
    runs.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Prompt;
    use crate::{ChatTurn, GenSpec};
    use compass_types::result::{Finish, Generation, LoglikelihoodScore, NormalizerScore};

    fn ppl(sums: &[f64]) -> Outcome {
        Outcome::Ppl(sums.iter().map(|&nll_sum| PplScore { nll_sum, tokens: 2, normalizer: None }).collect())
    }

    #[test]
    fn kind_count_and_numbers_must_fit() {
        let shape = ResultShape { kind: Kind::Ppl, normalized: false, runs: vec![(3, 2), (5, 4)] };
        assert_eq!(shape.misfit(2, &ppl(&[1.0, 2.0])), None);
        assert_eq!(shape.misfit(2, &ppl(&[1.0])), Some(Misfit::Count { expected: 2, found: 1 }));
        assert_eq!(shape.misfit(3, &ppl(&[1.0, 2.0])), Some(Misfit::Count { expected: 4, found: 2 }));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(shape.misfit(0, &ppl(&[1.0, bad])), Some(Misfit::NotFinite));
        }
        let generation = Generation::new("a", 1, Finish::Eos);
        let wrong = shape.misfit(0, &Outcome::Generated(vec![generation])).unwrap();
        assert_eq!(wrong.to_string(), "a result of kind `generation`, where the plan asks for `ppl`");
        assert_eq!(shape.misfit(0, &Outcome::Failed { reason: "too long".into() }), None);
        let scores = vec![LoglikelihoodScore { sum: f64::NAN, tokens: 1, is_greedy: true }];
        let shape = ResultShape { kind: Kind::Loglikelihood, normalized: false, runs: Vec::new() };
        assert_eq!(shape.misfit(9, &Outcome::Loglikelihood(scores)), Some(Misfit::NotFinite), "an older plan");
    }

    #[test]
    fn a_normalizer_must_be_there_and_finite() {
        let shape = ResultShape { kind: Kind::Ppl, normalized: true, runs: vec![(1, 1)] };
        assert_eq!(shape.misfit(0, &ppl(&[1.0])), Some(Misfit::Normalizer));
        let with = |nll_sum| {
            let normalizer = Some(NormalizerScore { nll_sum, tokens: 1 });
            Outcome::Ppl(vec![PplScore { nll_sum: 1.0, tokens: 1, normalizer }])
        };
        assert_eq!(shape.misfit(0, &with(f64::NAN)), Some(Misfit::NotFinite));
        assert_eq!(shape.misfit(0, &with(0.5)), None);
    }

    #[test]
    fn entries_are_counted_by_runs() {
        let clp = |choices: usize| Body::Clp { prompt: Prompt::default(), choices: vec![String::new(); choices] };
        let bodies = [clp(2), clp(2), clp(4)];
        assert_eq!(entries_of_all(&InferSpec::Clp, bodies.iter()), [(2, 2), (1, 4)]);
        let turn = |role: &str| ChatTurn { role: role.into(), content: String::new() };
        let chat = Body::Chat { turns: ["user", "assistant", "user", "assistant"].map(turn).into() };
        for (infer_mode, answers) in [(ChatMode::Last, 1), (ChatMode::Every, 2), (ChatMode::EveryWithGt, 2)] {
            let infer = InferSpec::Chat { infer_mode, gen_spec: GenSpec::default() };
            assert_eq!(entries_of_all(&infer, std::iter::once(&chat)), [(1, answers)]);
        }
    }
}
