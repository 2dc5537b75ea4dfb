//! `type = "dlc"`.

use super::check::Check;
use super::fields::Fields;
use super::launching::DlcConfig;

/// Reads what DLC is told.
pub(super) fn read(_check: &mut Check, _fields: &mut Fields<'_>) -> DlcConfig {
    DlcConfig {}
}
