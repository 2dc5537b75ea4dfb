//! The table as Markdown.

use super::Summary;

impl Summary {
    /// A Markdown table as OpenCompass lays it out, with the counts beside the numbers and the reasons for
    /// lacking ones and rates by k below; ends with a newline.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        let (grid, notes) = self.grid();
        for (at, row) in grid.iter().enumerate() {
            let cells: Vec<_> = row.iter().map(|cell| escaped(cell)).collect();
            out += &format!("| {} |\n", cells.join(" | "));
            if at == 0 {
                out += &format!("|{}|\n", vec!["-----"; row.len()].join(" | "));
            }
        }
        // A blank line ends the table, and each note is a paragraph of its own.
        out.extend(notes.lines().map(|line| format!("\n{line}\n")));
        out + &self.rate_markdown()
    }
}

/// A bar would end the cell, a line break the row.
fn escaped(cell: &str) -> String {
    cell.replace('|', "\\|").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::summary;

    #[test]
    fn snapshot() {
        assert_eq!(summary().markdown(), EXPECTED);
    }

    const EXPECTED: &str = r#"| dataset | version | metric | mode | tiny | tiny, "big" \| brother |
|----- | ----- | ----- | ----- | ----- | -----|
| piqa | 1cf9f0 | accuracy | ppl | 55.00 | 93.50 (198/200, 2 failed) |
| arc_easy | 1cf9f0 | accuracy | ll | 20.00 (30/40, 1 failed, 9 missing) | withheld [1] |
| arc_easy | 1cf9f0 | acc_norm | ll | 33.33 (30/40, 1 failed, 9 missing) | withheld [1] |
| gsm8k | 1cf9f0 | accuracy | gen | missing [2] | withheld [3] |

[1] withheld: no sample was scored: 40 of 40 failed

[2] missing: not evaluated

[3] withheld: 6 of 6 failed: no weights
"#;
}
