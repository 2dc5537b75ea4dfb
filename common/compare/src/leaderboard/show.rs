//! A board for a terminal, as CSV and as HTML.

use super::board::Board;
use super::curve::{Point, curve};
use super::entry::{Cell, Entry};
use super::signal::{Signal, signals};
use crate::report::{Table, html_text, number, page, plain_text, signed, wrapped_all};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The first metric of a data set for an entry, with half of its interval.
fn shown(entry: &Entry, dataset: &str) -> String {
    let Some(cell) = entry.cells.get(dataset).and_then(|cells| cells.first()) else { return "-".into() };
    let value = number(cell.value, cell.is_percent);
    match cell.interval {
        Some((low, high)) => format!("{value} ±{}", number((high - low) / 2.0, cell.is_percent)),
        None => value,
    }
}

fn step(entry: &Entry) -> String {
    entry.step.map_or("-".into(), |step| step.to_string())
}

fn head(board: &Board) -> Vec<String> {
    let mut head = vec!["model".to_owned()];
    if board.has_steps() {
        head.push("step".into());
    }
    head.extend(["tier", "average"].map(str::to_owned));
    head.extend(board.datasets.iter().cloned());
    head
}

fn row(board: &Board, entry: &Entry) -> Vec<String> {
    let mut row = vec![entry.label.clone()];
    if board.has_steps() {
        row.push(step(entry));
    }
    row.push(entry.tier.map_or("-".into(), |tier| tier.to_string()));
    row.push(entry.average.map_or("-".into(), |average| number(average, true)));
    row.extend(board.datasets.iter().map(|dataset| shown(entry, dataset)));
    row
}

/// Returns whether a metric of a data set is a percentage.
fn is_percent(board: &Board, dataset: &str, metric: &str) -> bool {
    let mut cells = board.entries.iter().filter_map(|entry| entry.cells.get(dataset)).flatten();
    cells.find(|cell| cell.metric == metric).is_some_and(|cell| cell.is_percent)
}

fn signal_cells(board: &Board, signal: &Signal) -> Vec<String> {
    vec![
        signal.dataset.clone(),
        signal.metric.clone(),
        signal.steps.to_string(),
        signed(signal.trend, is_percent(board, &signal.dataset, &signal.metric)),
        signal.ratio.map_or("-".into(), |ratio| format!("{ratio:.1}")),
    ]
}

const SIGNAL_HEAD: [&str; 5] = ["dataset", "metric", "steps", "trend", "signal to noise"];

/// For a terminal of so many columns, or as wide as it comes; ends with a newline.
pub fn board_text(board: &Board, width: Option<usize>) -> String {
    let plain = |cells: Vec<String>| cells.iter().map(|cell| plain_text(cell)).collect::<Vec<_>>();
    let mut grid = vec![plain(head(board))];
    grid.extend(board.entries.iter().map(|entry| plain(row(board, entry))));
    let mut lines = Table { grid, names: 1, words: 1, turns: true }.lines(width);
    let signals = signals(board);
    if !signals.is_empty() {
        let mut grid = vec![SIGNAL_HEAD.map(str::to_owned).to_vec()];
        grid.extend(signals.iter().map(|signal| plain(signal_cells(board, signal))));
        lines.push(String::new());
        lines.extend(Table { grid, names: 2, words: 2, turns: false }.lines(width));
    }
    lines.push(String::new());
    lines.extend(wrapped_all(board.notes.iter().map(|note| plain_text(note)), width));
    lines.into_iter().map(|line| line + "\n").collect()
}

