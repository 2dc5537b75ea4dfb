//! The baseline beside transformers, batch by batch in turn, so that a busy machine is busy for both.

/// What the baseline must reach of transformers' tokens per second to be worth measuring against.
const LEAST: f64 = 0.8;

/// Runs `ours` and `theirs` on each of `batches` in turn, after one of each that does not count, and prints how fast the
/// baseline is beside transformers. Both return their seconds and the rows computed.
///
/// # Errors
/// What the two say.
pub fn beside_transformers<B>(
    batches: &[B],
    versions: &str,
    mut ours: impl FnMut(&B) -> Result<(f64, u64), String>,
    mut theirs: impl FnMut(&B) -> Result<f64, String>,
) -> Result<(), String> {
    let Some(first) = batches.first() else { return Ok(()) };
    ours(first)?;
    theirs(first)?;
    let (mut our_seconds, mut their_seconds, mut all_rows) = (0.0, 0.0, 0);
    for batch in batches {
        let (seconds, rows) = ours(batch)?;
        our_seconds += seconds;
        their_seconds += theirs(batch)?;
        all_rows += rows;
    }
    let reached = their_seconds / our_seconds;
    let verdict = if reached >= LEAST { "as it must" } else { "which is too slow to measure against" };
    println!(
        "baseline beside transformers ({versions}), {} batches in turn: {:.0} and {:.0} tokens/s; the baseline reaches \
         {reached:.2} of transformers, {verdict} (at least {LEAST})",
        batches.len(),
        all_rows as f64 / our_seconds,
        all_rows as f64 / their_seconds
    );
    Ok(())
}
