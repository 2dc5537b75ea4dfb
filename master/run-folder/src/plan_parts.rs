//! The files of a plan that are named by their content, compressed as soon as they are complete: a data set is never held as
//! text and as a plan at once.

use super::plan_error::PlanError;
use compass_common::encode;
use compass_plan::prompt::Shot;
use compass_plan::{PartRef, Sample, pack, unpack};
use compass_types::ids::Digest;
use std::collections::BTreeMap;

/// Number of samples from which a part is closed ...
const PART_SAMPLES: u32 = 256;
/// ... or about this many bytes.
const PART_BYTES: usize = 192 * 1024;

/// Files by the digest of their content, compressed.
#[derive(Clone, Debug, Default)]
pub struct PlanFiles(BTreeMap<Digest, Vec<u8>>);

impl PlanFiles {
    /// Adds a file.
    ///
    /// # Errors
    /// It cannot be compressed.
    pub fn add(&mut self, content: &[u8]) -> Result<Digest, PlanError> {
        let digest = Digest::of(content);
        self.0.insert(digest, pack(content).map_err(PlanError::Compress)?);
        Ok(digest)
    }

    /// The content of a file.
    pub fn get(&self, digest: &Digest) -> Option<Vec<u8>> {
        unpack(self.0.get(digest)?).ok()
    }

    /// The content of the files of these names alone.
    pub fn only<'d>(&self, digests: impl IntoIterator<Item = &'d Digest>) -> Self {
        Self(digests.into_iter().filter_map(|digest| Some((*digest, self.0.get(digest)?.clone()))).collect())
    }

    /// The names of all files.
    pub fn names(&self) -> impl Iterator<Item = &Digest> {
        self.0.keys()
    }

    /// Every file as it is written.
    pub fn packed(&self) -> impl Iterator<Item = (&Digest, &[u8])> {
        self.0.iter().map(|(digest, packed)| (digest, packed.as_slice()))
    }
}

/// Cuts samples that come one after the other into parts; each part carries the shots that its samples name.
#[derive(Debug, Default)]
pub struct PartCutter {
    refs: Vec<PartRef>,
    /// The samples of the open part as JSON, with commas between them; its shots likewise.
    samples: Vec<u8>,
    shots: Vec<u8>,
    /// Positions in the open part of shots by their positions among all.
    known: BTreeMap<u32, u32>,
    first: Option<u32>,
    count: u32,
    bytes: usize,
}

impl PartCutter {
    /// Adds the next sample, whose shots are among `shots`.
    ///
    /// # Errors
    /// The sample cannot be written down.
    pub fn add(&mut self, mut sample: Sample, shots: &[Shot], files: &mut PlanFiles) -> Result<(), PlanError> {
        for shot in &mut sample.shots {
            let next = self.known.len() as u32;
            let at = *self.known.entry(*shot).or_insert(next);
            if at == next {
                let shown = shots.get(*shot as usize).cloned().unwrap_or_else(|| Shot::from(""));
                // A shot that fills a part by itself would else be carried again with every sample that names it.
                self.bytes += Some(shown.bytes()).filter(|bytes| *bytes < PART_BYTES).unwrap_or_default();
                append(&mut self.shots, &encode::json("a shot", &shown)?);
            }
            *shot = at;
        }
        let json = encode::json("a sample", &sample)?;
        self.bytes += json.len();
        self.first.get_or_insert(sample.index);
        self.count += 1;
        append(&mut self.samples, &json);
        if self.count == PART_SAMPLES || self.bytes >= PART_BYTES { self.close(files) } else { Ok(()) }
    }

    /// All parts.
    ///
    /// # Errors
    /// As for [`Self::add`].
    pub fn finish(mut self, files: &mut PlanFiles) -> Result<Vec<PartRef>, PlanError> {
        self.close(files)?;
        Ok(self.refs)
    }

    fn close(&mut self, files: &mut PlanFiles) -> Result<(), PlanError> {
        let Some(first) = self.first.take() else { return Ok(()) };
        // As serde writes a `Part`.
        let json = [b"{\"shots\":[", &*self.shots, b"],\"samples\":[", &*self.samples, b"]}"].concat();
        let digest = files.add(&json)?;
        self.refs.push(PartRef { digest, first, samples: self.count, bytes: json.len() as u64 });
        (self.count, self.bytes) = (0, 0);
        self.known.clear();
        self.shots.clear();
        self.samples.clear();
        Ok(())
    }
}

fn append(list: &mut Vec<u8>, json: &[u8]) {
    if !list.is_empty() {
        list.push(b',');
    }
    list.extend_from_slice(json);
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plan::prompt::{Prompt, Segment};
    use compass_plan::{Body, Part};

    #[test]
    fn parts_are_what_serde_writes_and_carry_their_shots_once() {
        let shots: Vec<Shot> = ["one", "two", "three"].map(Shot::from).into();
        let sample = |index: u32| Sample {
            index,
            gold: index.into(),
            shots: vec![index % 3, (index + 1) % 3],
            body: Body::Gen { prompt: Prompt(vec![Segment::Question(format!("é\n{index}"))]) },
        };
        let (mut cutter, mut files) = (PartCutter::default(), PlanFiles::default());
        (0..600).for_each(|index| cutter.add(sample(index), &shots, &mut files).unwrap());
        let refs = cutter.finish(&mut files).unwrap();
        assert_eq!(
            refs.iter().map(|part| (part.first, part.samples)).collect::<Vec<_>>(),
            [(0, 256), (256, 256), (512, 88)]
        );
        for part in &refs {
            let content = files.get(&part.digest).unwrap();
            let read: Part = serde_json::from_slice(&content).unwrap();
            assert_eq!((read.shots.len(), content.len() as u64), (3, part.bytes));
            assert_eq!(serde_json::to_vec(&read).unwrap(), content);
            for held in &read.samples {
                let shown: Vec<&Shot> = read.shots_of(held);
                let expected = sample(held.index);
                assert_eq!(shown, expected.shots.iter().map(|at| &shots[*at as usize]).collect::<Vec<_>>());
                assert_eq!((held.gold.clone(), held.body.clone()), (expected.gold, expected.body));
            }
        }
        assert!(PartCutter::default().finish(&mut files).unwrap().is_empty());
    }

    #[test]
    fn a_shot_that_fills_a_part_is_carried_once() {
        let shots = [Shot::from("x".repeat(2 * PART_BYTES))];
        let (mut cutter, mut files) = (PartCutter::default(), PlanFiles::default());
        for index in 0..PART_SAMPLES {
            let body = Body::Gen { prompt: Prompt(vec![Segment::Shots]) };
            let sample = Sample { index, gold: serde_json::Value::Null, shots: vec![0], body };
            cutter.add(sample, &shots, &mut files).unwrap();
        }
        assert_eq!(cutter.finish(&mut files).unwrap().len(), 1);
    }
}
