//! The file beside the checkpoints in which Megatron and Lightning write, last of all, the step that they have saved.

use super::event::Look;
use super::step::step_of;
use compass_common::regular_file;
use compass_types::ids::Digest;
use std::io;
use std::path::Path;

/// Its name.
pub const LATEST: &str = "latest_checkpointed_iteration.txt";

/// Content of the file where there are no steps: the weights are released.
const RELEASE: &str = "release";

/// Longest content that is read; a step has a few digits.
const MOST_BYTES: u64 = 256;

/// Returns why the checkpoint `name` in `folder` is not whole according to the file; `None` where it is.
///
/// # Errors
/// Errors of the disk.
pub fn lack(folder: &Path, name: &str) -> io::Result<Option<String>> {
    let path = folder.join(LATEST);
    let text = match regular_file::read(&path, MOST_BYTES) {
        Ok(text) => String::from_utf8_lossy(&text).trim().to_owned(),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => "too much".to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(format!("{LATEST} is not there yet"))),
        Err(error) => return Err(error),
    };
    if text == RELEASE {
        return Ok(None);
    }
    Ok(match (text.parse::<u64>(), step_of(name)) {
        (Err(_), _) => Some(format!("{LATEST} holds neither a step nor `{RELEASE}`")),
        (Ok(_), None) => Some(format!("{LATEST} says nothing of it: its name has no step")),
        (Ok(saved), Some(step)) if step > saved => Some(format!("{LATEST} names step {saved} so far")),
        (Ok(_), Some(_)) => None,
    })
}

impl Look {
    /// Marks the look as one at a checkpoint that is not whole according to the file: its fingerprint changes with that.
    #[must_use]
    pub fn lacking(self, lack: Option<String>) -> Self {
        let Some(lack) = lack else { return self };
        let fingerprint = Digest::of(&[self.fingerprint.0.as_slice(), LATEST.as_bytes()].concat());
        Self { fingerprint, unfinished: self.unfinished.or(Some(lack)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_up_to_the_step_that_is_named_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        let said = |name: &str| lack(folder.path(), name).unwrap();
        let says = |text: &str| std::fs::write(folder.path().join(LATEST), text).unwrap();
        assert_eq!(said("iter_0001000").as_deref(), Some("latest_checkpointed_iteration.txt is not there yet"));
        says("1000\n");
        assert_eq!((said("iter_0000500"), said("iter_0001000")), (None, None));
        let later = said("iter_0002000");
        assert_eq!(later.as_deref(), Some("latest_checkpointed_iteration.txt names step 1000 so far"));
        assert!(said("final").unwrap().contains("its name has no step"));
        says("release");
        assert_eq!((said("iter_0002000"), said("final")), (None, None));
        for odd in ["", "soon", "-1", &"9".repeat(300)] {
            says(odd);
            assert!(said("iter_0000500").unwrap().contains("holds neither a step nor `release`"), "{odd}");
        }
    }

    #[test]
    fn being_named_is_a_change() {
        let look = Look { fingerprint: Digest::of(b"files"), age_ms: 5, unfinished: None };
        assert_eq!(look.clone().lacking(None), look);
        let before = look.clone().lacking(Some("not yet".into()));
        assert_ne!(before.fingerprint, look.fingerprint);
        assert_eq!(before.unfinished.as_deref(), Some("not yet"));
    }
}
