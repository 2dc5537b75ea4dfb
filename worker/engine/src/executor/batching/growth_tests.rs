//! Tests of slots that grow: answers come out the same however small the memory is, and however often sequences begin again.

use super::run_tests::{HEADER, Model, VOCABULARY, after_headers, next, prompts};
use super::slots::Admission;
use super::{Choice, DecodeCallback, Prediction, SequenceRequest, Slots, StepOutcome, continue_all};
use crate::kv::Arena;
use compass_plan::engine::TokenCounters;
use tch::TchError;

/// Room after a prompt at first, in these tests.
const FIRST: usize = 4;

/// Sequences that end after a number of tokens each.
#[derive(Clone, Default)]
struct Asked {
    prompts: Vec<Vec<u32>>,
    lengths: Vec<usize>,
    /// Most tokens of an answer.
    most: usize,
    /// Has each prompt of the first half continued by two sequences, the second of which is one of the last half.
    of_several: bool,
    /// Has each sequence of the first half followed by one that continues it: a conversation.
    follow: bool,
}

impl Asked {
    /// Every prompt with an answer of the length at its place.
    fn new(prompts: Vec<Vec<u32>>, lengths: impl Iterator<Item = usize>, most: usize) -> Self {
        let lengths = lengths.take(prompts.len()).collect();
        Self { prompts, lengths, most, ..Self::default() }
    }

    fn request(&self, id: usize) -> SequenceRequest<usize> {
        let half = self.prompts.len() / 2;
        let request = if self.of_several { SequenceRequest::of_several } else { SequenceRequest::new };
        request(&self.prompts[if self.of_several { id % half } else { id }], &[HEADER], self.most, id)
    }

    fn requests(&self) -> Vec<SequenceRequest<usize>> {
        let first = if self.follow { self.prompts.len() / 2 } else { self.prompts.len() };
        (0..first).map(|id| self.request(id)).collect()
    }
}

/// Takes the answers.
struct Scripted<'a> {
    asked: &'a Asked,
    answers: Vec<Option<Vec<u32>>>,
    /// Number of times that each sequence had its first token.
    begun: Vec<usize>,
    /// Sequences that found no room.
    without_room: Vec<usize>,
    /// Sequences in the order in which they began.
    order: Vec<usize>,
    /// Tokens after which an answer is an error.
    error_after: usize,
}

impl<'a> Scripted<'a> {
    fn new(asked: &'a Asked) -> Self {
        let count = asked.prompts.len();
        let (answers, begun) = (vec![None; count], vec![0; count]);
        Self { asked, answers, begun, without_room: Vec::new(), order: Vec::new(), error_after: usize::MAX }
    }
}

impl DecodeCallback<usize> for Scripted<'_> {
    fn choice(&self) -> Choice {
        Choice { warp: None, rules: None }
    }

    fn on_logits(
        &mut self,
        &id: &usize,
        seen: &[u32],
        generated: usize,
        prediction: Prediction<'_>,
    ) -> Result<StepOutcome<usize>, TchError> {
        let Prediction::Best(Some(token)) = prediction else { panic!("{prediction:?}") };
        if generated >= self.error_after {
            return Err(TchError::Torch("the device is lost".into()));
        }
        if generated == 0 {
            self.begun[id] += 1;
            self.order.push(id);
        }
        if generated + 1 < self.asked.lengths[id] {
            return Ok(StepOutcome::Next(token));
        }
        let answer = [&seen[seen.len() - generated..], &[token]].concat();
        let follows = self.asked.follow && id < self.asked.prompts.len() / 2;
        assert!(self.answers[id].replace(answer).is_none(), "reported once");
        let follow = || {
            let continued = [seen, &[token, 1, 2, 3]].concat();
            SequenceRequest::new(&continued, &[HEADER], self.asked.most, id + self.asked.prompts.len() / 2)
        };
        Ok(StepOutcome::Finished(follows.then(follow).into_iter().collect()))
    }

    fn no_room(&mut self, &id: &usize, _: usize) {
        self.without_room.push(id);
    }

    fn is_wanted(&self, id: &usize) -> bool {
        self.answers[*id].is_none()
    }
}

/// Findings of a run.
struct Ran {
    answers: Vec<Vec<u32>>,
    begun: Vec<usize>,
    order: Vec<usize>,
    counters: TokenCounters,
    at_once: usize,
}

impl Ran {
    /// Number of times that a sequence began again.
    fn restarts(&self) -> usize {
        self.begun.iter().map(|times| times - 1).sum()
    }
}

