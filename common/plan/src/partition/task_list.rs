//! The tasks of a run by number, as its folder keeps them and a person names them.
//!
//! A master writes the list when it begins: numbers then mean the same to every reader of the folder, whatever partitioner,
//! cores and recorded samples there were. A resumed run is cut again, and writes it again.

use super::TaskSpec;
use crate::Plan;
use compass_types::ids::{Digest, UnitId};
use compass_types::intervals::IntervalSet;
use serde::{Deserialize, Serialize};

/// Tasks of a run by number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskList {
    /// Digest of the plan that was cut, in hexadecimal digits.
    pub plan: String,
    pub tasks: Vec<ListedTask>,
}

/// One task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedTask {
    /// Its position in the list.
    pub task: u32,
    pub pieces: Vec<ListedPiece>,
}

/// Part of one unit that a task holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedPiece {
    /// See [`crate::Unit::name`].
    pub name: String,
    pub unit: UnitId,
    pub samples: IntervalSet,
}

/// Reference to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskName {
    /// By its number in the list.
    Number(u32),
    /// By what it holds: `model/dataset[0..5,9]`, as lists show it.
    Samples { unit: String, samples: IntervalSet },
}

/// Reason that no task can be named so.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskNameError {
    #[error("`{0}` names no task: write its number, or its samples as in model/dataset[0..5,9]")]
    Form(String),
    #[error("there is no task {number}: the run was cut into {tasks}, from 0")]
    Number { number: u32, tasks: usize },
    #[error("the plan has no `{name}`; it has {known}")]
    Unit { name: String, known: String },
    #[error("`{name}` has {samples} samples, from 0; {outside} is not one of them")]
    Sample { name: String, samples: u32, outside: u32 },
    #[error("the list of tasks is that of another plan")]
    ForeignList,
}

impl TaskList {
    /// Lists the tasks of a plan.
    pub fn new(plan: &Plan, digest: &Digest, tasks: &[TaskSpec]) -> Self {
        let piece = |(unit, samples): &(UnitId, IntervalSet)| {
            let name = plan.unit(*unit)?.name();
            Some(ListedPiece { name, unit: *unit, samples: samples.clone() })
        };
        let listed = tasks.iter().zip(0..);
        let listed =
            listed.map(|(task, at)| ListedTask { task: at, pieces: task.pieces.iter().filter_map(piece).collect() });
        Self { plan: digest.to_string(), tasks: listed.collect() }
    }
}

impl ListedPiece {
    /// `model/dataset[0..5,9..10]`.
    pub fn shown(&self) -> String {
        let ranges = self.samples.pairs().iter().map(|(first, end)| format!("{first}..{end}"));
        format!("{}[{}]", self.name, ranges.collect::<Vec<_>>().join(","))
    }
}

impl std::str::FromStr for TaskName {
    type Err = TaskNameError;

    fn from_str(text: &str) -> Result<Self, TaskNameError> {
        if let Ok(number) = text.parse() {
            return Ok(Self::Number(number));
        }
        let wrong = || TaskNameError::Form(text.into());
        let (unit, ranges) = text.strip_suffix(']').and_then(|text| text.rsplit_once('[')).ok_or_else(wrong)?;
        let range = |range: &str| match range.split_once("..") {
            Some((first, end)) => Some((first.trim().parse().ok()?, end.trim().parse().ok()?)),
            None => range.trim().parse::<u32>().ok().map(|index| (index, index.saturating_add(1))),
        };
        let pairs: Option<Vec<(u32, u32)>> = ranges.split(',').map(range).collect();
        let samples = IntervalSet::from_pairs(pairs.ok_or_else(wrong)?);
        if unit.is_empty() || samples.is_empty() {
            return Err(wrong());
        }
        Ok(Self::Samples { unit: unit.into(), samples })
    }
}

impl TaskName {
    /// The samples that are meant; `list` is asked for numbers.
    ///
    /// # Errors
    /// The plan or the list has no such thing.
    pub fn pieces(
        &self,
        plan: &Plan,
        digest: &Digest,
        list: Option<&TaskList>,
    ) -> Result<Vec<(UnitId, IntervalSet)>, TaskNameError> {
        let pieces = match self {
            Self::Number(number) => {
                let list = list.filter(|list| list.plan == digest.to_string()).ok_or(TaskNameError::ForeignList)?;
                let missing = TaskNameError::Number { number: *number, tasks: list.tasks.len() };
                let task = list.tasks.iter().find(|task| task.task == *number).ok_or(missing)?;
                task.pieces.iter().map(|piece| (piece.unit, piece.samples.clone())).collect()
            }
            Self::Samples { unit: name, samples } => {
                let unit = plan.units().find(|unit| unit.name() == *name).ok_or_else(|| TaskNameError::Unit {
                    name: name.clone(),
                    known: plan.units().map(|unit| unit.name()).collect::<Vec<_>>().join(", "),
                })?;
                vec![(unit.id, samples.clone())]
            }
        };
        for (unit, samples) in &pieces {
            let unit = plan.unit(*unit).ok_or(TaskNameError::ForeignList)?;
            let known = unit.dataset.samples;
            if let Some(outside) = samples.pairs().last().map(|(_, end)| end - 1).filter(|last| *last >= known) {
                return Err(TaskNameError::Sample { name: unit.name(), samples: known, outside });
            }
        }
        Ok(pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_named_by_number_or_by_what_it_holds() {
        assert_eq!("12".parse(), Ok(TaskName::Number(12)));
        let samples = IntervalSet::from_pairs([(0, 5), (9, 10)]);
        let named = TaskName::Samples { unit: "a/b[c]/d".into(), samples: samples.clone() };
        assert_eq!("a/b[c]/d[0..5,9]".parse(), Ok(named.clone()));
        let shown = ListedPiece { name: "a/b[c]/d".into(), unit: UnitId(0), samples }.shown();
        assert_eq!(shown.parse(), Ok(named), "what is shown can be typed");
        for wrong in ["", "x", "a/b", "a/b[]", "a/b[x]", "a/b[5..5]", "[1]", "a/b[1..]", "-1"] {
            assert_eq!(wrong.parse::<TaskName>(), Err(TaskNameError::Form(wrong.into())));
        }
    }
}
