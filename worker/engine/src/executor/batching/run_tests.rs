//! Tests of the decode loop with a fake model that runs out of memory when told.

use super::{DecodeCallback, SequenceRequest, Slots, StepOutcome, continue_all};
use crate::blocks::{KvCache, Segment};
use crate::models::CausalLm;
use compass_plan::engine::TokenCounters;
use tch::{Device, Kind, TchError, Tensor};

const VOCABULARY: u32 = 13;

/// A model that runs out of memory beyond this number of caches, or of rows in one pass.
struct Model {
    caches: usize,
    rows: usize,
    made: std::cell::Cell<usize>,
    refused: std::cell::Cell<usize>,
}

impl Model {
    fn new(caches: usize, rows: usize) -> Self {
        Self { caches, rows, made: 0.into(), refused: 0.into() }
    }

    fn refuse<T>(&self) -> Result<T, TchError> {
        // The caches are freed before the next try.
        self.made.set(0);
        self.refused.set(self.refused.get() + 1);
        Err(TchError::Torch("DefaultCPUAllocator: can't allocate memory: you tried".into()))
    }
}

/// Returns the token after a sequence: a function of all of it.
fn next(sequence: &[u32]) -> u32 {
    sequence.iter().fold(3, |state: u32, &token| state.wrapping_mul(31).wrapping_add(token)) % VOCABULARY
}

impl CausalLm for Model {
    fn hidden(&mut self, tokens: &[u32], segments: &[Segment], caches: &mut [KvCache]) -> Result<Tensor, TchError> {
        if tokens.len() > self.rows {
            return self.refuse();
        }
        let (mut states, mut start) = (Vec::new(), 0);
        for segment in segments {
            let cache = &mut caches[segment.cache];
            assert!(cache.tokens().len() >= segment.position && segment.end() <= cache.capacity());
            cache.note(segment.position, &tokens[start..start + segment.rows], false);
            states.extend((segment.position..segment.end()).map(|last| next(&cache.tokens()[..=last]) as f32));
            start += segment.rows;
        }
        Tensor::f_from_slice(&states)?.f_unsqueeze(1)
    }

    fn logits(&self, hidden: &Tensor) -> Result<Tensor, TchError> {
        let states = Vec::<f32>::try_from(&hidden.f_reshape([-1])?)?;
        let row = |state: f32| (0..VOCABULARY).map(move |token| if token as f32 == state { 1.0f32 } else { 0.0 });
        let logits: Vec<f32> = states.into_iter().flat_map(row).collect();
        Tensor::f_from_slice(&logits)?.f_reshape([-1, i64::from(VOCABULARY)])
    }

    fn cache(&self, capacity: usize) -> Result<KvCache, TchError> {
        if self.made.get() == self.caches {
            return self.refuse();
        }
        self.made.set(self.made.get() + 1);
        KvCache::new(1, 1, capacity, 1, (Kind::Float, Device::Cpu))
    }

    fn rows_at_once(&self) -> usize {
        self.rows
    }

    fn shares_prefixes(&self, _: usize) -> bool {
        true
    }

    fn vocabulary(&self) -> usize {
        VOCABULARY as usize
    }

    fn most_positions(&self) -> Option<usize> {
        None
    }
}

/// Chooses the most probable token, up to this many.
struct Greedy {
    most: usize,
    answers: Vec<Option<Vec<u32>>>,
}

impl DecodeCallback<usize> for Greedy {
    fn on_logits(
        &mut self,
        id: &usize,
        seen: &[u32],
        generated: usize,
        logits: &Tensor,
    ) -> Result<StepOutcome<usize>, TchError> {
        let token = logits.f_argmax(-1, false)?.int64_value(&[0]) as u32;
        if generated + 1 < self.most {
            return Ok(StepOutcome::Next(token));
        }
        let mut answer = seen[seen.len() - generated..].to_vec();
        answer.push(token);
        assert!(self.answers[*id].replace(answer).is_none(), "reported once");
        Ok(StepOutcome::Finished(Vec::new()))
    }

    fn is_wanted(&self, id: &usize) -> bool {
        self.answers[*id].is_none()
    }
}

fn prompts() -> Vec<Vec<u32>> {
    (0..20u32)
        .map(|prompt| (0..5 + prompt % 7).map(|place| (prompt / 3 + place * place) % VOCABULARY).collect())
        .collect()
}

/// Returns the tokens generated with at most eight sequences at once, the number of failures, and the final limit; or
/// the error.
fn run(mut model: Model) -> (Result<Vec<Vec<u32>>, TchError>, usize, usize) {
    let prompts = prompts();
    let sequences = prompts.iter().enumerate().map(|(id, prompt)| SequenceRequest::new(prompt, &[], 6, id)).collect();
    let mut greedy = Greedy { most: 6, answers: vec![None; prompts.len()] };
    let mut slots = Slots::new(8, 1 << 30);
    let run = continue_all(&mut model, &mut slots, sequences, &mut greedy, &mut TokenCounters::default());
    (run.map(|()| greedy.answers.into_iter().map(Option::unwrap).collect()), model.refused.get(), slots.most())
}

fn expected() -> Vec<Vec<u32>> {
    let continued = |prompt: Vec<u32>| {
        let mut sequence = prompt.clone();
        (0..6).for_each(|_| sequence.push(next(&sequence)));
        sequence.split_off(prompt.len())
    };
    prompts().into_iter().map(continued).collect()
}

#[test]
fn lack_of_memory_halves_concurrency_and_changes_no_token() {
    let (answers, refused, most) = run(Model::new(100, 1000));
    assert_eq!((answers.unwrap(), refused, most), (expected(), 0, 8));
    let (answers, refused, most) = run(Model::new(5, 1000));
    assert_eq!((answers.unwrap(), refused, most), (expected(), 1, 4), "no room for a sixth cache");
    let (answers, refused, most) = run(Model::new(100, 25));
    assert_eq!(answers.unwrap(), expected());
    assert!(refused > 0 && most < 8, "{refused} {most}");
}

#[test]
fn sequence_that_does_not_fit_alone_is_an_error() {
    let (answers, refused, most) = run(Model::new(100, 4));
    assert!(answers.unwrap_err().to_string().contains("can't allocate memory"));
    assert_eq!((refused, most), (4, 1), "8, 4, 2 and 1 at once");
}