/// Runs sequences in slots with an arena of at most `tokens` tokens: exactly as many, for a power of two.
fn ran(asked: &Asked, tokens: usize, mut slots: Slots) -> Ran {
    let mut scripted = Scripted::new(asked);
    let (mut model, mut counters) = (Model::new(tokens, 1000), TokenCounters::default());
    let memory = (&mut slots, &mut Arena::none());
    continue_all(&mut model, memory, asked.requests(), &mut scripted, &mut counters).unwrap();
    assert!(scripted.without_room.is_empty());
    let Scripted { answers, begun, order, .. } = scripted;
    Ran { answers: answers.into_iter().map(Option::unwrap).collect(), begun, order, counters, at_once: model.at_once }
}

fn slots(most: usize, is_ahead: bool) -> Slots {
    Slots::new(most, is_ahead).with_first_room(FIRST)
}

/// The answers, one after the other.
fn expected(asked: &Asked) -> Vec<Vec<u32>> {
    let half = asked.prompts.len() / 2;
    let mut answers: Vec<Vec<u32>> = Vec::new();
    for (id, &length) in asked.lengths.iter().enumerate() {
        let prompt = match id.checked_sub(half) {
            Some(before) if asked.follow => [&asked.prompts[before], answers[before].as_slice(), &[1, 2, 3]].concat(),
            Some(before) if asked.of_several => asked.prompts[before].clone(),
            _ => asked.prompts[id].clone(),
        };
        let mut sequence = prompt.clone();
        (0..length).for_each(|_| sequence.push(next(&sequence)));
        answers.push(sequence.split_off(prompt.len()));
    }
    answers
}

/// Number of times that a slot of [`FIRST`] tokens grows for an answer of `length`.
fn growths(length: usize) -> usize {
    std::iter::successors(Some(FIRST), |room| Some(room + room / 2)).take_while(|&room| room < length).count()
}

/// Compares a run in little memory with one in ample; returns the former.
fn compare(asked: &Asked, tokens: usize, most: usize, is_ahead: bool) -> Ran {
    let what = format!("{tokens} tokens, {most} slots, ahead {is_ahead}");
    let (ample, tight) = (ran(asked, 1 << 15, slots(most, is_ahead)), ran(asked, tokens, slots(most, is_ahead)));
    let wanted = expected(asked);
    assert!(ample.answers == wanted && tight.answers == wanted, "{what}");
    assert_eq!(ample.restarts(), 0, "{what}");
    assert_eq!(
        (tight.counters.distinct, ample.counters.distinct),
        (ample.counters.distinct, ample.counters.distinct),
        "{what}"
    );
    assert!(tight.counters.computed >= ample.counters.computed, "{what}");
    assert_eq!(tight.begun[tight.order[0]], 1, "the oldest one never goes back: {what}");
    // Each growth sends back every other sequence at most, and a sequence asks for the room of its growths again.
    let bound = asked.lengths.iter().map(|&length| growths(length)).sum::<usize>() * most.saturating_sub(1).max(1);
    assert!(tight.restarts() <= bound, "{} of {bound}: {what}", tight.restarts());
    tight
}

#[test]
fn answers_of_all_lengths_are_those_of_ample_memory() {
    let lengths = || (0..).map(|id| 1 + id * 17 % 61);
    for (name, asked) in [
        ("alone", Asked::new(prompts(), lengths(), 61)),
        ("after headers", Asked::new(after_headers(), lengths(), 61)),
        ("of one prompt", Asked { of_several: true, ..Asked::new(after_headers(), lengths(), 61) }),
        ("in conversations", Asked { follow: true, ..Asked::new(after_headers(), lengths(), 61) }),
    ] {
        let mut restarts = 0;
        for is_ahead in [false, true] {
            for most in [1, 3, 8] {
                for tokens in [256, 512] {
                    let tight = compare(&asked, tokens, most, is_ahead);
                    assert!(most > 1 || tight.restarts() == 0, "{name}: a sequence that is alone has room");
                    let again = tight.counters.computed - tight.counters.distinct;
                    assert!(again as usize >= tight.restarts(), "{name}: {again} tokens again");
                    restarts += tight.restarts();
                }
            }
        }
        assert!(restarts > 0, "{name}: the memory was ample");
    }
}

/// A generator: xorshift64.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % end
    }
}

#[test]
fn drawn_lengths_arenas_and_slots_give_the_answers_of_ample_memory() {
    let mut restarts = 0;
    for seed in 1..=60 {
        let mut drawn = Drawn(0x9E37_79B9_7F4A_7C15 ^ seed);
        let longest = 1 + drawn.below(90);
        let prompts = if drawn.below(2) == 0 { prompts() } else { after_headers() };
        let lengths: Vec<usize> = prompts.iter().map(|_| 1 + drawn.below(longest)).collect();
        let (of_several, follow) = [(false, false), (true, false), (false, true)][drawn.below(3)];
        let most = longest + drawn.below(40);
        let asked = Asked { of_several, follow, ..Asked::new(prompts, lengths.into_iter(), most) };
        // The longest sequence has a prompt of 81 tokens, an answer that another follows, and three tokens between them.
        let tokens = 81 + longest + 3 + most + drawn.below(200);
        restarts += compare(&asked, tokens, 1 + drawn.below(8), drawn.below(2) == 0).restarts();
    }
    assert!(restarts > 100, "{restarts}");
}

