//! Statistics over samples: classification scores, pass rates, means and their standard errors.

mod auc;
mod bootstrap;
mod brier;
mod classes;
mod mean;
mod pass_at_k;

pub use auc::{AucStats, auc_roc};
pub use bootstrap::bootstrap_stderr;
pub use brier::brier_score;
pub use classes::{ClassTotals, Classes};
pub use mean::{
    harmonic_mean, mean, mean_stderr, median, pooled_sample_stderr, sample_stddev, unweighted_mean_stderr,
    weighted_mean,
};
pub use pass_at_k::{g_pass_at_k, mg_pass_at_k, pass_at_k};
