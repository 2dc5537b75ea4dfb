//! The memory of a server that stays: every job that it accepted, and how each ended. With an embedded store it alone has it
//! open; in etcd several servers may share it, of which one leads and the others stand by.

use super::peers::Peers;
use super::status_file::StatusFile;
use compass_cli::exit;
use compass_common::encode;
use compass_common::status_output::print_timed;
use compass_diagnostic::Diagnostic;
use compass_jobs::control::announce_standby;
use compass_jobs::{Failure, JobRecord};
use compass_run_folder::RunFolder;
use compass_scheduler::broker::JobId;
use compass_settings::{Base, EtcdConfig, StoreConfig};
use compass_store::{
    AnyStore, CoordinationStore, EmbeddedStore, EtcdStore, Leadership, LeadershipStatus, Op, StoreError, StoreTimeouts,
};
use compass_types::ids::Epoch;
use std::collections::BTreeSet;
use std::path::Path;
use tokio::sync::watch;

/// Jobs that have ended are remembered, so many of them.
pub(super) const ENDED: usize = 100;

/// Every job that the server has accepted, and how each ended.
#[derive(Debug)]
pub(super) struct Book {
    store: AnyStore,
    leadership: Leadership,
    /// Set if this server stood by until another was gone.
    pub(super) took_over: bool,
}

impl Book {
    /// Opens the store as `holder`, once no other server leads where servers share it; `None` when `interrupted` came first. Until
    /// then `status_file` says that this server stands by.
    ///
    /// # Errors
    /// Another server has it and it is not shared, it cannot be opened, or this host could not go on with its jobs.
    pub(crate) async fn open(
        base: &Base,
        holder: &str,
        status_file: Option<&Path>,
        interrupted: &mut watch::Receiver<Option<u8>>,
    ) -> Result<Option<Self>, Failure> {
        match &base.store {
            StoreConfig::Embedded => Self::open_embedded(&base.state_dir, holder).await.map(Some),
            StoreConfig::Etcd(etcd) => Self::open_shared((base, etcd), holder, status_file, interrupted).await,
        }
    }

    async fn open_embedded(state_dir: &Path, holder: &str) -> Result<Self, Failure> {
        let opened = EmbeddedStore::open(state_dir, JobRecord::PLACE).map_err(|error| match error {
            StoreError::Held { holder } => {
                let message = format!("a server works in {} already: {holder}", state_dir.display());
                let help = "submit jobs to it, or give this one another `state_dir` in [master]; with `store = \
                            \"etcd://...\"` a second one stands by";
                Failure::new(exit::INFRASTRUCTURE, Diagnostic::error(message).with_help(help))
            }
            error => Failure::of_store(&error),
        });
        let mut store = AnyStore::Embedded(Box::new(opened?));
        let leadership = store.campaign(holder, Epoch(0)).await.map_err(|error| Failure::of_store(&error))?;
        Ok(Self { store, leadership, took_over: false })
    }

