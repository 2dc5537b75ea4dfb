//! Tests of the scoring with a fake model, whose output for a token depends on all tokens before it, to the bit.

use super::compute::{SampleScores, Scorer, Work};
use super::input::ScoringInput;
use crate::executor::score::Precision;
use crate::kernels::{Kernels, Reference};
use crate::kv::{Arena, Segment};
use crate::models::CausalLm;
use compass_plan::engine::TokenCounters;
use tch::{Device, Kind, TchError, Tensor};

const VOCABULARY: u32 = 11;

/// A fake model that runs out of memory beyond `most` rows per pass, and whose arena has this many tokens.
struct Model {
    most: usize,
    tokens: usize,
    passes: Vec<usize>,
}

/// Returns a number for a sequence.
fn mark(sequence: &[u32]) -> f32 {
    sequence.iter().fold(0.25, |mark, &token| (mark * 0.7 + token as f32) % 8.0)
}

fn logits_of(mark: f32) -> Vec<f32> {
    (0..VOCABULARY).map(|token| (mark * (token + 1) as f32) % 5.0).collect()
}

impl CausalLm for Model {
    fn hidden(&mut self, tokens: &[u32], segments: &[Segment], arena: &mut Arena) -> Result<Tensor, TchError> {
        if tokens.len() > self.most {
            return Err(TchError::Torch("DefaultCPUAllocator: can't allocate memory: you tried".into()));
        }
        self.passes.push(tokens.len());
        let (mut marks, mut start) = (Vec::new(), 0);
        for segment in segments {
            let room = arena.room(segment.own);
            assert!(arena.tokens(segment.own).len() >= segment.before && segment.before + segment.rows <= room);
            arena.note(segment.own, segment.before, &tokens[start..start + segment.rows], false);
            start += segment.rows;
            let path = segment.path.iter().chain([&segment.own]);
            let sequence: Vec<u32> = path.flat_map(|&extent| arena.tokens(extent)).copied().collect();
            assert_eq!(sequence.len(), segment.end());
            marks.extend((segment.position..segment.end()).map(|last| mark(&sequence[..=last])));
        }
        Tensor::f_from_slice(&marks)?.f_unsqueeze(1)
    }

    fn logits(&self, hidden: &Tensor) -> Result<Tensor, TchError> {
        let marks = Vec::<f32>::try_from(&hidden.f_reshape([-1])?)?;
        let logits: Vec<f32> = marks.into_iter().flat_map(logits_of).collect();
        Tensor::f_from_slice(&logits)?.f_reshape([-1, i64::from(VOCABULARY)])
    }

    fn arena_tokens(&self, _: usize) -> usize {
        self.tokens
    }

    fn arena_tokens_at_most(&self, _: usize) -> usize {
        self.tokens
    }

    fn arena(&self, tokens: usize) -> Result<Arena, TchError> {
        Arena::new(&[Device::Cpu], tokens.min(self.tokens), (1, 1), Kind::Float)
    }

    fn token_bytes(&self) -> usize {
        8
    }

    fn kernels(&self) -> &dyn Kernels {
        &Reference
    }

    fn rows_at_once(&self) -> usize {
        16
    }

    fn shares_prefixes(&self, length: usize) -> bool {
        length < 14
    }

    fn vocabulary(&self) -> usize {
        VOCABULARY as usize
    }

    fn most_positions(&self) -> Option<usize> {
        None
    }
}

/// Samples of one to three texts with shared prefixes, with cuts from `cut`.
fn samples() -> Vec<Vec<ScoringInput>> {
    let text = |sample: usize, option: usize| {
        let trunk = [1u32, 2, 3, (sample % 2) as u32, 5];
        let own = (0..sample % 4 + 1).map(|place| ((sample * 7 + place * 3) % 11) as u32);
        let end = (0..option * 2 + 1).map(|place| ((option + place) % 11) as u32);
        let tokens: Vec<u32> = trunk.into_iter().chain(own).chain(end).collect();
        let input = ScoringInput::scores(tokens, [1, 3, 6][sample % 3]);
        ScoringInput { cuts: vec![3, 5], ..input }
    };
    let mut samples: Vec<Vec<ScoringInput>> =
        (0..14).map(|sample| (0..sample % 3 + 1).map(|option| text(sample, option)).collect()).collect();
    samples.push(vec![ScoringInput::default()]);
    samples.push(vec![ScoringInput::next_of(vec![1, 2, 3], vec![4, 4, 1])]);
    samples
}

/// Expected scores: each text alone.
fn expected(text: &ScoringInput) -> Vec<f32> {
    let score = |sequence: &[u32], token: u32| {
        let logits = Tensor::from_slice(&logits_of(mark(sequence)));
        logits.log_softmax(-1, Kind::Float).double_value(&[i64::from(token)]) as f32
    };
    let inner = (text.first..text.fed.len()).map(|place| score(&text.fed[..place], text.fed[place]));
    inner.chain(text.next.iter().map(|&token| score(&text.fed, token))).collect()
}

