//! The proof that a grant was made: what a worker presents to a leader that never heard of it.
//!
//! A keyed digest over everything that makes the grant: job, worker, process, attempt, samples. The key belongs to the job;
//! its first leader writes it to the store, every later one reads it there, and no worker ever sees it.

use compass_types::ids::{Digest, GrantId, UnitId};
use compass_types::intervals::IntervalSet;
use ring::rand::{SecureRandom, SystemRandom};

/// Length of a proof in bytes.
const PROOF_BYTES: usize = 16;

/// The OS random number generator cannot be read, of which a key is made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the job's key: the random number generator of the operating system failed")]
pub struct KeyError;

/// Key of a job's proofs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct JobKey([u8; 32]);

impl std::fmt::Debug for JobKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JobKey(..)")
    }
}

/// Facts that a proof covers, apart from the job's key.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    pub plan: &'a Digest,
    /// As its certificate names it, where it has one.
    pub worker: &'a str,
    /// The process of the worker: its session's nonce.
    pub nonce: &'a str,
    pub grant: GrantId,
    pub unit: UnitId,
    /// As granted.
    pub samples: &'a IntervalSet,
}

impl JobKey {
    /// The key with these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key that the store holds; `None` for a value of another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// A random key.
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn random() -> Result<Self, KeyError> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).map_err(|_| KeyError)?;
        Ok(Self(bytes))
    }

    /// Returns the bytes that the store keeps.
    pub fn to_bytes(self) -> Vec<u8> {
        self.0.to_vec()
    }

    /// Returns bytes that tell the run of this key from others of the same plan. Nothing of the key can be learnt from them.
    pub fn run_id(&self) -> [u8; PROOF_BYTES] {
        let mut run = [0; PROOF_BYTES];
        blake3::Hasher::new_keyed(&self.0).update(b"run").finalize_xof().fill(&mut run);
        run
    }

    /// The proof that goes out with a grant.
    pub fn proof(&self, claim: Claim<'_>) -> [u8; PROOF_BYTES] {
        let Claim { plan, worker, nonce, grant, unit, samples } = claim;
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&plan.0);
        // Lengths before texts, so that no two claims give the same bytes.
        for text in [worker, nonce] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.update(&grant.epoch.0.to_le_bytes());
        for number in [grant.task.0, grant.attempt.0, unit.0] {
            hasher.update(&number.to_le_bytes());
        }
        for (first, end) in samples.pairs() {
            hasher.update(&first.to_le_bytes());
            hasher.update(&end.to_le_bytes());
        }
        let mut proof = [0; PROOF_BYTES];
        hasher.finalize_xof().fill(&mut proof);
        proof
    }

    /// Returns whether `proof` was made with this key for this claim. Takes the same time for every wrong proof.
    pub fn verifies(&self, claim: Claim<'_>, proof: &[u8]) -> bool {
        let Ok(given) = <[u8; PROOF_BYTES]>::try_from(proof) else { return false };
        let differs = self.proof(claim).iter().zip(given).fold(0, |differs, (ours, theirs)| differs | (ours ^ theirs));
        differs == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_types::ids::{Attempt, Epoch, TaskId};

    #[test]
    fn a_proof_holds_for_its_claim_alone() {
        let (key, plan, other) = (JobKey([7; 32]), Digest::of(b"plan"), Digest::of(b"other"));
        let samples = IntervalSet::from_pairs([(0, 4), (9, 12)]);
        let grant = GrantId::new(3, 4, 5);
        let claim = Claim { plan: &plan, worker: "w", nonce: "1", grant, unit: UnitId(6), samples: &samples };
        let proof = key.proof(claim);
        assert!(key.verifies(claim, &proof));
        assert!(!JobKey([8; 32]).verifies(claim, &proof), "the key was lost, and made again");
        let (more, of_epoch) = (IntervalSet::range(0, 12), GrantId { epoch: Epoch(4), ..grant });
        let of_task = GrantId { task: TaskId(5), ..grant };
        let of_attempt = GrantId { attempt: Attempt(6), ..grant };
        for wrong in [
            Claim { plan: &other, ..claim },
            Claim { worker: "v", ..claim },
            Claim { worker: "w1", nonce: "", ..claim },
            Claim { nonce: "2", ..claim },
            Claim { grant: of_epoch, ..claim },
            Claim { grant: of_task, ..claim },
            Claim { grant: of_attempt, ..claim },
            Claim { unit: UnitId(7), ..claim },
            Claim { samples: &more, ..claim },
        ] {
            assert!(!key.verifies(wrong, &proof), "{wrong:?}");
        }
        assert!(!key.verifies(claim, &[]) && !key.verifies(claim, &proof[..15]) && !key.verifies(claim, &[0; 16]));
    }

    #[test]
    fn a_key_survives_the_store_and_is_another_each_time() {
        let (one, two) = (JobKey::random().unwrap(), JobKey::random().unwrap());
        assert!(one.run_id() == one.run_id() && one.run_id() != two.run_id());
        assert_eq!(JobKey::from_bytes(&one.to_bytes()), Some(one));
        assert_ne!(one, two);
        assert_eq!(JobKey::from_bytes(b"short"), None);
        assert!(!format!("{one:?}").contains(&format!("{:?}", one.0)));
    }
}
