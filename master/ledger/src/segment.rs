//! Segments on disk: `ledger/<epoch>-<master>`, created exclusively, appended to by one leader, never rewritten.

use super::error::{Change, LedgerError};
use super::owner::Owner;
use super::record::{self, LedgerEntry};
use super::reopened::Reopened;
use super::seal::Seal;
use compass_common::regular_file;
use compass_types::ids::{Digest, Epoch, UnitId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"compass1";
const HEADER: usize = 8 + 32;
/// Bytes of a segment that are read at once.
const BUFFER: usize = 1 << 20;
/// Epochs count leaders: no run comes near this one, so that the next can always be counted.
const LAST_EPOCH: Epoch = Epoch(u64::MAX / 2);

/// The folder of segments.
#[derive(Clone, Debug)]
pub struct Ledger {
    folder: PathBuf,
    plan: Digest,
    until: Option<Epoch>,
}

/// Contents of the segments.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Entries in order of epoch, then of writing.
    pub entries: Vec<LedgerEntry>,
    /// The highest epoch that has a segment.
    pub last_epoch: Epoch,
    /// Segments whose end is ignored.
    pub torn: Vec<TornEnd>,
}

/// The end of a segment that is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornEnd {
    pub segment: String,
    pub bytes: u64,
    /// Set if it is known that none of it was recorded as durable: so ends the segment of a master that was killed.
    /// Otherwise nothing tells how long the segment was, and the end does not pass its checksums.
    pub was_never_recorded: bool,
}

impl TornEnd {
    /// Ends that may have held results, in words: they are lost, and their samples are run again.
    pub fn damage(torn: &[Self]) -> impl Iterator<Item = String> {
        torn.iter().filter(|end| !end.was_never_recorded).map(|TornEnd { segment, bytes, .. }| {
            format!(
                "the ledger segment {segment} is damaged: its last {bytes} bytes cannot be read, and what they held is run again"
            )
        })
    }
}

/// Facts about the segments beside their entries.
#[derive(Debug, Default)]
pub struct LedgerSummary {
    /// The highest epoch that has a segment.
    pub last_epoch: Epoch,
    /// Segments whose end is ignored.
    pub torn: Vec<TornEnd>,
    /// Samples that leaders ran again, by unit.
    pub reopened: BTreeMap<UnitId, IntervalSet>,
}

impl Ledger {
    /// The ledger of a run folder.
    pub fn new(folder: PathBuf, plan: Digest) -> Self {
        Self { folder, plan, until: None }
    }

    /// Returns the folder of its segments.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Only the segments of leaders up to an epoch: what a later one records is nothing that an earlier one could judge.
    #[must_use]
    pub fn until(self, epoch: Epoch) -> Self {
        Self { until: Some(epoch), ..self }
    }

    /// Reads every segment, entry by entry. `recorded` is what the store knows of this job: of a segment, bytes beyond the
    /// recorded length do not exist. A leader records its segment before it appends, so one that the store does not know was
    /// written under another store (lost, or on another host): what was written down at the end of a run decides, then
    /// checksums. What was reopened later is left out.
    ///
    /// # Errors
    /// A segment that is corrupt within its recorded length, that cannot be read, or that belongs to another plan.
    pub fn read(
        &self,
        recorded: &BTreeMap<String, u64>,
        each: &mut dyn FnMut(LedgerEntry),
    ) -> Result<LedgerSummary, LedgerError> {
        let (mut summary, sealed) = (LedgerSummary::default(), Seal::read(&self.folder)?);
        let limit = |name: &String| recorded.get(name).or_else(|| sealed.lengths.get(name)).copied();
        let segments = self.segments()?;
        let mut reopened = Vec::with_capacity(segments.len());
        for (name, _) in &segments {
            let mut here = Reopened::default();
            self.read_one(name, limit(name), &mut |entry| here.begins_with(&entry))?;
            reopened.push(here);
        }
        for (at, (name, epoch)) in segments.iter().enumerate() {
            summary.last_epoch = summary.last_epoch.max(*epoch);
            let later = reopened.get(at + 1..).unwrap_or_default();
            let (end, size) = self.read_one(name, limit(name), &mut |entry| {
                if !later.iter().any(|later| later.covers(&entry)) {
                    each(entry);
                }
                ControlFlow::Continue(())
            })?;
            // A header alone is a leader that recorded nothing: nothing is lost with it.
            if end < size && size > HEADER as u64 {
                let was_never_recorded = limit(name) == Some(end);
                summary.torn.push(TornEnd { segment: name.clone(), bytes: size - end, was_never_recorded });
            }
        }
        summary.reopened = reopened.into_iter().fold(Reopened::default(), Reopened::and).0;
        Ok(summary)
    }

