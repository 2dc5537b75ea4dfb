//! A look at the directory of a checkpoint: names, sizes and times. No file is opened.

use super::event::Look;
use compass_types::ids::Digest;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Ends of names that are written before they are whole.
const UNFINISHED: [&str; 6] = [".tmp", ".temp", ".incomplete", ".part", ".partial", ".downloading"];

/// Looks at `folders` of one checkpoint, which its models read. `markers` are names of files that its trainer writes last.
/// `None` where the first folder is not there.
///
/// # Errors
/// Errors of the disk.
pub fn look(folders: &[&Path], markers: &[String], now: SystemTime) -> io::Result<Option<Look>> {
    let mut hasher = blake3::Hasher::new();
    let (mut newest, mut unfinished, mut marked) = (Duration::ZERO, None, vec![false; markers.len()]);
    for (at, folder) in folders.iter().enumerate() {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if is_gone(&error) && at == 0 => return Ok(None),
            Err(error) if is_gone(&error) => {
                unfinished.get_or_insert_with(|| format!("{} is not there", folder.display()));
                continue;
            }
            Err(error) => return Err(error),
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry?;
            // Links are followed: a checkpoint may consist of links to files elsewhere.
            let metadata = match entry.metadata() {
                Ok(metadata) if metadata.is_symlink() => std::fs::metadata(entry.path()),
                metadata => metadata,
            };
            match metadata {
                Ok(metadata) => files.push((entry.file_name(), metadata)),
                // Removed since it was listed, or a link to nothing.
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (name, metadata) in &files {
            let shown = name.to_string_lossy();
            if UNFINISHED.iter().any(|ending| shown.ends_with(ending)) {
                unfinished.get_or_insert_with(|| format!("{shown} is being written"));
            }
            for (marker, is_there) in markers.iter().zip(&mut marked) {
                *is_there |= *marker == shown;
            }
            // What happens below is not of the checkpoint: optimizer states lie there.
            let (size, written) = if metadata.is_dir() { (0, 0) } else { (metadata.size(), metadata.mtime_nsec()) };
            hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_encoded_bytes());
            hasher.update(&size.to_le_bytes()).update(&metadata.ino().to_le_bytes());
            if !metadata.is_dir() {
                hasher.update(&metadata.mtime().to_le_bytes()).update(&written.to_le_bytes());
                hasher.update(&metadata.ctime().to_le_bytes()).update(&metadata.ctime_nsec().to_le_bytes());
                newest = newest.max(changed(metadata));
            }
        }
        newest = newest.max(changed(&std::fs::metadata(folder)?));
    }
    if let Some((marker, _)) = markers.iter().zip(&marked).find(|(_, is_there)| !**is_there) {
        unfinished.get_or_insert_with(|| format!("{marker} is not there yet"));
    }
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let age_ms = now.saturating_sub(newest).as_millis() as u64;
    Ok(Some(Look { fingerprint: Digest(*hasher.finalize().as_bytes()), age_ms, unfinished }))
}

/// Returns the time of the last change of a file, its name included: the time of writing alone is kept by copies.
fn changed(metadata: &std::fs::Metadata) -> Duration {
    let since =
        |seconds: i64, nanoseconds: i64| Duration::new(seconds.max(0) as u64, nanoseconds.clamp(0, 999_999_999) as u32);
    since(metadata.ctime(), metadata.ctime_nsec()).max(since(metadata.mtime(), metadata.mtime_nsec()))
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
