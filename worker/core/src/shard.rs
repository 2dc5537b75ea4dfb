//! The worker's summary of its own results of one grant: counts, token counters, seconds, and the digest of the
//! evaluator's state. The state itself stays here: it may have an item per sample, and a report must not grow with
//! them.

use super::order::BatchEnd;
use compass_eval::evaluator::{Accumulator, EVAL_VERSION};
use compass_plan::engine::{PrefixSegment, TokenCounters};
use compass_plan::{EvalSpec, Part};
use compass_proto::{intervals_to_wire, v1};
use compass_types::ids::{Digest, GrantId, TaskId, UnitId};
use compass_types::intervals::IntervalSet;
use compass_types::result::SampleResult;
use std::collections::BTreeSet;

/// Maximum number of prefix segments in a report.
const MAX_PREFIX_SEGMENTS: usize = 8192;
/// Maximum number of notes in a report.
const MAX_NOTES: usize = 32;
const NOTE_CHARACTERS: usize = 500;
/// Maximum number of further distinct notes that are counted.
const KNOWN_NOTES: usize = 1024;

/// Accumulates the results of a grant.
#[derive(Clone, Debug)]
pub(super) struct Shard {
    evaluator: Accumulator,
    tokens: TokenCounters,
    seconds: f64,
    notes: Vec<String>,
    /// Hashes of the notes that do not fit into the report.
    more_notes: BTreeSet<Digest>,
    prefix_segments: Vec<PrefixSegment>,
    prefix_segments_left_out: u64,
    engine_deaths: u32,
}

impl Shard {
    /// Creates an empty shard for a data set with the evaluator of `eval`.
    pub(super) fn new(eval: &EvalSpec) -> Self {
        Self {
            evaluator: Accumulator::new(eval),
            tokens: TokenCounters::default(),
            seconds: 0.0,
            notes: Vec::new(),
            more_notes: BTreeSet::new(),
            prefix_segments: Vec::new(),
            prefix_segments_left_out: 0,
            engine_deaths: 0,
        }
    }

    /// Adds the result of a sample of `part`, which has its gold answer. A malformed result is not counted, so that the
    /// master's check of the report detects it.
    pub(super) fn observe(&mut self, part: &Part, result: &v1::SampleResult) {
        let Some(sample) = part.sample(result.index) else { return };
        match SampleResult::try_from(result.clone()) {
            Ok(result) => {
                self.evaluator.observe(sample, &result);
            }
            Err(error) => tracing::error!(index = result.index, %error, "the engine gave a malformed result"),
        }
    }

    /// Adds a batch's duration. Tokens and notes are known only for completed batches.
    pub(super) fn batch_ended(&mut self, end: &BatchEnd, seconds: f64) {
        self.seconds += seconds;
        match end {
            BatchEnd::Done { tokens, notes, prefix_segments } => {
                let room = MAX_PREFIX_SEGMENTS.saturating_sub(self.prefix_segments.len());
                self.prefix_segments.extend(prefix_segments.iter().take(room));
                self.prefix_segments_left_out += prefix_segments.len().saturating_sub(room) as u64;
                self.tokens.add(tokens);
                notes.iter().for_each(|note| self.note(note));
            }
            BatchEnd::EngineDied { message } => {
                self.engine_deaths += 1;
                self.note(&format!("an engine died while it computed, and its samples were run again: {message}"));
            }
            _ => {}
        }
    }

    fn note(&mut self, note: &str) {
        let cut: String = note.chars().take(NOTE_CHARACTERS).collect();
        if self.notes.contains(&cut) {
            return;
        }
        if self.notes.len() < MAX_NOTES {
            self.notes.push(cut);
        } else if self.more_notes.len() < KNOWN_NOTES {
            self.more_notes.insert(Digest::of(cut.as_bytes()));
        }
    }

    /// Logs what became of the samples of a task, and how fast.
    pub(super) fn log(&self, task: TaskId, of: &str) {
        let counts = self.evaluator.counts();
        let tokens = self.tokens.computed + self.tokens.generated;
        let tokens_per_s = (self.seconds > 0.0).then(|| (tokens as f64 / self.seconds).round());
        let seconds = (self.seconds * 10.0).round() / 10.0;
        let (scored, failed) = (counts.scored, counts.failed);
        tracing::info!(%task, of, scored, failed, seconds, tokens_per_s, "task finished");
    }

