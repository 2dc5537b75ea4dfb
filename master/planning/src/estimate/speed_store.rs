//! The store of learnt speeds: the folder `speeds` in the state folder, or keys below `speeds/` in etcd, where every master and
//! every server of that store reads and adds to the same records.

use super::learned::{Learned, record_name};
use compass_plan::{ModelPlan, Plan};
use compass_progress::RunFacts;
use compass_settings::{EtcdConfig, StoreConfig};
use compass_store::{SharedValue, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The folder of the records, and what their keys begin with.
const PLACE: &str = "speeds";
/// Most attempts to change a record that other masters change meanwhile.
const TRIES: u32 = 16;

/// Records of speeds by name.
#[derive(Clone, Debug)]
pub enum SpeedStore {
    Folder(PathBuf),
    Etcd(Box<EtcdConfig>),
}

/// Speeds of the architectures of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Speeds(BTreeMap<String, Learned>);

impl SpeedStore {
    /// The speeds of the masters that share `store`. Nothing is read yet.
    pub fn of(store: &StoreConfig, state_dir: &Path) -> Self {
        match store {
            StoreConfig::Embedded => Self::Folder(state_dir.join(PLACE)),
            StoreConfig::Etcd(etcd) => Self::Etcd(Box::new(etcd.clone())),
        }
    }

    fn value(&self, name: &str) -> Result<SharedValue, StoreError> {
        match self {
            Self::Folder(folder) => Ok(SharedValue::in_folder(folder, name)),
            Self::Etcd(etcd) => SharedValue::in_etcd(etcd, &format!("{PLACE}/{name}")),
        }
    }

    /// A record; `None` where nothing is known yet.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match self {
            // Reading makes no folder, and leaves this one for no other.
            Self::Folder(folder) if name.contains('/') || !folder.is_dir() => Ok(None),
            _ => self.value(name)?.load().await,
        }
    }

    /// Replaces a record by what `changed` makes of it; `None` leaves it as it is.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn change(
        &self,
        name: &str,
        changed: impl Fn(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<(), StoreError> {
        let value = self.value(name)?;
        for _ in 0..TRIES {
            let found = value.load().await?;
            let Some(new) = changed(found.as_deref()) else { return Ok(()) };
            if value.swap(found.as_deref(), &new).await? {
                return Ok(());
            }
        }
        tracing::warn!(name, "other masters change this record of speeds all the time: this run is not in it");
        Ok(())
    }

    /// The records of a plan's architectures.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn speeds(&self, plan: &Plan) -> Result<Speeds, StoreError> {
        let mut records = BTreeMap::new();
        for name in record_names(plan) {
            let record = self.read(&name).await?;
            records.extend(record.map(|record| (name, record)));
        }
        Ok(Speeds::of(records))
    }
}

/// The names of the records of a plan's architectures.
pub fn record_names(plan: &Plan) -> BTreeSet<String> {
    plan.models.iter().map(record_name).collect()
}

impl Speeds {
    /// Decodes records by name, as a store keeps them.
    pub fn of(records: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        Self(records.into_iter().map(|(name, record)| (name, Learned::decode(Some(&record)))).collect())
    }

    /// Speeds of a model's architecture; nothing where none are known.
    pub(super) fn of_model(&self, model: &ModelPlan) -> Learned {
        self.0.get(&record_name(model)).cloned().unwrap_or_default()
    }
}

/// Remembers what a run took: of models that one kind of device computed.
///
/// # Errors
/// Those of the store.
pub async fn learn(store: &SpeedStore, plan: &Plan, facts: &RunFacts) -> Result<(), StoreError> {
    let now = jiff::Timestamp::now().as_second();
    for (at, model) in plan.models() {
        let devices = facts.devices.get(&model.abbr);
        let Some(device) = devices.filter(|devices| devices.len() == 1).and_then(|devices| devices.first()) else {
            continue;
        };
        let changed = |record: Option<&[u8]>| {
            let mut learned = Learned::decode(record);
            learned.add(plan, at, device, facts, now).then(|| learned.encode())
        };
        store.change(&record_name(model), changed).await?;
    }
    Ok(())
}
