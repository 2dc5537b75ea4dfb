//! Errors of a sample or of the whole batch.

use crate::fault::device_fault;
use compass_chat::ChatError;
use compass_plan::engine::EngineFault;
use compass_types::result::{Outcome, PromptFit, SampleResult};
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

impl From<ChatError> for RunError {
    fn from(error: ChatError) -> Self {
        Self::Sample(error.to_string())
    }
}

impl From<String> for RunError {
    fn from(reason: String) -> Self {
        Self::Sample(reason)
    }
}

/// Returns a sample's failure as its result; a fault of libtorch is an error of the engine.
pub(super) fn failed(index: u32, error: RunError) -> Result<SampleResult, EngineFault> {
    match error {
        RunError::Sample(reason) => {
            Ok(SampleResult { index, fit: PromptFit::default(), outcome: Outcome::Failed { reason } })
        }
        RunError::NoRoom(reason) => {
            Ok(SampleResult { index, fit: PromptFit::default(), outcome: Outcome::NoRoom { reason } })
        }
        RunError::Torch(error) => Err(device_fault(&error)),
    }
}
