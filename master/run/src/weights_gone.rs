//! Weights that were removed or overwritten while their job runs: a class of failures of its own.
//!
//! Only where this host read the weights when it planned can it tell; a worker that holds them loaded goes on with them.

use super::job_handle::JobHandle;
use compass_plan::{ModelPlan, Plan};
use compass_planning::{found_again, is_on_hosts};
use compass_scheduler::{Core, Event};
use compass_types::ids::{ModelId, UnitId};
use compass_types::intervals::IntervalSet;
use compass_watch::WEIGHTS_GONE;
use compass_watch::look::look;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::task::block_in_place;

/// Between two looks at the directories of the models.
const PAUSE: Duration = Duration::from_secs(2);

/// Describes how what lies at a model's path differs from what its plan is pinned to; `None` where it does not, or
/// cannot be read.
fn difference(model: &ModelPlan) -> Option<String> {
    let pinned = model.pin.as_ref()?;
    match found_again(model) {
        Ok(found) => Some(format!("{} was overwritten: {}", model.path, pinned.difference(&found)?)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Some(format!("{} was removed", model.path))
        }
        Err(_) => None,
    }
}

/// Tells the scheduler of every model whose weights go away, until the stage is over.
pub(super) async fn tell(plan: Arc<Plan>, job_handle: JobHandle) {
    let is_seen = |model: &ModelPlan| model.pin.is_some() && is_on_hosts(model);
    let mut open: Vec<(ModelId, &ModelPlan)> = plan.models().filter(|(_, model)| is_seen(model)).collect();
    let mut seen = BTreeMap::new();
    while !open.is_empty() {
        tokio::time::sleep(PAUSE).await;
        let mut gone = Vec::new();
        block_in_place(|| {
            open.retain(|&(at, model)| {
                let folders = [Path::new(&model.path), Path::new(&model.tokenizer_path)];
                // Sizes and times alone, as long as they stay: the weights of a large model are many megabytes of samples.
                let looks = look(&folders, &[], SystemTime::now()).ok().flatten().map(|look| look.fingerprint);
                if seen.insert(at, looks) == Some(looks) {
                    return true;
                }
                let difference = difference(model);
                gone.extend(difference.iter().map(|text| (at, text.clone())));
                difference.is_none()
            });
        });
        for (model, text) in gone {
            tracing::warn!(text, "the weights of a model that is being evaluated are gone");
            job_handle.tell(Event::WeightsGone { model }).await;
        }
    }
}

/// Returns `failures`, where each for want of weights that are gone says so first.
pub(super) fn classified(
    plan: &Plan,
    core: &Core,
    failures: Vec<(UnitId, IntervalSet, String)>,
) -> Vec<(UnitId, IntervalSet, String)> {
    if failures.is_empty() {
        return failures;
    }
    let unloadable: BTreeSet<ModelId> = core.barred().map(|bar| bar.model).collect();
    let gone: BTreeMap<ModelId, String> = plan
        .models()
        .filter(|(at, _)| unloadable.contains(at))
        .filter_map(|(at, model)| Some((at, difference(model)?)))
        .collect();
    let told = |(unit, samples, reason): (UnitId, IntervalSet, String)| match gone.get(&plan.model_of(unit)) {
        Some(how) => (unit, samples, format!("{WEIGHTS_GONE}: {how} ({reason})")),
        None => (unit, samples, reason),
    };
    failures.into_iter().map(told).collect()
}