#[test]
fn many_run_at_once_where_answers_end_long_before_the_longest() {
    for is_ahead in [false, true] {
        let asked = Asked::new(prompts(), std::iter::repeat(FIRST + 1), 200);
        let ran = ran(&asked, 256, slots(8, is_ahead));
        assert_eq!((ran.at_once, ran.restarts()), (8, 0), "one after the other if each had room for 200 tokens");
        assert_eq!(ran.answers, expected(&asked));
    }
}

/// The younger of two that grow alike waits for room for its growth; in less it would begin again and again.
#[test]
fn what_went_back_waits_for_the_room_that_it_wanted() {
    for is_ahead in [false, true] {
        let asked = Asked::new(vec![vec![1; 4], vec![2; 4]], std::iter::repeat(100), 100);
        let ran = ran(&asked, 128, slots(2, is_ahead));
        assert_eq!((ran.begun, ran.order), (vec![1, 2], vec![0, 1, 1]));
        assert_eq!(ran.answers, expected(&asked));
    }
}

#[test]
fn a_slot_has_room_for_a_short_answer_or_the_first_part_of_a_long_one() {
    let (model, mut arena, mut slots) = (Model::new(1 << 15, 1000), Arena::none(), Slots::new(8, false));
    for (most, first, then) in
        [(1, 10, 10), (600, 609, 609), (1025, 1034, 1034), (1026, 1034, 1035), (9000, 1034, 1551)]
    {
        let request = SequenceRequest::new(&[1; 10], &[], most, ());
        let admission = slots.admit(&model, &mut arena, &request.prompt, request.room()).unwrap();
        let Admission::Slot(slot) = admission else { panic!("{admission:?}") };
        let room = slots.room(&arena, slot);
        let grown = slots.room_for(&arena, slot, (first + 1).min(request.most()), request.most());
        assert_eq!((room, grown), (first, then), "at most {most} tokens");
        slots.release(slot);
    }
}

/// A long answer's room is no burden on the short ones behind it.
#[test]
fn what_a_long_answer_left_is_shared_by_short_ones() {
    let (mut slots, mut arena, mut model) = (slots(8, false), Arena::none(), Model::new(256, 1000));
    let long = Asked::new(prompts()[..1].to_vec(), std::iter::once(220), 220);
    let short = Asked::new(prompts(), std::iter::repeat(3), 3);
    for asked in [&long, &short] {
        let mut scripted = Scripted::new(asked);
        model.at_once = 0;
        let counters = &mut TokenCounters::default();
        continue_all(&mut model, (&mut slots, &mut arena), asked.requests(), &mut scripted, counters).unwrap();
        let answers: Vec<Vec<u32>> = scripted.answers.into_iter().map(Option::unwrap).collect();
        assert_eq!(answers, expected(asked));
    }
    assert_eq!(model.at_once, 8);
}

#[test]
fn what_could_not_grow_to_its_end_is_refused_before_it_begins() {
    for is_ahead in [false, true] {
        let asked = Asked::new(vec![vec![1; 10], vec![2 % VOCABULARY; 10]], std::iter::repeat(5), 200);
        let mut scripted = Scripted::new(&asked);
        let (mut slots, mut arena, mut model) = (slots(8, is_ahead), Arena::none(), Model::new(64, 1000));
        let mut requests = asked.requests();
        requests[1] = SequenceRequest::new(&asked.prompts[1], &[], 20, 1);
        let counters = &mut TokenCounters::default();
        continue_all(&mut model, (&mut slots, &mut arena), requests, &mut scripted, counters).unwrap();
        assert_eq!((scripted.without_room, scripted.begun), (vec![0], vec![0, 1]));
    }
}

#[test]
fn after_an_error_nothing_is_kept() {
    let asked = Asked::new(prompts(), std::iter::repeat(20), 20);
    let mut scripted = Scripted { error_after: 10, ..Scripted::new(&asked) };
    let (mut slots, mut arena, mut model) = (slots(8, false), Arena::none(), Model::new(256, 1000));
    let counters = &mut TokenCounters::default();
    let run = continue_all(&mut model, (&mut slots, &mut arena), asked.requests(), &mut scripted, counters);
    assert!(run.unwrap_err().to_string().contains("the device is lost"));
    assert!(arena.allocate(256).is_some(), "an extent may be half moved");
}