    async fn open_shared(
        (base, etcd): (&Base, &EtcdConfig),
        holder: &str,
        status_file: Option<&Path>,
        interrupted: &mut watch::Receiver<Option<u8>>,
    ) -> Result<Option<Self>, Failure> {
        let failed = |error: StoreError| Failure::of_store(&error);
        let store = EtcdStore::open_at(etcd, JobRecord::PLACE, StoreTimeouts::default()).map_err(failed)?;
        let mut store = AnyStore::Etcd(Box::new(store));
        let mut took_over = false;
        loop {
            match store.campaign(holder, Epoch(0)).await {
                Ok(leadership) => {
                    if took_over {
                        print_timed(format!("this server leads now, in epoch {}", leadership.epoch));
                    }
                    return Ok(Some(Self { store, leadership, took_over }));
                }
                Err(StoreError::Held { holder }) => {
                    if !took_over {
                        let jobs = read(&store).await.map_err(failed)?;
                        let unseen = jobs.iter().find(|(_, job)| job.ended.is_none() && !is_seen(job));
                        if let Some((_, job)) = unseen {
                            return Err(Failure::bad_input(unseen_by_standby(&holder, job)));
                        }
                    }
                    let address = compass_run::would_listen(base.listen, base.advertise.as_ref());
                    let for_whom = format!("{holder} serves; from here workers would dial {address}");
                    if !took_over {
                        let checked = compass_run::check_authority(&base.authority).await;
                        checked.map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
                        print_timed(format!("standing by: {for_whom}"));
                        // The one that leads tells its workers of this one.
                        let joined = Peers::of(&base.store).map_err(failed)?.join(&address).await;
                        joined.map_err(failed)?;
                    }
                    took_over = true;
                    // Until this server leads, or a third one does.
                    let _told = status_file.map(|path| StatusFile::standing_by(path, for_whom.clone()));
                    let _announced = announce_standby(&base.state_dir, for_whom);
                    tokio::select! {
                        vacant = store.vacancy() => vacant.map_err(failed)?,
                        _ = interrupted.wait_for(Option::is_some) => return Ok(None),
                    }
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Returns whether other servers may stand by.
    pub(crate) fn is_shared(&self) -> bool {
        self.store.is_shared()
    }

    /// Tells when another server leads.
    pub(crate) fn status(&self) -> watch::Receiver<LeadershipStatus> {
        self.store.status()
    }

    /// Lets a server that stands by go on with the jobs.
    pub(super) async fn hand_over(&mut self) {
        // The lease ends by itself where this fails.
        if let Err(error) = self.store.resign(&self.leadership).await {
            tracing::debug!(%error, "could not give the lead back");
        }
    }

    /// All jobs in the order in which they were accepted; of those that have ended only the [`ENDED`] that ended last.
    pub(crate) async fn all(&mut self) -> Result<Vec<JobRecord>, StoreError> {
        let jobs = read(&self.store).await?;
        let mut ended: Vec<(&str, &str)> =
            jobs.iter().filter_map(|(key, job)| Some((job.ended.as_ref()?.at.as_str(), key.as_str()))).collect();
        // Of those that ended in the same second the later accepted: `jobs` is in that order, and the sort is stable.
        ended.sort_by_key(|(at, _)| *at);
        ended.truncate(ended.len().saturating_sub(ENDED));
        let surplus: BTreeSet<String> = ended.into_iter().map(|(_, key)| key.to_owned()).collect();
        let (forgotten, kept): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|(key, _)| surplus.contains(key));
        let forgotten: Vec<Op> = forgotten.into_iter().map(|(key, _)| Op::Delete { key }).collect();
        for ops in forgotten.chunks(ENDED) {
            self.store.commit(&self.leadership, ops.to_vec()).await?;
        }
        Ok(kept.into_iter().map(|(_, job)| job).collect())
    }

    /// Forgets jobs for good.
    pub(crate) async fn forget(&mut self, jobs: &[JobId]) -> Result<(), StoreError> {
        for jobs in jobs.chunks(ENDED) {
            let ops = jobs.iter().map(|id| Op::Delete { key: JobRecord::key(id) }).collect();
            self.store.commit(&self.leadership, ops).await?;
        }
        Ok(())
    }

    /// Makes a job, or what has become of it, durable.
    pub(crate) async fn keep(&mut self, job: &JobRecord) -> Result<(), StoreError> {
        let id = JobId::of(&job.plan);
        let value = encode::json(&format!("the record of job {id}"), job)?;
        let key = JobRecord::key(&id);
        self.store.commit(&self.leadership, vec![Op::Put { key, value }]).await
    }
}

/// Returns whether this host sees the run folder.
pub(super) fn is_seen(job: &JobRecord) -> bool {
    RunFolder::at(&job.folder).is_some()
}

fn unseen_by_standby(holder: &str, job: &JobRecord) -> Diagnostic {
    Diagnostic::error(format!(
        "{holder} serves, and this host does not see the run folder of its job {}: {}",
        JobId::of(&job.plan),
        job.folder.display()
    ))
    .with_help(
        "servers of one store share the disk that their jobs' work_dir is on; one with jobs of its own needs another \
         prefix behind the members in `store`",
    )
}

/// Returns the records of a store with their keys, in the order in which the jobs were accepted.
async fn read(store: &AnyStore) -> Result<Vec<(String, JobRecord)>, StoreError> {
    let mut jobs: Vec<(String, JobRecord)> = Vec::new();
    for (key, bytes) in store.scan_all(JobRecord::KEYS).await? {
        match serde_json::from_slice(&bytes) {
            Ok(job) => jobs.push((key, job)),
            Err(error) => tracing::warn!(key, %error, "a job of another version is left alone"),
        }
    }
    jobs.sort_by(|(_, a), (_, b)| a.submitted.cmp(&b.submitted));
    Ok(jobs)
}
