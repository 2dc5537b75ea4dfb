//! Texts that repeat themselves to their end, as a model's do that is caught in a loop.

/// Least length of what is repeated with all its repetitions, in characters.
const LEAST: usize = 512;
/// Longest text that is repeated, in characters.
const LONGEST_PERIOD: usize = 256;
/// Least number of repetitions.
const LEAST_TIMES: usize = 8;

/// Returns whether the last [`LEAST`] characters of a text, or more of them, are one text of at most [`LONGEST_PERIOD`] characters at least
/// [`LEAST_TIMES`] times.
pub(super) fn repeats_itself(text: &str) -> bool {
    // Read from the end, the text begins with what is repeated.
    let last: Vec<char> = text.chars().rev().take(LEAST.max(LONGEST_PERIOD * LEAST_TIMES)).collect();
    let mut borders = vec![0; last.len()];
    for at in 1..last.len() {
        let mut border = borders[at - 1];
        while border > 0 && last[at] != last[border] {
            border = borders[border - 1];
        }
        borders[at] = border + usize::from(last[at] == last[border]);
        // Knuth, Morris, Pratt: the shortest period of a text is its length without its longest border.
        let (length, period) = (at + 1, at + 1 - borders[at]);
        if length >= LEAST && period <= LONGEST_PERIOD && length >= period * LEAST_TIMES {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_long_and_has_a_short_period() {
        let period = |length: usize| ('a'..='z').cycle().take(length - 1).chain(['.']).collect::<String>();
        for (length, times, loops) in [
            (1, 512, true),
            (1, 511, false),
            (64, 8, true),
            (64, 7, false),
            (256, 8, true),
            (256, 7, false),
            (257, 9, false),
        ] {
            let text = format!("It begins otherwise, {}", period(length).repeat(times));
            assert_eq!(repeats_itself(&text), loops, "{length} {times}");
            assert!(!repeats_itself(&format!("{text}?!")), "{length} {times}");
        }
        assert!(repeats_itself(&"是".repeat(600)));
        assert!(!repeats_itself(""));
    }
}
