//! State that the two that act for one term share: the store, which commits, and the keeper, which keeps the lease alive.

use super::backend::{Backend, Trouble};
use super::coordination_store::LeadershipStatus;
use super::error::StoreError;
use super::term::{CommitOutcome, Term};
use compass_types::ids::Epoch;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Term of leadership that the store, which commits, and the keeper of its lease share.
#[derive(Debug)]
pub(super) struct SharedTerm {
    term: Mutex<Option<Term>>,
    status: watch::Sender<LeadershipStatus>,
}

impl SharedTerm {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { term: Mutex::new(None), status: watch::Sender::new(LeadershipStatus::Sure) })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Term>> {
        // Nothing that holds the lock can panic halfway.
        self.term.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, term: Term) {
        *self.lock() = Some(term);
        self.stand(LeadershipStatus::Sure);
    }

    /// Forgets the term, which its holder has given up.
    pub(super) fn end(&self) -> Option<Term> {
        self.lock().take()
    }

    /// A copy of the term, if one goes on.
    pub(super) fn current(&self) -> Option<Term> {
        self.lock().clone().filter(|_| !self.is_lost())
    }

    /// Lets `act` read a reply in the name of the term; `Over` when there is none.
    pub(super) fn judge(&self, act: impl FnOnce(&mut Term) -> CommitOutcome) -> CommitOutcome {
        let outcome = self.lock().as_mut().map_or(CommitOutcome::Over, act);
        match outcome {
            CommitOutcome::Over => self.stand(LeadershipStatus::Lost),
            CommitOutcome::Durable => self.stand(LeadershipStatus::Sure),
            CommitOutcome::Again | CommitOutcome::Lapsed | CommitOutcome::Damaged(_) => {}
        }
        outcome
    }

    pub(super) fn status(&self) -> watch::Receiver<LeadershipStatus> {
        self.status.subscribe()
    }

    pub(super) fn is_lost(&self) -> bool {
        *self.status.borrow() == LeadershipStatus::Lost
    }

    /// Notes how things stand; a lead that is lost stays so.
    pub(super) fn stand(&self, status: LeadershipStatus) {
        self.status.send_if_modified(|now| {
            let news = *now != LeadershipStatus::Lost && *now != status;
            if news {
                *now = status;
            }
            news
        });
    }

    /// The store does not answer, or takes no writes.
    pub(super) fn doubt(&self, error: &StoreError) {
        self.stand(LeadershipStatus::Waiting { why: error.to_string() });
    }

    /// Takes a lead that has lapsed again, if no other master has led meanwhile.
    pub(super) async fn reassert(&self, backend: &impl Backend, ttl: Duration) -> Result<(), Trouble> {
        let Some(term) = self.current() else { return Ok(()) };
        let lease = backend.grant(ttl).await?;
        let reply = backend.transact(&term.reassertion(lease)).await?;
        let outcome = self.judge(|term| term.judge_reassertion(lease, &reply));
        if !reply.applied {
            // Nothing hangs on it; were it left, it would end by itself.
            let _ = backend.revoke(lease).await;
        }
        tracing::warn!(epoch = %term.epoch(), "the lease of the lead ran out; {}", reasserted(&outcome));
        Ok(())
    }

    pub(super) fn fenced(&self, epoch: Epoch) -> StoreError {
        self.stand(LeadershipStatus::Lost);
        StoreError::Fenced(epoch)
    }
}

/// Describes the outcome of the attempt to take a lead again whose lease ran out.
fn reasserted(outcome: &CommitOutcome) -> &'static str {
    match outcome {
        CommitOutcome::Durable => "this master leads again",
        CommitOutcome::Again | CommitOutcome::Lapsed => "this master tries to lead again",
        CommitOutcome::Over => "another master leads by now",
        CommitOutcome::Damaged(_) => "the store holds a leader record that this version cannot read",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::Part;

    #[test]
    fn what_came_of_a_lapsed_lead_is_said_in_words() {
        let all =
            [CommitOutcome::Durable, CommitOutcome::Lapsed, CommitOutcome::Over, CommitOutcome::Damaged(Part::Leader)];
        let said = all.each_ref().map(reasserted);
        assert_eq!(
            said[..3],
            ["this master leads again", "this master tries to lead again", "another master leads by now"]
        );
        for (said, outcome) in said.iter().zip(&all) {
            assert!(!said.contains(&format!("{outcome:?}")), "{said}");
        }
    }
}
