//! The head of the plan (`plan/job.json`): models, data sets and the content digests of their parts.
//!
//! The digest of the head's bytes is the identity of the job. Nothing of a run (partitioner, workers, times) is in it,
//! because nothing of a run may change a number.

use super::evaluation::Reading;
use super::{EvalSpec, InferSpec, ModelKind, ModelPlan};
use crate::prompt::{PrefixRun, ShotFormat};
use compass_types::ids::{Digest, ModelId, UnitId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Bumped when the meaning of the plan's files changes; a plan of another format is refused, not guessed at.
pub const PLAN_FORMAT: u32 = 3;
/// Oldest format whose results are read: a job of it gets a new plan, and takes over what is computed in the same way.
pub const OLDEST_PLAN_FORMAT: u32 = 2;
/// Format since which answers of models have their thinking apart and, under the canonical profile, the texts of today.
pub const FORMAT_OF_THINKING: u32 = 3;

/// The work of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_FORMAT`] of the writer.
    pub format: u32,
    /// Digest of the resolved configuration that the plan was made from: a resumed run must have an equal one.
    pub config: Digest,
    /// Models in the order of the configuration.
    pub models: Vec<ModelPlan>,
    /// Data sets in the order of the configuration.
    pub datasets: Vec<DatasetPlan>,
    /// Digest of the file that says which samples ask the same, a [`super::DuplicateGroups`]; `None` where none do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<Digest>,
    /// Pairs that are not asked for: every other (model, dataset) pair is a unit. Numbers of units are positions among all
    /// pairs, so that a pair has the same number whether or not another one is asked for.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub left_out: BTreeSet<UnitId>,
}

/// One data set, rendered: its samples live in the parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatasetPlan {
    /// The name in tables and file names.
    pub abbr: String,
    /// First six hexadecimal digits over the prompt configuration: the `version` column of the table.
    pub version: String,
    /// Computation for each sample.
    pub infer: InferSpec,
    /// Way that shots are joined.
    pub shot_format: ShotFormat,
    /// Way that outputs become metrics.
    pub eval: EvalSpec,
    /// Number of samples, all parts together.
    pub samples: u32,
    /// Characters that no other sample shares, see [`crate::prompt::workload`]: the partitioners' prior for cost.
    pub characters: u64,
    /// Runs of neighbouring samples that begin alike, with what is computed once for all of them.
    #[serde(default, rename = "beginnings", skip_serializing_if = "Vec::is_empty")]
    pub prefix_runs: Vec<PrefixRun>,
    /// Labels of the template: what the `size` partitioner multiplies rows by; `None` for generation.
    pub labels: Option<u32>,
    /// Number of entries (options, choices, programs, answers of a conversation) in a result: runs of samples, and the
    /// number that each of them has. Empty in plans of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<(u32, u32)>,
    /// Number of questions that are among their own shots, with their answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own_questions: u32,
    /// The parts in sample order; part `i` holds the samples from its `first` up to the next part's.
    pub parts: Vec<PartRef>,
}

/// A part by content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRef {
    /// Digest of the part's bytes.
    pub digest: Digest,
    /// Index of its first sample.
    pub first: u32,
    /// Number of samples it holds.
    pub samples: u32,
    /// Its size in bytes.
    pub bytes: u64,
}

/// One (model, dataset) pair of the plan.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'a> {
    /// Its position.
    pub id: UnitId,
    /// The model.
    pub model: &'a ModelPlan,
    /// The data set.
    pub dataset: &'a DatasetPlan,
}

impl Unit<'_> {
    /// Returns its name for a person: `model/dataset`; programs, which no model runs, by their data set alone.
    pub fn name(&self) -> String {
        match self.model.kind {
            ModelKind::Sandbox => self.dataset.abbr.clone(),
            _ => format!("{}/{}", self.model.abbr, self.dataset.abbr),
        }
    }

    /// Returns the way that outputs become metrics: the data set's way, after the model's own postprocessors, with its rule for
    /// answers that thinking left unfinished.
    pub fn eval(&self) -> EvalSpec {
        let mut eval = self.dataset.eval.clone();
        eval.pred_postprocessors.splice(..0, self.model.pred_postprocessors.iter().cloned());
        eval.unfinished = self.model.thinking.unfinished;
        eval
    }
}

