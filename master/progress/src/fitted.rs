//! A bar with what stands behind it, within the width of the terminal: half a time to the end would be a wrong one.
//!
//! Omissions follow from the width and the stage, and hardly from the progress: nothing comes and goes.

use compass_common::words::grouped;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Length of the bar, and that on a wide terminal.
const SHORT: usize = 10;
const LONG: usize = 24;
/// From so many columns on a terminal is wide.
const WIDE: usize = 140;
/// Width where standard error does not tell how wide it is.
const USUAL_WIDTH: usize = 80;
/// The name of the stage and the gap behind it.
const PREFIX: usize = 7;
/// Brackets of the bar and the gap behind them.
const AROUND_BAR: usize = 4;
/// Between two words.
const GAP: usize = 2;
/// The time since a stage began and the gap behind it.
const ELAPSED: usize = 6;
/// Room that the rate, the time left and the slots have at least, whatever they are at the moment.
const LEAST: [usize; 3] = ["123.4 samples/s".len(), "eta unknown".len(), "2 slots".len()];
/// Positions of the rate and of the slots among the words.
const RATE: usize = 1;
const SLOTS: usize = 3;

/// Shows `words` (how far, how fast, how long, on what) and as many scores as there is room for.
pub(super) fn show(bar: &ProgressBar, words: Vec<String>, scores: &[String]) {
    let (length, message) = fitted(stderr_width(), bar.length().unwrap_or_default(), words, scores);
    bar.set_style(style(length));
    bar.set_message(message);
}

/// As [`show`], without scores and with the time since the bar began, which ticks by itself: where nothing else moves, the stage
/// is seen to go on.
pub(super) fn show_timed(bar: &ProgressBar, words: Vec<String>) {
    let width = stderr_width().saturating_sub(ELAPSED);
    let (length, message) = fitted(width, bar.length().unwrap_or_default(), words, &[]);
    bar.set_style(timed_style(length));
    bar.set_message(message);
}

/// A bar with nothing behind it yet, on standard error or nowhere.
pub(super) fn bar(total: u64, target: ProgressDrawTarget) -> ProgressBar {
    ProgressBar::with_draw_target(Some(total), target).with_style(style(SHORT))
}

/// The style of a bar of steps: since when, so that a long one is seen to go on, and free text, which is cut at the edge.
pub(super) fn style_of_steps() -> ProgressStyle {
    styled(if stderr_width() < 100 { SHORT } else { LONG }, "{elapsed}  {wide_msg}")
}

fn style(length: usize) -> ProgressStyle {
    styled(length, "{wide_msg}")
}

fn timed_style(length: usize) -> ProgressStyle {
    styled(length, "{elapsed:4}  {wide_msg}")
}

/// A bar of this length with `behind` behind it.
fn styled(length: usize, behind: &str) -> ProgressStyle {
    let bar = if length > 0 { format!("[{{bar:{length}}}]  ") } else { String::new() };
    let style = ProgressStyle::with_template(&format!("{{prefix:5}}  {bar}{behind}"));
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Text where no slot works.
pub(super) const WAITING: &str = "waiting for a slot";
/// Text where the server's slots work for other jobs.
pub(super) const WAITING_FOR_TURN: &str = "waiting for its turn";
/// Texts in place of a number of slots.
const WAITS: [&str; 2] = [WAITING, WAITING_FOR_TURN];

fn stderr_width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok().map(|size| usize::from(size.ws_col));
    size.filter(|width| *width > 0).unwrap_or(USUAL_WIDTH)
}

