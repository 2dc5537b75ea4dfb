//! A curve with its band as SVG.

use crate::report::html_text;
use std::fmt::Write;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 52.0;
const BOTTOM: f64 = 28.0;
const TOP: f64 = 24.0;

/// A point: step, value, and the ends of its interval.
pub(super) type Point = (u64, f64, f64, f64);

/// The points in order of step.
pub(super) fn curve(title: &str, points: &[Point]) -> String {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return String::new() };
    let low = points.iter().map(|point| point.2).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|point| point.3).fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = if high > low { (low, high) } else { (low - 1.0, low + 1.0) };
    let span = (last.0 - first.0).max(1) as f64;
    let x = |step: u64| LEFT + (WIDTH - LEFT - 12.0) * (step - first.0) as f64 / span;
    let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (value - low) / (high - low);
    let pair = |step: u64, value: f64| format!("{:.1},{:.1}", x(step), y(value));
    let upper = points.iter().map(|point| pair(point.0, point.3));
    let lower = points.iter().rev().map(|point| pair(point.0, point.2));
    let band: Vec<String> = upper.chain(lower).collect();
    let line: Vec<String> = points.iter().map(|point| pair(point.0, point.1)).collect();
    let mut svg = format!(
        "<svg class=\"curve\" viewBox=\"0 0 {WIDTH:.0} {HEIGHT:.0}\" role=\"img\" aria-label=\"{0}\">\n\
         <text x=\"{LEFT}\" y=\"14\">{0}</text>\n\
         <polygon class=\"band\" points=\"{1}\"/>\n<polyline class=\"line\" points=\"{2}\"/>\n",
        html_text(title),
        band.join(" "),
        line.join(" ")
    );
    for (value, at) in [(low, HEIGHT - BOTTOM), (high, TOP + 4.0)] {
        let _ = writeln!(
            svg,
            "<text class=\"axis\" x=\"{:.0}\" y=\"{at:.1}\" text-anchor=\"end\">{value:.2}</text>",
            LEFT - 6.0
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
