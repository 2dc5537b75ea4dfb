//! `-r` by content: what an earlier run computed and the new plan asks for again, whatever else changed.
//!
//! A sample is the same when its model, its prompts, its shots and the kind of request are; how it is evaluated does not matter, nor
//! how many answers are drawn for it: those that are there are kept, and the others are drawn. Where it stands matters if tokens are
//! drawn, since its draws hang on that. A model with weights is the same when its weights are, wherever they lie; of one whose weights
//! are not known, nothing is the same.

use super::pins::{found_again, recorded_pin};
use compass_common::encode::{self, EncodeError};
use compass_common::words::counted;
use compass_ledger::{Kind, Ledger, LedgerError, TornEnd};
use compass_plan::weights::Pin;
use compass_plan::{
    Decoding, Dtype, Endpoint, FORMAT_OF_THINKING, ModelKind, ModelPlan, NumericProfile, Part, Plan, Sample, Unit,
};
use compass_run_folder::{PlanError, Planned, RunFolder, read_part};
use compass_scheduler::{DeviceType, Recorded};
use compass_types::ids::{Digest, ModelId, UnitId};
use compass_types::result::{Outcome, SampleResult};
use std::collections::{BTreeMap, BTreeSet};

/// Reason why nothing can be taken over from a run.
#[derive(Debug, thiserror::Error)]
pub enum CarryOverError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// The samples that a master does not run again that resumes the run in `folder` by the same plan, those that failed for a reason of
/// their own among them; `lengths` are as for [`Ledger::read`].
///
/// # Errors
/// Its ledger is damaged.
pub fn recorded(folder: &RunFolder, plan: Digest, lengths: &BTreeMap<String, u64>) -> Result<Recorded, LedgerError> {
    let mut recorded = Recorded::default();
    Ledger::new(folder.ledger(), plan).read(lengths, &mut |entry| {
        if let (Kind::Sample, Some(mark)) = (entry.kind(), entry.mark())
            && !(mark.failed.is_some() && mark.engine_failed)
        {
            recorded.arrive(UnitId(entry.unit), mark.index, &entry.payload, DeviceType::from_number(entry.device));
        }
    })?;
    Ok(recorded)
}

/// An earlier run whose results may be those of a new plan.
#[derive(Debug)]
pub struct EarlierRun {
    folder: RunFolder,
    plan: Plan,
    results: BTreeMap<(UnitId, u32), SampleResult>,
    /// First answers, drawn by a run before it, of samples that ask for more.
    drawn: BTreeMap<(UnitId, u32), SampleResult>,
    /// Pins of its models, by position: by its plan, or by the first worker that loaded them.
    pins: BTreeMap<ModelId, Pin>,
    /// Unreadable parts of its ledger, in words.
    damage: Vec<String>,
}

/// Results and pins of an earlier run that answer a new plan.
#[derive(Debug, Default)]
pub struct CarriedOver {
    /// Under the units and positions of the new plan.
    pub results: Vec<(UnitId, SampleResult)>,
    /// As these, of samples that ask for more answers.
    pub drawn: Vec<(UnitId, SampleResult)>,
    /// Answers that are not kept though they were given to the same prompts, and why, in words.
    pub notes: Vec<String>,
    /// Pins of models of the new plan by these results, where the plan does not pin them.
    pub pins: BTreeMap<ModelId, Pin>,
}

impl EarlierRun {
    /// Reads the run in `folder`; `recorded` is as for [`Ledger::load`]. Samples that failed are left out: they are tried
    /// again.
    ///
    /// # Errors
    /// Its ledger is damaged.
    pub fn read(
        folder: &RunFolder,
        plan: Plan,
        digest: Digest,
        recorded: &BTreeMap<String, u64>,
    ) -> Result<Self, CarryOverError> {
        let mut pins = BTreeMap::new();
        let (mut results, mut drawn) = (BTreeMap::new(), BTreeMap::new());
        let summary = Ledger::new(folder.ledger(), digest).read(recorded, &mut |entry| {
            if let Some((model, pin)) = recorded_pin(&entry) {
                pins.entry(model).or_insert(pin);
            }
            if let Some(known) = entry.drawn() {
                drawn.insert((UnitId(entry.unit), known.index), known);
            }
            if entry.kind() != Kind::Sample {
                return;
            }
            if let Some(result) = entry.result()
                && !matches!(result.outcome, Outcome::Failed { .. })
            {
                results.entry((UnitId(entry.unit), result.index)).or_insert(result);
            }
        })?;
        let damage = TornEnd::damage(&summary.torn).collect();
        pins.extend(plan.models().filter_map(|(at, model)| Some((at, model.pin.clone()?))));
        Ok(Self { folder: folder.clone(), plan, results, drawn, pins, damage })
    }