/// One that settles each pass at once, and one that makes the next ready before.
fn both() -> [(Scorer, Arena); 2] {
    [false, true].map(|is_ahead| (Scorer::new(is_ahead), Arena::none()))
}

fn run(
    scorer: &mut (Scorer, Arena),
    model: &mut Model,
    samples: &[Vec<ScoringInput>],
) -> (Vec<Option<SampleScores>>, TokenCounters) {
    let mut results: Vec<Option<SampleScores>> = samples.iter().map(|_| None).collect();
    let mut counters = TokenCounters::default();
    let work = Work { model, precision: Precision::Full, counters: &mut counters };
    let done = &mut |sample: usize, scores: SampleScores| {
        assert!(results[sample].is_none(), "reported once");
        results[sample] = Some(scores);
    };
    let mut arena = std::mem::replace(&mut scorer.1, Arena::none());
    scorer.0.run(work, &mut arena, samples.to_vec(), &mut || false, done).unwrap();
    scorer.1 = arena;
    (results, counters)
}

fn assert_right(samples: &[Vec<ScoringInput>], results: &[Option<SampleScores>]) {
    for (texts, scores) in samples.iter().zip(results) {
        let scores = scores.as_ref().unwrap().as_ref().unwrap();
        for (text, scores) in texts.iter().zip(scores) {
            let got: Vec<f32> = scores.iter().map(|score| score.log_prob).collect();
            let wanted = expected(text);
            assert!(
                got.len() == wanted.len() && got.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-6),
                "{text:?}"
            );
        }
    }
}

#[test]
fn every_text_gets_its_own_scores() {
    for mut scorer in both() {
        let samples = samples();
        let mut model = Model { most: 1000, tokens: 1000, passes: Vec::new() };
        let (results, counters) = run(&mut scorer, &mut model, &samples);
        assert_right(&samples, &results);
        assert_eq!(counters.computed, counters.distinct);
        assert_eq!(counters.computed, model.passes.iter().sum::<usize>() as u64);
        assert!(counters.computed * 2 < counters.submitted, "{counters:?}");
        assert!(model.passes.iter().all(|&rows| rows <= 16), "{:?}", model.passes);
        // Again, in another order: shared prefixes are resident, no segment is new.
        let turned: Vec<Vec<ScoringInput>> = samples.iter().rev().cloned().collect();
        let (results, again) = run(&mut scorer, &mut model, &turned);
        assert_right(&turned, &results);
        assert!(again.distinct == 0 && again.computed < counters.computed, "{again:?}");
        // Another job with the same texts has as many distinct tokens as the first one.
        scorer.0.begin_job();
        let (results, other) = run(&mut scorer, &mut model, &samples);
        assert_right(&samples, &results);
        assert_eq!(other.distinct, counters.distinct);
    }
}

#[test]
fn lack_of_memory_reduces_rows_per_pass() {
    for mut scorer in both() {
        let samples = samples();
        let mut model = Model { most: 6, tokens: 1000, passes: Vec::new() };
        let (results, counters) = run(&mut scorer, &mut model, &samples);
        assert_right(&samples, &results);
        assert_eq!(counters.computed, counters.distinct);
        assert!(model.passes.len() > 5 && model.passes.iter().all(|&rows| rows <= 6), "{:?}", model.passes);
    }
}

#[test]
fn only_samples_that_never_fit_fail() {
    for mut scorer in both() {
        let mut samples = samples();
        let long = ScoringInput::scores((0..16).map(|token| token % 11).collect(), 1);
        samples.insert(3, vec![samples[0][0].clone(), long]);
        let mut model = Model { most: 6, tokens: 1000, passes: Vec::new() };
        let (mut results, _) = run(&mut scorer, &mut model, &samples);
        let failed = results.remove(3).unwrap().unwrap_err();
        assert!(failed.contains("not enough memory for a prefix segment of 15 tokens"), "{failed}");
        samples.remove(3);
        assert_right(&samples, &results);
    }
}

#[test]
fn small_arena_makes_more_passes_and_changes_no_score() {
    for mut scorer in both() {
        let samples = samples();
        // The longest text has 13 tokens.
        let mut model = Model { most: 1000, tokens: 26, passes: Vec::new() };
        for _ in 0..3 {
            let (results, _) = run(&mut scorer, &mut model, &samples);
            assert_right(&samples, &results);
        }
        assert!(model.passes.iter().all(|&rows| rows <= 26));
    }
}

#[test]
fn texts_without_room_for_their_keys_fail_alone() {
    for mut scorer in both() {
        let mut samples = samples();
        let long = ScoringInput::scores((0..40).map(|token| token % 11).collect(), 1);
        samples.insert(3, vec![samples[0][0].clone(), long]);
        let mut model = Model { most: 1000, tokens: 26, passes: Vec::new() };
        let (mut results, _) = run(&mut scorer, &mut model, &samples);
        let failed = results.remove(3).unwrap().unwrap_err();
        assert!(failed.contains("not enough memory for keys and values of"), "{failed}");
        samples.remove(3);
        assert_right(&samples, &results);
    }
}
