//! State that a new leader takes over from those before it, as the store and the ledger tell, and what it writes before
//! anything else. Pure: its owner reads and writes.

use super::previous_assignments::PreviousAssignments;
use compass_ledger::AssignmentLog;
use compass_rpc::JobKey;
use compass_scheduler::{Core, DeviceType, Duplicates, Labels, Limits, Recorded, TaskView};
use compass_store::{Damage, Keys, Op};
use compass_types::ids::{Attempt, Epoch, UnitId, WorkerId};
use std::collections::BTreeMap;

/// State that a new leader takes over from those before it.
#[derive(Debug)]
pub struct Opening {
    keys: Keys,
    /// Recorded lengths of segments, by name.
    lengths: BTreeMap<String, u64>,
    assignments: PreviousAssignments,
    /// The last epoch whose leader told its workers to go before it went itself.
    released: Epoch,
    key: Option<JobKey>,
    recorded: Recorded,
}

/// Returns the prefixes that are read of the store for an opening: everything below these.
pub(crate) fn prefixes(keys: &Keys) -> [String; 4] {
    [keys.segments(), keys.assignments(), keys.released(), keys.job_key()]
}

/// Recorded lengths of ledger segments, by name, of what a store holds below [`Keys::segments`].
///
/// # Errors
/// A length that cannot be read. Bytes beyond a recorded length do not exist: it must not make them.
pub(super) fn read_lengths<'e>(
    keys: &Keys,
    entries: impl IntoIterator<Item = (&'e String, &'e Vec<u8>)>,
) -> Result<BTreeMap<String, u64>, Damage> {
    let prefix = keys.segments();
    let lengths = entries.into_iter().map(|(key, value)| {
        let length = value.as_slice().try_into().map_err(|_| Damage::segment(key))?;
        Ok((key.strip_prefix(&prefix).unwrap_or(key).to_owned(), u64::from_le_bytes(length)))
    });
    lengths.collect()
}

impl Opening {
    /// From what the store holds below [`prefixes`].
    ///
    /// # Errors
    /// A key whose value cannot be read.
    pub fn observe(keys: Keys, entries: &BTreeMap<String, Vec<u8>>) -> Result<Self, Damage> {
        let below = |prefix: String| {
            let from = entries.range(prefix.clone()..);
            from.take_while(move |(key, _)| key.starts_with(&prefix))
        };
        let lengths = read_lengths(&keys, below(keys.segments()))?;
        let log = below(keys.assignments()).map(|(key, value)| (key.clone(), value.clone()));
        let assignments = PreviousAssignments::read(&keys, log)?;
        let name = keys.released();
        let released = match entries.get(&name) {
            None => Epoch(0),
            Some(value) => {
                let epoch = value.as_slice().try_into().map_err(|_| Damage::released(&name))?;
                Epoch(u64::from_le_bytes(epoch))
            }
        };
        let key = entries.get(&keys.job_key()).and_then(|value| JobKey::from_bytes(value));
        Ok(Self { keys, lengths, assignments, released, key, recorded: Recorded::default() })
    }

    /// Returns the length of each segment of the ledger, as far as it exists.
    pub fn lengths(&self) -> &BTreeMap<String, u64> {
        &self.lengths
    }

    /// The ledger holds this result, a `compass.v1.SampleResult`. Of several of a sample the first counts.
    pub fn result(&mut self, unit: UnitId, index: u32, result: &[u8], device: DeviceType) {
        self.recorded.arrive(unit, index, result, device);
    }

    /// Returns what the ledger holds, as far as it was told.
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// The highest attempt of each task that may still be out.
    pub fn attempts(&self) -> BTreeMap<(UnitId, u32), Attempt> {
        self.assignments.attempts()
    }

    /// The log that this leader continues.
    pub fn assignment_log(&self, epoch: Epoch) -> AssignmentLog {
        AssignmentLog::new(self.keys.clone(), epoch, self.assignments.keys.clone())
    }

    /// Returns whether no leader before has written the key of the job's proofs.
    pub fn lacks_key(&self) -> bool {
        self.key.is_none()
    }

