//! Cache of the plan's parts, least recently used first out.

use compass_plan::Part;
use compass_types::ids::Digest;
use std::collections::VecDeque;
use std::sync::Arc;

/// Size of the cache in bytes; one part is kept whatever its size.
pub(super) const PART_CACHE_BYTES: usize = 64 * 1024 * 1024;

/// A part, raw for the engine and parsed for the gold answers.
#[derive(Clone, Debug)]
pub(super) struct CachedPart {
    pub(super) digest: Digest,
    pub(super) bytes: Arc<Vec<u8>>,
    pub(super) part: Arc<Part>,
}

/// Cache of parts of the plan; drops the least recently used.
#[derive(Debug)]
pub(super) struct PartCache {
    /// Most recently used last.
    parts: VecDeque<CachedPart>,
    limit: usize,
}

impl PartCache {
    /// Creates an empty cache of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { parts: VecDeque::new(), limit }
    }

    /// Parses and keeps a part; its digest was verified when it was fetched.
    ///
    /// # Errors
    /// The bytes are not a part.
    pub(super) fn keep(&mut self, digest: Digest, bytes: Vec<u8>) -> Result<(), serde_json::Error> {
        let part = Arc::new(serde_json::from_slice(&bytes)?);
        self.parts.push_back(CachedPart { digest, bytes: Arc::new(bytes), part });
        while self.parts.len() > 1 && self.bytes() > self.limit {
            self.parts.pop_front();
        }
        Ok(())
    }

    /// Returns a cached part.
    pub(super) fn get(&mut self, digest: &Digest) -> Option<CachedPart> {
        let at = self.parts.iter().position(|part| part.digest == *digest)?;
        let part = self.parts.remove(at)?;
        self.parts.push_back(part.clone());
        Some(part)
    }

    /// Returns whether another part fits without dropping one that is in use.
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
    fn least_recently_used_part_is_dropped_and_one_always_stays() {
        let (a, b, c) = (part("a"), part("b"), part("c"));
        let mut cache = PartCache::new(a.1.len() * 2);
        cache.keep(a.0, a.1.clone()).unwrap();
        cache.keep(b.0, b.1.clone()).unwrap();
        assert!(cache.get(&a.0).is_some());
        cache.keep(c.0, c.1).unwrap();
        assert!(cache.get(&b.0).is_none(), "b is the least recently used");
        assert!(cache.get(&a.0).is_some() && cache.get(&c.0).is_some());
        let huge = part(&"x".repeat(1000));
        cache.keep(huge.0, huge.1).unwrap();
        assert!(cache.get(&huge.0).is_some() && cache.get(&a.0).is_none());
    }
}
