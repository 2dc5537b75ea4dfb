//! Continuous batching is batch-invariant: the continuation of a prompt, and every logit it was chosen from, is
//! bit-identical alone and for any batch composition, order and number of slots, for every family, greedily and drawn.

use crate::families::support::{golden_cases, load};
use compass_engine::{BareModel, Trace, Traced};
use compass_plan::Dtype;
use std::collections::BTreeMap;

/// Prompts of many lengths, some with a common prefix or header, and two equal ones.
fn prompts(vocabulary: usize, longest: usize) -> Vec<Traced> {
    let token =
        |seed: usize, place: usize| ((seed * 7919 + place * 104_729 + place * place * seed) % vocabulary) as u32;
    let lengths = [1, 15, 40, 64, 65, 127, 128, 129, 130, 131];
    let asked = lengths.iter().enumerate().map(|(number, &length)| {
        let length = length.min(longest);
        // The first two thirds of every other prompt are common.
        let seed = |place: usize| if number % 2 == 0 && place * 3 < length * 2 { 1 } else { number + 2 };
        let prompt = (0..length).map(|place| token(seed(place), place)).collect();
        let borders = match (length > 100, number % 2) {
            (false, _) => Vec::new(),
            (true, 0) => vec![10, 64],
            // As long as another's, with other tokens.
            (true, _) => vec![90],
        };
        Traced { sample: number as u32, prompt, borders, tokens: 1 + number * 3 % 5 }
    });
    let mut asked: Vec<Traced> = asked.collect();
    asked.push(asked[7].clone());
    asked
}

fn by_sample(model: &mut BareModel, asked: &[Traced], slots: usize, seed: Option<u64>) -> BTreeMap<u32, Trace> {
    let (traces, _) = model.continue_together(asked, slots, seed).unwrap();
    let mut known = BTreeMap::new();
    for (asked, trace) in asked.iter().zip(traces) {
        assert_eq!(trace.tokens.len(), asked.tokens);
        if let Some(other) = known.insert(asked.sample, trace.clone()) {
            assert_eq!(other, trace, "the same prompt twice");
        }
    }
    known
}

