//! The forest plot: each row's interval on an axis of its unit, in units of standard errors' scale so that rows share one axis.
//!
//! Rows in percent share the axis of points. A row in another unit is drawn relative to the first run's number, in percent.

use super::escape::{html_text, plain_text};
use super::numbers::number;
use crate::row::{Conclusion, Row};
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const LABELS: f64 = 300.0;
const LINE: f64 = 22.0;
const TOP: f64 = 30.0;
/// Characters of a label that are shown.
const LABEL: usize = 42;

/// Low, middle and high of a row on the common axis.
fn ends(row: &Row) -> [f64; 3] {
    let estimate = &row.estimate;
    let ends = [estimate.interval.low, estimate.difference, estimate.interval.high];
    let relative = |value: f64| if estimate.a == 0.0 { 0.0 } else { 100.0 * value / estimate.a.abs() };
    if row.is_percent { ends } else { ends.map(relative) }
}

/// Returns the reach of the axis to either side.
fn reach(rows: &[Row]) -> f64 {
    let furthest = rows.iter().flat_map(ends).map(f64::abs).filter(|value| value.is_finite()).fold(0.0, f64::max);
    if furthest > 0.0 { furthest } else { 1.0 }
}

fn label(row: &Row) -> String {
    let label = row.label();
    match label.char_indices().nth(LABEL) {
        Some((end, _)) => format!("{}…", &label[..end]),
        None => label,
    }
}

fn class(row: &Row) -> &'static str {
    match row.conclusion {
        Conclusion::Better | Conclusion::WithinMargin => "good",
        Conclusion::Worse | Conclusion::BeyondMargin => "bad",
        Conclusion::Undecided | Conclusion::Inconclusive { .. } => "open",
    }
}

/// As SVG, without script; its colours are the page's classes.
pub fn forest(rows: &[Row], margin: Option<f64>) -> String {
    let reach = reach(rows);
    let height = TOP + LINE * rows.len() as f64 + 34.0;
    let middle = LABELS + (WIDTH - LABELS) / 2.0;
    let half = (WIDTH - LABELS) / 2.0 - 24.0;
    let x = |value: f64| middle + half * (value / reach).clamp(-1.0, 1.0);
    let bottom = TOP + LINE * rows.len() as f64;
    let mut svg = format!(
        "<svg class=\"forest\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"img\" aria-label=\"differences with their intervals\">\n\
         <line class=\"zero\" x1=\"{middle:.1}\" y1=\"{TOP:.0}\" x2=\"{middle:.1}\" y2=\"{bottom:.1}\"/>\n"
    );
    if let Some(margin) = margin {
        let at = x(-margin);
        let _ =
            writeln!(svg, "<line class=\"margin\" x1=\"{at:.1}\" y1=\"{TOP:.0}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\"/>");
    }
    for (at, row) in rows.iter().enumerate() {
        let y = TOP + LINE * (at as f64 + 0.5);
        let [low, mid, high] = ends(row).map(x);
        let class = class(row);
        let _ = writeln!(
            svg,
            "<text x=\"0\" y=\"{:.1}\">{}</text>\
             <line class=\"{class}\" x1=\"{low:.1}\" y1=\"{y:.1}\" x2=\"{high:.1}\" y2=\"{y:.1}\"/>\
             <circle class=\"{class}\" cx=\"{mid:.1}\" cy=\"{y:.1}\" r=\"4\"/>",
            y + 4.0,
            html_text(&label(row))
        );
    }
    let axis = [(-reach, "start"), (0.0, "middle"), (reach, "end")];
    for (value, anchor) in axis {
        let _ = writeln!(
            svg,
            "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            x(value),
            bottom + 16.0,
            number(value, true)
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"axis\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">B - A in points (other units: in percent of A)</text>\n</svg>",
        bottom + 30.0
    );
    svg
}

/// Columns of a line of text on either side of 0.
const COLUMNS: i32 = 24;

/// One row as a line of text: `[---o---]` around a bar at 0.
pub(super) fn drawn_line(row: &Row, all: &[Row]) -> String {
    let reach = reach(all);
    let place = |value: f64| (value / reach * f64::from(COLUMNS)).round() as i32 + COLUMNS;
    let [low, middle, high] = ends(row).map(place);
    let mark = |at: i32| match at {
        at if at == middle => 'o',
        at if at == low => '[',
        at if at == high => ']',
        at if at == COLUMNS => '|',
        at if at > low && at < high => '-',
        _ => ' ',
    };
    let plot: String = (0..=2 * COLUMNS).map(mark).collect();
    // Within a block of code only its fence could end it.
    let label = plain_text(&label(row)).replace('`', "'");
    format!("{label:<44} {}\n", plot.trim_end())
}