/// A field of CSV. What a spreadsheet would take for a formula is text.
fn field(text: &str) -> String {
    let is_formula =
        text.starts_with(['=', '+', '@', '\t', '\r']) || text.starts_with('-') && text.parse::<f64>().is_err();
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

/// A line for each number.
pub fn board_csv(board: &Board) -> String {
    let mut csv = "run,model,step,tier,dataset,metric,value,stderr,low,high,samples\n".to_owned();
    for entry in &board.entries {
        for dataset in &board.datasets {
            for cell in entry.cells.get(dataset).into_iter().flatten() {
                let optional = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
                let Cell { metric, value, stderr, interval, samples, .. } = cell;
                let fields = [
                    field(&entry.run),
                    field(&entry.model),
                    entry.step.map(|step| step.to_string()).unwrap_or_default(),
                    entry.tier.map(|tier| tier.to_string()).unwrap_or_default(),
                    field(dataset),
                    field(metric),
                    value.to_string(),
                    optional(*stderr),
                    optional(interval.map(|interval| interval.0)),
                    optional(interval.map(|interval| interval.1)),
                    samples.to_string(),
                ];
                csv.push_str(&fields.join(","));
                csv.push('\n');
            }
        }
    }
    csv
}

/// For programs.
pub fn board_json(board: &Board) -> Value {
    let cell = |cell: &Cell| {
        let Cell { metric, value, stderr, interval, samples, .. } = cell;
        json!({ "metric": metric, "value": value, "stderr": stderr, "interval": interval, "samples": samples })
    };
    let cells = |entry: &Entry| -> Map<String, Value> {
        entry.cells.iter().map(|(dataset, cells)| (dataset.clone(), cells.iter().map(cell).collect())).collect()
    };
    let entry = |entry: &Entry| {
        let Entry { label, run, model, step, average, tier, .. } = entry;
        let datasets = cells(entry);
        json!({
            "label": label, "run": run, "model": model, "step": step, "tier": tier, "average": average, "datasets": datasets
        })
    };
    let signal = |signal: &Signal| {
        let Signal { dataset, metric, steps, trend, ratio } = signal;
        json!({ "dataset": dataset, "metric": metric, "steps": steps, "trend": trend, "signal_to_noise": ratio })
    };
    json!({
        "datasets": board.datasets,
        "averaged": board.averaged,
        "entries": board.entries.iter().map(entry).collect::<Vec<_>>(),
        "signals": signals(board).iter().map(signal).collect::<Vec<_>>(),
        "notes": board.notes,
    })
}

/// As one HTML file that loads nothing and runs nothing.
pub fn board_html(board: &Board) -> String {
    page("Leaderboard", &board_body(board))
}

/// Returns the content of the board, for a page that has the style of reports.
pub fn board_body(board: &Board) -> String {
    let mut out = String::from("<h1>Leaderboard</h1>\n");
    table(&mut out, &head(board), board.entries.iter().map(|entry| row(board, entry)));
    if board.has_steps() {
        out.push_str("<h2>Curves</h2>\n<div class=\"curves\">\n");
        for Curve { title, is_percent, points } in curves(board) {
            out.push_str(&curve(&title, is_percent, &points));
        }
        out.push_str("</div>\n");
    }
    let signals = signals(board);
    if !signals.is_empty() {
        out.push_str("<h2>Signal to noise</h2>\n");
        table(&mut out, &SIGNAL_HEAD.map(str::to_owned), signals.iter().map(|signal| signal_cells(board, signal)));
    }
    out.push_str("<h2>Notes</h2>\n<ul>\n");
    for note in &board.notes {
        let _ = writeln!(out, "<li>{}</li>", html_text(note));
    }
    out.push_str("</ul>\n");
    out
}

fn table(out: &mut String, head: &[String], rows: impl Iterator<Item = Vec<String>>) {
    let cells = |cells: &[String], tag: &str| -> String {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", html_text(cell))).collect()
    };
    let _ = writeln!(out, "<div class=\"wide\"><table>\n<tr>{}</tr>", cells(head, "th"));
    for row in rows {
        let _ = writeln!(out, "<tr>{}</tr>", cells(&row, "td"));
    }
    out.push_str("</table></div>\n");
}

/// A metric of a data set over steps.
struct Curve {
    title: String,
    is_percent: bool,
    points: Vec<Point>,
}

/// A curve for every metric that two steps have.
fn curves(board: &Board) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for dataset in &board.datasets {
        for entry in &board.entries {
            for cell in entry.cells.get(dataset).into_iter().flatten() {
                let Some(step) = entry.step else { continue };
                let (low, high) = cell.interval.unwrap_or((cell.value, cell.value));
                let title = format!("{dataset} {}", cell.metric);
                let point = (step, cell.value, low, high);
                match curves.iter_mut().find(|known| known.title == title) {
                    Some(Curve { points, .. }) if points.last().is_none_or(|last| last.0 < step) => points.push(point),
                    Some(_) => {}
                    None => curves.push(Curve { title, is_percent: cell.is_percent, points: vec![point] }),
                }
            }
        }
    }
    curves.retain(|curve| curve.points.len() > 1);
    curves
}
