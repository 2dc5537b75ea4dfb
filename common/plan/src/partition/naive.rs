//! `naive`: one task per model and data set.

use super::{TaskSpec, UnitSize};

pub(super) fn cut(units: &[UnitSize]) -> Vec<TaskSpec> {
    let left = units.iter().filter(|unit| !unit.remaining.is_empty());
    left.map(|unit| TaskSpec { pieces: vec![(unit.id, unit.remaining.clone())] }).collect()
}
