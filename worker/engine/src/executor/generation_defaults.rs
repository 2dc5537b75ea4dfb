//! Defaults of generations: pinned for the job, or read from generation_config.json as long as none are pinned.

use crate::config::read_json;
use compass_plan::engine::EngineFault;
use compass_plan::{GenerationDefaults, ModelPlan};
use serde_json::{Map, Value};
use std::path::Path;

/// Returns the defaults of the model of `plan`. `notes` receives ignored settings, and a repetition penalty, which
/// changes even greedy answers.
///
/// # Errors
/// [`EngineFault::Model`] if the file is malformed.
pub(crate) fn generation_defaults(
    plan: &ModelPlan,
    notes: &mut Vec<String>,
) -> Result<GenerationDefaults, EngineFault> {
    let path = Path::new(&plan.path).join("generation_config.json");
    let file: Map<String, Value> = read_json(&path)?.unwrap_or_default();
    for key in GenerationDefaults::not_obeyed(&file) {
        notes.push(format!("generation_config.json sets {key}, which is not obeyed"));
    }
    let pinned = plan.pin.as_ref().map(|pin| pin.generation.clone());
    let defaults = pinned.unwrap_or_else(|| GenerationDefaults::of(&file));
    if let Some(penalty) = defaults.repetition_penalty.filter(|&penalty| penalty != 1.0) {
        notes.push(format!(
            "generation_config.json sets repetition_penalty {penalty}, which holds for greedy answers too, as with \
             transformers; generation_kwargs.repetition_penalty = 1.0 switches it off"
        ));
    }
    Ok(defaults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plan::ModelKind;
    use compass_plan::weights::{Pin, WeightsDigest};
    use std::collections::BTreeMap;

    #[test]
    fn pinned_defaults_override_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let text = r#"{"temperature": 0.7, "repetition_penalty": 1.05, "no_repeat_ngram_size": 3}"#;
        std::fs::write(directory.path().join("generation_config.json"), text).unwrap();
        let mut plan = ModelPlan::new("m", ModelKind::Hf, directory.path().display().to_string());
        let mut notes = Vec::new();
        let found = generation_defaults(&plan, &mut notes).unwrap();
        assert_eq!((found.temperature, found.repetition_penalty), (Some(0.7), Some(1.05)));
        assert!(
            notes.len() == 2 && notes[0].contains("no_repeat_ngram_size") && notes[1].contains("1.05"),
            "{notes:?}"
        );
        let generation = GenerationDefaults { temperature: Some(0.2), ..GenerationDefaults::default() };
        plan.pin = Some(Pin { weights: WeightsDigest::new(BTreeMap::new()), generation: generation.clone() });
        assert_eq!(generation_defaults(&plan, &mut notes).unwrap(), generation);
    }
}
