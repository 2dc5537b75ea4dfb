//! Watches a history for broken invariants, effect by effect: in tests, in the simulation, and in every run, where the
//! count stands in `logs/run.json`.
//!
//! Costs a look-up per effect, a few bytes per task and a bit per sample.

use super::effect::{Effect, Message, Record, Seq};
use super::event::Handed;
use super::invariants::{C1, C2, G2, Violation, X1};
use super::sample_set::SampleSet;
use compass_types::ids::{Attempt, GrantId, UnitId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;

/// Monitor of the invariants of a history.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    last_seq: Seq,
    /// By the task's number.
    attempts: Vec<Option<(Attempt, Seq)>>,
    recorded: BTreeMap<UnitId, SampleSet>,
    cancelled: bool,
}

impl Watch {
    /// A watch over a core that begins with `done` recorded.
    pub fn new(done: impl IntoIterator<Item = (UnitId, IntervalSet)>) -> Self {
        let recorded = done.into_iter().map(|(unit, samples)| (unit, samples.into())).collect();
        Self { recorded, ..Self::default() }
    }

    /// The job was cancelled: nothing may be granted from here on.
    pub fn cancelled(&mut self) {
        self.cancelled = true;
    }

    /// Looks at one effect, in the order in which the core made them; the rule that it breaks, if it breaks one.
    pub fn observe(&mut self, effect: &Effect) -> Option<Violation> {
        match effect {
            Effect::Persist { seq, record } => self.persist(*seq, record),
            Effect::Send { message: Message::Grant { grant, .. }, after, .. } => {
                if self.cancelled {
                    return Some(Violation { id: X1, detail: format!("{grant:?} after the job was cancelled") });
                }
                self.granted(*grant, *after)
            }
            Effect::Send { message: Message::Welcome { kept, .. }, after, .. } => {
                kept.iter().find_map(|kept| self.granted(kept.now.grant, *after))
            }
            _ => None,
        }
    }

    /// A frame of a worker will be acknowledged once everything up to `after` is durable: that must be all that it led to.
    pub fn acknowledges(&self, after: Seq) -> Option<Violation> {
        let detail = || "an acknowledgement does not wait for the records before it".to_owned();
        (after < self.last_seq).then(|| Violation { id: C1, detail: detail() })
    }

    fn persist(&mut self, seq: Seq, record: &Record) -> Option<Violation> {
        let expected = Seq(self.last_seq.0 + 1);
        self.last_seq = seq;
        if seq != expected {
            return Some(Violation { id: C1, detail: format!("record {} where {} was due", seq.0, expected.0) });
        }
        match record {
            Record::Attempt { task, holder } => {
                let attempt = &holder.attempt;
                let at = task.0 as usize;
                if at >= self.attempts.len() {
                    self.attempts.resize(at + 1, None);
                }
                let before = self.attempts[at].replace((*attempt, seq));
                let falls = before.is_some_and(|(before, _)| before >= *attempt);
                falls.then(|| Violation { id: G2, detail: format!("attempt {attempt} of task {task} does not grow") })
            }
            Record::Sample { unit, handed: Handed { index, .. }, .. } | Record::Duplicate { unit, index, .. } => {
                let fresh = self.recorded.entry(*unit).or_default().insert(*index);
                let detail = || format!("sample {index} of unit {unit} is recorded twice");
                (!fresh).then(|| Violation { id: C2, detail: detail() })
            }
            _ => None,
        }
    }

    fn granted(&self, grant: GrantId, after: Seq) -> Option<Violation> {
        let known = self.attempts.get(grant.task.0 as usize).copied().flatten();
        let sound = known.is_some_and(|(attempt, seq)| attempt == grant.attempt && seq <= after);
        (!sound).then(|| Violation { id: G2, detail: format!("{grant:?} is sent without waiting for its attempt") })
    }
}
