//! Speed at which texts are continued, by the number of sequences and with and without a shared header.

use super::finding::Finding;
use super::setup::{CheckSetup, run_timed};
use super::workload::{generation, to_continue, words};
use compass_plan::engine::EngineFault;

const SECTION: &str = "decode";

/// A workload: sequences, words of the shared header, words of each sequence alone, tokens to generate.
struct Shape {
    sequences: usize,
    header: usize,
    own: usize,
    tokens: u32,
    is_drawn: bool,
    /// Goal for llama-8b on an H100, in tokens per second.
    goal: Option<f64>,
}

pub(super) fn run(setup: &CheckSetup, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    let mut engine = setup.load()?;
    let shape =
        |sequences, header, own, tokens, is_drawn, goal| Shape { sequences, header, own, tokens, is_drawn, goal };
    let full = [
        shape(32, 0, 512, 64, false, None),
        shape(256, 0, 512, 96, false, Some(10_000.0)),
        shape(256, 900, 160, 96, false, Some(15_000.0)),
        shape(512, 900, 160, 96, false, None),
        shape(256, 0, 256, 64, true, None),
    ];
    let small = [shape(4, 0, 12, 6, false, None), shape(4, 24, 8, 6, false, None), shape(4, 0, 12, 6, true, None)];
    let has_goals = setup.has_speed_goals(&engine.facts().device);
    run_timed(engine.as_mut(), &generation(4, false), &to_continue("", 4, 16, 3))?;
    let shapes = setup.amount(Vec::from(full), Vec::from(small));
    for (Shape { sequences, header, own, tokens, is_drawn, goal }, seed) in
        shapes.into_iter().zip((0..).step_by(10_000))
    {
        // Prompts take as long in both runs, which differ in the number of tokens; they are others, so that nothing is known,
        // of another shape neither.
        let header = words(2, header);
        let begin = to_continue(&header, sequences, own, 300_000 + seed);
        let (_, _, prompts) = run_timed(engine.as_mut(), &generation(1, is_drawn), &begin)?;
        let samples = to_continue(&header, sequences, own, 500 + seed);
        let (_, counters, seconds) = run_timed(engine.as_mut(), &generation(tokens, is_drawn), &samples)?;
        let (shared, steps) = (header.split_whitespace().count(), (seconds - prompts).max(1e-9));
        let way = if is_drawn { "top-p 0.95" } else { "greedy" };
        let shared = if shared > 0 { format!(" after {shared} shared") } else { String::new() };
        let name = format!("{sequences} sequences of {own} tokens{shared}, {tokens} generated, {way}");
        let whole = counters.generated as f64 / seconds.max(1e-9);
        report(Finding::measured(SECTION, format!("{name}, prompts included"), whole, "tokens/s"));
        let speed = counters.generated.saturating_sub(sequences as u64) as f64 / steps;
        let row = Finding::measured(SECTION, name, speed, "tokens/s");
        report(match goal {
            Some(goal) => row.judged(
                format!("at least {goal} tokens/s for llama-8b on an H100"),
                has_goals.then_some(speed >= goal),
            ),
            None => row,
        });
    }
    Ok(())
}
