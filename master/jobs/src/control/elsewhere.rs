//! A job whose server went away, and goes on under one on another host: no socket leads there, but both share a store, which
//! records how the job ends.

use crate::job::{Ended, JobRecord};
use compass_scheduler::broker::JobId;
use compass_settings::StoreConfig;
use compass_store::{CoordinationStore as _, EtcdStore, StoreError, StoreTimeouts};
use std::time::{Duration, Instant};

/// Interval at which the store is asked.
const LOOK: Duration = Duration::from_secs(1);
/// Longest time without a server that leads: longer than a lease and an election.
const LONGEST_VACANCY: Duration = Duration::from_secs(20);

/// Waits until the store records the end of `job`, and calls `goes_on` once another server leads. `None` where none does, the job is
/// not known, or the store is one server's own.
///
/// # Errors
/// Those of the store.
pub(super) async fn end_elsewhere(
    store: &StoreConfig,
    job: &str,
    goes_on: impl FnOnce(),
) -> Result<Option<Ended>, StoreError> {
    let StoreConfig::Etcd(etcd) = store else { return Ok(None) };
    let store = EtcdStore::open_at(etcd, JobRecord::PLACE, StoreTimeouts::default())?;
    let (mut last_led, mut goes_on) = (Instant::now(), Some(goes_on));
    while last_led.elapsed() < LONGEST_VACANCY {
        let mut records = JobRecord::all(&store).await?.into_iter().map(|(_, record)| record);
        let Some(record) = records.find(|record| JobId::of(&record.plan).0 == job) else { return Ok(None) };
        if record.ended.is_some() {
            return Ok(record.ended);
        }
        if tokio::time::timeout(LOOK, store.vacancy()).await.is_err() {
            last_led = Instant::now();
            if let Some(goes_on) = goes_on.take() {
                goes_on();
            }
        } else {
            tokio::time::sleep(LOOK).await;
        }
    }
    Ok(None)
}
