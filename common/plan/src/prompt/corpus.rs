//! The texts of all rows as one corpus, whose windows are the work: OpenCompass's `SWCELossInferencer`.
//!
//! The beginning of a window is counted in tokens, which only a worker knows. The plan therefore names no window: each sample is
//! one of a number of equal slices of them, however many they are, and all samples share the texts, which a part carries once.

use super::error::PromptError;
use super::sample_sink::SampleSink;
use super::shot::Shot;
use super::structured::{Segment, ShotFormat};
use crate::{Body, Sample};
use serde_json::Value;

/// Code points of a corpus for each slice: enough that a slice is worth a lease, and few enough to be lost with a worker.
const CHARACTERS_OF_A_SLICE: u64 = 100_000;

/// Most slices: as many as a part holds, which then has all of them.
const MOST_SLICES: u64 = 256;

/// Most bytes of the texts: as JSON they still are less than a message to an engine may have.
const MOST_BYTES: usize = 192 << 20;

/// Texts that come one after the other.
#[derive(Debug, Default)]
pub(super) struct Corpus {
    texts: Vec<Segment>,
    characters: u64,
    bytes: usize,
}

impl Corpus {
    /// Adds the text of the next row.
    pub(super) fn add(&mut self, body: &Body) {
        let Body::Gen { prompt } = body else { return };
        let text = prompt.render(&[], &ShotFormat::default());
        self.characters += text.chars().count() as u64;
        self.bytes += text.len();
        self.texts.push(Segment::Question(text));
    }

    /// Hands over the samples.
    ///
    /// # Errors
    /// There is nothing to divide the loss by, or more text than fits into a part.
    pub(super) fn finish(self, each: &mut SampleSink<'_>) -> Result<(), PromptError> {
        let fail = |message: String| Err(PromptError::Template(message));
        if self.characters == 0 {
            return fail("swce_loss divides by the characters of all texts, and every text is empty".into());
        }
        if self.bytes > MOST_BYTES {
            let (bytes, most) = (self.bytes >> 20, MOST_BYTES >> 20);
            return fail(format!(
                "swce_loss reads all texts as one, and {bytes} MiB are more than the {most} MiB that a worker can be sent: \
                 split the rows over several data sets by `test_range`"
            ));
        }
        let slices = self.characters.div_ceil(CHARACTERS_OF_A_SLICE).min(MOST_SLICES);
        let before = |slice: u64| slice * self.characters / slices;
        let shots = [Shot::Turns(self.texts)];
        for slice in 0..slices {
            let characters = before(slice + 1) - before(slice);
            let (index, slices) = (slice as u32, slices as u32);
            let body = Body::Windows { slice: index, slices, characters };
            each(Sample { index, gold: Value::Null, shots: vec![0], body }, &shots, &ShotFormat::default());
        }
        Ok(())
    }
}
