//! Where results wait that memory should not hold: in a file that the shell has, and of which the core decides what lies where.
//!
//! A place is good until it is freed. The file is emptied whenever nothing in it is needed any more.

use std::fmt::Debug;
use std::io;

/// Most bytes in the file. Beyond them, and where it cannot be written, results stay in memory and nothing new is begun.
const MOST_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// The file of a spool. It need not outlive its process.
pub trait SpoolFile: Debug + Send {
    /// Writes bytes from `start` on.
    ///
    /// # Errors
    /// They are not written, or not all of them.
    fn write(&mut self, start: u64, bytes: &[u8]) -> io::Result<()>;

    /// Reads `length` bytes from `start` on.
    ///
    /// # Errors
    /// They are not what was written there.
    fn read(&self, start: u64, length: u64) -> io::Result<Vec<u8>>;

    /// Gives its room back: nothing in it is needed. One that cannot be emptied is written over.
    fn clear(&mut self);
}

/// Part of the spool's file that holds one entry, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    start: u64,
    length: u64,
}

/// Entries in a file, one behind the other.
#[derive(Debug)]
pub(super) struct Spool {
    file: Box<dyn SpoolFile>,
    end: u64,
    /// Bytes that are needed.
    live: u64,
    /// It could not be written: not tried again until it is empty.
    broken: bool,
}

impl Spool {
    pub(super) fn new(file: Box<dyn SpoolFile>) -> Self {
        Self { file, end: 0, live: 0, broken: false }
    }

    /// Whether it takes more.
    pub(super) fn takes(&self) -> bool {
        !self.broken && self.end < MOST_BYTES
    }

    /// Puts bytes away; `None` where that is impossible, which is said.
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
                tracing::warn!(%error, "cannot put results aside; nothing new is begun");
                self.broken = true;
                None
            }
        }
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// The disk lost it.
    pub(super) fn get(&self, extent: Extent) -> io::Result<Vec<u8>> {
        self.file.read(extent.start, extent.length)
    }

    /// Lets go of an entry that is no longer needed.
    pub(super) fn free(&mut self, extent: Extent) {
        self.live = self.live.saturating_sub(extent.length);
        if self.live == 0 {
            self.end = 0;
            self.broken = false;
            self.file.clear();
        }
    }
}

/// A file in memory, and one that takes nothing.
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

    /// A disk without room.
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
    fn entries_come_back_until_they_are_freed_and_an_empty_spool_begins_again() {
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
    fn a_file_that_takes_nothing_is_not_tried_again() {
        let mut spool = Spool::new(Box::new(doubles::Full));
        assert_eq!(spool.put(b"x"), None);
        assert!(!spool.takes());
    }
}
