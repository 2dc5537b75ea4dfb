//! Source that a transfer reads from.

use crate::fault::StorageFault;
use async_trait::async_trait;
use bytes::Bytes;
use std::ops::Range;

/// A file elsewhere, of which ranges are read. A reader retries on its own what may succeed.
#[async_trait]
pub(crate) trait RangeReader: Send + Sync {
    /// The bytes of a range that lies within the file: all of them.
    async fn read(&self, range: Range<u64>) -> Result<Bytes, StorageFault>;
}
