//! Pins of a job's models, and the workers whose results count for it.
//!
//! The plan pins a model where the planner could read its directory; else the first worker that loads it does, and that is
//! made durable before a result of the model is. From then on a worker with other files is barred from the model. So is one whose
//! device is of another type than that of the first result: the CPU's numbers and a GPU's agree only to a tolerance.

use compass_plan::Plan;
use compass_plan::engine::UnableKind;
use compass_plan::weights::Pin;
use compass_scheduler::DeviceType;
use compass_types::ids::{Digest, ModelId, UnitId, WorkerId};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The pins of a job's models. Without any model, as by default, whatever comes counts.
#[derive(Debug, Default)]
pub struct Pins {
    models: Vec<Model>,
    datasets: u32,
    /// Workers whose files or device are not those that a model's results come from.
    refused: BTreeSet<(WorkerId, ModelId)>,
}

#[derive(Debug)]
struct Model {
    has_weights: bool,
    pin: Option<Pin>,
    /// Type of the device that computed its results; unknown before the first.
    device: DeviceType,
}

/// Reason for which results of a worker do not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub kind: UnableKind,
    pub text: String,
}

/// Meaning of a worker's facts of a model.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Loaded {
    /// It loaded what is pinned, or something without weights.
    Fits,
    /// It is the first that loaded the model: this holds from now on.
    First(Pin),
    /// It loaded something else, or onto something else, and how that differs.
    Differs(Refusal),
}

impl Pins {
    /// The pins of a plan, and beside them what the ledger holds of the models that it does not pin.
    pub fn new(plan: &Plan, mut recorded: BTreeMap<ModelId, Pin>) -> Self {
        let models = plan.models().map(|(at, model)| Model {
            has_weights: model.has_weights(),
            pin: model.pin.clone().or_else(|| recorded.remove(&at)),
            device: DeviceType::Unknown,
        });
        Self { models: models.collect(), datasets: plan.datasets.len().max(1) as u32, refused: BTreeSet::new() }
    }

    /// Takes note that a result of a model counts, and of what computed it.
    pub fn computed(&mut self, model: ModelId, device: DeviceType) {
        if let Some(known) = self.models.get_mut(model.0 as usize).filter(|known| known.device == DeviceType::Unknown) {
            known.device = device;
        }
    }

    /// Position of a unit's model in the plan.
    pub fn model_of(&self, unit: UnitId) -> ModelId {
        ModelId(unit.0 / self.datasets.max(1))
    }

    /// Another process has a worker's name: it may have other files.
    pub(super) fn begins_anew(&mut self, worker: &WorkerId) {
        self.refused.retain(|(other, _)| other != worker);
    }

    /// Returns whether `worker` was found to have other files of a model.
    pub fn is_refused(&self, worker: &WorkerId, model: ModelId) -> bool {
        self.refused.contains(&(worker.clone(), model))
    }

    /// Takes note of what `worker` loaded, told by its `ModelFacts` as JSON.
    pub(super) fn loaded(&mut self, worker: &WorkerId, model: ModelId, facts: &[u8]) -> Loaded {
        let Some(known) = self.models.get_mut(model.0 as usize).filter(|known| known.has_weights) else {
            return Loaded::Fits;
        };
        let facts: Value = serde_json::from_slice(facts).unwrap_or_default();
        let content = |text| Some(Refusal { kind: UnableKind::Content, text });
        let found = facts.get("pin").and_then(|pin| serde_json::from_value::<Pin>(pin.clone()).ok());
        let on = facts.get("device").and_then(Value::as_str).unwrap_or_default();
        let refusal = match (&found, &known.pin) {
            (None, _) => content("the worker does not say which weights it loaded; install the same version".into()),
            (Some(found), Some(pin)) => pin.difference(found).and_then(content),
            (Some(_), None) => None,
        };
        match (refusal.or_else(|| other_device(known.device, on)), found) {
            (None, Some(found)) if known.pin.is_none() => {
                known.pin = Some(found.clone());
                Loaded::First(found)
            }
            (None, _) => Loaded::Fits,
            (Some(refusal), _) => {
                self.refused.insert((worker.clone(), model));
                Loaded::Differs(refusal)
            }
        }
    }

    /// Takes note of results that `worker` computed with the weights of digest `weights` on `device`, as its engine names it.
    ///
    /// # Errors
    /// They do not count, and why.
    pub(super) fn admit(
        &mut self,
        worker: &WorkerId,
        unit: UnitId,
        weights: &[u8],
        device: &str,
    ) -> Result<(), Refusal> {
        let model = self.model_of(unit);
        let Some(known) = self.models.get(model.0 as usize).filter(|known| known.has_weights) else { return Ok(()) };
        let refused = match &known.pin {
            Some(pin) if pin.weights.digest.0 == *weights => None,
            Some(pin) => {
                let found = <[u8; 32]>::try_from(weights).map_or("unknown".into(), |bytes| Digest(bytes).short());
                Some(format!("weights digest {found} instead of {}", pin.weights.digest.short()))
            }
            None => Some("results of a model that no worker has reported as loaded".into()),
        };
        let refused = refused.map(|text| Refusal { kind: UnableKind::Content, text });
        refused.or_else(|| other_device(known.device, device)).map_or(Ok(()), |refusal| {
            self.refused.insert((worker.clone(), model));
            Err(refusal)
        })
    }
}

/// Explains why what was computed on `found`, as an engine names it, does not go with results of `known`; `None` if it does.
fn other_device(known: DeviceType, found: &str) -> Option<Refusal> {
    let text = match (known, DeviceType::of_engine(found)) {
        (DeviceType::Cpu, DeviceType::Cuda) => format!(
            "the run's results of this model come from the CPU, and the worker computes on {found}: the two agree only to a \
             tolerance; help: start the worker with --device cpu, or begin a new run on GPUs"
        ),
        (DeviceType::Cuda, DeviceType::Cpu) => "the run's results of this model come from GPUs, and the worker computes on the \
             CPU: the two agree only to a tolerance; help: start the worker where it is given a GPU; `device = \"cuda\"` keeps \
             workers without one away from the model"
            .to_owned(),
        _ => return None,
    };
    Some(Refusal { kind: UnableKind::Device, text })
}

#[cfg(test)]
#[path = "pins_tests.rs"]
mod tests;
