//! Names of models and data sets, for what people read.

use compass_types::ids::{ModelId, UnitId};

/// Names by position in the plan; empty where a scheduler runs without a plan.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    pub models: Vec<String>,
    pub datasets: Vec<String>,
}

impl Labels {
    /// Name of a model.
    pub fn model(&self, model: ModelId) -> String {
        self.models.get(model.0 as usize).cloned().unwrap_or_else(|| format!("model {model}"))
    }

    /// `model/data set` of a unit.
    pub fn unit(&self, unit: UnitId) -> String {
        let datasets = self.datasets.len().max(1);
        let (model, dataset) = (unit.0 as usize / datasets, unit.0 as usize % datasets);
        match (self.models.get(model), self.datasets.get(dataset)) {
            (Some(model), Some(dataset)) => format!("{model}/{dataset}"),
            _ => format!("unit {unit}"),
        }
    }
}
