//! New lines of the logs of jobs, for a terminal where a set-up is tried out.

use super::launcher::LauncherJobId;
use compass_common::regular_file;
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes of one log that are read at once.
const MOST_AT_ONCE: u64 = 64 << 10;

/// A log, and the point up to which it has been read.
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

    /// Returns the lines that are new, by job, to the end of what each log holds. A log that cannot be read has none yet.
    pub(super) fn new_lines(&mut self) -> Vec<(LauncherJobId, String)> {
        let mut lines = Vec::new();
        for (job, log) in &mut self.logs {
            // What a log gains while it is read is left for the next time.
            let length = std::fs::metadata(&log.path).map_or(0, |data| data.len());
            while log.read < length {
                let read = log.read;
                lines.extend(log.next_lines().into_iter().map(|line| (job.clone(), line)));
                if log.read == read {
                    break;
                }
            }
        }
        lines
    }

    /// Returns whether nothing of the log of this job was read as yet.
    pub(super) fn is_unseen(&self, job: &LauncherJobId) -> bool {
        self.logs.get(job).is_some_and(|log| log.read == 0)
    }

    /// Returns the lines whose end will not come any more.
    pub(super) fn unfinished_lines(&mut self) -> Vec<(LauncherJobId, String)> {
        let begun = self.logs.iter_mut().map(|(job, log)| (job, std::mem::take(&mut log.begun)));
        let begun = begun.filter(|(_, line)| !line.is_empty());
        begun.map(|(job, line)| (job.clone(), String::from_utf8_lossy(&line).into_owned())).collect()
    }
}

impl Followed {
    /// Reads a piece of the log; returns the lines that end in it.
    fn next_lines(&mut self) -> Vec<String> {
        let Ok(bytes) = read_from(&self.path, self.read) else { return Vec::new() };
        self.read += bytes.len() as u64;
        self.begun.extend(bytes);
        // A line without an end comes in pieces.
        let end = match self.begun.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => last + 1,
            None if self.begun.len() as u64 >= MOST_AT_ONCE => self.begun.len(),
            None => return Vec::new(),
        };
        let whole: Vec<u8> = self.begun.drain(..end).collect();
        String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect()
    }
}

fn read_from(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = regular_file::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(MOST_AT_ONCE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
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
        assert_eq!(follower.unfinished_lines(), [(LauncherJobId("7".into()), "xxxxx".to_owned())]);
        assert!(follower.unfinished_lines().is_empty());
    }

    #[test]
    fn a_log_is_read_to_its_end_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut follower) = (folder.path().join("7.log"), LogFollower::default());
        let job = LauncherJobId("7".into());
        follower.follow(job.clone(), path.clone());
        assert!(follower.is_unseen(&job) && !follower.is_unseen(&LauncherJobId("8".into())));
        std::fs::write(&path, "a line\n".repeat(MOST_AT_ONCE as usize)).unwrap();
        assert_eq!(follower.new_lines().len(), MOST_AT_ONCE as usize);
        assert!(!follower.is_unseen(&job));
    }
}
