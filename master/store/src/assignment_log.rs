//! Log of grants in the store: the samples of every worker, for the leader that comes next.
//!
//! Assignments are kept as a log, a key for each group of them that became durable together: however many workers a group is
//! of, it costs one write. Now and then a leader writes down all that is out at that moment, with the number of the key
//! from which on the log counts; what lies before is deleted afterwards. Of a sample the last assignment counts.

use compass_types::ids::{Attempt, Epoch, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use prost::Message;
use std::collections::HashMap;

/// Samples that were given to a worker, under the attempt of its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignmentRecord {
    pub worker: WorkerId,
    pub unit: UnitId,
    pub attempt: Attempt,
    pub samples: IntervalSet,
}

/// A key of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignmentPage {
    pub assignments: Vec<AssignmentRecord>,
    /// The last of those that tell all that is out: nothing before the key of this number, nor of an older epoch, counts.
    pub replaces: Option<u64>,
}

/// The names once, then the assignments in order.
#[derive(Clone, PartialEq, Message)]
struct Page {
    #[prost(string, repeated, tag = "1")]
    workers: Vec<String>,
    #[prost(message, repeated, tag = "2")]
    assignments: Vec<WireLease>,
    #[prost(uint64, optional, tag = "3")]
    replaces: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct WireLease {
    /// Position of the worker's name.
    #[prost(uint32, tag = "1")]
    worker: u32,
    #[prost(uint32, tag = "2")]
    unit: u32,
    #[prost(uint32, tag = "3")]
    attempt: u32,
    /// First index and number of samples, run by run.
    #[prost(uint32, repeated, tag = "4")]
    runs: Vec<u32>,
}

impl AssignmentPage {
    /// The value of a key.
    pub fn encode(&self) -> Vec<u8> {
        let (mut workers, mut known): (Vec<String>, HashMap<&WorkerId, u32>) = (Vec::new(), HashMap::new());
        let assignments = self.assignments.iter().map(|assignment| {
            let worker = *known.entry(&assignment.worker).or_insert_with(|| {
                workers.push(assignment.worker.0.clone());
                workers.len() as u32 - 1
            });
            let runs = assignment.samples.pairs().iter().flat_map(|(first, end)| [*first, end - first]).collect();
            WireLease { worker, unit: assignment.unit.0, attempt: assignment.attempt.0, runs }
        });
        let assignments = assignments.collect();
        Page { workers, assignments, replaces: self.replaces }.encode_to_vec()
    }

    /// Reads a value; `None` for one of another making.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let page = Page::decode(bytes).ok()?;
        let assignment = |wire: WireLease| {
            let runs = wire.runs.chunks_exact(2).map(|run| Some((run[0], run[0].checked_add(run[1])?)));
            Some(AssignmentRecord {
                worker: WorkerId(page.workers.get(wire.worker as usize)?.clone()),
                unit: UnitId(wire.unit),
                attempt: Attempt(wire.attempt),
                samples: IntervalSet::from_pairs(runs.collect::<Option<Vec<_>>>()?),
            })
        };
        let assignments = page.assignments.into_iter().map(assignment).collect::<Option<_>>()?;
        Some(Self { assignments, replaces: page.replaces })
    }
}

/// The assignments that count, from the oldest to the latest with the epochs of their leaders; `pages` by epoch and number,
/// ascending.
pub fn current_assignments(pages: Vec<((Epoch, u64), AssignmentPage)>) -> Vec<(Epoch, AssignmentRecord)> {
    let whole = pages.iter().rev().find_map(|((epoch, _), page)| Some((*epoch, page.replaces?)));
    let counts = |at: &(Epoch, u64)| whole.is_none_or(|first| *at >= first);
    let counting = pages.into_iter().filter(|(at, _)| counts(at));
    counting
        .flat_map(|((epoch, _), page)| page.assignments.into_iter().map(move |assignment| (epoch, assignment)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assignment(worker: &str, first: u32, end: u32) -> AssignmentRecord {
        let samples = IntervalSet::from_pairs([(first, end), (end + 2, end + 3)]);
        AssignmentRecord { worker: WorkerId(worker.into()), unit: UnitId(4), attempt: Attempt(2), samples }
    }

    #[test]
    fn a_page_comes_back_as_it_was() {
        let assignments = vec![assignment("w-1", 3, 9), assignment("w-2", 12, 13), assignment("w-1", 40, 41)];
        let page = AssignmentPage { assignments, replaces: Some(7) };
        let bytes = page.encode();
        assert_eq!(bytes.windows(3).filter(|window| window == b"w-1").count(), 1, "names stand there once");
        assert_eq!(AssignmentPage::decode(&bytes), Some(page));
        assert_eq!(AssignmentPage::decode(b"attempts of an older layout"), None);
    }

    #[test]
    fn what_was_replaced_does_not_count_and_half_a_replacement_replaces_nothing() {
        let page = |worker: &str, replaces| AssignmentPage { assignments: vec![assignment(worker, 0, 1)], replaces };
        let mut pages = vec![
            ((Epoch(1), 9), page("old", None)),
            ((Epoch(2), 0), page("earlier", None)),
            ((Epoch(2), 1), page("first half", None)),
        ];
        let names = |pages: &[_]| -> Vec<String> {
            current_assignments(pages.to_vec()).into_iter().map(|(_, assignment)| assignment.worker.0).collect()
        };
        assert_eq!(names(&pages), ["old", "earlier", "first half"]);
        pages.push(((Epoch(2), 2), page("second half", Some(1))));
        pages.push(((Epoch(3), 0), page("new", None)));
        assert_eq!(names(&pages), ["first half", "second half", "new"]);
    }
}