    /// Returns the report after the last sample.
    pub(super) fn report(&self, grant: GrantId, unit: UnitId, samples: &IntervalSet) -> v1::ShardReport {
        let counts = self.evaluator.counts();
        let first = self.evaluator.running().values.into_iter().next();
        v1::ShardReport {
            grant: Some(grant.into()),
            unit: unit.0,
            samples: intervals_to_wire(samples),
            scored: u32::try_from(counts.scored).unwrap_or(u32::MAX),
            failed: u32::try_from(counts.failed).unwrap_or(u32::MAX),
            tokens: Some(self.tokens.into()),
            seconds: self.seconds,
            notes: self.notes.clone(),
            prefix_segments: self.prefix_segments.iter().map(|&segment| segment.into()).collect(),
            eval_version: EVAL_VERSION,
            state: self.evaluator.digest().0.to_vec(),
            first: first.map(|metric| v1::ShownMetric { name: metric.name, value: metric.value }),
            notes_left_out: self.more_notes.len() as u32,
            prefix_segments_left_out: self.prefix_segments_left_out,
            engine_deaths: self.engine_deaths,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plan::evaluation::{ChoiceMetric, EvaluatorSpec, TextScore};
    use compass_plan::prompt::Prompt;
    use compass_plan::{Body, OptionText, Sample};
    use prost::Message;
    use serde_json::json;
    use v1::sample_result::Outcome;

    const GRANT: GrantId = GrantId::new(1, 2, 3);

    /// Samples of a part, with the model's results.
    fn part_of(count: u32, spec: &EvaluatorSpec) -> (Part, Vec<v1::SampleResult>) {
        let chosen = matches!(spec, EvaluatorSpec::AucRoc | EvaluatorSpec::MultipleChoice { .. });
        let sample = |index: u32| {
            let option = |label: u32| OptionText {
                context: None,
                unconditional: false,
                delimiter: 0,
                label: label.into(),
                continuation: format!(" {label}"),
                length: 1,
            };
            let letter = ["A", "B", "C", "D"][index as usize % 4];
            let gold = match spec {
                EvaluatorSpec::Circular => {
                    json!(format!("{}--{letter}--{}", index / 4, ["ABCD", "BCDA", "CDAB", "DABC"][index as usize % 4]))
                }
                _ if chosen => json!(index % 2),
                _ => json!(letter),
            };
            let prompt = Prompt::question("so");
            let body = match chosen {
                true => Body::Loglikelihood { context: prompt, options: vec![option(0), option(1)] },
                false => Body::Gen { prompt },
            };
            Sample { index, gold, shots: Vec::new(), body }
        };
        let result_of = |index: u32| {
            let outcome = match chosen {
                true => Outcome::Loglikelihood(v1::LoglikelihoodScores {
                    sum: vec![-1.0, -0.5 - f64::from(index)],
                    tokens: vec![1, 1],
                    is_greedy: vec![true, false],
                }),
                false => Outcome::Generation(v1::Generation {
                    text: "A".into(),
                    tokens: 1,
                    finish: v1::Finish::Stop.into(),
                    ..Default::default()
                }),
            };
            v1::SampleResult { index, outcome: Some(outcome), ..Default::default() }
        };
        (Part { shots: Vec::new(), samples: (0..count).map(sample).collect() }, (0..count).map(result_of).collect())
    }

    #[test]
    fn a_report_of_6_000_samples_is_as_small_as_one_of_twelve_whatever_the_metric_keeps() {
        let metrics = vec![ChoiceMetric::BrierScore, ChoiceMetric::Mcc];
        let kinds = [
            EvaluatorSpec::Em,
            EvaluatorSpec::Score { score: TextScore::Squad },
            EvaluatorSpec::Score { score: TextScore::DropBags },
            EvaluatorSpec::Rouge { stemming: Default::default() },
            EvaluatorSpec::Bleu { tokenizer: Default::default() },
            EvaluatorSpec::Chrf { word_order: 2 },
            EvaluatorSpec::Ter,
            EvaluatorSpec::Mcc,
            EvaluatorSpec::F1 { average: Default::default() },
            EvaluatorSpec::AucRoc,
            EvaluatorSpec::MultipleChoice { metrics },
            EvaluatorSpec::Gaokao { question: compass_plan::evaluation::GaokaoQuestion::MultiChoice },
            EvaluatorSpec::Circular,
            EvaluatorSpec::CrowsPairs,
        ];
        for kind in kinds {
            let size = |count: u32| {
                let (part, results) = part_of(count, &kind);
                let mut shard = Shard::new(&EvalSpec::new(kind.clone()));
                results.iter().for_each(|result| shard.observe(&part, result));
                let report = shard.report(GRANT, UnitId(4), &IntervalSet::range(0, count));
                assert_eq!((report.scored, report.failed), (count, 0), "{kind:?}");
                assert!(report.first.is_some(), "{kind:?}");
                report.encoded_len()
            };
            let (few, many) = (size(12), size(6_000));
            assert!(many <= few + 16, "{kind:?}: {few} bytes for 12 samples, {many} for 6,000");
        }
    }

    #[test]
    fn deaths_of_engines_are_counted_and_told() {
        let mut shard = Shard::new(&EvalSpec::new(EvaluatorSpec::Acc));
        for _ in 0..2 {
            shard.batch_ended(&BatchEnd::EngineDied { message: "killed by signal 9".into() }, 1.0);
        }
        shard.batch_ended(&BatchEnd::NeverStarted { message: "no memory".into() }, 1.0);
        let report = shard.report(GRANT, UnitId(0), &IntervalSet::new());
        let note = "an engine died while it computed, and its samples were run again: killed by signal 9";
        assert_eq!((report.engine_deaths, report.notes), (2, vec![note.to_owned()]));
    }

    #[test]
    fn excess_notes_and_prefix_segments_are_counted() {
        let mut shard = Shard::new(&EvalSpec::new(EvaluatorSpec::Acc));
        let tokens = TokenCounters::default();
        for batch in 0..2 {
            // The second batch has the same notes.
            let notes = (0..40).map(|note| format!("note {note} {}", "é".repeat(1000))).collect();
            let prefix_segments =
                (0..5000).map(|path| PrefixSegment { path: path + batch * 5000, tokens: 1 }).collect();
            shard.batch_ended(&BatchEnd::Done { tokens, notes, prefix_segments }, 1.0);
        }
        let report = shard.report(GRANT, UnitId(0), &IntervalSet::new());
        assert_eq!((report.notes.len(), report.notes_left_out), (MAX_NOTES, 8));
        assert!(report.notes.iter().all(|note| note.chars().count() == NOTE_CHARACTERS));
        assert_eq!(
            (report.prefix_segments.len(), report.prefix_segments_left_out),
            (MAX_PREFIX_SEGMENTS, 10_000 - 8192)
        );
        assert!(report.encoded_len() < compass_proto::SPILL_BYTES, "{}", report.encoded_len());
    }
}
