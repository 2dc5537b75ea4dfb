//! What the core of an agent wants done.

use super::order::BatchOrder;
use compass_plan::Part;
use compass_proto::v1;
use compass_types::ids::Digest;
use std::sync::Arc;
use std::time::Duration;

/// Something that is to be done, after all that was output before it.
#[derive(Debug)]
pub enum Output {
    /// Leave the connection in use, if there is one, and after a pause dial this master (by its place in the list), as
    /// connection `link`.
    Dial { link: u64, master: usize, pause: Duration, hello: Box<v1::Hello> },
    /// Send a frame on the connection in use, which has room for it.
    Send { frame: Box<v1::WorkerFrame> },
    /// Bring content to the master on behalf of the frame `seq`, and report it; after a pause where that failed.
    Upload { link: u64, seq: u64, digest: Digest, bytes: Arc<Vec<u8>>, pause: Duration },
    /// Fetch content from the master, and report it; after a pause where that failed.
    Fetch { digest: Digest, pause: Duration },
    /// Have a slot's engine run a batch.
    Start { slot: usize, batch: BatchOrder },
    /// Run the programs of a sample in a slot, as the batch `batch`.
    RunPrograms { slot: usize, batch: u64, part: Arc<Part>, index: u32 },
    /// The worker was told to go: what a signal ends from here on has no outcome.
    ProgramsMayBeEnded,
}