    /// As [`Self::read`], all entries at once.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub fn load(&self, recorded: &BTreeMap<String, u64>) -> Result<Loaded, LedgerError> {
        let mut entries = Vec::new();
        let LedgerSummary { last_epoch, torn, .. } = self.read(recorded, &mut |entry| entries.push(entry))?;
        Ok(Loaded { entries, last_epoch, torn })
    }

    /// Reads one segment; returns where its entries end, and its size in bytes.
    fn read_one(
        &self,
        name: &str,
        limit: Option<u64>,
        each: &mut dyn FnMut(LedgerEntry) -> ControlFlow<()>,
    ) -> Result<(u64, u64), LedgerError> {
        let path = self.folder.join(name);
        let failed = |source| LedgerError::Io { action: "read", path: path.clone(), source };
        let file = regular_file::open(&path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        let end = read_frames(&self.plan, &path, &mut BufReader::with_capacity(BUFFER, file), (size, limit), each)?;
        Ok((end, size))
    }

    /// The highest epoch that has a segment.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn last_epoch(&self) -> Result<Epoch, LedgerError> {
        Ok(self.segments()?.last().map_or(Epoch(0), |(_, epoch)| *epoch))
    }

    /// Segment names with their epochs, in order of epoch.
    fn segments(&self) -> Result<Vec<(String, Epoch)>, LedgerError> {
        let failed = |source| LedgerError::Io { action: "list", path: self.folder.clone(), source };
        let mut segments = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
            let epoch = name.split('-').next().and_then(|digits| digits.parse().ok()).map(Epoch);
            if epoch.is_some_and(|epoch| epoch > LAST_EPOCH) {
                return Err(LedgerError::ImpossibleEpoch { path: self.folder.join(name) });
            }
            if let Some(epoch) = epoch.filter(|epoch| self.until.is_none_or(|last| *epoch <= last)) {
                segments.push((name, epoch));
            }
        }
        segments.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        Ok(segments)
    }

    /// Creates this leader's segment.
    ///
    /// # Errors
    /// One of that name exists, or the disk refuses.
    pub fn create_segment(&self, epoch: Epoch, master: &str) -> Result<SegmentWriter, LedgerError> {
        let name = format!("{:08}-{master}", epoch.0);
        let path = self.folder.join(&name);
        let failed = |action, source| LedgerError::Io { action, path: path.clone(), source };
        let mut file = File::options().create_new(true).write(true).open(&path).map_err(|e| failed("create", e))?;
        file.write_all(&header(&self.plan)).map_err(|e| failed("write", e))?;
        file.sync_all().map_err(|e| failed("sync", e))?;
        // The name must survive a power cut as well.
        regular_file::sync(&self.folder).map_err(|e| failed("sync", e))?;
        let inode = file.metadata().map(|data| inode(&data)).map_err(|e| failed("examine", e))?;
        // A later change of the working directory must not change what the path means.
        let path = std::path::absolute(&path).unwrap_or(path);
        Ok(SegmentWriter { name, path, file, inode, owner: None, length: HEADER as u64 })
    }
}

/// Returns the identity that tells a file from all others: its device, and its number there.
fn inode(data: &fs::Metadata) -> (u64, u64) {
    (data.dev(), data.ino())
}

/// Returns the header that a segment of this plan begins with.
pub fn header(plan: &Digest) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&plan.0);
    header
}

/// Takes the entries of a segment's bytes, of which those beyond `limit` do not exist; returns where they end.
///
/// # Errors
/// See [`Ledger::read`]; `path` is what they name.
pub fn read_segment(
    plan: &Digest,
    path: &Path,
    bytes: &[u8],
    limit: Option<u64>,
    out: &mut Vec<LedgerEntry>,
) -> Result<usize, LedgerError> {
    let mut source = bytes;
    let mut each = |entry| {
        out.push(entry);
        ControlFlow::Continue(())
    };
    read_frames(plan, path, &mut source, (bytes.len() as u64, limit), &mut each).map(|end| end as usize)
}

