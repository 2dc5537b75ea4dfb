//! What every kind of inference works with while it runs one sample.

use super::texts::Texts;
use crate::models::CausalLm;
use compass_common::engine::TokenCounters;
use compass_common::plan::NumericProfile;

/// One model with its texts, rules and counters.
pub(super) struct Runner<'a> {
    pub(super) model: &'a mut dyn CausalLm,
    pub(super) texts: Texts<'a>,
    pub(super) profile: NumericProfile,
    pub(super) counters: &'a mut TokenCounters,
}
