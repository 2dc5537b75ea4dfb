//! A curve with its band as SVG.

use crate::report::{html_text, number};
use std::fmt::Write;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 200.0;
/// Left end of the curve, unless a label of the axis needs more.
const LEFT: f64 = 52.0;
/// Width of a character of a label.
const CHARACTER: f64 = 6.5;
const BOTTOM: f64 = 28.0;
const TOP: f64 = 24.0;

/// A point: step, value, and the ends of its interval.
pub(super) type Point = (u64, f64, f64, f64);

/// The points in order of step, labelled as the table shows their numbers.
pub(super) fn curve(title: &str, is_percent: bool, points: &[Point]) -> String {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return String::new() };
    let low = points.iter().map(|point| point.2).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|point| point.3).fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = if high > low { (low, high) } else { (low - 1.0, low + 1.0) };
    let span = (last.0 - first.0).max(1) as f64;
    let labels = [(number(low, is_percent), HEIGHT - BOTTOM), (number(high, is_percent), TOP + 4.0)];
    let longest = labels.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let left = LEFT.max(8.0 + CHARACTER * longest as f64);
    let x = |step: u64| left + (WIDTH - left - 12.0) * (step - first.0) as f64 / span;
    let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (value - low) / (high - low);
    let pair = |step: u64, value: f64| format!("{:.1},{:.1}", x(step), y(value));
    let upper = points.iter().map(|point| pair(point.0, point.3));
    let lower = points.iter().rev().map(|point| pair(point.0, point.2));
    let band: Vec<String> = upper.chain(lower).collect();
    let line: Vec<String> = points.iter().map(|point| pair(point.0, point.1)).collect();
    let mut svg = format!(
        "<svg class=\"curve\" viewBox=\"0 0 {WIDTH:.0} {HEIGHT:.0}\" role=\"img\" aria-label=\"{0}\">\n\
         <text x=\"{left:.0}\" y=\"14\">{0}</text>\n\
         <polygon class=\"band\" points=\"{1}\"/>\n<polyline class=\"line\" points=\"{2}\"/>\n",
        html_text(title),
        band.join(" "),
        line.join(" ")
    );
    for (label, at) in &labels {
        let _ = writeln!(
            svg,
            "<text class=\"axis\" x=\"{:.0}\" y=\"{at:.1}\" text-anchor=\"end\">{label}</text>",
            left - 6.0
        );
    }
    for (step, anchor) in [(first.0, "start"), (last.0, "end")] {
        let _ = writeln!(
            svg,
            "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{step}</text>",
            x(step),
            HEIGHT - 8.0
        );
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_as_in_the_table_and_stand_within_the_picture() {
        let huge =
            curve("d word_perplexity", false, &[(1, 5.0, 4.0, 6.0), (2, 3.5e17, 3.2e17, 378_394_446_137_665_408.0)]);
        assert!(huge.contains(">3.784e17</text>") && huge.contains(">4.0000</text>"), "{huge}");
        let large = curve("d perplexity", false, &[(1, 5.0, 4.0, 6.0), (2, 999_999.0, 999_998.0, 999_999.5)]);
        // Eleven characters of 6.5 end at 74.
        assert!(large.contains("x=\"74\" y=\"28.0\" text-anchor=\"end\">999999.5000</text>"), "{large}");
        let share = curve("d accuracy", true, &[(1, 50.0, 40.0, 60.0), (2, 55.0, 45.0, 65.0)]);
        assert!(share.contains("x=\"46\" y=\"28.0\" text-anchor=\"end\">65.00</text>"), "{share}");
    }
}
