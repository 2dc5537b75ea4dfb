//! The addresses of the servers that share a store, in that store: one that leads tells its workers of those that stand by,
//! so that they find the next leader. Nothing is removed but the oldest: an address that is gone costs a worker one try.

use compass_settings::StoreConfig;
use compass_store::{SharedValue, StoreError};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::sync::watch;

/// The value's name in the store.
const NAME: &str = "servers";
/// Addresses that are kept, the latest first.
const MOST: usize = 8;
/// Interval at which a leader reads the list of standby servers: workers launched sooner do not know a new one.
const LOOK: Duration = Duration::from_secs(1);

/// Servers of one store.
#[derive(Debug)]
pub(super) struct Peers {
    /// None where the store is one server's own.
    value: Option<SharedValue>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    /// Grows with every change, so that no value comes twice.
    edition: u64,
    addresses: Vec<String>,
}

impl Known {
    /// With an address in front.
    fn with(&self, address: &str) -> Self {
        let others = self.addresses.iter().filter(|other| *other != address).cloned();
        let addresses = std::iter::once(address.to_owned()).chain(others).take(MOST).collect();
        Self { edition: self.edition + 1, addresses }
    }
}

impl Peers {
    /// The servers of a store. Nothing is sent yet.
    ///
    /// # Errors
    /// A file with a secret of the store cannot be read.
    pub(crate) fn of(store: &StoreConfig) -> Result<Self, StoreError> {
        let value = match store {
            StoreConfig::Embedded => None,
            StoreConfig::Etcd(etcd) => Some(SharedValue::in_etcd(etcd, NAME)?),
        };
        Ok(Self { value })
    }

    /// Notes where workers dial this server, or will once it leads: a port that is not chosen yet is not known.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn join(&self, address: &str) -> Result<(), StoreError> {
        let Some(value) = self.value.as_ref().filter(|_| is_address(address)) else { return Ok(()) };
        loop {
            let found = value.load().await?;
            let known = read(found.as_deref());
            if known.addresses.first().is_some_and(|first| first == address) {
                return Ok(());
            }
            let json = compass_common::encode::json("the addresses of the servers", &known.with(address))?;
            // Another server may come at the same moment.
            if value.swap(found.as_deref(), &json).await? {
                return Ok(());
            }
        }
    }

    /// The others' addresses, as they are known from time to time as long as somebody asks for them. A store that does not
    /// answer leaves them as they were.
    pub(super) async fn known_beside(self, own: &str) -> watch::Receiver<Vec<String>> {
        let (tell, told) = watch::channel(Vec::new());
        let Some(value) = self.value else { return told };
        let own = own.to_owned();
        look(&value, &own, &tell).await;
        tokio::spawn(async move {
            while !tell.is_closed() {
                tokio::time::sleep(LOOK).await;
                look(&value, &own, &tell).await;
            }
        });
        told
    }
}

async fn look(value: &SharedValue, own: &str, tell: &watch::Sender<Vec<String>>) {
    match value.load().await {
        Ok(found) => {
            let mut addresses = read(found.as_deref()).addresses;
            addresses.retain(|address| address != own);
            tell.send_if_modified(|known| std::mem::replace(known, addresses.clone()) != addresses);
        }
        Err(error) => tracing::debug!(%error, "cannot look for servers that stand by"),
    }
}

fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !host.contains([' ', ',']) && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

/// Returns the contents of a value; empty where it is another version's.
fn read(value: Option<&[u8]>) -> Known {
    value.and_then(|value| serde_json::from_slice(value).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(folder: &std::path::Path) -> Peers {
        Peers { value: Some(SharedValue::in_folder(folder, NAME)) }
    }

    #[tokio::test]
    async fn a_leader_knows_who_stands_by() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        assert_eq!(*peers(at).known_beside("h1:1").await.borrow(), Vec::<String>::new());
        for address in ["h1:1", "h2:1", "h2:1", "a free port of h3", "h3:0"] {
            peers(at).join(address).await.unwrap();
        }
        assert_eq!(*peers(at).known_beside("h1:1").await.borrow(), ["h2:1"]);
        assert_eq!(*peers(at).known_beside("h2:1").await.borrow(), ["h1:1"]);
        for port in 1..20 {
            peers(at).join(&format!("h4:{port}")).await.unwrap();
        }
        assert_eq!(peers(at).known_beside("h1:1").await.borrow().len(), MOST);
        let own = Peers::of(&StoreConfig::Embedded).unwrap();
        own.join("h1:1").await.unwrap();
        assert_eq!(*own.known_beside("h2:1").await.borrow(), Vec::<String>::new());
    }
}
