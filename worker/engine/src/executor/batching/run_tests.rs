//! Tests of the decode loop with a fake model that runs out of memory on request.

use super::{Choice, DecodeCallback, Prediction, SequenceRequest, Slots, StepOutcome, continue_all};
use crate::kernels::{Kernels, Reference};
use crate::kv::{Arena, Segment};
use crate::models::CausalLm;
use compass_plan::engine::TokenCounters;
use tch::{Device, Kind, TchError, Tensor};

pub(super) const VOCABULARY: u32 = 13;

/// A model that runs out of memory beyond this number of tokens in its arena, or of rows in one pass. Its keys are the tokens.
pub(super) struct Model {
    tokens: usize,
    rows: usize,
    refused: std::cell::Cell<usize>,
    /// Most sequences that decoded in one pass.
    pub(super) at_once: usize,
}

impl Model {
    pub(super) fn new(tokens: usize, rows: usize) -> Self {
        Self { tokens, rows, refused: 0.into(), at_once: 0 }
    }

    fn refuse<T>(&self) -> Result<T, TchError> {
        self.refused.set(self.refused.get() + 1);
        Err(TchError::Torch("DefaultCPUAllocator: can't allocate memory: you tried".into()))
    }
}

/// Returns the token after a sequence: a function of all of it.
pub(super) fn next(sequence: &[u32]) -> u32 {
    sequence.iter().fold(3, |state: u32, &token| state.wrapping_mul(31).wrapping_add(token)) % VOCABULARY
}

impl CausalLm for Model {
    fn hidden(&mut self, tokens: &[u32], segments: &[Segment], arena: &mut Arena) -> Result<Tensor, TchError> {
        if tokens.len() > self.rows {
            return self.refuse();
        }
        self.at_once = self.at_once.max(segments.iter().filter(|segment| segment.decodes).count());
        let (mut states, mut start) = (Vec::new(), 0);
        let layer = arena.layer(0).keys.shallow_clone();
        for segment in segments {
            let room = arena.room(segment.own);
            assert!(arena.tokens(segment.own).len() >= segment.before && segment.before + segment.rows <= room);
            arena.note(segment.own, segment.before, &tokens[start..start + segment.rows], false);
            let keys: Vec<f32> = tokens[start..start + segment.rows].iter().map(|&token| token as f32).collect();
            let own = layer.f_narrow(0, (arena.start(segment.own) + segment.before) as i64, segment.rows as i64)?;
            own.f_view([-1])?.f_copy_(&Tensor::f_from_slice(&keys)?)?;
            start += segment.rows;
            let mut sequence: Vec<u32> = Vec::new();
            for &extent in segment.path.iter().chain([&segment.own]) {
                let (keys, _) = arena.layer(0).run(arena.start(extent) as i64, arena.tokens(extent).len() as i64)?;
                sequence.extend(Vec::<f32>::try_from(&keys.f_reshape([-1])?)?.iter().map(|&key| key as u32));
            }
            assert_eq!(sequence.len(), segment.end());
            states.extend((segment.position..segment.end()).map(|last| next(&sequence[..=last]) as f32));
        }
        Tensor::f_from_slice(&states)?.f_unsqueeze(1)
    }

    fn takes_late_tokens(&self) -> bool {
        true
    }

    fn logits(&self, hidden: &Tensor) -> Result<Tensor, TchError> {
        let states = Vec::<f32>::try_from(&hidden.f_reshape([-1])?)?;
        let row = |state: f32| (0..VOCABULARY).map(move |token| if token as f32 == state { 1.0f32 } else { 0.0 });
        let logits: Vec<f32> = states.into_iter().flat_map(row).collect();
        Tensor::f_from_slice(&logits)?.f_reshape([-1, i64::from(VOCABULARY)])
    }

    fn arena(&self, tokens: usize) -> Result<Arena, TchError> {
        if tokens > self.tokens {
            return self.refuse();
        }
        Arena::new(&[Device::Cpu], tokens, (1, 1), Kind::Float)
    }

    fn token_bytes(&self) -> usize {
        8
    }

    fn kernels(&self) -> &dyn Kernels {
        &Reference
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
    /// Sequences that found no room, and the tokens that they wanted.
    without_room: Vec<(usize, usize)>,
}

impl DecodeCallback<usize> for Greedy {
    fn choice(&self) -> Choice {
        Choice { warp: None, rules: None }
    }

    fn on_logits(
        &mut self,
        id: &usize,
        seen: &[u32],
        generated: usize,
        prediction: Prediction<'_>,
    ) -> Result<StepOutcome<usize>, TchError> {
        let Prediction::Best(Some(token)) = prediction else { panic!("{prediction:?}") };
        if generated + 1 < self.most {
            return Ok(StepOutcome::Next(token));
        }
        let mut answer = seen[seen.len() - generated..].to_vec();
        answer.push(token);
        assert!(self.answers[*id].replace(answer).is_none(), "reported once");
        Ok(StepOutcome::Finished(Vec::new()))
    }