    /// Returns the unreadable parts of its ledger, in words: results in them are not taken over.
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    /// Lists its models that have other weights by now, as far as this host can read them: how each differs, in words.
    pub fn overwritten(&self) -> Vec<String> {
        let differs = |(at, model): (ModelId, &ModelPlan)| {
            let difference = self.pins.get(&at)?.difference(&found_again(model).ok()?)?;
            Some(format!("model `{}`: {}: {difference}", model.abbr, model.path))
        };
        self.plan.models().filter_map(differs).collect()
    }

    /// Lists the models of `planned` whose results in this run do not count for it, and why, in words.
    pub fn left_behind(&self, planned: &Plan) -> Vec<String> {
        let why = |model: &ModelPlan| {
            let (at, _) = self.plan.models().find(|(_, other)| is_same_but_for_weights(other, model))?;
            let (abbr, run, format) = (&model.abbr, self.folder.name(), self.plan.format);
            let difference = match (self.pins.get(&at), &model.pin) {
                (Some(before), Some(now)) => before.difference(now),
                (None, _) if model.has_weights() && self.has_results(at) => {
                    Some("its weights were not recorded".to_owned())
                }
                _ => None,
            };
            match difference {
                Some(difference) => Some(format!("model `{abbr}`: nothing of {run} is kept: {difference}")),
                None => self.has_other_texts(at).then(|| {
                    format!(
                        "model `{abbr}`: its answers of {run} are not kept: they are of plan format {format}, which did not tell \
                         thinking apart"
                    )
                }),
            }
        };
        planned.models.iter().filter_map(why).collect()
    }

    /// A model of a plan as this run had it: for work on its results alone, whatever lies at its path by now. One that is
    /// `absent` is known by its name, and by what does not follow from its files.
    pub fn as_before(&self, planned: ModelPlan, absent: bool) -> ModelPlan {
        let is_same = |other: &ModelPlan| match absent {
            true => other.abbr == planned.abbr && unread(other) == unread(&planned),
            false => is_same_but_for_weights(other, &planned),
        };
        let Some((at, known)) = self.plan.models().find(|(_, other)| is_same(other)) else { return planned };
        let pin = self.pins.get(&at).cloned();
        let pred_postprocessors = planned.pred_postprocessors.clone();
        match absent {
            true => ModelPlan { pin, pred_postprocessors, ..known.clone() },
            false => ModelPlan { pin: pin.or(planned.pin), ..planned },
        }
    }

    /// Returns whether a plan made by [`plan_scores`](super::planner::plan_scores) is this run's own.
    pub fn is_planned_as(&self, plan: &Plan) -> bool {
        let own = self.plan.models.iter().map(|model| self.as_before(model.clone(), false));
        own.eq(plan.models.iter().cloned())
            && (&self.plan.datasets, &self.plan.left_out) == (&plan.datasets, &plan.left_out)
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// The run's name.
    pub fn name(&self) -> String {
        self.folder.name()
    }

    /// Returns the number of samples that have a result.
    pub fn recorded(&self) -> u64 {
        self.results.len() as u64
    }

    /// Returns whether a model has results of a plan that had its texts in another way.
    fn has_other_texts(&self, model: ModelId) -> bool {
        let is_other =
            |unit: UnitId| self.plan.unit(unit).is_some_and(|unit| !is_computed_alike(self.plan.format, unit));
        self.results.keys().any(|(unit, _)| self.plan.model_of(*unit) == model && is_other(*unit))
    }

    fn has_results(&self, model: ModelId) -> bool {
        self.results.keys().any(|(unit, _)| self.plan.model_of(*unit) == model)
    }

    /// Its results that answer samples of `planned`.
    ///
    /// # Errors
    /// Its plan is damaged.
    pub fn answers(mut self, planned: &Planned) -> Result<CarriedOver, CarryOverError> {
        let (mut known, mut by_path, mut drawn) = (Longest::default(), Longest::default(), BTreeSet::new());
        for unit in self.plan.units().filter(|unit| is_computed_alike(self.plan.format, *unit)) {
            let pin = self.pins.get(&self.plan.model_of(unit.id));
            for part in &unit.dataset.parts {
                let part = read_part(&self.folder, part)?;
                for sample in &part.samples {
                    let at = (unit.id, sample.index);
                    let Some(result) = self.results.remove(&at).or_else(|| self.drawn.remove(&at)) else { continue };
                    let place = place(unit, sample);
                    if place.is_some() {
                        drawn.insert(content(unit, None, &part, sample, None)?);
                        drawn.insert(content(unit, pin, &part, sample, None)?);
                    }
                    if let Some(pin) = pin {
                        by_path.keep(content(unit, None, &part, sample, place)?, result.clone(), Some(pin));
                    }
                    if pin.is_some() || !unit.model.has_weights() {
                        known.keep(content(unit, pin, &part, sample, place)?, result, None);
                    }
                }
            }
        }
        let mut carried = CarriedOver::default();
        for unit in planned.plan.units() {
            let (model, own) = (planned.plan.model_of(unit.id), unit.model.pin.as_ref());
            let mut moved = 0;
            for bytes in unit.dataset.parts.iter().filter_map(|part| planned.parts.get(&part.digest)) {
                let Ok(part) = serde_json::from_slice::<Part>(&bytes) else { continue };
                for sample in &part.samples {
                    let place = place(unit, sample);
                    let content_here = content(unit, own, &part, sample, place)?;
                    let pinned = carried.pins.get(&model);
                    let result = match by_path.0.get(&content_here) {
                        // This host cannot tell what lies there now. Workers can: they are held to what was there.
                        Some((result, Some(pin))) if pinned.is_none_or(|other| other == *pin) => {
                            carried.pins.insert(model, (*pin).clone());
                            Some(result)
                        }
                        Some(_) => None,
                        None => known.0.get(&content_here).map(|(result, _)| result),
                    };
                    match result {
                        Some(result) => carried.keep(unit, SampleResult { index: sample.index, ..result.clone() }),
                        None if place.is_some() => {
                            moved += u64::from(drawn.contains(&content(unit, own, &part, sample, None)?));
                        }
                        None => {}
                    }
                }
            }
            if moved > 0 {
                let (name, run, samples) = (unit.name(), self.folder.name(), counted(moved, "sample"));
                carried.notes.push(format!(
                    "{name}: what {run} drew for {samples} is not kept: their index in the data set is another now, and draws \
                     hang on it"
                ));
            }
        }
        Ok(carried)
    }
}

impl CarriedOver {
    /// Keeps what is there of a sample: as many answers as it asks for, or all there are.
    fn keep(&mut self, unit: Unit<'_>, result: SampleResult) {
        let asked = unit.answers().map_or(0, |asked| asked as usize);
        if result.answers().len() < asked {
            self.drawn.push((unit.id, result));
            return;
        }
        let asks_each = unit.model.kind == ModelKind::Endpoint;
        let result = if asked > 0 { result.first_answers(asked, asks_each) } else { result };
        self.results.push((unit.id, result));
    }
}

/// Results by what was asked, with the pin where the model is known by its path; of several the one with most answers.
#[derive(Default)]
struct Longest<'p>(BTreeMap<Digest, (SampleResult, Option<&'p Pin>)>);

