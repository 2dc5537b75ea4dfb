//! Why a sample, or the whole pack, has no result.

use compass_common::prompt::RenderedPrompt;
use tch::TchError;

/// An error while running one sample.
#[derive(Debug)]
pub(super) enum RunError {
    /// The sample itself cannot be run, on any worker.
    Sample(String),
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

/// The text of a prompt.
///
/// # Errors
/// The sample's, when the prompt is a chat: the executor has no chat template.
pub(super) fn text(prompt: RenderedPrompt) -> Result<String, RunError> {
    match prompt {
        RenderedPrompt::Text(text) => Ok(text),
        RenderedPrompt::Messages(_) => {
            Err(RunError::Sample("the prompt is a chat, and this executor has no template for it".into()))
        }
    }
}