    /// The key of the job's proofs, made by `make` where no leader before has, and the first writes: the segment that this
    /// leader is about to append to is known before it holds anything, so that from then on only what the store records of
    /// it exists; and the key, so that nothing is granted under one that the next leader will not find.
    ///
    /// # Errors
    /// No key can be made.
    pub fn first_writes<E>(
        &self,
        segment: &str,
        length: u64,
        make: impl FnOnce() -> Result<JobKey, E>,
    ) -> Result<(JobKey, Vec<Op>), E> {
        let mut ops = vec![Op::Put { key: self.keys.segment(segment), value: length.to_le_bytes().to_vec() }];
        let key = match self.key {
            Some(key) => key,
            None => {
                let key = make()?;
                ops.push(Op::Put { key: self.keys.job_key(), value: key.to_bytes() });
                key
            }
        };
        Ok((key, ops))
    }

    /// The scheduler of this leader. Of older leaders' workers those may still hold what they were granted of whom
    /// `may_hold` says so.
    pub fn core(
        self,
        epoch: Epoch,
        limits: Limits,
        tasks: Vec<TaskView>,
        (duplicates, labels): (Duplicates, Labels),
        may_hold: impl Fn(&WorkerId) -> bool,
    ) -> Core {
        let mut core = Core::new(epoch, limits, tasks, self.recorded).with_duplicates(duplicates).labelled(labels);
        let former = self.assignments.former(self.released).into_iter().filter(|former| may_hold(&former.worker));
        core.recover(0, &former.collect::<Vec<_>>());
        core
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_store::{AssignmentPage, AssignmentRecord};
    use compass_types::ids::{Digest, ModelId};
    use compass_types::intervals::IntervalSet;

    fn keys() -> Keys {
        Keys::new(&Digest::of(b"plan"))
    }

    fn no_key() -> Result<JobKey, &'static str> {
        Err("none is to be made")
    }

    #[test]
    fn the_first_leader_writes_the_key_and_later_ones_read_it() {
        let made = || Ok::<_, &str>(JobKey::new([7; 32]));
        let first = Opening::observe(keys(), &BTreeMap::new()).unwrap();
        assert!(first.lacks_key());
        assert_eq!(first.first_writes("s", 40, no_key), Err("none is to be made"));
        let (key, ops) = first.first_writes("s", 40, made).unwrap();
        let mut store = BTreeMap::new();
        for op in ops {
            let Op::Put { key, value } = op else { unreachable!("nothing is deleted") };
            store.insert(key, value);
        }
        let second = Opening::observe(keys(), &store).unwrap();
        assert_eq!(second.lengths(), &BTreeMap::from([("s".to_owned(), 40)]));
        let (known, ops) = second.first_writes("t", 40, no_key).unwrap();
        assert!(known == key && ops.len() == 1 && !second.lacks_key());
    }

    #[test]
    fn a_value_that_cannot_be_read_is_named_and_nothing_begins() {
        let keys = keys();
        for name in [keys.segment("s"), keys.released(), keys.assignment_page(Epoch(1), 0)] {
            let damage = Opening::observe(keys.clone(), &[(name.clone(), vec![1, 2, 3])].into()).unwrap_err();
            assert_eq!(damage.key, name);
        }
    }

    #[test]
    fn what_a_leader_released_is_held_by_nobody() {
        let keys = keys();
        let samples = IntervalSet::range(0, 4);
        let assignment =
            AssignmentRecord { worker: WorkerId("w".into()), unit: UnitId(0), attempt: Attempt(3), samples };
        let page = AssignmentPage { assignments: vec![assignment], replaces: None }.encode();
        let mut store = BTreeMap::from([(keys.assignment_page(Epoch(1), 0), page)]);
        let held = |store: &BTreeMap<_, _>, may_hold: bool| {
            let opening = Opening::observe(keys.clone(), store).unwrap();
            assert_eq!(opening.attempts()[&(UnitId(0), 0)], Attempt(3));
            let task = TaskView {
                unit: UnitId(0),
                model: ModelId(0),
                requires: compass_scheduler::Requires::Echo,
                samples: IntervalSet::range(0, 4),
                attempt: Attempt(3),
                sample_cost: 1,
                shared_cost: 0,
            };
            let core = opening.core(Epoch(2), Limits::default(), vec![task], Default::default(), |_| may_hold);
            core.explain_job().iter().any(|line| line.contains("kept for earlier holders"))
        };
        assert!(held(&store, true) && !held(&store, false));
        store.insert(keys.released(), 1_u64.to_le_bytes().to_vec());
        assert!(!held(&store, true));
    }
}
