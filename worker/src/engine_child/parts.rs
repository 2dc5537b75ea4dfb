//! Parts of the plan that the child keeps. The agent applies the same rule and sends a dropped part again.

use compass_plan::Part;
use compass_proto::{digest_from_wire, v1};
use compass_types::ids::Digest;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// Number of parts kept; the agent's record of sent parts follows the same rule.
pub const KEPT_PARTS: usize = 8;

/// The last [`KEPT_PARTS`] parts received.
#[derive(Debug, Default)]
pub(super) struct Parts(VecDeque<(Digest, Arc<Part>)>);

impl Parts {
    /// Verifies, parses and keeps a part; drops the oldest if needed.
    ///
    /// # Errors
    /// The bytes do not match their digest, or are not a part.
    pub(super) fn keep(&mut self, digest: Digest, bytes: &[u8]) -> Result<(), String> {
        if Digest::of(bytes) != digest {
            return Err(format!("part {} does not match its digest", digest.short()));
        }
        let part = serde_json::from_slice(bytes).map_err(|error| format!("part {}: {error}", digest.short()))?;
        self.0.retain(|(kept, _)| *kept != digest);
        self.0.push_back((digest, Arc::new(part)));
        if self.0.len() > KEPT_PARTS {
            self.0.pop_front();
        }
        Ok(())
    }

    /// Keeps the part of a message.
    ///
    /// # Errors
    /// Errors of [`Parts::keep`], or the digest is malformed.
    pub(super) fn keep_message(&mut self, part: &v1::LoadPart) -> io::Result<()> {
        let digest = digest_from_wire(&part.digest).map_err(io::Error::other)?;
        self.keep(digest, &part.data).map_err(io::Error::other)
    }

    /// Returns a kept part.
    pub(super) fn get(&self, digest: &Digest) -> Option<Arc<Part>> {
        self.0.iter().find(|(kept, _)| kept == digest).map(|(_, part)| part.clone())
    }
}
