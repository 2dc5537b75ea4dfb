//! Pins of a model when a job is planned: the digest of its weights, and what its generations begin from.

use compass_common::regular_file;
use compass_ledger::{Kind, LedgerEntry};
use compass_plan::weights::adapter::read_adapter;
use compass_plan::weights::files::read_small;
use compass_plan::weights::{Pin, WeightsDigest, read};
use compass_plan::{GenerationDefaults, ModelPlan, Plan};
use compass_settings::RemoteModel;
use compass_storage::Location;
use compass_types::ids::ModelId;
use serde_json::{Map, Value};
use std::io;
use std::path::Path;

/// Returns the pin that is to hold of `model`, with the adapter in `adapter`, for a whole job. `None` where this host cannot read
/// it: its directory may be another cluster's. The first worker that loads it then says what holds, and one that cannot load it
/// says why.
pub(super) fn pin(model: &ModelPlan, adapter: Option<&Path>) -> Option<Pin> {
    // What an endpoint reports of itself is known where it is asked.
    if !model.has_weights() || model.endpoint.is_some() {
        return None;
    }
    match find(model, adapter) {
        Ok(pin) => Some(pin),
        Err(error) => {
            tracing::info!(model = model.abbr, %error, "the first worker that loads the model pins its weights");
            None
        }
    }
}

/// As [`pin`] for a model that is elsewhere: its small files are here, and of the weights some kilobytes are read there. What
/// comes out is what a copy in a directory on this host would be known by.
pub(super) fn pin_elsewhere(model: &ModelPlan, remote: &RemoteModel, adapter: Option<&Path>) -> Option<Pin> {
    let folder = remote.folder.as_ref()?;
    let found = || -> Result<Pin, String> {
        let mut files = read_small(&remote.path, &remote.tokenizer_path).map_err(|error| error.to_string())?;
        files.extend(folder.weights(model.kind).map_err(|fault| fault.message)?);
        if let Some(adapter) = adapter {
            files.extend(read_adapter(adapter).map_err(|error| error.to_string())?);
        }
        let generation = generation(&remote.path).map_err(|error| error.to_string())?;
        Ok(Pin { weights: WeightsDigest::new(files), generation })
    };
    match found() {
        Ok(pin) => Some(pin),
        Err(error) => {
            tracing::info!(model = model.abbr, error, "the first worker that loads the model pins its weights");
            None
        }
    }
}

/// Returns whether all models of a plan are pinned, and lie at their paths as they are, as far as this host can read them.
pub fn holds(plan: &Plan) -> bool {
    let differs =
        |model: &ModelPlan, planned: &Pin| found_again(model).is_ok_and(|now| planned.difference(&now).is_some());
    let holds = |model: &ModelPlan| match &model.pin {
        Some(planned) => !differs(model, planned),
        None => !model.has_weights(),
    };
    plan.models.iter().all(holds)
}

/// Returns whether all files of a model are at paths of hosts: nothing is asked of an object store, or of the hub, once a job is
/// planned.
pub fn is_on_hosts(model: &ModelPlan) -> bool {
    let paths = [Some(&model.path), Some(&model.tokenizer_path), model.peft_path.as_ref()];
    !paths.into_iter().flatten().any(|path| Location::is_one(path))
}

/// Returns the pin that holds by now of a model that was planned.
///
/// # Errors
/// This host cannot read it.
pub fn found_again(model: &ModelPlan) -> io::Result<Pin> {
    if !is_on_hosts(model) || !model.has_weights() || model.endpoint.is_some() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    find(model, model.peft_path.as_deref().map(Path::new))
}

fn find(model: &ModelPlan, adapter: Option<&Path>) -> io::Result<Pin> {
    let directory = Path::new(&model.path);
    let weights = read(directory, Path::new(&model.tokenizer_path), adapter, model.kind)?;
    Ok(Pin { weights, generation: generation(directory)? })
}

/// Returns the defaults that the makers of a model want of a generation.
fn generation(directory: &Path) -> io::Result<GenerationDefaults> {
    let file: Map<String, Value> =
        match regular_file::read(&directory.join("generation_config.json"), regular_file::SMALL) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Map::new(),
            Err(error) => return Err(error),
        };
    Ok(GenerationDefaults::of(&file))
}

/// The pin of a model that an entry of a ledger holds. Of each model the first counts, which was recorded before its samples.
pub fn recorded_pin(entry: &LedgerEntry) -> Option<(ModelId, Pin)> {
    let pin = (entry.kind() == Kind::Pin).then(|| serde_json::from_slice(&entry.payload).ok()).flatten()?;
    Some((ModelId(entry.unit), pin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_elsewhere_is_not_looked_for_on_this_host() {
        let here = ModelPlan::new("m", compass_plan::ModelKind::Hf, "/weights/7b");
        assert!(is_on_hosts(&here));
        for elsewhere in [
            ModelPlan { path: "p:s3://b/7b".into(), ..here.clone() },
            ModelPlan { tokenizer_path: "hub:org/7b@0123".into(), ..here.clone() },
            ModelPlan { peft_path: Some("s3://b/lora".into()), ..here.clone() },
        ] {
            assert_eq!(found_again(&elsewhere).unwrap_err().kind(), io::ErrorKind::Unsupported);
        }
    }
}
