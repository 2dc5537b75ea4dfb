//! `type = "command"`.

use super::check::Check;
use super::fields::Fields;
use super::launching::CommandConfig;

/// Reads the template.
pub(super) fn read(_check: &mut Check, _fields: &mut Fields<'_>) -> CommandConfig {
    CommandConfig {}
}
