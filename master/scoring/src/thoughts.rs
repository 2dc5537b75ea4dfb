//! Texts of thinking, in a file without a name: a run may hold more of them than memory does, and each is needed once.

use compass_types::result::{Outcome, SampleResult};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes from which on a text is put into the file.
const LONG: usize = 1024;

/// Place of a text in the file.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: u64,
    length: usize,
}

/// A file that is gone when it is closed.
#[derive(Debug, Default)]
pub(super) struct ThoughtFile {
    /// Folder in which the file is made for the first text.
    folder: Option<PathBuf>,
    file: Option<Arc<File>>,
    length: u64,
}

/// Texts of one unit, by sample and answer.
#[derive(Debug, Default)]
pub(super) struct Thoughts {
    file: Option<Arc<File>>,
    places: BTreeMap<u32, Vec<Option<Place>>>,
}

impl ThoughtFile {
    /// Makes a file in a folder once there is a text for it. Where that is refused, texts stay in memory.
    pub(super) fn within(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()), ..Self::default() }
    }

    /// Writes a text; `None` where the disk refuses.
    fn write(&mut self, text: &str) -> Option<Place> {
        if let Some(folder) = self.folder.take() {
            let path = folder.join(format!(".thoughts-{}", std::process::id()));
            self.file = File::options().read(true).write(true).create_new(true).open(&path).ok().map(Arc::new);
            if self.file.is_some() {
                let _ = fs::remove_file(&path);
            }
        }
        let place = Place { at: self.length, length: text.len() };
        self.file.as_ref()?.write_all_at(text.as_bytes(), place.at).ok()?;
        self.length += text.len() as u64;
        Some(place)
    }
}

impl Thoughts {
    /// Takes the long texts of thinking out of a result.
    pub(super) fn take(&mut self, file: &mut ThoughtFile, result: &mut SampleResult) {
        let Outcome::Generated(answers) = &mut result.outcome else { return };
        let thoughts = answers.iter_mut().map(|answer| {
            let thought = answer.thinking.as_mut().filter(|thought| thought.text.len() >= LONG)?;
            let place = file.write(&thought.text)?;
            thought.text = String::new();
            Some(place)
        });
        let places: Vec<Option<Place>> = thoughts.collect();
        if places.iter().any(Option::is_some) {
            self.file = file.file.clone();
            self.places.insert(result.index, places);
        }
    }

    /// Returns a result with the texts that were taken out of it; `None` where none was.
    ///
    /// # Errors
    /// The disk refuses.
    pub(super) fn restored(&self, result: &SampleResult) -> io::Result<Option<SampleResult>> {
        let (Some(places), Some(file)) = (self.places.get(&result.index), &self.file) else { return Ok(None) };
        let mut result = result.clone();
        let Outcome::Generated(answers) = &mut result.outcome else { return Ok(None) };
        for (answer, place) in answers.iter_mut().zip(places) {
            if let (Some(thought), Some(Place { at, length })) = (&mut answer.thinking, place) {
                let mut bytes = vec![0; *length];
                file.read_exact_at(&mut bytes, *at)?;
                thought.text = String::from_utf8(bytes).map_err(io::Error::other)?;
            }
        }
        Ok(Some(result))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_types::result::{Finish, Generation, PromptFit, ThinkingEnd, Thought};

    #[test]
    fn a_result_has_its_texts_again() {
        let folder = tempfile::tempdir().unwrap();
        let answer = |text: String| {
            let thinking = Some(Thought { text, tokens: 3, end: ThinkingEnd::Closed });
            Generation { thinking, ..Generation::new("4", 1, Finish::Eos) }
        };
        let answers = vec![answer("é".repeat(LONG)), answer("short".into()), answer("b".repeat(3 * LONG))];
        let result = |index| {
            let outcome = Outcome::Generated(answers.clone());
            SampleResult { index, fit: PromptFit::default(), outcome }
        };
        let (mut file, mut thoughts) = (ThoughtFile::within(folder.path()), Thoughts::default());
        let kept: Vec<SampleResult> = (0..2)
            .map(|index| {
                let mut result = result(index);
                thoughts.take(&mut file, &mut result);
                result
            })
            .collect();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name");
        drop(file);
        for (index, kept) in (0..).zip(&kept) {
            assert_ne!(*kept, result(index));
            assert_eq!(thoughts.restored(kept).unwrap(), Some(result(index)));
        }
        let other = result(7);
        assert_eq!(thoughts.restored(&other).unwrap(), None);
        let mut unwritable = result(8);
        thoughts.take(&mut ThoughtFile::within(&folder.path().join("nothing")), &mut unwritable);
        assert_eq!(unwritable, result(8), "where no file can be made, texts stay");
    }
}
