//! Known facts of a unit that its grants and its results need.

use compass_plan::{Misfit, ModelKind, ResultShape, Unit};
use compass_proto::{drawn_to_wire, intervals_to_wire, v1};
use compass_types::intervals::IntervalSet;
use compass_types::result::SampleResult;
use prost::Message as _;
use std::collections::BTreeMap;

/// Known facts of a unit.
#[derive(Clone, Debug)]
pub struct UnitTerms {
    /// Name by which a person calls it.
    pub name: String,
    /// Shape of its results.
    pub shape: ResultShape,
    /// Samples of which an engine died before.
    pub suspects: IntervalSet,
    /// First answers of samples, drawn by an earlier run: workers draw the others.
    pub drawn: BTreeMap<u32, SampleResult>,
    /// Set if each answer is a request of its own, which reads the prompt again.
    pub asks_each: bool,
}

impl UnitTerms {
    /// The facts of a unit of a plan.
    pub fn new(unit: &Unit<'_>) -> Self {
        Self {
            name: unit.name(),
            shape: unit.shape(),
            suspects: IntervalSet::new(),
            drawn: BTreeMap::new(),
            asks_each: unit.model.kind == ModelKind::Endpoint,
        }
    }

    /// Returns a worker's result of a sample with the answers that were drawn before, and makes `bytes` the bytes of the whole. One that has
    /// all answers stays as it is.
    ///
    /// # Errors
    /// It does not fit the plan.
    pub fn whole(&self, result: SampleResult, bytes: &mut Vec<u8>) -> Result<SampleResult, Misfit> {
        let Some(misfit) = self.shape.misfit(result.index, &result.outcome) else { return Ok(result) };
        let drawn = self.drawn.get(&result.index).ok_or(misfit)?;
        let whole = result.after(drawn, self.asks_each);
        if let Some(misfit) = self.shape.misfit(whole.index, &whole.outcome) {
            return Err(misfit);
        }
        *bytes = v1::SampleResult::from(&whole).encode_to_vec();
        Ok(whole)
    }

    /// Returns which of these samples an engine died of before.
    pub(super) fn suspects(&self, samples: &IntervalSet) -> Vec<v1::Interval> {
        intervals_to_wire(&samples.minus(&samples.minus(&self.suspects)))
    }

    /// Returns which of these samples have answers that were drawn before.
    pub(super) fn drawn(&self, samples: &IntervalSet) -> Vec<v1::Drawn> {
        let is_asked = |(index, _): &(&u32, &SampleResult)| samples.contains(**index);
        let drawn = self.drawn.iter().filter(is_asked);
        drawn_to_wire(drawn.map(|(index, result)| (*index, result.answers().len() as u32)))
    }
}
