//! Statistics over samples: classification scores, pass rates, means and their standard errors.

mod at_k;
mod classes;
mod mean;
mod pass_at_k;
mod samples;

pub use at_k::{MOST_VOTES, all_at_k, draws_stderr, maj_at_k};
pub use classes::{ClassTotals, Classes};
pub(crate) use mean::sum;
pub use mean::{
    harmonic_mean, mean, mean_stderr, median, pooled_sample_stderr, sample_stddev, unweighted_mean_stderr,
    weighted_mean,
};
pub use pass_at_k::{g_pass_at_k, mg_pass_at_k, pass_at_k};
pub use samples::{AucStats, auc_roc, bootstrap_stderr, brier_score};
