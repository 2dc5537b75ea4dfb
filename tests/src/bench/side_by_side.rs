//! The baseline beside transformers, batch by batch in turn, so that a busy machine is busy for both.

use super::Seconds;

/// Share of transformers' tokens per second that the baseline must reach to be worth measuring against.
const LEAST: f64 = 0.8;

/// Runs `ours` and `theirs` on each of `batches` in turn, after one of each that does not count, and prints how fast the
/// baseline is beside transformers. Both return their seconds, `ours` also the rows computed.
///
/// # Errors
/// What the two say.
pub fn beside_transformers<B>(
    batches: &[B],
    versions: &str,
    mut ours: impl FnMut(&B) -> Result<(Seconds, u64), String>,
    mut theirs: impl FnMut(&B) -> Result<Seconds, String>,
) -> Result<(), String> {
    let Some(first) = batches.first() else { return Ok(()) };
    ours(first)?;
    theirs(first)?;
    let (mut here, mut there, mut all_rows) = (Seconds::default(), Seconds::default(), 0);
    for batch in batches {
        let (seconds, rows) = ours(batch)?;
        here += seconds;
        there += theirs(batch)?;
        all_rows += rows;
    }
    let reached = there.processor / here.processor;
    let outcome = if reached >= LEAST { "as it must" } else { "which is too slow to measure against" };
    println!(
        "baseline beside transformers ({versions}), {} batches in turn: {:.0} and {:.0} tokens a second of processor time; \
         the baseline reaches {reached:.2} of transformers, {outcome} (at least {LEAST}); by the wall {:.2}",
        batches.len(),
        all_rows as f64 / here.processor,
        all_rows as f64 / there.processor,
        there.wall / here.wall
    );
    Ok(())
}
