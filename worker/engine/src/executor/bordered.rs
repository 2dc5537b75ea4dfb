//! A rendered text with its structural borders.

use super::texts::as_text;
use compass_plan::engine::{BatchSpec, Request};
use compass_plan::prompt::{Prompt, RenderedPrompt};

/// A rendered text with its structural borders.
#[derive(Clone, Debug)]
pub(super) struct Bordered {
    pub(super) text: String,
    /// Offsets in bytes, in order.
    pub(super) borders: Vec<usize>,
}

impl Bordered {
    /// Returns a prompt of the request with the first `kept` shots.
    pub(super) fn of(request: &Request<'_>, prompt: &Prompt, kept: usize, spec: &BatchSpec) -> Self {
        match request.render_with_borders(prompt, kept, spec) {
            (RenderedPrompt::Text(text), borders) => Self { text, borders },
            // Messages joined without a chat template have no borders of their own.
            (prompt @ RenderedPrompt::Messages(_), _) => Self { text: as_text(prompt), borders: Vec::new() },
        }
    }
}