/// As [`read_segment`], entry by entry until `each` breaks; of `size` bytes.
fn read_frames(
    plan: &Digest,
    path: &Path,
    source: &mut dyn Read,
    (size, limit): (u64, Option<u64>),
    each: &mut dyn FnMut(LedgerEntry) -> ControlFlow<()>,
) -> Result<u64, LedgerError> {
    let failed = |source| LedgerError::Io { action: "read", path: path.to_owned(), source };
    let corrupt = |offset| LedgerError::Corrupt { path: path.to_owned(), offset, recorded: limit.unwrap_or_default() };
    let mut header = [0; HEADER];
    let present = size.min(HEADER as u64) as usize;
    source.read_exact(&mut header[..present]).map_err(failed)?;
    // Asked before the limit: a plan that was changed has another digest, and the store knows nothing of its segments.
    if header.starts_with(MAGIC) && present == HEADER && header[MAGIC.len()..] != plan.0 {
        return Err(LedgerError::ForeignPlan { path: path.to_owned() });
    }
    let exist = match limit {
        Some(limit) if limit > size => return Err(corrupt(size)),
        Some(limit) => limit,
        None => size,
    };
    if exist < HEADER as u64 || !header.starts_with(MAGIC) {
        // A leader that died before its first record; with a recorded length it is damage.
        return if limit.is_some_and(|limit| limit > 0) { Err(corrupt(0)) } else { Ok(0) };
    }
    let (mut at, mut payload) = (HEADER as u64, Vec::new());
    while at < exist {
        match record::decode(source, exist - at, &mut payload).map_err(failed)? {
            Some((entry, length)) => {
                at += length;
                if each(entry).is_break() {
                    break;
                }
            }
            None if limit.is_some() => return Err(corrupt(at)),
            None => break,
        }
    }
    Ok(at)
}

/// The open segment of a leader.
#[derive(Debug)]
pub struct SegmentWriter {
    name: String,
    path: PathBuf,
    file: File,
    inode: (u64, u64),
    /// The right to write into the run folder, where somebody else could have it.
    owner: Option<Arc<Owner>>,
    length: u64,
}

impl SegmentWriter {
    /// With the right by which it writes, which is checked before anything counts as durable.
    #[must_use]
    pub fn owned_by(self, owner: Arc<Owner>) -> Self {
        Self { owner: Some(owner), ..self }
    }

    /// The file's name within the ledger's folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes written and synced.
    pub fn durable_length(&self) -> u64 {
        self.length
    }

    /// Checks that the segment's path still leads to the file that this writer has open: in a file that was unlinked, nothing
    /// is durable, however well it was synced. And that the run folder is still its owner's. A `stat` each.
    ///
    /// # Errors
    /// [`LedgerError::Vanished`], [`super::OwnerError::Taken`], or the disk does not tell.
    pub fn check(&self) -> Result<(), LedgerError> {
        match fs::metadata(&self.path) {
            Ok(data) if inode(&data) == self.inode => Ok(self.owner.as_ref().map_or(Ok(()), |owner| owner.check())?),
            Ok(_) => Err(LedgerError::Vanished { path: self.path.clone(), change: Change::Replaced }),
            Err(error) => Err(self.failed("find", error)),
        }
    }

    /// Returns the meaning of an error of the disk; a stale handle is a file that is gone, as network file systems say it.
    fn failed(&self, action: &'static str, source: io::Error) -> LedgerError {
        use io::ErrorKind as Kind;
        let path = self.path.clone();
        match source.kind() {
            Kind::NotFound | Kind::NotADirectory | Kind::StaleNetworkFileHandle => {
                LedgerError::Vanished { path, change: Change::Gone }
            }
            _ => LedgerError::Io { action, path, source },
        }
    }

