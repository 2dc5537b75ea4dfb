//! Errors of a sample or of the whole batch.

use tch::TchError;

/// An error while running one sample.
#[derive(Debug)]
pub(super) enum RunError {
    /// The sample cannot be run on any worker.
    Sample(String),
    /// The sample has no room in the memory of this device.
    NoRoom(String),
    /// libtorch failed.
    Torch(TchError),
}

impl From<TchError> for RunError {
    fn from(error: TchError) -> Self {
        Self::Torch(error)
    }
}

impl From<String> for RunError {
    fn from(reason: String) -> Self {
        Self::Sample(reason)
    }
}
