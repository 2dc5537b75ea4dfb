//! The canonical bytes of an accumulator's state, and their digest: how a worker's fold of its own results is compared with
//! the master's fold of the same samples without being sent.
//!
//! A function of what was observed alone: not of the order of observations and merges, nor of how the program was built.
//! Integers are little-endian and of fixed width, floats are their bits with one zero, texts and lists have their length
//! before them, lines stand in the order in which they are shown, items in that of their samples. What the plan says
//! (evaluator, rules) is left out: both sides of a comparison have the plan.

use super::Accumulator;
use super::metric_contribution::SampleValue;
use super::series::{Column, MetricSeries};
use compass_types::ids::Digest;

/// Version of what digests of states stand for. To be raised with every change of the canonical bytes, and of an evaluator
/// that gives another state for the same result: digests of different versions are not compared.
pub const EVAL_VERSION: u32 = 4;

/// Sink of canonical bytes.
struct Bytes<'a>(&'a mut dyn FnMut(&[u8]));

impl Bytes<'_> {
    fn number(&mut self, number: u64) {
        (self.0)(&number.to_le_bytes());
    }

    fn length(&mut self, length: usize) {
        self.number(length as u64);
    }

    fn float(&mut self, float: f64) {
        // -0.0 equals 0.0 and is written as that.
        self.number((float + 0.0).to_bits());
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        (self.0)(text.as_bytes());
    }

    fn item(&mut self, item: &SampleValue) {
        match item {
            SampleValue::Hit(hit) => [0, u64::from(*hit)].into_iter().for_each(|number| self.number(number)),
            SampleValue::Score(score) => {
                self.number(1);
                self.float(*score);
            }
            SampleValue::Scores(scores) => {
                self.number(2);
                self.length(scores.len());
                scores.iter().for_each(|score| self.float(*score));
            }
            SampleValue::Weighted(score, weight) => {
                self.number(3);
                self.float(*score);
                self.number(*weight);
            }
            SampleValue::Counts(counts) => {
                self.number(4);
                self.length(counts.len());
                counts.iter().for_each(|count| self.number(*count));
            }
            SampleValue::Classes(gold, predicted) => {
                self.number(5);
                [gold, predicted].into_iter().for_each(|class| self.text(class));
            }
            SampleValue::Ranked(positive, score) => {
                self.number(6);
                self.number(u64::from(*positive));
                self.float(*score);
            }
            SampleValue::Attempts { group, right, of } => {
                self.number(7);
                self.text(group);
                [*right, *of].into_iter().for_each(|number| self.number(number));
            }
            SampleValue::Member { group, member, gold, answer } => {
                self.number(8);
                [group, member, gold, answer].into_iter().for_each(|text| self.text(text));
            }
        }
    }

    fn series(&mut self, line: &MetricSeries) {
        self.number(u64::from(line.rank));
        self.number(u64::from(line.replica));
        self.text(&line.name);
        match &line.column {
            Column::Hits { hits, total } => [0, *hits, *total].into_iter().for_each(|number| self.number(number)),
            Column::Items(items) => {
                self.number(1);
                self.length(items.len());
                for (index, item) in items {
                    self.number(u64::from(*index));
                    self.item(item);
                }
            }
        }
    }
}

impl Accumulator {
    /// Writes the canonical bytes, piece by piece.
    fn canonical(&self, write: &mut dyn FnMut(&[u8])) {
        let mut bytes = Bytes(write);
        bytes.length(self.samples().pairs().len());
        for (first, end) in self.samples().pairs() {
            [*first, *end].into_iter().for_each(|bound| bytes.number(u64::from(bound)));
        }
        let counts = self.counts();
        let counts = [counts.scored, counts.failed, counts.ties, counts.answers, counts.unfinished];
        counts.into_iter().for_each(|count| bytes.number(count));
        let lines: Vec<&MetricSeries> = self.lines().iter().collect();
        bytes.length(lines.len());
        lines.into_iter().for_each(|line| bytes.series(line));
    }

    /// The digest of the canonical bytes: equal for two accumulators of one plan exactly where they are.
    pub fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        self.canonical(&mut |bytes| {
            hasher.update(bytes);
        });
        Digest(*hasher.finalize().as_bytes())
    }
}
