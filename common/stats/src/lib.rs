//! Paired statistics: tests, intervals, corrections for several tests, and power.
//!
//! Pure functions of numbers, without input or output. The bits are the same on every machine: `exp`, `ln` and `erfc` are those
//! of the `libm` crate rather than the platform's, `sqrt` is correctly rounded everywhere, sums run from left to right, and
//! random numbers come from a fixed seed (SplitMix64). Where a formula comes from stands beside it; goldens of scipy and
//! statsmodels hold it to 1e-12.

mod binomial;
mod bootstrap;
mod clusters;
mod interval;
mod mcnemar;
mod multiplicity;
mod normal;
mod paired_mean;
mod power;
mod question_mean;
mod sign_flip;
mod special;
mod student;
mod tango;
mod wilson;

pub use bootstrap::{Bootstrap, bootstrap, percentile_interval};
pub use clusters::{cluster_sums, clustered_mean};
pub use interval::Interval;
pub use mcnemar::{McNemar, mcnemar};
pub use multiplicity::{benjamini_hochberg, holm};
pub use normal::{normal_quantile, normal_tail, two_sided_z};
pub use paired_mean::{MeanDifference, paired_mean};
pub use power::{detectable_difference, detectable_share, pairs_needed};
pub use question_mean::question_mean;
pub use sign_flip::{SignFlip, sign_flip};
pub use student::{student_quantile, student_tail, two_sided_t};
pub use tango::{tango, tango_of_shares};
pub use wilson::{wilson, wilson_of_share};
