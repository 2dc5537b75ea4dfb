//! Parts of the plan that are here, the least recently used leaving first.

use compass_plan::Part;
use compass_types::ids::Digest;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes kept, as they came; one part is kept however large.
pub(super) const PART_CACHE_BYTES: usize = 64 * 1024 * 1024;

/// A part in both its forms: as it came, for the engine, and read, for the gold answers.
#[derive(Clone, Debug)]
pub(super) struct CachedPart {
    pub(super) digest: Digest,
    pub(super) bytes: Arc<Vec<u8>>,
    pub(super) part: Arc<Part>,
}

/// Cache of parts of the plan; the least recently used leaves first.
#[derive(Debug)]
pub(super) struct PartCache {
    /// Most recently used last.
    parts: VecDeque<CachedPart>,
    limit: usize,
}

impl PartCache {
    /// An empty cache of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { parts: VecDeque::new(), limit }
    }

    /// Reads and keeps a part; its digest was checked when it was fetched.
    ///
    /// # Errors
    /// When the bytes are not a part.
    pub(super) fn keep(&mut self, digest: Digest, bytes: Vec<u8>) -> Result<(), serde_json::Error> {
        let part = Arc::new(serde_json::from_slice(&bytes)?);
        self.parts.push_back(CachedPart { digest, bytes: Arc::new(bytes), part });
        while self.parts.len() > 1 && self.bytes() > self.limit {
            self.parts.pop_front();
        }
        Ok(())
    }

    /// A part that is here.
    pub(super) fn get(&mut self, digest: &Digest) -> Option<CachedPart> {
        let at = self.parts.iter().position(|part| part.digest == *digest)?;
        let part = self.parts.remove(at)?;
        self.parts.push_back(part.clone());
        Some(part)
    }

    /// Whether another part can be kept without one that is in use having to leave.
    pub(super) fn has_room(&self) -> bool {
        self.bytes() < self.limit / 2
    }

    fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.bytes.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(shot: &str) -> (Digest, Vec<u8>) {
        let bytes = serde_json::to_vec(&Part { shots: vec![shot.into()], samples: Vec::new() }).unwrap();
        (Digest::of(&bytes), bytes)
    }

    #[test]
    fn the_least_recently_used_leaves_and_one_always_stays() {
        let (a, b, c) = (part("a"), part("b"), part("c"));
        let mut cache = PartCache::new(a.1.len() * 2);
        cache.keep(a.0, a.1.clone()).unwrap();
        cache.keep(b.0, b.1.clone()).unwrap();
        assert!(cache.get(&a.0).is_some());
        cache.keep(c.0, c.1).unwrap();
        assert!(cache.get(&b.0).is_none(), "b was used longest ago");
        assert!(cache.get(&a.0).is_some() && cache.get(&c.0).is_some());
        let huge = part(&"x".repeat(1000));
        cache.keep(huge.0, huge.1).unwrap();
        assert!(cache.get(&huge.0).is_some() && cache.get(&a.0).is_none());
    }
}