impl<'p> Longest<'p> {
    fn keep(&mut self, content: Digest, result: SampleResult, pin: Option<&'p Pin>) {
        if self.0.get(&content).is_none_or(|(known, _)| known.answers().len() <= result.answers().len()) {
            self.0.insert(content, (result, pin));
        }
    }
}

/// Returns whether results of a plan of this format are those of today: before [`FORMAT_OF_THINKING`] a model's answers had their
/// thinking in them, and under the canonical profile no first space.
fn is_computed_alike(format: u32, unit: Unit<'_>) -> bool {
    let changed = unit.model.chat || unit.dataset.infer.generation().is_some();
    format >= FORMAT_OF_THINKING
        || !unit.model.has_weights()
        || unit.model.profile != NumericProfile::Canonical
        || !changed
}

/// A model without what has no part in its numbers.
fn bare(model: &ModelPlan) -> ModelPlan {
    let endpoint = model.endpoint.as_ref().map(Endpoint::identity);
    let thinking = model.thinking.inferred();
    let decoding = Decoding { card: false, num_return_sequences: None, ..model.decoding.clone() };
    let (abbr, pred_postprocessors) = (String::new(), Vec::new());
    ModelPlan { abbr, pred_postprocessors, pin: None, endpoint, thinking, decoding, ..model.clone() }
}

/// A model without what its files say: where they are, whether there is a chat template, of which type the weights are, how tokens are
/// drawn.
fn unread(model: &ModelPlan) -> ModelPlan {
    ModelPlan {
        path: String::new(),
        tokenizer_path: String::new(),
        peft_path: model.peft_path.as_ref().map(|_| String::new()),
        chat: false,
        dtype: Dtype::Float32,
        decoding: model.decoding.without_card(),
        ..bare(model)
    }
}

fn is_same_but_for_weights(one: &ModelPlan, other: &ModelPlan) -> bool {
    bare(one) == bare(other)
}

/// Returns the index on which the draws of a sample hang; `None` where nothing is drawn.
fn place(unit: Unit<'_>, sample: &Sample) -> Option<u32> {
    unit.draws().then_some(sample.index)
}

/// Digests everything that an answer to a sample depends on. Weights that are known replace the paths where they lie.
fn content(
    unit: Unit<'_>,
    pin: Option<&Pin>,
    part: &Part,
    sample: &Sample,
    place: Option<u32>,
) -> Result<Digest, EncodeError> {
    let mut model = bare(unit.model);
    if let Some(pin) = pin {
        model.pin = Some(pin.clone());
        model.path.clear();
        model.tokenizer_path.clear();
        model.peft_path = None;
    }
    let shots: Vec<_> = sample.shots.iter().map(|&at| part.shots.get(at as usize)).collect();
    let all = (&model, unit.dataset.infer.asked_once(), &unit.dataset.shot_format, shots, &sample.body, place);
    Ok(Digest::of(&encode::json("what a sample asks", &all)?))
}

#[cfg(test)]
#[path = "carry_over_tests.rs"]
mod tests;