impl Plan {
    /// Every (model, dataset) pair that is asked for, models outermost.
    pub fn units(&self) -> impl Iterator<Item = Unit<'_>> {
        let pairs = self.models.iter().enumerate().flat_map(move |(m, model)| {
            self.datasets.iter().enumerate().map(move |(d, dataset)| Unit {
                id: self.unit_id(ModelId(m as u32), d),
                model,
                dataset,
            })
        });
        pairs.filter(|unit| !self.left_out.contains(&unit.id))
    }

    /// The number of a model and the data set at a position, whether or not the pair is asked for.
    pub fn unit_id(&self, model: ModelId, dataset: usize) -> UnitId {
        UnitId(model.0 * self.datasets.len() as u32 + dataset as u32)
    }

    /// The model of a unit.
    pub fn model_of(&self, unit: UnitId) -> ModelId {
        ModelId(unit.0 / self.datasets.len().max(1) as u32)
    }

    /// Every model with its position.
    pub fn models(&self) -> impl Iterator<Item = (ModelId, &ModelPlan)> {
        (0..).map(ModelId).zip(&self.models)
    }

    /// The model at a position; `None` when the plan has no such model.
    pub fn model(&self, id: ModelId) -> Option<&ModelPlan> {
        self.models.get(id.0 as usize)
    }

    /// One pair by position; `None` when the plan has no such unit, or it is not asked for.
    pub fn unit(&self, id: UnitId) -> Option<Unit<'_>> {
        if self.left_out.contains(&id) {
            return None;
        }
        let model = self.model(self.model_of(id))?;
        let dataset = self.datasets.get(id.0 as usize % self.datasets.len().max(1))?;
        Some(Unit { id, model, dataset })
    }

    /// Samples of all units: what the run is expected to score.
    pub fn expected(&self) -> u64 {
        self.units().map(|unit| u64::from(unit.dataset.samples)).sum()
    }
}

impl DatasetPlan {
    /// The version that tables show: that of its prompts, or another one where the second reading is the first metric.
    pub fn shown_version(&self) -> String {
        match self.eval.reading {
            Reading::First => {
                Digest::of(format!("{} reading first", self.version).as_bytes()).to_string().chars().take(6).collect()
            }
            _ => self.version.clone(),
        }
    }

    /// The part that holds sample `index`; `None` beyond the end.
    pub fn part_of(&self, index: u32) -> Option<&PartRef> {
        let after = self.parts.partition_point(|part| part.first <= index);
        self.parts.get(after.checked_sub(1)?).filter(|part| index < part.first + part.samples)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields over by reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::EvaluatorSpec;
    use compass_postprocess::Postprocessor;

    #[test]
    fn the_models_postprocessors_come_before_the_data_sets() {
        let mut model = ModelPlan::new("m", ModelKind::Echo, "");
        model.pred_postprocessors = vec![Postprocessor::General];
        let mut eval = EvalSpec::new(EvaluatorSpec::Acc);
        eval.pred_postprocessors = vec![Postprocessor::Gsm8k];
        let dataset = DatasetPlan {
            abbr: "d".into(),
            version: "000000".into(),
            infer: InferSpec::Ppl,
            shot_format: ShotFormat::default(),
            eval,
            samples: 0,
            characters: 0,
            prefix_runs: Vec::new(),
            labels: None,
            own_questions: 0,
            entries: Vec::new(),
            parts: Vec::new(),
        };
        let unit = Unit { id: UnitId(0), model: &model, dataset: &dataset };
        assert_eq!(unit.eval().pred_postprocessors, [Postprocessor::General, Postprocessor::Gsm8k]);
        assert_eq!(dataset.eval.pred_postprocessors, [Postprocessor::Gsm8k]);
    }

    #[test]
    fn a_pair_that_is_not_asked_for_is_no_unit_and_the_others_keep_their_numbers() {
        let dataset = |abbr: &str| DatasetPlan {
            abbr: abbr.into(),
            version: "000000".into(),
            infer: InferSpec::Ppl,
            shot_format: ShotFormat::default(),
            eval: EvalSpec::new(EvaluatorSpec::Acc),
            samples: 3,
            characters: 0,
            prefix_runs: Vec::new(),
            labels: None,
            own_questions: 0,
            entries: Vec::new(),
            parts: Vec::new(),
        };
        let whole = Plan {
            format: PLAN_FORMAT,
            config: Digest::of(b""),
            models: ["m", "n"].map(|abbr| ModelPlan::new(abbr, ModelKind::Echo, "")).into(),
            datasets: ["d", "e"].map(dataset).into(),
            duplicates: None,
            left_out: BTreeSet::new(),
        };
        let text = serde_json::to_string(&whole).unwrap();
        assert!(!text.contains("left_out") && serde_json::from_str::<Plan>(&text).unwrap() == whole);
        let plan = Plan { left_out: BTreeSet::from([UnitId(1), UnitId(2)]), ..whole.clone() };
        assert_eq!(serde_json::from_str::<Plan>(&serde_json::to_string(&plan).unwrap()).unwrap(), plan);
        let names = |plan: &Plan| plan.units().map(|unit| (unit.id.0, unit.name())).collect::<Vec<_>>();
        assert_eq!(names(&plan), [(0, "m/d".to_owned()), (3, "n/e".to_owned())]);
        assert_eq!(names(&whole).len(), 4);
        assert_eq!((plan.expected(), whole.expected()), (6, 12));
        assert!(plan.unit(UnitId(2)).is_none() && plan.unit(UnitId(3)).is_some());
        assert_eq!((plan.model_of(UnitId(3)), plan.unit_id(ModelId(1), 0)), (ModelId(1), UnitId(2)));
    }
}