#[test]
fn continuations_are_batch_invariant() {
    let mut failures = Vec::new();
    for (number, (name, path)) in golden_cases().into_iter().enumerate() {
        let mut model = load(&path, Dtype::Float32, 1).unwrap();
        let longest = model.most_positions().map_or(131, |most| most.saturating_sub(10).min(131));
        let asked = prompts(model.vocabulary(), longest);
        // Greedily, or by draws.
        let seed = (number % 2 == 1).then_some(5);
        let together = by_sample(&mut model, &asked, 0, seed);
        let mut compare = |model: &mut BareModel, what: &str, some: &[Traced], slots: usize| {
            for (sample, trace) in by_sample(model, some, slots, seed) {
                if trace != together[&sample] {
                    failures.push(format!("{name}: prompt {sample} {what}, {slots} slots, seed {seed:?}"));
                }
            }
        };
        for one in &asked[..10] {
            compare(&mut model, "alone", std::slice::from_ref(one), 1);
        }
        let mut turned = asked.clone();
        turned.reverse();
        compare(&mut model, "reversed", &turned, 3);
        turned.sort_by_key(|asked| asked.sample as usize * 5 % 17);
        for batch in turned.chunks(4) {
            compare(&mut model, "in batches", batch, 2);
        }
        let mut threads = load(&path, Dtype::Float32, 2).unwrap();
        compare(&mut threads, "with two threads", &turned[..4], 16);
        // The device chooses all tokens then, and no logits are seen.
        for slots in [0, 3] {
            let (traces, _) = model.continue_ahead(&turned, slots, seed).unwrap();
            for (asked, trace) in turned.iter().zip(traces) {
                if trace.tokens != together[&asked.sample].tokens {
                    failures.push(format!("{name}: prompt {} ahead, {slots} slots, seed {seed:?}", asked.sample));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures: {:#?}", failures.len(), &failures[..failures.len().min(20)]);
}

#[test]
fn common_prefixes_are_computed_once() {
    let (_, path) = golden_cases().into_iter().find(|(name, _)| name == "llama").unwrap();
    let mut model = load(&path, Dtype::Float32, 1).unwrap();
    let beginning: Vec<u32> = (0..128).map(|place| place * 7 % 50).collect();
    let asked = |borders: &[usize]| -> Vec<Traced> {
        let one = |sample: u32| {
            let own = (0..1 + sample % 5).map(|place| (place * 3 + sample) % 50);
            Traced {
                sample,
                prompt: beginning.iter().copied().chain(own).collect(),
                borders: borders.to_vec(),
                tokens: 4,
            }
        };
        (0..40).map(one).collect()
    };
    for (slots, borders) in [(1, vec![]), (2, vec![]), (7, vec![]), (40, vec![]), (1, vec![128]), (5, vec![30, 128])] {
        let asked = asked(&borders);
        let (traces, counters) = model.continue_together(&asked, slots, None).unwrap();
        let own: usize = asked.iter().map(|asked| asked.prompt.len() - 128).sum();
        let fed: usize = traces.iter().map(|trace| trace.tokens.len() - 1).sum();
        assert_eq!(counters.distinct, counters.computed, "{slots} slots, borders {borders:?}");
        assert_eq!(counters.computed as usize, 128 + own + fed, "{slots} slots, borders {borders:?}");
    }
}

/// Headers that differ after their first examples: those are computed once too.
#[test]
fn beginnings_of_headers_are_computed_once() {
    let (_, path) = golden_cases().into_iter().find(|(name, _)| name == "llama").unwrap();
    let mut model = load(&path, Dtype::Float32, 1).unwrap();
    let prompt = |sample: u32, tokens: u32| -> Vec<u32> {
        (0..tokens).map(|place| if place < 64 { place % 50 } else { (place * 3 + sample) % 50 }).collect()
    };
    let mut asked: Vec<Traced> = [(0, 140, 100), (1, 140, 100), (2, 150, 70), (3, 90, 0)]
        .map(|(sample, tokens, border)| {
            let borders = if border == 0 { vec![] } else { vec![border] };
            Traced { sample, prompt: prompt(sample, tokens), borders, tokens: 3 }
        })
        .into();
    for turn in 0..asked.len() {
        asked.rotate_left(turn);
        for slots in [1, 2, 4] {
            let (_, counters) = model.continue_together(&asked, slots, None).unwrap();
            let own = (140 - 64) * 2 + (150 - 64) + (90 - 64);
            assert_eq!(counters.computed as usize, 64 + own + 4 * 2, "{slots} slots, {turn}");
        }
    }
}

/// The logits of a sequence that is decoded step by step in a batch equal the whole sequence's, within rounding.
#[test]
fn greedy_continuations_equal_those_of_the_whole_sequence() {
    let mut off_by_rounding = 0;
    for (name, path) in golden_cases() {
        let mut model = load(&path, Dtype::Float32, 1).unwrap();
        let longest = model.most_positions().map_or(131, |most| most.saturating_sub(10).min(131));
        let asked = prompts(model.vocabulary(), longest);
        let (traces, _) = model.continue_together(&asked, 0, None).unwrap();
        for (asked, trace) in asked.iter().zip(&traces) {
            if !model.shares_prefixes(asked.prompt.len() + 9) {
                continue;
            }
            let mut sequence = asked.prompt.clone();
            sequence.extend(&trace.tokens[..trace.tokens.len() - 1]);
            let logits = model.prefill(&sequence).unwrap();
            let rows: Vec<&[f32]> = logits.chunks(model.vocabulary()).collect();
            for (step, &token) in trace.tokens.iter().enumerate() {
                let row = rows[asked.prompt.len() - 1 + step];
                let (most, largest) =
                    (row.iter().fold(f32::MIN, |a, &b| a.max(b)), row.iter().fold(0f32, |a, b| a.max(b.abs())));
                assert!(most - row[token as usize] <= 1e-5 * largest, "{name}: {asked:?} step {step}");
                off_by_rounding += usize::from(row[token as usize] < most);
            }
        }
    }
    eprintln!("{off_by_rounding} tokens were the best except for rounding");
}
