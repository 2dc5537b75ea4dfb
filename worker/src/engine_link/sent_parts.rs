//! The agent's record of the parts that a child still has; follows the child's rule.

use crate::engine_child::KEPT_PARTS;
use compass_types::ids::Digest;
use std::collections::VecDeque;

/// The last parts sent to one child, oldest first.
#[derive(Debug, Default)]
pub(super) struct SentParts(VecDeque<Digest>);

impl SentParts {
    /// Returns whether the child has the part.
    pub(super) fn has(&self, digest: &Digest) -> bool {
        self.0.contains(digest)
    }

    /// Notes that the part was sent; the child has dropped the oldest.
    pub(super) fn sent(&mut self, digest: Digest) {
        self.0.retain(|kept| *kept != digest);
        self.0.push_back(digest);
        if self.0.len() > KEPT_PARTS {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_parts_that_the_child_dropped() {
        let mut sent = SentParts::default();
        let digests: Vec<_> = (0..=KEPT_PARTS as u8).map(|n| Digest([n; 32])).collect();
        for digest in &digests[..KEPT_PARTS] {
            sent.sent(*digest);
        }
        assert!(sent.has(&digests[0]));
        sent.sent(digests[KEPT_PARTS]);
        assert!(!sent.has(&digests[0]));
        assert!(sent.has(&digests[1]) && sent.has(&digests[KEPT_PARTS]));
    }
}
