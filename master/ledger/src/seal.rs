//! The end of a run: what was recorded of its segments is written down beside them, so that the store can go that recorded it.

use super::error::LedgerError;
use compass_common::regular_file;
use compass_types::ids::Epoch;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Beside the folder of segments.
const NAME: &str = "sealed.json";

/// Summary of the ledger, written down by the leader that ended a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// The epoch of that leader: nothing that one up to it granted is out.
    pub epoch: Epoch,
    /// Bytes of each segment that exist, by its name.
    pub lengths: BTreeMap<String, u64>,
}

fn path(folder: &Path) -> PathBuf {
    folder.with_file_name(NAME)
}

impl Seal {
    /// Writes this down, durably, for the segments in `folder`. The caller leads, so that no process appends.
    ///
    /// # Errors
    /// The disk fails.
    pub fn write(&self, folder: &Path) -> Result<(), LedgerError> {
        let path = path(folder);
        let bytes = compass_common::encode::pretty_json("the lengths of the ledger's segments", self)?;
        let partial = path.with_extension("partial");
        let written = File::create(&partial).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&partial, &path)?;
            regular_file::sync(path.parent().unwrap_or(folder))
        });
        written.map_err(|source| LedgerError::Io { action: "seal", path, source })
    }

    /// Reads what was written down last of the segments in `folder`; nothing where no run ended there.
    ///
    /// # Errors
    /// It cannot be read: what was never recorded might then be taken for recorded, or the other way round.
    pub fn read(folder: &Path) -> Result<Self, LedgerError> {
        let path = path(folder);
        let bytes = match regular_file::read(&path, regular_file::SMALL) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            read => read.map_err(|source| LedgerError::Io {
                action: "read what was recorded of",
                path: path.clone(),
                source,
            })?,
        };
        serde_json::from_slice(&bytes).map_err(|source| LedgerError::Seal { path, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Ledger, LedgerEntry};
    use compass_types::ids::Digest;

    #[test]
    fn what_was_never_recorded_does_not_come_back_without_the_store_and_what_was_is_guarded() {
        let run = tempfile::tempdir().unwrap();
        let folder = run.path().join("ledger");
        fs::create_dir(&folder).unwrap();
        let ledger = Ledger::new(folder.clone(), Digest([1; 32]));
        let entry =
            |index: u8| LedgerEntry { kind: Kind::Sample.into(), payload: vec![index], ..LedgerEntry::default() };
        let mut lengths = BTreeMap::new();
        for epoch in 1..=2 {
            let mut segment = ledger.create_segment(Epoch(epoch), "m").unwrap();
            lengths.insert(segment.name().to_owned(), segment.append(&[entry(epoch as u8)]).unwrap());
            // Synced by a leader that was killed before the store knew.
            segment.append(&[entry(9)]).unwrap();
        }
        let known = ledger.load(&lengths).unwrap().entries;
        assert_eq!((known.len(), Seal::read(&folder).unwrap()), (2, Seal::default()));
        assert_eq!(ledger.load(&BTreeMap::new()).unwrap().entries.len(), 4, "checksums alone would bring them back");
        let seal = Seal { epoch: Epoch(2), lengths };
        seal.write(&folder).unwrap();
        assert_eq!(ledger.load(&BTreeMap::new()).unwrap().entries, known);
        assert_eq!(Seal::read(&folder).unwrap(), seal);
        let first = folder.join(seal.lengths.keys().next().unwrap());
        let mut bytes = fs::read(&first).unwrap();
        let last = *seal.lengths.values().next().unwrap() as usize - 1;
        bytes[last] ^= 1;
        fs::write(&first, bytes).unwrap();
        let damaged = ledger.load(&BTreeMap::new());
        assert!(matches!(damaged, Err(LedgerError::Corrupt { .. })), "{damaged:?}");
        fs::write(run.path().join(NAME), "{").unwrap();
        let said = ledger.load(&BTreeMap::new()).unwrap_err().to_string();
        assert!(said.contains("sealed.json cannot be read; restore it"), "{said}");
    }
}
