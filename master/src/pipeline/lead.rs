//! Taking the lead of a run, and standing by while another master has it.

use super::folder::RunFolder;
use super::infer::InferError;
use crate::screen::{alike, say};
use crate::stop::raised;
use crate::store::{
    AnyStore, EmbeddedStore, EtcdStore, Keys, Leadership, LeaseStore, Op, Patience, RunRecord, Standing, StoreError,
};
use compass_common::config::{Config, StoreConfig};
use compass_common::ids::{Digest, Epoch};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::watch;

/// How long a new leader may take to say where it works.
const INTRODUCTION: Duration = Duration::from_secs(5);

/// The lead of one run, from the campaign until it is given back.
#[derive(Debug)]
pub struct Reign {
    lead: Lead,
    store: AnyStore,
}

/// A reign without its store, which the committer holds meanwhile.
#[derive(Debug)]
pub(super) struct Lead {
    pub(super) leadership: Leadership,
    record: RunRecord,
    keys: Keys,
}

/// What became of the wish to lead.
#[derive(Debug)]
pub(super) enum Campaign {
    Won(Box<Reign>),
    /// Another master brought the run to its end while this one stood by.
    EndedByAnother,
    /// A signal asked to stop.
    Interrupted,
}

/// Opens the store that the configuration names, for the run in `folder` of the plan `digest`.
pub(super) fn open_store(config: &Config, folder: &RunFolder, digest: &Digest) -> Result<AnyStore, StoreError> {
    Ok(match &config.store {
        StoreConfig::Embedded => {
            AnyStore::Embedded(Box::new(EmbeddedStore::open(&config.state_dir, &store_name(folder))?))
        }
        StoreConfig::Etcd(etcd) => AnyStore::Etcd(Box::new(EtcdStore::open(etcd, digest, Patience::default())?)),
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

/// Leads the run in `folder` as soon as nobody else does. `last_epoch` is the highest that the ledger knows.
///
/// # Errors
/// The store fails, or the leader works in another folder.
pub(super) async fn campaign(
    config: &Config,
    folder: &RunFolder,
    digest: &Digest,
    last_epoch: Epoch,
    mut interrupted: watch::Receiver<bool>,
) -> Result<Campaign, InferError> {
    let mut store = open_store(config, folder, digest)?;
    let keys = Keys::new(digest);
    let mut waited = false;
    loop {
        match store.campaign(&candidate(), last_epoch).await {
            Ok(leadership) => {
                if waited && record(&store, &keys).await?.is_some_and(|record| record.finished) {
                    store.resign(&leadership).await?;
                    return Ok(Campaign::EndedByAnother);
                }
                let record = RunRecord { epoch: leadership.epoch, folder: absolute(folder), finished: false };
                if waited {
                    say(format!("this master leads now, in epoch {}", leadership.epoch));
                }
                tokio::spawn(alike(tell(store.standing())));
                return Ok(Campaign::Won(Box::new(Reign { lead: Lead { leadership, record, keys }, store })));
            }
            Err(StoreError::Held { holder }) if store.is_shared() => {
                if let Some((_, other)) = running(&store, &keys).await?.filter(|(_, other)| *other != absolute(folder))
                {
                    return Err(InferError::Elsewhere { holder, folder: other });
                }
                if !waited {
                    say(format!("standing by: {holder} leads this run"));
                }
                waited = true;
                tokio::select! {
                    vacant = store.vacancy() => vacant?,
                    () = raised(&mut interrupted) => return Ok(Campaign::Interrupted),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// How this master is called to others.
pub fn candidate() -> String {
    format!("process {} on {}", std::process::id(), host())
}

/// The name of this host.
pub(super) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Says when the store is away, and when it is back.
async fn tell(mut standing: watch::Receiver<Standing>) {
    let mut away = false;
    while standing.changed().await.is_ok() {
        match &*standing.borrow_and_update() {
            Standing::Waiting { why } if !away => {
                away = true;
                say(format!("{why}\nwork goes on meanwhile; results wait until they can be recorded"));
            }
            Standing::Sure if away => {
                away = false;
                say("the store answers again");
            }
            _ => {}
        }
    }
}

async fn record(store: &AnyStore, keys: &Keys) -> Result<Option<RunRecord>, StoreError> {
    let found = store.scan(&keys.run(), None, 1).await?;
    Ok(found.first().and_then(|(_, value)| RunRecord::parse(value)))
}

/// Who leads, and in which folder; `None` when nobody does any more, or does not say.
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
    let store = AnyStore::Etcd(Box::new(EtcdStore::open(etcd, digest, Patience::default())?));
    running(&store, &Keys::new(digest)).await
}

/// How much of each ledger segment exists, as far as the store knows. Without an embedded store (lost, on another host, or
/// in use) that is nothing, and scoring believes what checksums prove. `held` is the store of whoever leads.
///
/// # Errors
/// A shared store does not answer.
pub async fn recorded_lengths(
    config: &Config,
    folder: &RunFolder,
    digest: Digest,
    held: Option<&Reign>,
) -> Result<BTreeMap<String, u64>, StoreError> {
    let keys = Keys::new(&digest);
    match (held, &config.store) {
        (Some(reign), _) => lengths(&reign.store, &keys).await,
        (None, StoreConfig::Embedded) => match EmbeddedStore::open_idle(&config.state_dir, &store_name(folder)) {
            Some(store) => Ok(lengths(&store, &keys).await.unwrap_or_default()),
            None => Ok(BTreeMap::new()),
        },
        (None, StoreConfig::Etcd(_)) => lengths(&open_store(config, folder, &digest)?, &keys).await,
    }
}

/// Recorded lengths of ledger segments, by name.
pub(super) async fn lengths(store: &impl LeaseStore, keys: &Keys) -> Result<BTreeMap<String, u64>, StoreError> {
    let prefix = keys.segments();
    let entries = store.scan_all(&prefix).await?.into_iter().filter_map(|(key, value)| {
        Some((key.strip_prefix(&prefix)?.to_owned(), u64::from_le_bytes(value.try_into().ok()?)))
    });
    Ok(entries.collect())
}

impl Lead {
    /// What tells others where this leader works.
    pub(super) fn introduction(&self) -> Op {
        Op::Put { key: self.keys.run(), value: self.record.to_bytes() }
    }

    /// The name of the run.
    pub(super) fn run_name(&self) -> String {
        self.record.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The reign, once the store is back.
    pub(super) fn reign(self, store: AnyStore) -> Reign {
        Reign { lead: self, store }
    }
}

impl Reign {
    /// The store, and the rest.
    pub(super) fn part(self) -> (Lead, AnyStore) {
        (self.lead, self.store)
    }

    /// Lets a master that stands by go on with the run.
    pub async fn hand_over(mut self) {
        // The lease ends by itself where this fails.
        if let Err(error) = self.store.resign(&self.lead.leadership).await {
            tracing::debug!(%error, "could not give the lead back");
        }
    }

    /// The run is over, its table written: masters that stand by have nothing left to do.
    ///
    /// # Errors
    /// The lead was lost meanwhile, or the store fails.
    pub async fn conclude(mut self) -> Result<(), StoreError> {
        self.lead.record.finished = true;
        let ops = vec![self.lead.introduction()];
        self.store.commit(&self.lead.leadership, ops).await?;
        self.hand_over().await;
        Ok(())
    }
}
