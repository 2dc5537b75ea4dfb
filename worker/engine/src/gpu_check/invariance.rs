//! Check that the bits of a sample depend neither on what is computed beside it, nor on how much memory there is.

use super::finding::Finding;
use super::out_of_memory::leave;
use super::setup::{CheckSetup, run_timed};
use super::workload::{generation, to_continue, to_score, words};
use crate::cuda::cuda_memory;
use crate::device::DeviceChoice;
use compass_plan::engine::{Engine, EngineFault};
use compass_plan::{InferSpec, Sample};
use compass_types::result::SampleResult;
use std::ops::Range;

const SECTION: &str = "invariance";

/// Memory left for keys and values, and for activations, where memory is short, in MiB: some ten thousand tokens of
/// llama-8b, in which not all samples have room at once.
const SHORT: usize = 3_500;

/// Samples that are run in several compositions.
struct Kind {
    name: &'static str,
    infer: InferSpec,
    samples: Vec<Sample>,
    /// Samples that are computed beside them.
    others: Vec<Sample>,
}

pub(super) fn run(setup: &CheckSetup, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    let mut engine = setup.load()?;
    let kinds = kinds(setup, engine.facts().max_seq_len as usize);
    let mut all = Vec::with_capacity(kinds.len());
    for kind in &kinds {
        // Lengths differ, so that neighbours do too.
        let results = in_groups(engine.as_mut(), kind, std::slice::from_ref(&kind.samples))?;
        let mut differing = Vec::new();
        let compositions = compositions(kind);
        for (composition, groups) in &compositions {
            let again = in_groups(engine.as_mut(), kind, groups)?;
            differing.extend(difference(&results, &again).map(|count| format!("{count} {composition}")));
        }
        let count = compositions.len() + 1;
        report(equal(format!("{} of {} prompts in {count} compositions", kind.name, kind.samples.len()), &differing));
        all.push(results);
    }
    drop(engine);
    let DeviceChoice::Cuda(ordinal) = setup.device else { return Ok(()) };
    // The first engine's memory stays with libtorch's allocator, and does not count as free.
    let mut engine = setup.load()?;
    let taken = leave(ordinal as usize, SHORT)?;
    let left = cuda_memory(ordinal as usize).map_or(0, |(free, _)| free >> 20);
    let mut differing = Vec::new();
    for (kind, results) in kinds.iter().zip(&all) {
        let again = in_groups(engine.as_mut(), kind, std::slice::from_ref(&kind.samples))?;
        differing.extend(difference(results, &again).map(|count| format!("{count} {}", kind.name)));
    }
    drop((engine, taken));
    report(equal(format!("all of these, {left} MiB free for keys and values"), &differing));
    Ok(())
}

/// Returns the row of what should be equal.
fn equal(name: String, differing: &[String]) -> Finding {
    let value = if differing.is_empty() { "equal".to_owned() } else { differing.join(", ") };
    Finding::measured(SECTION, name, value, "").judged("bit-equal", Some(differing.is_empty()))
}

/// Short prompts, more of them than one key block of attention has keys; and some that go over many key blocks.
fn kinds(setup: &CheckSetup, max_seq_len: usize) -> Vec<Kind> {
    let (prompts, own, tokens) = (setup.amount(64, 10), setup.amount(96, 12), setup.amount(16, 6));
    let (header, beside) = ("w1 w2 w3 ", setup.amount(256, 6));
    let others = |mut samples: Vec<Sample>, from: usize| {
        samples.iter_mut().for_each(|sample| sample.index += from as u32);
        samples
    };
    let of = |name, infer, samples: Vec<Sample>, others_of: Vec<Sample>| {
        let from = samples.len();
        Kind { name, infer, samples, others: others(others_of, from) }
    };
    let long_header = words(21, setup.amount(400, 6));
    let (many, tokens_long) = (setup.amount(16, 4), setup.amount(8, 3));
    // Words of a real tokenizer are several tokens; texts that are too long for the model are cut, in every composition alike.
    let longest = setup.amount(2_400, 40).min(max_seq_len.saturating_sub(setup.amount(400, 6) + 16));
    let lengths = |at: usize| longest * (at + 1) / many;
    let long = |to_text: &dyn Fn(usize, u64) -> Vec<Sample>| {
        let one = |at: usize| {
            let mut samples = to_text(lengths(at).max(1), 2_000 + at as u64);
            samples.iter_mut().for_each(|sample| sample.index = at as u32);
            samples
        };
        (0..many).flat_map(one).collect::<Vec<_>>()
    };
    let long_text = |own, seed| to_score(&long_header, 1, own, 2, 5, seed);
    let long_prompt = |own, seed| to_continue(&long_header, 1, own, seed);
    vec![
        of(
            "scores",
            InferSpec::Ppl,
            to_score(header, prompts, own, 2, 5, 11),
            to_score(header, beside, own, 2, 5, 911),
        ),
        of(
            "greedy tokens",
            generation(tokens, false),
            to_continue(header, prompts, own, 12),
            to_continue(header, beside, own, 912),
        ),
        of(
            "drawn tokens",
            generation(tokens, true),
            to_continue(header, prompts, own, 13),
            to_continue(header, beside, own, 913),
        ),
        of("long scores", InferSpec::Ppl, long(&long_text), to_score(&long_header, beside, own, 2, 5, 914)),
        of(
            "long greedy tokens",
            generation(tokens_long, false),
            long(&long_prompt),
            to_continue(&long_header, beside, own, 915),
        ),
        of(
            "long drawn tokens",
            generation(tokens_long, true),
            long(&long_prompt),
            to_continue("w4 w5 ", beside, own, 916),
        ),
    ]
}

/// Six compositions beside all at once: alone, with two and with six neighbours, up to 32 beside many others, in reverse, and
/// all again.
fn compositions(kind: &Kind) -> Vec<(&'static str, Vec<Vec<Sample>>)> {
    let samples = &kind.samples;
    let groups = |of: usize| samples.chunks(of).map(<[Sample]>::to_vec).collect::<Vec<_>>();
    let reversed = samples.iter().rev().cloned().collect::<Vec<_>>();
    let crowded = |few: Vec<Sample>| {
        let (before, after) = kind.others.split_at(kind.others.len() / 2);
        before.iter().cloned().chain(few).chain(after.iter().cloned()).collect::<Vec<_>>()
    };
    vec![
        ("alone", groups(1)),
        ("with 2 neighbours", groups(3)),
        ("with 6 neighbours", groups(7)),
        ("beside many others", groups(32).into_iter().map(crowded).collect()),
        ("in reverse order", vec![reversed]),
        ("a second time", vec![samples.clone()]),
    ]
}

/// Runs groups one after the other; returns the results of the samples, not of others, in the order of their indices.
fn in_groups(engine: &mut dyn Engine, kind: &Kind, groups: &[Vec<Sample>]) -> Result<Vec<SampleResult>, EngineFault> {
    let own: Range<u32> = 0..kind.samples.len() as u32;
    let mut results = Vec::new();
    for group in groups {
        results
            .extend(run_timed(engine, &kind.infer, group)?.0.into_iter().filter(|result| own.contains(&result.index)));
    }
    results.sort_by_key(|result| result.index);
    Ok(results)
}

/// Returns how many results are missing or others, unless all are the same.
fn difference(all: &[SampleResult], again: &[SampleResult]) -> Option<usize> {
    let other = all.iter().zip(again).filter(|(one, other)| one != other).count();
    let count = other + all.len().abs_diff(again.len());
    (count > 0).then_some(count)
}
