//! The end of a run: segments are cut to what was recorded of them, so that what they hold is told by them alone, and the
//! store that recorded it can go.

use super::segment::LedgerError;
use compass_common::ids::Epoch;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Beside the segments: the epoch of the leader that sealed them.
const NAME: &str = "sealed";

fn failed(action: &'static str, path: PathBuf) -> impl FnOnce(io::Error) -> LedgerError {
    move |source| LedgerError::Io { action, path, source }
}

/// Cuts the segments below `folder` to their `recorded` lengths, durably, and notes that the leader of `epoch` did so: nothing
/// that a leader up to it granted is out. Bytes beyond a recorded length do not exist; once no store says so, their checksums
/// would bring them back. Whoever calls this leads, so that nobody appends.
///
/// # Errors
/// The disk fails. What was cut by then had not existed.
pub fn seal(folder: &Path, recorded: &BTreeMap<String, u64>, epoch: Epoch) -> Result<(), LedgerError> {
    for (name, length) in recorded {
        let path = folder.join(name);
        let is_longer = match fs::metadata(&path) {
            Ok(data) => data.len() > *length,
            // It was removed, to run its samples again.
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(failed("find", path)(error)),
        };
        if is_longer {
            let cut = File::options().write(true).open(&path).and_then(|file| {
                file.set_len(*length)?;
                file.sync_all()
            });
            cut.map_err(failed("cut", path))?;
        }
    }
    let (path, partial) = (folder.join(NAME), folder.join(format!("{NAME}.partial")));
    let written = File::create(&partial).and_then(|mut file| {
        writeln!(file, "{}", epoch.0)?;
        file.sync_all()?;
        fs::rename(&partial, &path)?;
        File::open(folder)?.sync_all()
    });
    written.map_err(failed("seal", path))
}

/// The epoch of the latest leader that sealed the segments below `folder`; 0 where none did.
pub fn sealed(folder: &Path) -> Epoch {
    let text = fs::read_to_string(folder.join(NAME)).ok();
    Epoch(text.and_then(|text| text.trim().parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Entry, Kind, Ledger};
    use compass_common::ids::Digest;

    #[test]
    fn what_was_never_recorded_does_not_come_back_without_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(folder.path().into(), Digest([1; 32]));
        let entry = |index: u8| Entry { kind: Kind::Sample.into(), payload: vec![index], ..Entry::default() };
        let mut recorded = BTreeMap::new();
        for epoch in 1..=2 {
            let mut segment = ledger.create_segment(Epoch(epoch), "m").unwrap();
            recorded.insert(segment.name().to_owned(), segment.append(&[entry(epoch as u8)]).unwrap());
            // Synced by a leader that was killed before the store knew.
            segment.append(&[entry(9)]).unwrap();
        }
        recorded.insert("00000003-gone".into(), 40);
        let known = ledger.load(&recorded).unwrap().entries;
        assert_eq!((known.len(), sealed(folder.path())), (2, Epoch(0)));
        assert_eq!(ledger.load(&BTreeMap::new()).unwrap().entries.len(), 4, "checksums alone would bring them back");
        seal(folder.path(), &recorded, Epoch(3)).unwrap();
        let alone = ledger.load(&BTreeMap::new()).unwrap();
        assert_eq!((alone.entries, alone.torn.len()), (known, 0));
        assert_eq!((sealed(folder.path()), ledger.last_epoch().unwrap()), (Epoch(3), Epoch(2)));
    }
}
