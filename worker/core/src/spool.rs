//! Spool for results that memory should not hold: a file of the shell, whose layout the core decides.
//!
//! An extent is valid until it is freed. The file is truncated when no extent is in use.

use std::fmt::Debug;
use std::io;

/// Maximum size of the file. Beyond it, or if it cannot be written, results stay in memory and no sample starts.
const MAX_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// File of a spool. It need not outlive its process.
pub trait SpoolFile: Debug + Send {
    /// Writes bytes at `start`.
    ///
    /// # Errors
    /// Not all of them could be written.
    fn write(&mut self, start: u64, bytes: &[u8]) -> io::Result<()>;

    /// Reads `length` bytes at `start`.
    ///
    /// # Errors
    /// The bytes cannot be read.
    fn read(&self, start: u64, length: u64) -> io::Result<Vec<u8>>;

    /// Truncates the file, of which no extent is in use. If that fails, it is overwritten.
    fn clear(&mut self);
}

/// Part of the spool's file that holds one entry, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    start: u64,
    length: u64,
}

/// Entries in a file, one after the other.
#[derive(Debug)]
pub(super) struct Spool {
    file: Box<dyn SpoolFile>,
    end: u64,
    /// Bytes in use.
    live: u64,
    /// Set if a write failed: no more writes until the spool is empty.
    broken: bool,
}

impl Spool {
    pub(super) fn new(file: Box<dyn SpoolFile>) -> Self {
        Self { file, end: 0, live: 0, broken: false }
    }

    /// Returns whether the spool takes more.
    pub(super) fn takes(&self) -> bool {
        !self.broken && self.end < MAX_BYTES
    }

    /// Writes bytes; `None` if that fails, which is logged.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Option<Extent> {
        if !self.takes() {
            return None;
        }
        let extent = Extent { start: self.end, length: bytes.len() as u64 };
        match self.file.write(extent.start, bytes) {
            Ok(()) => {
                self.end += extent.length;
                self.live += extent.length;
                Some(extent)
            }
            Err(error) => {
                tracing::warn!(%error, "cannot write results to the spool; no sample starts until they are sent");
                self.broken = true;
                None
            }
        }
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn get(&self, extent: Extent) -> io::Result<Vec<u8>> {
        self.file.read(extent.start, extent.length)
    }

    /// Frees an entry.
    pub(super) fn free(&mut self, extent: Extent) {
        self.live = self.live.saturating_sub(extent.length);
        if self.live == 0 {
            self.end = 0;
            self.broken = false;
            self.file.clear();
        }
    }
}

/// A file in memory, and one that cannot be written.
#[cfg(test)]
pub(super) mod doubles {
    use super::*;

    impl SpoolFile for Vec<u8> {
        fn write(&mut self, start: u64, bytes: &[u8]) -> io::Result<()> {
            self.truncate(start as usize);
            self.extend_from_slice(bytes);
            Ok(())
        }

        fn read(&self, start: u64, length: u64) -> io::Result<Vec<u8>> {
            let bytes = self.get(start as usize..(start + length) as usize);
            bytes.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        }

        fn clear(&mut self) {
            Vec::clear(self);
        }
    }

    /// A full disk.
    #[derive(Debug)]
    pub(crate) struct Full;

    impl SpoolFile for Full {
        fn write(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn read(&self, _: u64, _: u64) -> io::Result<Vec<u8>> {
            Err(io::ErrorKind::NotFound.into())
        }

        fn clear(&mut self) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_readable_until_freed_and_an_empty_spool_starts_over() {
        let mut spool = Spool::new(Box::new(Vec::new()));
        let (a, b) = (spool.put(b"first").unwrap(), spool.put(b"second").unwrap());
        assert_eq!((spool.get(b).unwrap(), spool.get(a).unwrap()), (b"second".to_vec(), b"first".to_vec()));
        spool.free(a);
        assert_eq!(spool.get(b).unwrap(), b"second");
        spool.free(b);
        assert_eq!((spool.end, spool.live), (0, 0));
        let c = spool.put(b"third").unwrap();
        assert_eq!((c.start, spool.get(c).unwrap()), (0, b"third".to_vec()));
    }

    #[test]
    fn failing_file_is_not_retried() {
        let mut spool = Spool::new(Box::new(doubles::Full));
        assert_eq!(spool.put(b"x"), None);
        assert!(!spool.takes());
    }
}
