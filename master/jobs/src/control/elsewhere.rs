//! A job whose server went away, and continues under one on another host: no socket leads there, but both share a store, which
//! records how the job ends.

use crate::job::{Ended, JobRecord};
use compass_scheduler::broker::JobId;
use compass_settings::StoreConfig;
use compass_store::{CoordinationStore as _, EtcdStore, StoreError, StoreTimeouts};
use std::time::{Duration, Instant};

/// Interval at which the store is asked.
const LOOK: Duration = Duration::from_secs(1);
/// Longest time without an answer of the store.
const LONGEST_OUTAGE: Duration = Duration::from_secs(600);
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
    let key = JobRecord::key(&JobId(job.to_owned()));
    let (mut last_led, mut last_answered, mut goes_on) = (Instant::now(), Instant::now(), Some(goes_on));
    while last_led.elapsed() < LONGEST_VACANCY {
        let found = match store.scan_all(&key).await {
            Err(error) if last_answered.elapsed() > LONGEST_OUTAGE => return Err(error),
            Err(_) => {
                // A server that leads waits for the store as well.
                last_led = Instant::now();
                tokio::time::sleep(LOOK).await;
                continue;
            }
            Ok(found) => found,
        };
        last_answered = Instant::now();
        let record = found.first().and_then(|(_, bytes)| serde_json::from_slice::<JobRecord>(bytes).ok());
        let Some(record) = record else { return Ok(None) };
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
