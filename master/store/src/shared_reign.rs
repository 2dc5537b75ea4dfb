//! What the two that act for one reign share: the store, which commits, and the keeper, which keeps the lease alive.

use super::backend::{Backend, Trouble};
use super::error::StoreError;
use super::lease_store::Standing;
use super::reign::{Outcome, Reign};
use compass_types::ids::Epoch;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Term of leadership that the store, which commits, and the keeper of its lease share.
#[derive(Debug)]
pub(super) struct SharedReign {
    reign: Mutex<Option<Reign>>,
    standing: watch::Sender<Standing>,
}

impl SharedReign {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { reign: Mutex::new(None), standing: watch::Sender::new(Standing::Sure) })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Reign>> {
        // Nothing that holds the lock can panic halfway.
        self.reign.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, reign: Reign) {
        *self.lock() = Some(reign);
        self.stand(Standing::Sure);
    }

    /// Forgets the reign, which its holder has given up.
    pub(super) fn end(&self) -> Option<Reign> {
        self.lock().take()
    }

    /// A copy of the reign, if one goes on.
    pub(super) fn current(&self) -> Option<Reign> {
        self.lock().clone().filter(|_| !self.is_lost())
    }

    /// Lets `act` read a reply in the name of the reign; `Over` when there is none.
    pub(super) fn judge(&self, act: impl FnOnce(&mut Reign) -> Outcome) -> Outcome {
        let outcome = self.lock().as_mut().map_or(Outcome::Over, act);
        match outcome {
            Outcome::Over => self.stand(Standing::Lost),
            Outcome::Durable => self.stand(Standing::Sure),
            Outcome::Again | Outcome::Lapsed | Outcome::Damaged(_) => {}
        }
        outcome
    }

    pub(super) fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    pub(super) fn is_lost(&self) -> bool {
        *self.standing.borrow() == Standing::Lost
    }

    /// Notes how things stand; a lead that is lost stays so.
    pub(super) fn stand(&self, standing: Standing) {
        self.standing.send_if_modified(|now| {
            let news = *now != Standing::Lost && *now != standing;
            if news {
                *now = standing;
            }
            news
        });
    }

    /// The store does not answer, or takes no writes.
    pub(super) fn doubt(&self, error: &StoreError) {
        self.stand(Standing::Waiting { why: error.to_string() });
    }

    /// Takes a lead that has lapsed again, if nobody has led meanwhile.
    pub(super) async fn reassert(&self, backend: &impl Backend, ttl: Duration) -> Result<(), Trouble> {
        let Some(reign) = self.current() else { return Ok(()) };
        let lease = backend.grant(ttl).await?;
        let reply = backend.transact(&reign.reassertion(lease)).await?;
        let outcome = self.judge(|reign| reign.judge_reassertion(lease, &reply));
        if !reply.applied {
            // Nothing hangs on it; were it left, it would end by itself.
            let _ = backend.revoke(lease).await;
        }
        tracing::warn!(epoch = %reign.epoch(), ?outcome, "the lease ran out; tried to take the lead again");
        Ok(())
    }

    pub(super) fn fenced(&self, epoch: Epoch) -> StoreError {
        self.stand(Standing::Lost);
        StoreError::Fenced(epoch)
    }
}
