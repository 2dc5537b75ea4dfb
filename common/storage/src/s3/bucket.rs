//! Requests to one bucket.

use super::endpoint::Endpoint;
use super::fault;
use crate::cache::RangeReader;
use crate::fault::{FaultKind, StorageFault};
use crate::http::HttpStack;
use crate::location::S3Location;
use crate::mark::{Listing, ObjectMark};
use async_trait::async_trait;
use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::list::{PaginatedListOptions, PaginatedListStore as _};
use object_store::path::Path;
use object_store::{BackoffConfig, GetOptions, ObjectStore as _, ObjectStoreExt as _, RetryConfig};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Retries of a question that a person waits for.
const FEW_RETRIES: usize = 3;
/// Retries of a read in a long transfer: a store that throttles needs many.
const MANY_RETRIES: usize = 10;
const LONGEST_RETRIES: Duration = Duration::from_secs(3 * 60);
/// Objects of a location at most, and pages on which a store may list them; one has up to 1,000.
const MOST_OBJECTS: usize = 100_000;
const MOST_PAGES: usize = 1_000;

/// A bucket at an endpoint.
#[derive(Clone)]
pub(crate) struct Bucket {
    endpoint: Arc<Endpoint>,
    name: String,
    /// For listings.
    quick: Arc<AmazonS3>,
    /// For transfers.
    patient: Arc<AmazonS3>,
}

impl std::fmt::Debug for Bucket {
    /// Without the clients, which hold the keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bucket").field("endpoint", &self.endpoint).field("name", &self.name).finish_non_exhaustive()
    }
}

impl Bucket {
    pub(crate) fn new(endpoint: Endpoint, name: &str, http: &HttpStack) -> Result<Self, StorageFault> {
        let store = |retries| {
            let mut builder = AmazonS3Builder::new()
                .with_http_connector(http.clone())
                .with_bucket_name(name)
                .with_region(&endpoint.region)
                .with_allow_http(true)
                .with_retry(RetryConfig {
                    backoff: BackoffConfig { init_backoff: Duration::from_millis(100), ..BackoffConfig::default() },
                    max_retries: retries,
                    retry_timeout: LONGEST_RETRIES,
                });
            // Stores of one's own know no bucket by a name of its own in DNS; AWS does.
            builder = match &endpoint.url {
                Some(url) => builder.with_endpoint(url).with_virtual_hosted_style_request(false),
                None => builder.with_virtual_hosted_style_request(!name.contains(['.', '_'])),
            };
            builder = match &endpoint.keys {
                Some(keys) => {
                    builder = builder.with_access_key_id(&keys.access).with_secret_access_key(&keys.secret);
                    if let Some(session) = &keys.session { builder.with_token(session) } else { builder }
                }
                None => builder.with_skip_signature(true),
            };
            builder.build().map(Arc::new).map_err(|error| fault::of(&endpoint, name, "", &error))
        };
        let (quick, patient) = (store(FEW_RETRIES)?, store(MANY_RETRIES)?);
        Ok(Self { name: name.to_owned(), quick, patient, endpoint: Arc::new(endpoint) })
    }

    /// Names what is asked here, for the cache: two profiles of one store have one copy.
    pub(crate) fn identity(&self) -> String {
        format!("s3 {} {}", self.endpoint.shown(), self.name)
    }

    fn path(&self, key: &str) -> Result<Path, StorageFault> {
        Path::parse(key).map_err(|_| {
            let message = format!("the key `{key}` in bucket `{}` has a name that cannot be asked for", self.name);
            StorageFault::new(FaultKind::Configuration, message, "rename the object")
        })
    }

    fn fault(&self, what: &str, error: &object_store::Error) -> StorageFault {
        fault::of(&self.endpoint, &self.name, what, error)
    }

    /// Every object below the location, by its name there.
    ///
    /// # Errors
    /// The store refuses, nothing lies there, or the listing has no end.
    pub(crate) async fn list(&self, location: &S3Location) -> Result<Listing, StorageFault> {
        let prefix = self.path(&location.prefix)?;
        let folder = (!prefix.as_ref().is_empty()).then(|| format!("{prefix}/"));
        let endless = |reason: String| fault::endless(&self.endpoint, &self.name, &location.prefix, &reason);
        let (mut listing, mut tokens) = (Listing::default(), BTreeSet::new());
        let mut page_token = None;
        loop {
            let options = PaginatedListOptions { page_token, ..PaginatedListOptions::default() };
            let page = self.quick.list_paginated(folder.as_deref(), options).await;
            let page = page.map_err(|error| self.fault(&location.prefix, &error))?;
            for object in page.result.objects {
                let key = object.location.as_ref();
                let Some(name) = key.strip_prefix(prefix.as_ref()).map(|name| name.trim_start_matches('/')) else {
                    continue;
                };
                listing.files.insert(name.to_owned(), ObjectMark { bytes: object.size, etag: object.e_tag });
            }
            if listing.files.len() > MOST_OBJECTS {
                return Err(endless(format!("there are more than {MOST_OBJECTS} objects")));
            }
            let Some(next) = page.page_token else { break };
            if !tokens.insert(next.clone()) {
                return Err(endless("the store gives the same page again and again".into()));
            }
            if tokens.len() >= MOST_PAGES {
                return Err(endless(format!("the listing has more than {MOST_PAGES} pages")));
            }
            page_token = Some(next);
        }
        if listing.files.is_empty() {
            let missing = object_store::Error::NotFound { path: location.prefix.clone(), source: "nothing".into() };
            return Err(self.fault(&location.prefix, &missing));
        }
        Ok(listing)
    }

    /// One object.
    pub(crate) async fn head(&self, key: &str) -> Result<ObjectMark, StorageFault> {
        let found = self.quick.head(&self.path(key)?).await.map_err(|error| self.fault(key, &error))?;
        Ok(ObjectMark { bytes: found.size, etag: found.e_tag })
    }

    /// Reads of one object.
    pub(crate) fn object(&self, key: String, mark: ObjectMark) -> Result<S3Object, StorageFault> {
        Ok(S3Object { path: self.path(&key)?, bucket: self.clone(), key, mark })
    }
}

/// One object in a bucket, as the listing told of it.
pub(crate) struct S3Object {
    bucket: Bucket,
    key: String,
    path: Path,
    mark: ObjectMark,
}

#[async_trait]
impl RangeReader for S3Object {
    async fn read(&self, range: Range<u64>) -> Result<Bytes, StorageFault> {
        let asked = range.end - range.start;
        let options =
            GetOptions { range: Some(range.into()), if_match: self.mark.etag.clone(), ..GetOptions::default() };
        let failed = |error: object_store::Error| self.bucket.fault(&self.key, &error);
        let result = self.bucket.patient.get_opts(&self.path, options).await.map_err(failed)?;
        let is_same = result.meta.size == self.mark.bytes
            && (self.mark.etag.is_none() || result.meta.e_tag.is_none() || result.meta.e_tag == self.mark.etag);
        if !is_same {
            return Err(fault::changed(&self.bucket.endpoint, &self.bucket.name, &self.key));
        }
        let bytes = result.bytes().await.map_err(failed)?;
        if bytes.len() as u64 != asked {
            let (got, key) = (bytes.len(), &self.key);
            return Err(StorageFault::new(
                FaultKind::Unavailable,
                format!("`{key}` in bucket `{}` came short: {got} of {asked} bytes", self.bucket.name),
                "try again; what was fetched so far is kept",
            ));
        }
        Ok(bytes)
    }
}
