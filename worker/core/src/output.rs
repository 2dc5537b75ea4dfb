//! Outputs of an agent's core.

use super::order::BatchOrder;
use compass_plan::Part;
use compass_proto::v1;
use compass_types::ids::Digest;
use std::sync::Arc;
use std::time::Duration;

/// An action, to be carried out in order.
#[derive(Debug)]
pub enum Output {
    /// Close the current connection, and after a pause connect to this master (its position in the list), as connection
    /// `link`.
    Dial { link: u64, master: usize, pause: Duration, hello: Box<v1::Hello> },
    /// Send a frame on the current connection, which can take it.
    Send { frame: Box<v1::WorkerFrame> },
    /// Upload content that the frame `seq` names, after a pause, and report the result.
    Upload { link: u64, seq: u64, digest: Digest, bytes: Arc<Vec<u8>>, pause: Duration },
    /// Fetch content from the master, after a pause, and report the result.
    Fetch { digest: Digest, pause: Duration },
    /// Run a batch on a slot's engine.
    Start { slot: usize, batch: BatchOrder },
    /// Add samples to the batch that a slot's engine runs.
    Extend { slot: usize, batch: BatchOrder },
    /// Run the programs of a sample in a slot, as the batch `batch`.
    RunPrograms { slot: usize, batch: u64, part: Arc<Part>, index: u32 },
    /// The worker was asked to exit: the outcome of a program that a signal ends from now on does not count.
    ExitRequested,
}
