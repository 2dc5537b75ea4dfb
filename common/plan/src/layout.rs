//! Paths of a plan's files in a run folder: the one place that master and worker agree on beside the wire.
//!
//! A file that is named by its content is compressed, with the digest of what is in it for its name: what compresses it may
//! change, and the plan stays the same.

use compass_common::regular_file;
use compass_types::ids::Digest;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Compression level of zstd: its fastest takes a part of the plan to a third and less.
const LEVEL: i32 = 1;

/// The end of the name of a file that is compressed.
const PACKED: &str = "zst";

/// The plan's head, which names everything else.
pub fn head_path(run: &Path) -> PathBuf {
    run.join("plan/job.json")
}

/// A part, named by its content.
pub fn part_path(run: &Path, digest: &Digest) -> PathBuf {
    run.join("plan/parts").join(format!("{digest}.json.{PACKED}"))
}

/// Returns the path of a part of a run: runs that an earlier version began have theirs as plain JSON.
pub fn found_part(run: &Path, digest: &Digest) -> PathBuf {
    let (packed, plain) = (part_path(run, digest), run.join("plan/parts").join(format!("{digest}.json")));
    if !packed.exists() && plain.exists() { plain } else { packed }
}

/// The tasks into which the run was cut when its master last began, see [`crate::partition::TaskList`].
pub fn tasks_path(run: &Path) -> PathBuf {
    run.join("logs/tasks.json")
}

/// Returns the bytes to write to a file of this content.
///
/// # Errors
/// Memory is short.
pub fn pack(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = zstd::bulk::compress(content, LEVEL)?;
    // It comes in a buffer of the content's size.
    packed.shrink_to_fit();
    Ok(packed)
}

/// The content of a file that [`pack`] made.
///
/// # Errors
/// It is damaged.
pub fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    zstd::stream::read::Decoder::new(packed)?.take(regular_file::LARGE).read_to_end(&mut content)?;
    Ok(content)
}

/// Reads a file of a plan, compressed or not, which must be what its name says.
///
/// # Errors
/// It cannot be read; [`io::ErrorKind::InvalidData`] where it is something else.
pub fn read_plan_file(path: &Path, digest: &Digest) -> io::Result<Vec<u8>> {
    let bytes = regular_file::read(path, regular_file::LARGE)?;
    let is_packed = path.extension().is_some_and(|end| end == PACKED);
    let content = if is_packed { unpack(&bytes).ok() } else { Some(bytes) };
    let other = || io::Error::new(io::ErrorKind::InvalidData, "its content does not match its name");
    content.filter(|content| Digest::of(content) == *digest).ok_or_else(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_name_says_or_an_error() {
        let run = tempfile::tempdir().unwrap();
        let content = br#"{"shots":[],"samples":[]}"#.repeat(400);
        let digest = Digest::of(&content);
        let path = part_path(run.path(), &digest);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let packed = pack(&content).unwrap();
        assert!(packed.len() * 10 < content.len(), "{}", packed.len());
        assert_eq!(unpack(&packed).unwrap(), content);
        std::fs::write(&path, &packed).unwrap();
        assert_eq!(read_plan_file(&path, &digest).unwrap(), content);
        for damaged in [&packed[..packed.len() / 2], b"{}", &pack(b"another").unwrap()] {
            std::fs::write(&path, damaged).unwrap();
            let error = read_plan_file(&path, &digest).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        }
        let missing = read_plan_file(&run.path().join("x"), &digest).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let plain = run.path().join("plain.json");
        std::fs::write(&plain, &content).unwrap();
        assert_eq!(read_plan_file(&plain, &digest).unwrap(), content);
    }
}
