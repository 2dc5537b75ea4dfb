//! The key of the job's proofs: made by the first leader, read by every later one.

use super::infer::InferError;
use crate::rpc::JobKey;
use crate::store::{Keys, LeaseStore, Op};

/// The job's key, and what writes it where no leader did so before: a part of the transaction that opens the reign, so
/// that nothing is granted under a key that the next leader will not find.
///
/// # Errors
/// The store fails, or no key can be made.
pub(super) async fn job_key(store: &impl LeaseStore, keys: &Keys) -> Result<(JobKey, Option<Op>), InferError> {
    let name = keys.job_key();
    let found = store.scan(&name, None, 1).await?.into_iter().find(|(key, _)| *key == name);
    if let Some(key) = found.and_then(|(_, value)| JobKey::from_bytes(&value)) {
        return Ok((key, None));
    }
    let key = JobKey::random()?;
    Ok((key, Some(Op::Put { key: name, value: key.to_bytes() })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::EmbeddedStore;
    use compass_common::ids::{Digest, Epoch};

    #[tokio::test]
    async fn the_first_leader_writes_the_key_and_later_ones_read_it() {
        let (state, keys) = (tempfile::tempdir().unwrap(), Keys::new(&Digest::of(b"plan")));
        let mut store = EmbeddedStore::open(state.path(), "run").unwrap();
        let leadership = store.campaign("one", Epoch(0)).await.unwrap();
        let (first, writing) = job_key(&store, &keys).await.unwrap();
        store.commit(&leadership, vec![writing.unwrap()]).await.unwrap();
        drop(store);
        let mut store = EmbeddedStore::open(state.path(), "run").unwrap();
        store.campaign("two", Epoch(0)).await.unwrap();
        let (second, writing) = job_key(&store, &keys).await.unwrap();
        assert_eq!((first, writing), (second, None));
        // Lost with the store, it is another.
        let elsewhere = tempfile::tempdir().unwrap();
        let mut lost = EmbeddedStore::open(elsewhere.path(), "run").unwrap();
        lost.campaign("three", Epoch(0)).await.unwrap();
        let (other, writing) = job_key(&lost, &keys).await.unwrap();
        assert!(other != first && writing.is_some());
    }
}
