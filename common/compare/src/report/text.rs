//! A comparison for a terminal.

use super::escape::plain_text;
use super::layout::{Table, wrapped_all};
use super::numbers::counted;
use crate::comparison::Comparison;
use crate::flip::Flip;
use crate::row::{Conclusion, Row};
use compass_settings::Correction;

/// Differences and gaps that are listed before the rest is counted.
const LISTED: usize = 12;

/// Text of the whole comparison for a terminal of so many columns, or as wide as it comes; ends with a newline.
pub fn text(comparison: &Comparison, flips: &[Flip], width: Option<usize>) -> String {
    let mut lines = wrapped_all([plain_text(&headline(comparison)), String::new()], width);
    lines.extend(wrapped_all(provenance(comparison, ["A", "B"]), width));
    let models = shows_models(comparison);
    let head = ["dataset", "metric", "pairs", "A", "B", "B - A", &interval_name(comparison), &p_name(comparison)];
    let mut grid: Vec<Vec<String>> = vec![head.map(str::to_owned).to_vec()];
    grid[0].extend(["detectable", "conclusion"].map(str::to_owned));
    if models {
        grid[0].insert(0, "models".into());
    }
    grid.extend(comparison.rows.iter().map(|row| {
        let mut cells = vec![plain_text(&row.dataset), plain_text(&row.metric)];
        cells.extend(row.cells());
        cells.push(row.said());
        if models {
            cells.insert(0, plain_text(&models_of(row)));
        }
        cells
    }));
    let left = if models { 3 } else { 2 };
    lines.extend(Table { grid, names: left, words: left, turns: false }.lines(width));
    lines.push(String::new());
    lines.extend(wrapped_all(notes(comparison).iter().map(|note| plain_text(note)), width));
    lines.extend(wrapped_all(flips.iter().flat_map(flip), width));
    lines.into_iter().map(|line| line + "\n").collect()
}

pub(super) fn interval_name(comparison: &Comparison) -> String {
    format!("{} % interval", trimmed(comparison.confidence * 100.0))
}

pub(super) fn p_name(comparison: &Comparison) -> String {
    match comparison.correction {
        Correction::None => "p".into(),
        correction => format!("p ({})", correction.name()),
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(super) fn shows_models(comparison: &Comparison) -> bool {
    let first = comparison.rows.first().map(|row| (&row.model_a, &row.model_b));
    comparison.rows.iter().any(|row| Some((&row.model_a, &row.model_b)) != first)
}

pub(super) fn models_of(row: &Row) -> String {
    if row.model_a == row.model_b { row.model_a.clone() } else { format!("{} / {}", row.model_a, row.model_b) }
}

/// Says in one sentence what the comparison finds.
pub fn headline(comparison: &Comparison) -> String {
    let Comparison { a, b, rows, .. } = comparison;
    let count = |is_meant: fn(&Conclusion) -> bool| rows.iter().filter(|row| is_meant(&row.conclusion)).count();
    if rows.iter().all(Row::is_identical) {
        let same = if comparison.plans.0 == comparison.plans.1 { " (both have the same plan)" } else { "" };
        return format!("A ({a}) and B ({b}) gave the same result on every pair{same}");
    }
    let of = rows.len();
    match comparison.margin {
        Some(margin) => format!(
            "B ({b}) against A ({a}), margin {}: no worse on {}, worse by more than the margin on {}, inconclusive on {} of {of}",
            trimmed(margin),
            count(|conclusion| *conclusion == Conclusion::WithinMargin),
            count(|conclusion| *conclusion == Conclusion::BeyondMargin),
            count(|conclusion| matches!(conclusion, Conclusion::Inconclusive { .. })),
        ),
        None => format!(
            "B ({b}) against A ({a}): better on {}, worse on {}, no difference seen on {} of {of}",
            count(|conclusion| *conclusion == Conclusion::Better),
            count(|conclusion| *conclusion == Conclusion::Worse),
            count(|conclusion| *conclusion == Conclusion::Undecided),
        ),
    }
}

/// Lists the differences other than the model that may explain a difference, with a heading and an empty line after it; both runs
/// by these names.
pub(super) fn provenance(comparison: &Comparison, [a, b]: [&str; 2]) -> Vec<String> {
    let differences = &comparison.differences;
    if differences.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["what else differs:".to_owned()];
    lines.extend(differences.iter().take(LISTED).map(|difference| {
        let shown = |value: &str| Flip::cut(&plain_text(value));
        format!("  {}: {} in {a}, {} in {b}", plain_text(&difference.what), shown(&difference.a), shown(&difference.b))
    }));
    if differences.len() > LISTED {
        lines.push(format!("  and {} more (--json lists them)", differences.len() - LISTED));
    }
    lines.push(String::new());
    lines
}

/// Returns the notes below the table.
pub fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    let unit =
        "differences of percentages are in points; detectable: the smallest difference found with a power of 80 %";
    notes.push(unit.to_owned());
    if comparison.correction != Correction::None {
        let tests = counted(comparison.rows.len() as u64, "test", "tests");
        notes.push(format!("p-values are corrected for {tests} by {}", comparison.correction.name()));
    }
    for paired in &comparison.paired {
        let (only_a, only_b) = (paired.pairing.only_a.len(), paired.pairing.only_b.len());
        if only_a + only_b > 0 {
            let pair = counted(paired.pairing.pairs.len() as u64, "question pairs", "questions pair");
            let are = if only_a == 1 { "is" } else { "are" };
            notes.push(format!("{}: {pair}; {only_a} {are} only in A, {only_b} only in B", paired.dataset));
        }
        if let Some(clusters) = paired.clusters {
            notes.push(format!("{}: clusters: {clusters}; errors are those of clusters", paired.dataset));
        }
    }
    for row in &comparison.rows {
        let estimate = &row.estimate;
        match estimate.bounds {
            Some(bounds) if estimate.left_out > 0 => notes.push(format!(
                "{}: whatever the answers without a score would be, the interval stays within {} to {}",
                row.label(),
                super::signed(bounds.low, row.is_percent),
                super::signed(bounds.high, row.is_percent)
            )),
            None => notes.push(format!("{}: answers without a score are left out, and may be anything", row.label())),
            Some(_) => {}
        }
        if let Some((questions, answers)) = estimate.variance {
            let show = |variance: f64| super::number(variance.sqrt(), row.is_percent);
            notes.push(format!(
                "{}: of the standard error, {} are from questions and {} from several answers to each",
                row.label(),
                show(questions),
                show(answers)
            ));
        }
    }
    notes.extend(comparison.left_out.iter().take(LISTED).map(|why| format!("not compared: {why}")));
    if comparison.left_out.len() > LISTED {
        notes.push(format!("not compared: {} more (--json lists them)", comparison.left_out.len() - LISTED));
    }
    notes
}

fn flip(flip: &Flip) -> Vec<String> {
    let what = if flip.gained { "only B is right" } else { "only A is right" };
    let line = |name: &str, text: &str| format!("  {name}: {}", plain_text(text));
    vec![
        String::new(),
        plain_text(&format!("{}, sample {} in A, {} in B: {what}", flip.dataset, flip.index_a, flip.index_b)),
        line("question", &flip.question),
        line("gold", &flip.gold),
        line("A", &flip.answer_a),
        line("B", &flip.answer_b),
    ]
}
