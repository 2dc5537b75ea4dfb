//! Results that a run has committed, by what its ledger holds and its store in etcd says of it: the judge of a history.

use crate::{Etcd, Job};
use compass_ledger::{Kind, Ledger};
use compass_proto::v1;
use compass_run_folder::{RunFolder, read_plan};
use compass_settings::EtcdConfig;
use compass_store::{CoordinationStore, EtcdStore, Keys, StoreTimeouts};
use compass_types::ids::Digest;
use prost::Message as _;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::time::Duration;

/// Results of a run that are committed.
#[derive(Clone, Debug, Default)]
pub struct Committed {
    /// Results by unit and sample.
    pub samples: BTreeMap<(u32, u32), Vec<u8>>,
    /// Samples that have more than one.
    pub twice: Vec<(u32, u32)>,
    /// Later results that differed.
    pub divergences: usize,
    /// Samples of the plan.
    pub expected: u64,
}

/// Reads ledger and store of the latest run, whose masters may be at work. `prefix` is the one of their configuration.
///
/// # Errors
/// etcd does not answer, or the ledger is damaged within what is recorded of it: rule C3.
pub fn committed(etcd: &Etcd, prefix: &str, job: &Job) -> Result<Committed, Box<dyn Error>> {
    let run = job.latest();
    let name = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = RunFolder::find(&job.path("out"), Some(&name))?;
    let (plan, digest, _) = read_plan(&folder)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut lengths = runtime.block_on(lengths(etcd, prefix, &digest))?;
    // A segment that was begun since then has nothing that counts.
    for segment in fs::read_dir(run.join("ledger"))?.flatten() {
        lengths.entry(segment.file_name().to_string_lossy().into_owned()).or_insert(0);
    }
    let loaded = Ledger::new(run.join("ledger"), digest).load(&lengths)?;
    let mut committed = Committed { expected: plan.expected(), ..Committed::default() };
    for entry in loaded.entries {
        match entry.kind() {
            Kind::Sample => {
                let key = (entry.unit, v1::SampleResult::decode(entry.payload.as_slice())?.index);
                if committed.samples.insert(key, entry.payload).is_some() {
                    committed.twice.push(key);
                }
            }
            Kind::Divergence => committed.divergences += 1,
            _ => {}
        }
    }
    Ok(committed)
}

async fn lengths(etcd: &Etcd, prefix: &str, digest: &Digest) -> Result<BTreeMap<String, u64>, Box<dyn Error>> {
    let endpoints = etcd.endpoints().split(',').map(str::to_owned).collect();
    let config = EtcdConfig { endpoints, prefix: prefix.into(), ..EtcdConfig::default() };
    let timeouts = StoreTimeouts { request: Duration::from_secs(10), ..StoreTimeouts::default() };
    let store = EtcdStore::open(&config, digest, timeouts)?;
    let segments = Keys::new(digest).segments();
    let found = store.scan_all(&segments).await?.into_iter().filter_map(|(key, value)| {
        Some((key.strip_prefix(&segments)?.to_owned(), u64::from_le_bytes(value.try_into().ok()?)))
    });
    Ok(found.collect())
}
