//! The table for a terminal.

use super::Summary;
use super::table::COLUMNS;
use comfy_table::{CellAlignment, Row, Table};

/// Only a rule below the header, as `tabulate` draws it.
const STYLE: &str = "     --            ";

impl Summary {
    /// Plain text, one line per data set and metric, as wide as its content, and below them why numbers are
    /// lacking, and rates by k; ends with a newline.
    pub fn text(&self) -> String {
        let (grid, notes) = self.grid();
        let notes = notes.lines().enumerate().map(|(at, line)| if at == 0 { format!("\n{line}") } else { line });
        drawn(grid).into_iter().chain(notes).chain(self.rate_lines(usize::MAX)).map(|line| line + "\n").collect()
    }
}

/// The lines of a grid whose first row is the header.
pub(super) fn drawn(grid: Vec<Vec<String>>) -> Vec<String> {
    let mut grid = grid.into_iter();
    let mut table = Table::new();
    table.load_preset(STYLE).set_header(grid.next().unwrap_or_default()).add_rows(grid.map(Row::from));
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if at >= COLUMNS.len() {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::{plan, summary};
    use crate::evaluator::{Counts, Metric, Metrics};
    use crate::summary::{Summary, TableCell};
    use compass_types::ids::UnitId;

    #[test]
    fn snapshot() {
        assert_eq!(summary().text(), EXPECTED);
    }

    #[test]
    fn what_was_cancelled_is_not_called_failed() {
        let counts = Counts { scored: 128, failed: 72, cancelled: 70, ..Counts::default() };
        let value = Metric { name: "accuracy".into(), value: 57.03125, stderr: None, ci95: None };
        let cells = [
            (UnitId(0), TableCell::Evaluated(Metrics { values: vec![value], counts, by_k: None, answers: None })),
            (
                UnitId(1),
                TableCell::Failed {
                    counts: Counts { failed: 40, cancelled: 40, ..Counts::default() },
                    reason: "cancelled: wrong model".into(),
                },
            ),
        ];
        let summary = Summary::new(&plan(), cells);
        let again = Summary::from_long_csv(&summary.long_csv()).unwrap();
        for text in [summary.text(), again.text()] {
            assert!(text.contains("57.03 (128/200, 2 failed, 70 cancelled)"), "{text}");
            assert!(text.contains("] withheld: cancelled: wrong model\n"), "{text}");
        }
    }

    const EXPECTED: &str = r#"dataset    version   metric     mode                                 tiny       tiny, "big" | brother
-------------------------------------------------------------------------------------------------------
piqa       1cf9f0    accuracy   ppl                                 55.00   93.50 (198/200, 2 failed)
arc_easy   1cf9f0    accuracy   ll     20.00 (30/40, 1 failed, 9 missing)                withheld [1]
arc_easy   1cf9f0    acc_norm   ll     33.33 (30/40, 1 failed, 9 missing)                withheld [1]
gsm8k      1cf9f0    accuracy   gen                           missing [2]                withheld [3]

[1] withheld: no sample was scored: 40 of 40 failed
[2] missing: not evaluated
[3] withheld: 6 of 6 failed: no weights
"#;
}
