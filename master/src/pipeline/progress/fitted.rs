//! A bar with what stands behind it, within the width of the terminal: half a time to the end would be a wrong one.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Lengths of the bar, the usual one first; 0 leaves it out.
const BARS: [usize; 3] = [24, 10, 0];
/// Where standard error does not tell how wide it is.
const USUAL_WIDTH: usize = 80;
/// The name of the stage and the gap behind it.
const PREFIX: usize = 7;
/// Brackets of the bar and the gap behind them.
const AROUND_BAR: usize = 4;
/// Which words are left out first where room is short: the slots, then the rate.
const DISPENSABLE: [usize; 2] = [3, 1];

/// Shows `words` (how far, how fast, how long, on what) and as many scores as there is room for.
pub(super) fn show(bar: &ProgressBar, words: Vec<String>, scores: &[String]) {
    let (length, message) = fitted(stderr_width(), words, scores);
    bar.set_style(style(length));
    bar.set_message(message);
}

/// A bar with nothing behind it yet, on standard error or nowhere.
pub(super) fn bar(total: u64, target: ProgressDrawTarget) -> ProgressBar {
    ProgressBar::with_draw_target(Some(total), target).with_style(style(BARS[1]))
}

/// The style of a bar of steps: since when, so that a long one is seen to go on, and free text, which is cut at the edge.
pub(super) fn style_of_steps() -> ProgressStyle {
    let length = if stderr_width() < 100 { BARS[1] } else { BARS[0] };
    let style = ProgressStyle::with_template(&format!("{{prefix:5}}  [{{bar:{length}}}]  {{elapsed}}  {{wide_msg}}"));
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn style(length: usize) -> ProgressStyle {
    let template = match length {
        0 => "{prefix:5}  {wide_msg}".to_owned(),
        _ => format!("{{prefix:5}}  [{{bar:{length}}}]  {{wide_msg}}"),
    };
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn stderr_width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok().map(|size| usize::from(size.ws_col));
    size.filter(|width| *width > 0).unwrap_or(USUAL_WIDTH)
}

/// The length of the bar, and the text behind it.
fn fitted(width: usize, mut words: Vec<String>, scores: &[String]) -> (usize, String) {
    // The last column stays free: some terminals break the line there.
    let room = |bar: usize| width.saturating_sub(1 + PREFIX + if bar > 0 { bar + AROUND_BAR } else { 0 });
    let text = |words: &[String]| {
        let said: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
        said.join("  ")
    };
    let columns = |text: &str| text.chars().count();
    let mut message = text(&words);
    for at in DISPENSABLE {
        if columns(&message) > room(0) {
            words.get_mut(at).into_iter().for_each(String::clear);
            message = text(&words);
        }
    }
    let bar = BARS.into_iter().find(|bar| columns(&message) <= room(*bar)).unwrap_or(0);
    let with = |shown: usize| {
        let more = if shown < scores.len() { format!(", {} more", scores.len() - shown) } else { String::new() };
        format!("{message}  {}{more}", scores[..shown].join(", "))
    };
    let most = (1..=scores.len()).rev().find(|shown| columns(&with(*shown)) <= room(bar));
    (bar, most.map_or(message.clone(), with))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: usize, scores: &[&str]) -> (usize, String) {
        let words = ["24,323/300,000 samples", "65.0 samples/s", "eta 1h 12m", "2 slots"].map(str::to_owned);
        let scores: Vec<String> = scores.iter().map(|score| (*score).to_owned()).collect();
        fitted(width, words.into(), &scores)
    }

    #[test]
    fn the_bar_gives_way_to_the_words_and_the_scores_to_both() {
        let known = "24,323/300,000 samples  65.0 samples/s  eta 1h 12m  2 slots";
        assert_eq!(shown(110, &[]), (24, known.into()));
        assert_eq!(shown(118, &["sums_gen 93.2", "piqa 81.0"]), (24, format!("{known}  sums_gen 93.2, 1 more")));
        assert_eq!(shown(120, &["a 1.0", "b 2.0", "c 3.0", "d 4.0"]), (24, format!("{known}  a 1.0, b 2.0, 2 more")));
        assert_eq!(shown(140, &["a 1.0", "b 2.0"]), (24, format!("{known}  a 1.0, b 2.0")));
        assert_eq!(shown(84, &["a 1.0"]), (10, known.into()));
        assert_eq!(shown(80, &["a 1.0"]), (0, format!("{known}  a 1.0")));
        assert_eq!(shown(60, &[]), (0, "24,323/300,000 samples  65.0 samples/s  eta 1h 12m".into()));
        assert_eq!(shown(50, &[]), (0, "24,323/300,000 samples  eta 1h 12m".into()));
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
