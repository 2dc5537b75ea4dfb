//! Answers that may be long and end early, as a thinking model's do: tokens/s with room for 32,768 against room for 1,024.
//!
//! Tokens are drawn, and none that ends a text may come before the 480th; so answers have about 500 tokens, the same on both
//! sides. Each side runs twice, in turn, with an engine that is loaded for it; the faster row counts, since a busy machine only
//! adds time.

use super::Row;
use compass_plan::{Decoding, GenSpec, InferSpec};
use compass_tests::bench::print_ratio;
use compass_types::result::Outcome;

/// Most tokens of an answer in each row.
pub(crate) const ROWS: [u32; 4] = [1024, 32_768, 32_768, 1024];

/// Tokens before the first that may end an answer.
const LEAST: u32 = 480;

/// Returns the generation of a row.
pub(crate) fn generation(max_out_len: u32, seed: u64) -> InferSpec {
    let decoding = Decoding { do_sample: Some(true), seed: Some(seed), ..Decoding::default() };
    let (max_out_len, min_out_len) = (Some(max_out_len), Some(LEAST));
    InferSpec::Gen(GenSpec { max_out_len, min_out_len, stop: Vec::new(), decoding })
}

/// Prints the ratio of the tokens/s with long room to those with short room, the wall's last. Returns whether every row has the
/// same answers.
pub(crate) fn compare(rows: &[Row; 4]) -> bool {
    let length = |outcome: &Outcome| match outcome {
        Outcome::Generated(answers) => answers.first().map(|answer| answer.tokens),
        _ => None,
    };
    let lengths: Option<Vec<u32>> = rows[0].results.iter().map(|result| length(&result.outcome)).collect();
    let lengths = lengths.unwrap_or_default();
    let same = !lengths.is_empty() && rows.iter().all(|row| row.results == rows[0].results);
    let (shortest, longest) = (lengths.iter().min().unwrap_or(&0), lengths.iter().max().unwrap_or(&0));
    let found = if same { "the same in all rows" } else { "they differ" };
    println!("answers: {shortest} to {longest} tokens long; {found}");
    let [short, long] = [1024, 32_768].map(|most| {
        let of_side = rows.iter().zip(ROWS).filter(|(_, of_row)| *of_row == most).map(|(row, _)| row.seconds);
        of_side.min_by(|one, other| one.wall.total_cmp(&other.wall)).unwrap_or_default()
    });
    // Both sides generate the same tokens.
    print_ratio(short, long);
    same
}
