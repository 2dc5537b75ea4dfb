//! What the models of a job are pinned to, and whose results count for it.
//!
//! The plan pins a model where the planner could read its directory; else the first worker that loads it does, and that is
//! made durable before a result of the model is. From then on a worker with other files is barred from the model.

use compass_plan::Plan;
use compass_plan::weights::Pin;
use compass_types::ids::{Digest, ModelId, UnitId, WorkerId};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The pins of a job's models. Without any model, as by default, whatever comes counts.
#[derive(Debug, Default)]
pub struct Pins {
    models: Vec<Model>,
    datasets: u32,
    /// Workers whose files of a model are not those that are pinned.
    refused: BTreeSet<(WorkerId, ModelId)>,
}

#[derive(Debug)]
struct Model {
    has_weights: bool,
    pin: Option<Pin>,
}

/// What a worker's facts of a model mean.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Loaded {
    /// It loaded what is pinned, or something without weights.
    Fits,
    /// It is the first that loaded the model: this holds from now on.
    First(Pin),
    /// It loaded something else, and how that differs.
    Differs(String),
}

impl Pins {
    /// The pins of a plan, and beside them what the ledger holds of the models that it does not pin.
    pub fn new(plan: &Plan, mut recorded: BTreeMap<ModelId, Pin>) -> Self {
        let models = plan.models().map(|(at, model)| Model {
            has_weights: model.has_weights(),
            pin: model.pin.clone().or_else(|| recorded.remove(&at)),
        });
        Self { models: models.collect(), datasets: plan.datasets.len().max(1) as u32, refused: BTreeSet::new() }
    }

    /// Position of a unit's model in the plan.
    pub(super) fn model_of(&self, unit: UnitId) -> ModelId {
        ModelId(unit.0 / self.datasets.max(1))
    }

    /// Another process has a worker's name: it may have other files.
    pub(super) fn begins_anew(&mut self, worker: &WorkerId) {
        self.refused.retain(|(other, _)| other != worker);
    }

    /// Whether `worker` was found to have other files of a model.
    pub(super) fn is_refused(&self, worker: &WorkerId, model: ModelId) -> bool {
        self.refused.contains(&(worker.clone(), model))
    }

    /// Takes note of what `worker` loaded, told by its `ModelFacts` as JSON.
    pub(super) fn loaded(&mut self, worker: &WorkerId, model: ModelId, facts: &[u8]) -> Loaded {
        let Some(known) = self.models.get_mut(model.0 as usize).filter(|known| known.has_weights) else {
            return Loaded::Fits;
        };
        let facts: Option<Value> = serde_json::from_slice(facts).ok();
        let found = facts.and_then(|mut facts| serde_json::from_value::<Pin>(facts.get_mut("pin")?.take()).ok());
        let Some(found) = found else {
            self.refused.insert((worker.clone(), model));
            return Loaded::Differs("the worker does not say which weights it loaded; install the same version".into());
        };
        match &known.pin {
            None => {
                known.pin = Some(found.clone());
                Loaded::First(found)
            }
            Some(pin) => match pin.difference(&found) {
                None => Loaded::Fits,
                Some(difference) => {
                    self.refused.insert((worker.clone(), model));
                    Loaded::Differs(difference)
                }
            },
        }
    }

    /// Takes note of results that `worker` computed with the weights of digest `weights`.
    ///
    /// # Errors
    /// They do not count, and why.
    pub(super) fn admit(&mut self, worker: &WorkerId, unit: UnitId, weights: &[u8]) -> Result<(), String> {
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
        refused.map_or(Ok(()), |reason| {
            self.refused.insert((worker.clone(), model));
            Err(reason)
        })
    }
}

#[cfg(test)]
#[path = "pins_tests.rs"]
mod tests;