    fn no_room(&mut self, id: &usize, tokens: usize) {
        self.without_room.push((*id, tokens));
        self.answers[*id] = Some(Vec::new());
    }

    fn is_wanted(&self, id: &usize) -> bool {
        self.answers[*id].is_none()
    }
}

pub(super) fn prompts() -> Vec<Vec<u32>> {
    (0..20u32)
        .map(|prompt| (0..5 + prompt % 7).map(|place| (prompt / 3 + place * place) % VOCABULARY).collect())
        .collect()
}

/// Number of tokens of the headers of [`after_headers`].
pub(super) const HEADER: usize = 70;

/// The prompts after one of three headers.
pub(super) fn after_headers() -> Vec<Vec<u32>> {
    let header = |number: usize| (0..HEADER as u32).map(move |place| (place * 7 + number as u32 % 3) % VOCABULARY);
    prompts().into_iter().enumerate().map(|(number, own)| header(number).chain(own).collect()).collect()
}

/// Returns the tokens generated with at most eight sequences at once, the number of failures, and the final limit; or
/// the error.
fn run(mut model: Model, prompts: &[Vec<u32>], is_ahead: bool) -> (Result<Vec<Vec<u32>>, TchError>, usize, usize) {
    let request = |(id, prompt): (usize, &Vec<u32>)| SequenceRequest::new(prompt, &[HEADER], 6, id);
    let sequences = prompts.iter().enumerate().map(request).collect();
    let mut greedy = Greedy { most: 6, answers: vec![None; prompts.len()], without_room: Vec::new() };
    let (mut slots, mut arena) = (Slots::new(8, is_ahead), Arena::none());
    let run = continue_all(&mut model, (&mut slots, &mut arena), sequences, &mut greedy, &mut TokenCounters::default());
    (run.map(|()| greedy.answers.into_iter().map(Option::unwrap).collect()), model.refused.get(), slots.most())
}

fn expected(prompts: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let continued = |prompt: &Vec<u32>| {
        let mut sequence = prompt.clone();
        (0..6).for_each(|_| sequence.push(next(&sequence)));
        sequence.split_off(prompt.len())
    };
    prompts.iter().map(continued).collect()
}

#[test]
fn lack_of_memory_halves_concurrency_and_changes_no_token() {
    for is_ahead in [false, true] {
        let prompts = prompts();
        let (answers, refused, most) = run(Model::new(usize::MAX, 1000), &prompts, is_ahead);
        assert_eq!((answers.unwrap(), refused, most), (expected(&prompts), 0, 8));
        // The longest sequence has 11 tokens of a prompt and 5 that are fed back.
        for tokens in [16, 20, 40, 70] {
            let (answers, refused, most) = run(Model::new(tokens, 1000), &prompts, is_ahead);
            assert_eq!(
                (answers.unwrap(), most),
                (expected(&prompts), 8),
                "an arena of {tokens} tokens delays sequences"
            );
            assert!(refused > 0, "it was to be larger");
        }
        let (answers, refused, most) = run(Model::new(usize::MAX, 25), &prompts, is_ahead);
        assert_eq!(answers.unwrap(), expected(&prompts));
        assert!(refused > 0 && most < 8, "{refused} {most}");
    }
}

#[test]
fn headers_make_room_for_each_other() {
    for is_ahead in [false, true] {
        let prompts = after_headers();
        let (answers, refused, most) = run(Model::new(usize::MAX, 1000), &prompts, is_ahead);
        assert_eq!((answers.unwrap(), refused, most), (expected(&prompts), 0, 8));
        // One header, and the longest end of 16 tokens; two headers; two headers and two ends; nearly all.
        for tokens in [86, 140, 172, 230] {
            let (answers, _, most) = run(Model::new(tokens, 1000), &prompts, is_ahead);
            assert_eq!((answers.unwrap(), most), (expected(&prompts), 8), "an arena of {tokens} tokens");
        }
    }
}

#[test]
fn sequence_without_room_is_refused_and_the_others_go_on() {
    for is_ahead in [false, true] {
        let mut prompts = prompts();
        prompts.insert(3, (0..60).map(|place| place % VOCABULARY).collect());
        for prompts in [prompts.clone(), prompts[3..].to_vec()] {
            let request = |(id, prompt): (usize, &Vec<u32>)| SequenceRequest::new(prompt, &[HEADER], 6, id);
            let mut greedy = Greedy { most: 6, answers: vec![None; prompts.len()], without_room: Vec::new() };
            let (mut slots, mut arena, mut model) = (Slots::new(8, is_ahead), Arena::none(), Model::new(40, 1000));
            let sequences = prompts.iter().enumerate().map(request).collect();
            let counters = &mut TokenCounters::default();
            continue_all(&mut model, (&mut slots, &mut arena), sequences, &mut greedy, counters).unwrap();
            let long = prompts.iter().position(|prompt| prompt.len() == 60).unwrap();
            assert_eq!(greedy.without_room, [(long, 65)]);
            let mut wanted = expected(&prompts);
            wanted[long].clear();
            let answers: Vec<Vec<u32>> = greedy.answers.into_iter().map(Option::unwrap).collect();
            assert_eq!(answers, wanted);
        }
    }
}

#[test]
fn a_prompt_that_pushes_out_what_it_shares_is_computed_from_its_start() {
    for is_ahead in [false, true] {
        // 64 tokens in common, up to a cut; the arena has room for either and not for both.
        let prompt = |length: u32, own: u32| -> Vec<u32> {
            (0..length).map(|place| if place < 64 { place * place % 7 } else { (place + own) % VOCABULARY }).collect()
        };
        for (first, second) in [(100, 134), (134, 100), (134, 134)] {
            for tokens in [139, 150, 200] {
                let (mut slots, mut arena, mut model) =
                    (Slots::new(8, is_ahead), Arena::none(), Model::new(tokens, 1000));
                // One batch after the other: of one batch the longest begins.
                for prompt in [prompt(first, 1), prompt(second, 5), prompt(first, 1)] {
                    let sequences = vec![SequenceRequest::new(&prompt, &[], 6, 0)];
                    let mut greedy = Greedy { most: 6, answers: vec![None], without_room: Vec::new() };
                    let counters = &mut TokenCounters::default();
                    continue_all(&mut model, (&mut slots, &mut arena), sequences, &mut greedy, counters).unwrap();
                    let answers: Vec<Vec<u32>> = greedy.answers.into_iter().map(Option::unwrap).collect();
                    assert_eq!(answers, expected(&[prompt]), "{first} and {second} in {tokens}");
                }
            }
        }
    }
}

#[test]
fn distinct_tokens_are_counted_for_each_job() {
    for is_ahead in [false, true] {
        let prompts = after_headers();
        let (mut slots, mut arena, mut model) = (Slots::new(8, is_ahead), Arena::none(), Model::new(usize::MAX, 1000));
        let mut run = |slots: &mut Slots| {
            let request = |(id, prompt): (usize, &Vec<u32>)| SequenceRequest::new(prompt, &[HEADER], 6, id);
            let sequences = prompts.iter().enumerate().map(request).collect();
            let mut greedy = Greedy { most: 6, answers: vec![None; prompts.len()], without_room: Vec::new() };
            let mut counters = TokenCounters::default();
            continue_all(&mut model, (slots, &mut arena), sequences, &mut greedy, &mut counters).unwrap();
            let answers: Vec<Vec<u32>> = greedy.answers.into_iter().map(Option::unwrap).collect();
            assert_eq!(answers, expected(&prompts));
            counters
        };
        let first = run(&mut slots);
        let again = run(&mut slots);
        assert!(again.distinct < first.distinct && again.distinct < again.computed, "{again:?}");
        slots.begin_job();
        let other = run(&mut slots);
        assert_eq!((other.distinct, other.computed), (other.computed, again.computed), "another job: {other:?}");
    }
}

#[test]
fn pass_that_does_not_fit_alone_is_an_error() {
    for is_ahead in [false, true] {
        let (answers, refused, most) = run(Model::new(usize::MAX, 4), &prompts(), is_ahead);
        assert!(answers.unwrap_err().to_string().contains("can't allocate memory"));
        assert_eq!((refused, most), (4, 1), "8, 4, 2 and 1 at once");
    }
}

/// Sequences may be as long as their slots allow, and end before.
#[test]
fn what_is_computed_ahead_of_an_end_is_not_counted() {
    let prompts = after_headers();
    let run = |is_ahead: bool| {
        let (mut slots, mut arena, mut model) = (Slots::new(8, is_ahead), Arena::none(), Model::new(usize::MAX, 1000));
        let request = |(id, prompt): (usize, &Vec<u32>)| SequenceRequest::new(prompt, &[HEADER], 20, id);
        let sequences = prompts.iter().enumerate().map(request).collect();
        let mut greedy = Greedy { most: 6, answers: vec![None; prompts.len()], without_room: Vec::new() };
        let mut counters = TokenCounters::default();
        continue_all(&mut model, (&mut slots, &mut arena), sequences, &mut greedy, &mut counters).unwrap();
        let answers: Vec<Vec<u32>> = greedy.answers.into_iter().map(Option::unwrap).collect();
        assert_eq!(answers, expected(&prompts));
        counters
    };
    let (one_by_one, ahead) = (run(false), run(true));
    assert_eq!((ahead.distinct, ahead.computed), (one_by_one.distinct, one_by_one.computed));
    assert!(ahead.padded > one_by_one.padded, "each has one row too many: {ahead:?}, {one_by_one:?}");
}
