//! All scripts, by family.

use super::moved::Moved;
use super::{devices, duplicates, faults, offline, placement, results, serve, standby};

/// All scripts, by family.
pub const SCRIPTS: [&[Moved]; 8] = [
    faults::SCRIPTS,
    standby::SCRIPTS,
    serve::SCRIPTS,
    offline::SCRIPTS,
    placement::SCRIPTS,
    devices::SCRIPTS,
    duplicates::SCRIPTS,
    results::SCRIPTS,
];
