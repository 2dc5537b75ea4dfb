//! The file of a worker's spool: in memory, gone with its process. Some hosts' disks have little room.

use compass_agent::SpoolFile;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Events of a worker's spool, for the world to see.
#[derive(Clone, Debug, Default)]
pub(super) struct SpoolUse {
    used: Arc<AtomicBool>,
    full: Arc<AtomicBool>,
}

impl SpoolUse {
    /// Returns whether something was put aside since this was asked last.
    pub(super) fn take_used(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }

    /// Returns whether there was no room for something since this was asked last.
    pub(super) fn take_full(&self) -> bool {
        self.full.swap(false, Ordering::Relaxed)
    }
}

/// A file with room for this many bytes.
#[derive(Debug)]
pub(super) struct SimSpool {
    bytes: Vec<u8>,
    room: usize,
    seen: SpoolUse,
}

impl SimSpool {
    pub(super) fn new(room: usize, seen: SpoolUse) -> Self {
        Self { bytes: Vec::new(), room, seen }
    }
}

impl SpoolFile for SimSpool {
    fn write(&mut self, start: u64, bytes: &[u8]) -> io::Result<()> {
        let end = start as usize + bytes.len();
        if end > self.room {
            self.seen.full.store(true, Ordering::Relaxed);
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.seen.used.store(true, Ordering::Relaxed);
        self.bytes.resize(end.max(self.bytes.len()), 0);
        self.bytes[start as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, start: u64, length: u64) -> io::Result<Vec<u8>> {
        let bytes = self.bytes.get(start as usize..(start + length) as usize);
        bytes.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn clear(&mut self) {
        self.bytes.clear();
    }
}
