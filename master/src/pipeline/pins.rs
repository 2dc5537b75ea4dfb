//! What a model is pinned to when a job is planned: the digest of its weights, and what its generations begin from.

use compass_ledger::{Kind, Loaded};
use compass_plan::weights::{Pin, read};
use compass_plan::{GenerationDefaults, ModelPlan, Plan};
use compass_types::ids::ModelId;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// What is to hold of `model` for a whole job. `None` where this host cannot read it: its directory may be another
/// cluster's. The first worker that loads it then says what holds, and one that cannot load it says why.
pub(super) fn pin(model: &ModelPlan) -> Option<Pin> {
    if !model.has_weights() {
        return None;
    }
    match find(model) {
        Ok(pin) => Some(pin),
        Err(error) => {
            tracing::info!(model = model.abbr, %error, "the first worker that loads the model pins its weights");
            None
        }
    }
}

/// Whether all models of a plan are pinned, and lie at their paths as they are, as far as this host can read them.
pub fn holds(plan: &Plan) -> bool {
    let differs = |model: &ModelPlan, planned: &Pin| pin(model).is_some_and(|now| planned.difference(&now).is_some());
    let holds = |model: &ModelPlan| match &model.pin {
        Some(planned) => !differs(model, planned),
        None => !model.has_weights(),
    };
    plan.models.iter().all(holds)
}

pub(super) fn find(model: &ModelPlan) -> io::Result<Pin> {
    let directory = Path::new(&model.path);
    let weights =
        read(directory, Path::new(&model.tokenizer_path), model.peft_path.as_deref().map(Path::new), model.kind)?;
    let file: Map<String, Value> = match std::fs::read(directory.join("generation_config.json")) {
        Ok(bytes) => serde_json::from_slice(&bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(error),
    };
    Ok(Pin { weights, generation: GenerationDefaults::of(&file) })
}

/// What a run's ledger holds of pins, by the model's position: of each model the first, which was recorded before its
/// samples.
pub(super) fn recorded_pins(loaded: &Loaded) -> BTreeMap<ModelId, Pin> {
    let mut pins = BTreeMap::new();
    for entry in loaded.entries.iter().filter(|entry| entry.kind() == Kind::Pin) {
        if let Ok(pin) = serde_json::from_slice(&entry.payload) {
            pins.entry(ModelId(entry.unit)).or_insert(pin);
        }
    }
    pins
}
