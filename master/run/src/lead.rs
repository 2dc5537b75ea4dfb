//! Taking the lead of a run, and standing by while another master has it.

use super::infer_error::InferError;
use super::job_handle::JobHandle;
use super::opening::{Opening, prefixes, read_lengths};
use super::worker_endpoint::check_authority;
use compass_common::host::host;
use compass_common::status_output::{print_status, with_same_log};
use compass_ledger::{Claim, LEASE, LedgerError, Owner, OwnerError, Seal, StoreId};
use compass_run_folder::RunFolder;
use compass_settings::{Advertised, Config, StoreConfig};
use compass_store::{
    AnyStore, CoordinationStore, Damage, EmbeddedStore, EtcdStore, Keys, Leadership, LeadershipStatus, Op, RunRecord,
    StoreError, StoreTimeouts,
};
use compass_types::ids::{Digest, Epoch};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::block_in_place;
use tokio_util::sync::CancellationToken;

/// Longest time in which a new leader says where it works.
const INTRODUCTION: Duration = Duration::from_secs(5);

/// The lead of one run, from the campaign until it is given back.
#[derive(Debug)]
pub struct RunTerm {
    lead: Lead,
    store: AnyStore,
}

impl RunTerm {
    /// Returns the store's certainty of the lead.
    pub fn status(&self) -> watch::Receiver<LeadershipStatus> {
        self.store.status()
    }
}

/// A term without its store, which the committer holds meanwhile.
#[derive(Debug)]
pub(super) struct Lead {
    pub leadership: Leadership,
    /// Until the lead is given back, also while the run is scored.
    pub owner: Arc<Owner>,
    record: RunRecord,
    keys: Keys,
}

/// Outcome of the wish to lead.
#[derive(Debug)]
pub(super) enum Campaign {
    Won(Box<RunTerm>),
    /// Another master brought the run to its end while this one stood by.
    EndedByAnother,
    /// A signal asked to stop.
    Interrupted,
}

/// Opens the store that the configuration names, for the run in `folder` of the plan `digest`.
pub(super) fn open_store(
    config: &Config,
    folder: &RunFolder,
    digest: &Digest,
    timeouts: StoreTimeouts,
) -> Result<AnyStore, StoreError> {
    Ok(match &config.store {
        StoreConfig::Embedded => {
            AnyStore::Embedded(Box::new(EmbeddedStore::open(&config.state_dir, &store_name(folder))?))
        }
        StoreConfig::Etcd(etcd) => AnyStore::Etcd(Box::new(EtcdStore::open(etcd, digest, timeouts)?)),
    })
}

/// One embedded store per run folder, wherever it lies.
fn store_name(folder: &RunFolder) -> String {
    let canonical = absolute(folder);
    format!("{}-{}", folder.name(), Digest::of(canonical.as_os_str().as_encoded_bytes()).short())
}

fn absolute(folder: &RunFolder) -> PathBuf {
    std::fs::canonicalize(folder.root()).unwrap_or_else(|_| folder.root().to_owned())
}

