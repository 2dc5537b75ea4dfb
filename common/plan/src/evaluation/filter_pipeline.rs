//! lm-eval's filter pipelines, as a plan names them.

use compass_postprocess::Filter;
use serde::{Deserialize, Serialize};

/// A named list of filters, applied in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilterPipeline {
    /// Stands behind a comma in the names of its metrics: `exact_match,strict-match`.
    pub name: String,
    pub steps: Vec<Filter>,
}
