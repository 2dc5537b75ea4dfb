//! New lines of the logs of jobs, for a terminal where a set-up is tried out.

use super::launcher::LauncherJobId;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes of one log that are read at once: of one that grows faster, the rest follows later.
const MOST_AT_ONCE: u64 = 64 << 10;

/// How far a log has been read.
#[derive(Debug)]
struct Followed {
    path: PathBuf,
    read: u64,
    /// The beginning of a line whose end was not there.
    begun: Vec<u8>,
}

/// The logs that are followed.
#[derive(Debug, Default)]
pub(super) struct LogFollower {
    logs: BTreeMap<LauncherJobId, Followed>,
}

impl LogFollower {
    /// Follows the log of a job from its beginning.
    pub(super) fn follow(&mut self, job: LauncherJobId, path: PathBuf) {
        self.logs.entry(job).or_insert(Followed { path, read: 0, begun: Vec::new() });
    }

    /// Returns the lines that are new, by job. A log that cannot be read has none yet.
    pub(super) fn new_lines(&mut self) -> Vec<(LauncherJobId, String)> {
        let mut lines = Vec::new();
        for (job, log) in &mut self.logs {
            let Ok(bytes) = read_from(&log.path, log.read) else { continue };
            log.read += bytes.len() as u64;
            log.begun.extend(bytes);
            // A line without an end comes in pieces.
            let end = match log.begun.iter().rposition(|byte| *byte == b'\n') {
                Some(last) => last + 1,
                None if log.begun.len() as u64 >= MOST_AT_ONCE => log.begun.len(),
                None => continue,
            };
            let whole: Vec<u8> = log.begun.drain(..end).collect();
            lines.extend(String::from_utf8_lossy(&whole).lines().map(|line| (job.clone(), line.to_owned())));
        }
        lines
    }
}

fn read_from(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(MOST_AT_ONCE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_are_told_once_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut follower) = (folder.path().join("7.log"), LogFollower::default());
        let job = LauncherJobId("7".into());
        follower.follow(job.clone(), path.clone());
        assert!(follower.new_lines().is_empty(), "the log is not there yet");
        let mut log = File::create(&path).unwrap();
        log.write_all(b"one\ntwo\nthr").unwrap();
        let of_job = |line: &str| (job.clone(), line.to_owned());
        assert_eq!(follower.new_lines(), [of_job("one"), of_job("two")]);
        assert!(follower.new_lines().is_empty());
        log.write_all(b"ee \xff\n").unwrap();
        // The same job again, as after a restart of it, goes on where it was.
        follower.follow(job.clone(), path);
        assert_eq!(follower.new_lines(), [of_job("three \u{fffd}")]);
    }

    #[test]
    fn a_line_without_an_end_comes_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut follower) = (folder.path().join("7.log"), LogFollower::default());
        follower.follow(LauncherJobId("7".into()), path.clone());
        std::fs::write(&path, vec![b'x'; MOST_AT_ONCE as usize + 5]).unwrap();
        let lines = follower.new_lines();
        assert_eq!(lines.iter().map(|(_, line)| line.len()).collect::<Vec<_>>(), [MOST_AT_ONCE as usize]);
        assert!(follower.new_lines().is_empty());
    }
}