/// Leads the run in `folder` as soon as no other master does. `last_epoch` is the highest that the ledger knows.
///
/// # Errors
/// The store fails, or the leader works in another folder.
pub(super) async fn campaign(
    config: &Config,
    folder: &RunFolder,
    digest: &Digest,
    last_epoch: Epoch,
    (timeouts, job_handle): (StoreTimeouts, &JobHandle),
    interrupted: CancellationToken,
) -> Result<Campaign, InferError> {
    let mut store = open_store(config, folder, digest, timeouts)?;
    let keys = Keys::new(digest);
    let mut waited = false;
    loop {
        match store.campaign(&candidate(), last_epoch).await {
            Ok(leadership) => {
                if waited && record(&store, &keys).await?.is_some_and(|record| record.finished) {
                    store.resign(&leadership).await?;
                    return Ok(Campaign::EndedByAnother);
                }
                let owner = match own(folder, &store).await {
                    Ok(owner) => Arc::new(owner),
                    Err(error) => {
                        store.resign(&leadership).await?;
                        return Err(error);
                    }
                };
                let record = RunRecord { epoch: leadership.epoch, folder: absolute(folder), finished: false };
                if waited {
                    print_status(format!("this master leads now, in epoch {}", leadership.epoch));
                }
                tokio::spawn(with_same_log(tell(store.status())));
                return Ok(Campaign::Won(Box::new(RunTerm { lead: Lead { leadership, owner, record, keys }, store })));
            }
            Err(StoreError::Held { holder }) if store.is_shared() => {
                if let Some((_, other)) = running(&store, &keys).await?.filter(|(_, other)| *other != absolute(folder))
                {
                    return Err(InferError::Elsewhere { holder, folder: other });
                }
                let address = would_listen(config.listen, config.advertise.as_ref());
                let for_whom = format!("{holder} leads this run; from here workers would dial {address}");
                if !waited {
                    let checked = check_authority(&config.authority).await;
                    checked.map_err(|error| InferError::PortsFailed(Box::new(error)))?;
                    print_status(format!("standing by: {for_whom}"));
                }
                waited = true;
                job_handle.stand_by(Some(for_whom));
                tokio::select! {
                    vacant = store.vacancy() => vacant?,
                    () = interrupted.cancelled() => return Ok(Campaign::Interrupted),
                }
                job_handle.stand_by(None);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Takes a run folder while its plan is written, before there is anything that one could lead.
///
/// # Errors
/// Another master has it, or the disk refuses.
pub async fn claim_for_planning(folder: &RunFolder) -> Result<Owner, InferError> {
    let id = StoreId { name: "the plan that it makes".into(), is_shared: false };
    own_as(folder, id).await
}

/// Takes the run folder for the master that leads by `store`.
async fn own(folder: &RunFolder, store: &AnyStore) -> Result<Owner, InferError> {
    own_as(folder, StoreId { name: store.name().await?, is_shared: store.is_shared() }).await
}

async fn own_as(folder: &RunFolder, store: StoreId) -> Result<Owner, InferError> {
    let root = folder.root().to_owned();
    Ok(match blocking(move || Owner::claim(&root, store, host())).await? {
        Claim::Taken(owner) => owner,
        Claim::Doubtful(doubt) => {
            let (holder, seconds) = (doubt.holder(), LEASE.as_secs());
            print_status(format!(
                "{holder} worked on this run and did not end it: waiting {seconds} s for a sign of it"
            ));
            tokio::time::sleep(LEASE).await;
            blocking(move || doubt.resolve()).await?
        }
    })
}

/// Lets a thread wait for the disk that nothing else waits for.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, OwnerError> + Send + 'static,
) -> Result<T, InferError> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|error| InferError::Thread(std::io::Error::other(error)))?;
    done.map_err(|error| LedgerError::from(error).into())
}

/// Returns the name of this master, as others are told it.
pub fn candidate() -> String {
    format!("process {} on {}", std::process::id(), host())
}

/// Returns the address at which workers dial a master that has not opened its ports yet.
pub fn would_listen(listen: SocketAddr, advertise: Option<&Advertised>) -> String {
    let port = advertise.and_then(|advertised| advertised.port).unwrap_or(listen.port());
    let name = match advertise {
        Some(advertised) => advertised.host.clone(),
        None if listen.ip().is_unspecified() => host(),
        None => listen.ip().to_string(),
    };
    if port == 0 { format!("a free port of {name}") } else { format!("{name}:{port}") }
}

/// Says when the store is away, and when it is back.
async fn tell(mut status: watch::Receiver<LeadershipStatus>) {
    let mut away = false;
    while status.changed().await.is_ok() {
        match &*status.borrow_and_update() {
            LeadershipStatus::Waiting { why } if !away => {
                away = true;
                print_status(format!("{why}\nwork goes on meanwhile; results wait until they can be recorded"));
            }
            LeadershipStatus::Sure if away => {
                away = false;
                print_status("the store answers again");
            }
            _ => {}
        }
    }
}

async fn record(store: &AnyStore, keys: &Keys) -> Result<Option<RunRecord>, StoreError> {
    let key = keys.run();
    let found = store.scan(&key, None, 1).await?.into_iter().find(|(found, _)| *found == key);
    let read = |(_, value): (String, Vec<u8>)| RunRecord::parse(&value).ok_or_else(|| store.damaged(Damage::run(&key)));
    found.map(read).transpose()
}

/// Returns the leader and its folder; `None` when no master leads any more, or does not say.
async fn running(store: &AnyStore, keys: &Keys) -> Result<Option<(String, PathBuf)>, StoreError> {
    if store.leader().await?.is_none() {
        return Ok(None);
    }
    let introduced = async {
        // The record of an older leader may name another folder.
        while let Some(leader) = store.leader().await? {
            if let Some(record) = record(store, keys).await?.filter(|record| record.epoch == leader.epoch) {
                return Ok(Some((leader.holder, record.folder)));
            }
            tokio::time::sleep(INTRODUCTION / 50).await;
        }
        Ok(None)
    };
    tokio::time::timeout(INTRODUCTION, introduced).await.unwrap_or(Ok(None))
}

/// The leader of the job of this plan and its run folder, when the store is one that masters share and somebody leads.
///
/// # Errors
/// Those of the store.
pub async fn running_elsewhere(config: &Config, digest: &Digest) -> Result<Option<(String, PathBuf)>, StoreError> {
    let StoreConfig::Etcd(etcd) = &config.store else { return Ok(None) };
    let store = AnyStore::Etcd(Box::new(EtcdStore::open(etcd, digest, StoreTimeouts::default())?));
    running(&store, &Keys::new(digest)).await
}

/// Returns the length of each ledger segment that exists, as far as the store knows. Without an embedded store (lost,
/// on another host, or in use) that is nothing, and scoring believes what checksums prove. `held` is the store of the
/// leader.
///
/// # Errors
/// A shared store does not answer.
pub async fn recorded_lengths(
    config: &Config,
    folder: &RunFolder,
    digest: Digest,
    held: Option<&RunTerm>,
) -> Result<BTreeMap<String, u64>, StoreError> {
    let keys = Keys::new(&digest);
    match (held, &config.store) {
        (Some(term), _) => lengths(&term.store, &keys).await,
        (None, StoreConfig::Embedded) => match EmbeddedStore::open_idle(&config.state_dir, &store_name(folder)) {
            Some(store) => lengths(&store, &keys).await,
            None => Ok(BTreeMap::new()),
        },
        (None, StoreConfig::Etcd(_)) => {
            lengths(&open_store(config, folder, &digest, StoreTimeouts::default())?, &keys).await
        }
    }
}

/// The same for a run beside the one that `term` leads: in a shared store the leader of one reads of all, as patiently as it
/// writes.
pub(super) async fn recorded_lengths_beside(
    config: &Config,
    folder: &RunFolder,
    digest: Digest,
    term: Option<&RunTerm>,
) -> Result<BTreeMap<String, u64>, StoreError> {
    let shared = term.filter(|term| term.store.is_shared());
    recorded_lengths(config, folder, digest, shared).await
}

/// Recorded lengths of ledger segments, by name.
pub(super) async fn lengths(store: &impl CoordinationStore, keys: &Keys) -> Result<BTreeMap<String, u64>, StoreError> {
    let entries = store.scan_all(&keys.segments()).await?;
    let entries = entries.iter().map(|(key, value)| (key, value));
    read_lengths(keys, entries).map_err(|damage| store.damaged(damage))
}

/// Returns what the store tells a new leader of those before it.
pub(super) async fn inherited(store: &impl CoordinationStore, keys: &Keys) -> Result<Opening, StoreError> {
    let mut held = BTreeMap::new();
    for prefix in prefixes(keys) {
        held.extend(store.scan_all(&prefix).await?);
    }
    Opening::observe(keys.clone(), &held).map_err(|damage| store.damaged(damage))
}

impl Lead {
    /// Returns the write that tells others where this leader works.
    ///
    /// # Errors
    /// The record cannot be written down.
    pub(super) fn introduction(&self) -> Result<Op, StoreError> {
        Ok(Op::Put { key: self.keys.run(), value: self.record.to_bytes()? })
    }

    /// The name of the run.
    pub(super) fn run_name(&self) -> String {
        self.record.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The term, once the store is back.
    pub(crate) fn term(self, store: AnyStore) -> RunTerm {
        RunTerm { lead: self, store }
    }
}

impl RunTerm {
    /// The store, and the rest.
    pub(crate) fn part(self) -> (Lead, AnyStore) {
        (self.lead, self.store)
    }

    /// Lets a master that stands by go on with the run.
    pub async fn hand_over(mut self) {
        // The lease ends by itself where this fails.
        if let Err(error) = self.store.resign(&self.lead.leadership).await {
            tracing::debug!(%error, "could not give the lead back");
        }
    }

    /// The run is over, its table written: masters that stand by have nothing left to do, and a store that is this run's
    /// alone is needed no more.
    ///
    /// # Errors
    /// The lead was lost meanwhile, or the store fails.
    pub async fn conclude(mut self) -> Result<(), StoreError> {
        self.lead.record.finished = true;
        let ops = vec![self.lead.introduction()?];
        self.store.commit(&self.lead.leadership, ops).await?;
        if self.store.is_shared() {
            self.hand_over().await;
            return Ok(());
        }
        let lengths = lengths(&self.store, &self.lead.keys).await?;
        let (folder, epoch) = (self.lead.record.folder.join("ledger"), self.lead.leadership.epoch);
        let sealed = block_in_place(|| {
            // Of segments of runs before, which no store knows any more, it said more than checksums do.
            let before = Seal::read(&folder)?.lengths;
            Seal { epoch, lengths: before.into_iter().chain(lengths).collect() }.write(&folder)
        });
        match sealed {
            Ok(()) => self.store.discard(),
            // The store goes on saying what there is.
            Err(error) => tracing::debug!(%error, "the ledger of a run that is over could not be sealed"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_store::{Op, SimWorld, StoreTimeouts};

    #[tokio::test]
    async fn a_key_that_cannot_be_read_is_an_error_and_not_a_key_that_is_not_there() {
        let (plan, world) = (Digest::of(b"plan"), SimWorld::default());
        let keys = Keys::new(&plan);
        let mut store = world.open("compass", &plan, StoreTimeouts::default());
        let lead = store.campaign("m", Epoch(0)).await.unwrap();
        let spoiled = [
            keys.segment("00000001-m"),
            keys.assignment_page(Epoch(1), 3),
            format!("{}of another layout", keys.assignments()),
            keys.released(),
        ];
        for key in spoiled {
            store.commit(&lead, vec![Op::Put { key: key.clone(), value: b"\x01 garbage".to_vec() }]).await.unwrap();
            let said = inherited(&store, &keys).await.unwrap_err().to_string();
            assert!(said.contains(&format!("remove it: etcdctl del compass/{key} (")), "{said}");
            let of_lengths = lengths(&store, &keys).await.err().map(|error| error.to_string());
            assert_eq!(of_lengths, key.starts_with(&keys.segments()).then_some(said));
            store.commit(&lead, vec![Op::Delete { key }]).await.unwrap();
        }
        inherited(&store, &keys).await.unwrap();
        lengths(&store, &keys).await.unwrap();
    }
}