/// The length of the bar, and the text behind it. Where room is short the scores go first, then the slots, then the rate, and last
/// the bar. That nothing runs is more than how fast.
fn fitted(width: usize, total: u64, mut words: Vec<String>, mut scores: &[String]) -> (usize, String) {
    // The last column stays free: some terminals break the line there.
    let room = |bar: usize| width.saturating_sub(1 + PREFIX + if bar > 0 { bar + AROUND_BAR } else { 0 });
    let columns = |text: &str| text.chars().count();
    // Both numbers become as long as the greater one.
    let count = 2 * grouped(total).len() + "/ samples".len();
    let taken = |words: &[String]| {
        let words = words.iter().zip([count].into_iter().chain(LEAST)).filter(|(word, _)| !word.is_empty());
        words.map(|(word, least)| columns(word).max(least) + GAP).sum::<usize>().saturating_sub(GAP)
    };
    let mut bar = if width < WIDE { SHORT } else { LONG };
    let is_waiting = words.get(SLOTS).is_some_and(|word| WAITS.iter().any(|waits| word == waits));
    let dispensable = if is_waiting { [RATE, SLOTS] } else { [SLOTS, RATE] };
    for at in dispensable {
        if taken(&words) > room(bar) {
            words.get_mut(at).into_iter().for_each(String::clear);
            scores = &[];
        }
    }
    let taken = taken(&words);
    if taken > room(bar) {
        bar = 0;
    }
    words.retain(|word| !word.is_empty());
    let message = words.join("  ");
    let behind = |shown: usize| {
        let more = if shown < scores.len() { format!(", {} more", scores.len() - shown) } else { String::new() };
        format!("  {}{more}", scores[..shown].join(", "))
    };
    let most = (1..=scores.len()).rev().map(behind).find(|behind| taken + columns(behind) <= room(bar));
    (bar, message + &most.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &str = "24,323/300,000 samples  65.0 samples/s  eta 1h 12m  2 slots";

    fn shown(width: usize, scores: &[&str]) -> (usize, String) {
        let words = ["24,323/300,000 samples", "65.0 samples/s", "eta 1h 12m", "2 slots"].map(str::to_owned);
        let scores: Vec<String> = scores.iter().map(|score| (*score).to_owned()).collect();
        fitted(width, 300_000, words.into(), &scores)
    }

    #[test]
    fn the_scores_go_first_then_the_slots_then_the_rate_and_last_the_bar() {
        assert_eq!(shown(150, &["a 1.0", "b 2.0"]), (24, format!("{KNOWN}  a 1.0, b 2.0")));
        assert_eq!(
            shown(120, &["a 1.0", "b 2.0", "c 3.0", "d 4.0"]),
            (10, format!("{KNOWN}  a 1.0, b 2.0, c 3.0, d 4.0"))
        );
        assert_eq!(shown(109, &["sums_gen 93.2", "piqa 81.0"]), (10, format!("{KNOWN}  sums_gen 93.2, 1 more")));
        assert_eq!(shown(100, &["sums_gen 93.2", "piqa 81.0"]), (10, KNOWN.into()));
        assert_eq!(shown(84, &["a 1.0"]), (10, KNOWN.into()));
        assert_eq!(shown(80, &["a 1.0"]), (10, "24,323/300,000 samples  65.0 samples/s  eta 1h 12m".into()));
        assert_eq!(shown(74, &[]), (10, "24,323/300,000 samples  eta 1h 12m".into()));
        assert_eq!(shown(50, &[]), (0, "24,323/300,000 samples  eta 1h 12m".into()));
    }

    #[test]
    fn nothing_comes_and_goes_while_a_stage_gets_on() {
        let line = |count: &str, rate: &str, eta: &str| {
            let words = [count, rate, eta, "2 slots"].map(str::to_owned);
            fitted(80, 300_000, words.into(), &["g 0.0".to_owned()])
        };
        for (count, rate, eta) in [
            ("7/300,000 samples", "0.1 samples/s", "eta unknown"),
            ("24,323/300,000 samples", "65.0 samples/s", "eta 14s"),
            ("153,072/300,000 samples", "14,890.7 samples/s", "eta 9s"),
            ("299,999/300,000 samples", "8.0 samples/s", "eta 23h 59m"),
        ] {
            assert_eq!(line(count, rate, eta), (10, format!("{count}  {rate}  {eta}")));
        }
    }

    #[test]
    fn that_nothing_runs_is_more_than_how_fast() {
        let words = ["0/300,000 samples", "0.0 samples/s", "eta unknown", WAITING].map(str::to_owned);
        let expected = "0/300,000 samples  eta unknown  waiting for a slot";
        assert_eq!(fitted(80, 300_000, words.into(), &[]), (10, expected.into()));
    }

    #[test]
    fn no_width_makes_a_line_too_long_as_long_as_the_time_left_fits() {
        for width in 42..200 {
            let (bar, message) = shown(width, &["sums_gen 93.2", "piqa 81.0", "larger_ppl 12.0"]);
            let taken = PREFIX + if bar > 0 { bar + AROUND_BAR } else { 0 } + message.chars().count();
            assert!(taken < width, "{width}: {message}");
            assert!(message.contains("eta 1h 12m"), "{width}: {message}");
        }
    }
}