    /// Appends entries and syncs them; returns the segment's durable length.
    ///
    /// # Errors
    /// Those of the disk, and [`LedgerError::Vanished`]. What was written in part is never recorded as durable, so it does
    /// not exist.
    pub fn append(&mut self, entries: &[LedgerEntry]) -> Result<u64, LedgerError> {
        let mut buffer = Vec::new();
        for entry in entries {
            record::encode(entry, &mut buffer);
        }
        let written = self.file.write_all(&buffer);
        written.map_err(|e| self.failed("append to", e))?;
        self.file.sync_data().map_err(|e| self.failed("sync", e))?;
        // After the bytes, before anybody hears of them.
        self.check()?;
        self.length += buffer.len() as u64;
        Ok(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn entry(index: u32) -> LedgerEntry {
        LedgerEntry {
            kind: Kind::Sample.into(),
            unit: index,
            payload: vec![7; index as usize],
            ..LedgerEntry::default()
        }
    }

    fn recorded(writer: &SegmentWriter) -> BTreeMap<String, u64> {
        BTreeMap::from([(writer.name().to_owned(), writer.durable_length())])
    }

    #[test]
    fn bytes_beyond_the_recorded_length_do_not_exist() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(dir.path().to_owned(), Digest::of(b"plan"));
        let mut writer = ledger.create_segment(Epoch(3), "m").unwrap();
        writer.append(&[entry(1), entry(2)]).unwrap();
        let known = recorded(&writer);
        writer.append(&[entry(3)]).unwrap();
        let loaded = ledger.load(&known).unwrap();
        assert_eq!(loaded.entries, [entry(1), entry(2)]);
        assert_eq!((loaded.last_epoch, loaded.torn.len(), TornEnd::damage(&loaded.torn).count()), (Epoch(3), 1, 0));
        assert_eq!(ledger.load(&BTreeMap::new()).unwrap().entries.len(), 3, "without a record the checksums decide");
    }

    #[test]
    fn a_torn_tail_is_ignored_and_damage_within_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(dir.path().to_owned(), Digest::of(b"plan"));
        let mut writer = ledger.create_segment(Epoch(1), "m").unwrap();
        writer.append(&[entry(40), entry(50)]).unwrap();
        let path = dir.path().join(writer.name());
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let loaded = ledger.load(&BTreeMap::new()).unwrap();
            assert!(loaded.entries.len() <= 1 && loaded.entries.iter().all(|found| *found == entry(40)));
            assert!(ledger.load(&recorded(&writer)).is_err(), "recorded bytes are missing");
        }
        for at in [3, 20, HEADER + 5, HEADER + 30] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            let error = ledger.load(&recorded(&writer)).unwrap_err().to_string();
            assert!(error.contains("corrupt at byte") || error.contains("another plan"), "{error}");
        }
    }

    #[test]
    fn damage_that_nothing_vouches_for_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(dir.path().to_owned(), Digest::of(b"plan"));
        let mut writer = ledger.create_segment(Epoch(1), "m").unwrap();
        let first = writer.append(&[entry(40)]).unwrap() as usize;
        writer.append(&[entry(50), entry(60)]).unwrap();
        let path = dir.path().join(writer.name());
        let mut bytes = fs::read(&path).unwrap();
        bytes[first + 20] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let loaded = ledger.load(&BTreeMap::new()).unwrap();
        assert_eq!(loaded.entries, [entry(40)]);
        let lost = bytes.len() - first;
        let told = format!(
            "the ledger segment 00000001-m is damaged: its last {lost} bytes cannot be read, and what they held is run again"
        );
        assert_eq!(TornEnd::damage(&loaded.torn).collect::<Vec<_>>(), [told]);
    }

    #[test]
    fn a_segment_written_under_another_store_counts_beside_ours() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(dir.path().to_owned(), Digest::of(b"plan"));
        let mut ours = ledger.create_segment(Epoch(1), "a").unwrap();
        ours.append(&[entry(1)]).unwrap();
        let known = recorded(&ours);
        ours.append(&[entry(2)]).unwrap();
        ledger.create_segment(Epoch(2), "b").unwrap().append(&[entry(3)]).unwrap();
        assert_eq!(ledger.load(&known).unwrap().entries, [entry(1), entry(3)]);
    }

    #[test]
    fn nothing_is_durable_in_a_segment_that_its_path_leads_to_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("ledger");
        fs::create_dir(&folder).unwrap();
        let ledger = Ledger::new(folder.clone(), Digest::of(b"plan"));
        let lost = |epoch, how: &dyn Fn(&Path)| {
            let mut writer = ledger.create_segment(Epoch(epoch), "m").unwrap();
            writer.append(&[entry(1)]).unwrap();
            writer.check().unwrap();
            let length = writer.durable_length();
            how(&folder.join(writer.name()));
            assert!(matches!(writer.check(), Err(LedgerError::Vanished { .. })));
            let error = writer.append(&[entry(2)]).unwrap_err();
            assert_eq!(writer.durable_length(), length, "{error}");
            match error {
                LedgerError::Vanished { change, .. } => change,
                other => panic!("{other}"),
            }
        };
        assert_eq!(lost(1, &|path| fs::remove_file(path).unwrap()), Change::Gone);
        let replace = |path: &Path| {
            fs::copy(path, folder.join("copy")).and_then(|_| fs::rename(folder.join("copy"), path)).unwrap();
        };
        assert_eq!(lost(2, &replace), Change::Replaced);
        assert_eq!(lost(3, &|_| fs::rename(&folder, dir.path().join("moved")).unwrap()), Change::Gone);
    }

    #[test]
    fn a_segment_of_an_impossible_epoch_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(dir.path().to_owned(), Digest::of(b"plan"));
        fs::write(dir.path().join(format!("{}-m", u64::MAX)), b"").unwrap();
        let error = ledger.last_epoch().unwrap_err().to_string();
        assert!(error.contains("18446744073709551615-m") && error.contains("remove the file"), "{error}");
    }

    #[test]
    fn a_segment_is_created_once() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(dir.path().to_owned(), Digest::of(b"plan"));
        ledger.create_segment(Epoch(1), "m").unwrap();
        assert!(ledger.create_segment(Epoch(1), "m").is_err());
    }
}
