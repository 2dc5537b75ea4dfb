//! From configuration to a store: secrets read, encryption set up, the keeper started.

use super::backend::{EtcdBackend, EtcdStore};
use super::keeper;
use super::pool::Pool;
use super::runtime::clients;
use crate::Keys;
use crate::error::StoreError;
use crate::fenced::{FencedStore, StoreTimeouts};
use crate::shared_term::SharedTerm;
use compass_common::private_file::{self, PrivateFileError};
use compass_common::regular_file;
use compass_settings::EtcdConfig;
use compass_types::ids::Digest;
use etcd_client::{Certificate, ConnectOptions, Identity, TlsOptions};
use std::path::Path;
use tokio::sync::watch;

impl EtcdStore {
    /// A store for the job of this plan. Nothing is sent yet.
    ///
    /// # Errors
    /// A file with a secret cannot be read.
    pub fn open(config: &EtcdConfig, job: &Digest, timeouts: StoreTimeouts) -> Result<Self, StoreError> {
        Self::open_at(config, &Keys::place(job), timeouts)
    }

    /// A store with a lead of its own at `place` below the prefix of the configuration. Nothing is sent yet.
    ///
    /// # Errors
    /// A file with a secret cannot be read.
    pub fn open_at(config: &EtcdConfig, place: &str, timeouts: StoreTimeouts) -> Result<Self, StoreError> {
        let timeouts = StoreTimeouts { lease: config.lease.unwrap_or(timeouts.lease), ..timeouts };
        let (backend, spare) = (EtcdBackend::open(config)?, EtcdBackend::open(config)?);
        let shared = SharedTerm::new();
        let (alive, watched) = watch::channel(());
        keeper::start(spare, shared.clone(), timeouts.lease, watched)?;
        Ok(FencedStore::over(backend, &config.prefix, place, timeouts, shared, alive))
    }
}

impl EtcdBackend {
    /// Clients for every member. Nothing is sent yet.
    ///
    /// # Errors
    /// A file with a secret cannot be read.
    pub(crate) fn open(config: &EtcdConfig) -> Result<Self, StoreError> {
        let scheme = if config.ca.is_some() { "https" } else { "http" };
        let runtime = clients().map_err(StoreError::Thread)?;
        Ok(Self::over(Pool::new(&config.endpoints, scheme, options(config)?, runtime)))
    }
}

fn options(config: &EtcdConfig) -> Result<ConnectOptions, StoreError> {
    let mut options = ConnectOptions::new();
    if let (Some(user), Some(path)) = (&config.user, &config.password_file) {
        let password =
            String::from_utf8_lossy(&secret("password_file", path)?).trim_end_matches(['\r', '\n']).to_owned();
        options = options.with_user(user, password);
    }
    if let Some(path) = &config.ca {
        let mut tls = TlsOptions::new().ca_certificate(Certificate::from_pem(secret("ca", path)?));
        if let (Some(cert), Some(key)) = (&config.cert, &config.key) {
            tls = tls.identity(Identity::from_pem(secret("cert", cert)?, secret("key", key)?));
        }
        options = options.with_tls(tls);
    }
    Ok(options)
}

fn secret(key: &'static str, path: &Path) -> Result<Vec<u8>, StoreError> {
    // Certificates are public.
    let is_public = matches!(key, "ca" | "cert");
    let read = if is_public {
        regular_file::read(path, regular_file::SMALL)
    } else {
        private_file::read(path).map_err(PrivateFileError::into_io)
    };
    read.map_err(|source| StoreError::Secret { key, path: path.to_owned(), source })
}
