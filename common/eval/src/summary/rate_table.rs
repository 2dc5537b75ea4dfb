//! The table of rates by k of one model on one data set.

use crate::evaluator::{AtK, ByK, Metric, Z_95};
use unicode_width::UnicodeWidthStr;

/// Width of the first column and least width of the others.
const LABEL: usize = 8;
const CELL: usize = 7;

/// The rates of one model on one data set.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RateTable {
    title: String,
    /// A label and a cell for each k: k itself, the rates, and what they may be off.
    rows: Vec<(&'static str, Vec<String>)>,
    /// Describes the last row.
    tail: String,
}

impl RateTable {
    pub(super) fn new(name: &str, by_k: &ByK) -> Self {
        let ByK { questions, answers: (fewest, most), unsettled, draws_stderr, rates } = by_k;
        let answers = if fewest == most { fewest.to_string() } else { format!("{fewest} to {most}") };
        let plural = if *questions == 1 { "" } else { "s" };
        let cells = |cell: &dyn Fn(&AtK) -> String| rates.iter().map(cell).collect();
        let rate = |metric: &Metric| format!("{:.2}", metric.value);
        let mut rows = vec![("k", cells(&|at| at.k.to_string())), ("pass@k", cells(&|at| rate(&at.pass)))];
        if rates.iter().all(|at| at.maj.is_some()) {
            rows.push(("maj@k", cells(&|at| at.maj.as_ref().map_or_else(String::new, rate))));
        }
        rows.push(("all@k", cells(&|at| rate(&at.all))));
        let half = |(low, high): (f64, f64)| format!("{:.1}", (high - low) / 2.0);
        rows.push(("+-", cells(&|at| at.pass.ci95.map_or_else(|| "-".to_owned(), half))));
        let alone = draws_stderr.map(|stderr| format!("; draws alone {:.1}", Z_95 * stderr));
        Self {
            title: format!("{name}, {questions} question{plural}, {answers} answers each"),
            rows,
            tail: format!(
                "of pass@k, by question{}; {unsettled} of {questions} question{plural} unsettled",
                alone.unwrap_or_default()
            ),
        }
    }

    /// The lines for a terminal of this many columns: as many of the k side by side as fit.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let columns = self.rows.first().map_or(0, |(_, cells)| cells.len());
        let cell =
            self.rows.iter().flat_map(|(_, cells)| cells).map(|cell| cell.len() + 2).max().unwrap_or(0).max(CELL);
        let side_by_side = (width.saturating_sub(LABEL) / cell).max(1);
        let mut lines = vec![self.title.clone()];
        for from in (0..columns).step_by(side_by_side) {
            for (label, cells) in &self.rows {
                let shown = cells.iter().skip(from).take(side_by_side).map(|text| format!("{text:>cell$}"));
                lines.push(format!("{label:<LABEL$}{}", shown.collect::<String>()));
            }
        }
        match lines.last_mut() {
            Some(last) if last.width() + 3 + self.tail.width() <= width => *last += &format!("   {}", self.tail),
            _ => lines.push(format!("+- {}", self.tail)),
        }
        lines
    }

    pub(super) fn markdown(&self) -> String {
        let mut text = format!("\n{}\n\n", self.title);
        for (at, (label, cells)) in self.rows.iter().enumerate() {
            text += &format!("| {label} | {} |\n", cells.join(" | "));
            if at == 0 {
                text += &format!("|{}|\n", vec!["-----"; cells.len() + 1].join(" | "));
            }
        }
        format!("{text}\n+- {}\n", self.tail)
    }
}
