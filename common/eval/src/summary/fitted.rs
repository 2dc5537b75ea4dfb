//! The table within the width of a terminal.
//!
//! If the table of the files does not fit, versions and modes are left out, names are broken, and what is still too wide is
//! cut into blocks. Many models become rows: of the two ways to lay it out the one with fewer lines is taken.

use super::Summary;
use super::notes::Notes;
use super::table::SummaryRow;
use super::text::drawn;
use unicode_width::UnicodeWidthStr;

/// Narrower than this nothing is made.
const NARROWEST: usize = 40;

/// Longest line of a column's heading that is made of a name which can be broken.
const HEADING: usize = 12;

/// Fewer models than these stay columns.
const MANY_MODELS: usize = 4;

/// Between two columns.
const GAP: usize = 2;

/// Characters behind which a name may be broken.
const BREAKS: [char; 6] = ['_', '-', '/', '.', ' ', ':'];

/// Cells with a name for each of their rows and columns.
struct Cells<'a> {
    corner: &'static str,
    rows: &'a [String],
    columns: &'a [String],
    cell: &'a dyn Fn(usize, usize) -> &'a str,
}

impl Summary {
    /// The table for a terminal of so many columns, notes and all; ends with a newline. Where it fits it is that of
    /// [`Summary::text`].
    pub fn within(&self, width: usize) -> String {
        let width = width.max(NARROWEST);
        let (grid, notes) = self.grid();
        let plain = drawn(grid);
        let (mut lines, notes) = match plain.iter().all(|line| line.width() <= width) {
            true => (plain, notes),
            false => self.blocks(width),
        };
        let notes: Vec<String> = notes.lines().flat_map(|note| wrapped(&note, width)).collect();
        if !notes.is_empty() {
            lines.push(String::new());
        }
        lines.extend(notes);
        let fitting = |line: String| if line.width() > width { wrapped(&line, width) } else { vec![line] };
        lines.extend(self.rate_lines(width).into_iter().flat_map(fitting));
        lines.into_iter().map(|line| line + "\n").collect()
    }

    fn blocks(&self, width: usize) -> (Vec<String>, Notes) {
        let mut notes = Notes::with_remarks(&self.remarks);
        let rows: Vec<&SummaryRow> = self.shown().iter().collect();
        let cells: Vec<Vec<String>> =
            rows.iter().map(|row| row.values.iter().map(|value| value.short(&mut notes)).collect()).collect();
        let names = names(&rows);
        let cell = |row: usize, column: usize| cells[row][column].as_str();
        let upright = Cells { corner: "dataset", rows: &names, columns: &self.models, cell: &cell };
        let upright = upright.lines(width);
        if self.models.len() < MANY_MODELS {
            return (upright, notes);
        }
        // A heading among the rows would be a column of dashes.
        let asked = |row: &&SummaryRow| row.metric() != "-";
        let order: Vec<usize> = (0..rows.len()).filter(|at| asked(&rows[*at])).collect();
        let columns: Vec<String> = order.iter().map(|at| names[*at].clone()).collect();
        let turned = |row: usize, column: usize| cells[order[column]][row].as_str();
        let turned = Cells { corner: "model", rows: &self.models, columns: &columns, cell: &turned };
        let turned = turned.lines(width);
        (if turned.len() < upright.len() { turned } else { upright }, notes)
    }
}

/// Returns the name of each row: its data set or group, and its metric where the table has several.
fn names(rows: &[&SummaryRow]) -> Vec<String> {
    let of_data = rows.iter().filter(|row| !row.is_group()).map(|row| row.metric()).collect::<Vec<_>>();
    let several = of_data.iter().any(|metric| of_data.first() != Some(metric));
    let twice = |row: &SummaryRow| rows.iter().filter(|other| other.name() == row.name()).count() > 1;
    let name = |row: &&SummaryRow| match twice(row) || several && !row.is_group() {
        true => format!("{} {}", row.name(), row.metric()),
        false => row.name().to_owned(),
    };
    rows.iter().map(name).collect()
}

impl Cells<'_> {
    /// Blocks of as many columns as fit, one below the other.
    fn lines(&self, width: usize) -> Vec<String> {
        let names: Vec<Vec<String>> = self.rows.iter().map(|name| broken(name, width * 2 / 5)).collect();
        let label = names.iter().flatten().map(|line| line.width()).chain([self.corner.width()]).max().unwrap_or(0);
        let heads: Vec<Vec<String>> = self.columns.iter().map(|name| broken(name, HEADING)).collect();
        let widths: Vec<usize> = (0..self.columns.len()).map(|at| self.width(at, &heads[at])).collect();
        let mut lines = Vec::new();
        let mut from = 0;
        while from < widths.len() {
            let mut taken = label;
            let fits = |column: &&usize| {
                taken += GAP + **column;
                taken <= width
            };
            let end = from + widths[from..].iter().take_while(fits).count().max(1);
            if from > 0 {
                lines.push(String::new());
            }
            let columns: Vec<usize> = (from..end).collect();
            let height = columns.iter().map(|at| heads[*at].len()).max().unwrap_or(1);
            let line = |name: &str, cells: &mut dyn FnMut(usize) -> String| {
                let mut line = padded(name, label);
                for at in &columns {
                    let cell = cells(*at);
                    line += &" ".repeat(GAP + widths[*at].saturating_sub(cell.width()));
                    line += &cell;
                }
                line.trim_end().to_owned()
            };
            for at in 0..height {
                // Short headings stand at the bottom.
                let part = |column: usize| {
                    let head = &heads[column];
                    (at + head.len()).checked_sub(height).map_or(String::new(), |at| head[at].clone())
                };
                lines.push(line(if at + 1 == height { self.corner } else { "" }, &mut { part }));
            }
            lines.push("-".repeat(label + columns.iter().map(|at| GAP + widths[*at]).sum::<usize>()));
            for (row, name) in names.iter().enumerate() {
                for (at, part) in name.iter().enumerate() {
                    let last = at + 1 == name.len();
                    let cell = |column| if last { (self.cell)(row, column).to_owned() } else { String::new() };
                    lines.push(line(part, &mut { cell }));
                }
            }
            from = end;
        }
        lines
    }

    fn width(&self, column: usize, head: &[String]) -> usize {
        let cells = (0..self.rows.len()).map(|row| (self.cell)(row, column).width());
        head.iter().map(|line| line.width()).chain(cells).max().unwrap_or(0)
    }
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// Lines of a name, none wider than `width` columns: broken behind a mark (`_-/. :`) where there is one, else anywhere.
pub fn broken(name: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for piece in name.split_inclusive(BREAKS) {
        let Some(line) = lines.last_mut() else { continue };
        if line.width() + piece.trim_end().width() <= width {
            line.push_str(piece);
            continue;
        }
        lines.push(String::new());
        for letter in piece.chars() {
            let Some(line) = lines.last_mut() else { continue };
            let mut bytes = [0; 4];
            if line.width() + letter.encode_utf8(&mut bytes).width() > width {
                lines.push(letter.into());
            } else {
                line.push(letter);
            }
        }
    }
    let lines = lines.into_iter().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty());
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { vec![String::new()] } else { lines }
}

/// Lines of a note, those after the first set in.
fn wrapped(note: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in note.split(' ') {
        let full = lines.last().is_some_and(|line| !line.trim().is_empty() && line.width() + 1 + word.width() > width);
        if full {
            lines.push("   ".into());
        }
        let room = width.saturating_sub(4).max(1);
        for (at, part) in broken_anywhere(word, room).into_iter().enumerate() {
            if at > 0 {
                lines.push("   ".into());
            }
            let Some(line) = lines.last_mut() else { continue };
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&part);
        }
    }
    lines
}

fn broken_anywhere(word: &str, width: usize) -> Vec<String> {
    if word.width() <= width { vec![word.to_owned()] } else { broken(word, width) }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::{cell, plan_with, summary};
    use super::*;
    use proptest::prelude::*;

    /// `models` models on `datasets` data sets, of which one number stands on a part of its samples.
    fn large(models: usize, datasets: usize) -> Summary {
        let models: Vec<String> = (0..models).map(|at| format!("internlm2-chat-7b-hf-step-{at}000")).collect();
        let datasets: Vec<String> = (0..datasets).map(|at| format!("lukaemon_mmlu_subject_{at}")).collect();
        let plan = plan_with(&models, &datasets);
        let cells = plan.units().enumerate().map(|(at, unit)| {
            let failed = u64::from(at == 3);
            (unit.id, cell(&[("accuracy", at as f64 % 100.0)], 10 - failed, failed))
        });
        Summary::new(&plan, cells.collect::<Vec<_>>())
    }

    #[test]
    fn what_fits_is_as_in_the_files() {
        assert_eq!(summary().within(200), summary().text());
    }

    #[test]
    fn a_narrow_terminal() {
        assert_eq!(summary().within(60), NARROW);
    }

    const NARROW: &str = r#"                                      tiny, "big"
dataset                     tiny        | brother
-------------------------------------------------
piqa accuracy              55.00  93.50 (198/200)
arc_easy accuracy  20.00 (30/40)     withheld [1]
arc_easy acc_norm  33.33 (30/40)     withheld [1]
gsm8k accuracy       missing [2]     withheld [3]

[1] withheld: no sample was scored: 40 of 40 failed
[2] missing: not evaluated
[3] withheld: 6 of 6 failed: no weights
"#;

    #[test]
    fn many_models_become_rows_and_many_data_sets_blocks() {
        let text = large(60, 20).within(100);
        let blocks: Vec<&str> = text.split("\n\n").collect();
        assert_eq!(blocks.len(), 4, "{text}");
        for block in &blocks {
            assert_eq!(block.lines().count(), 3 + 1 + 60, "{block}");
        }
        assert!(blocks[0].lines().nth(4).unwrap().starts_with("internlm2-chat-7b-hf-step-0000  "), "{text}");
        assert_eq!(text.matches("(9/10)").count(), 1, "{text}");
        assert_eq!(text.matches(" 59.00").count(), 1_200 / 100, "every number has its place: {text}");
    }

    #[test]
    fn few_models_stay_columns() {
        let text = large(2, 60).within(72);
        assert_eq!(text.lines().count(), 3 + 1 + 60, "{text}");
    }

    proptest! {
        #[test]
        fn never_wider_than_the_terminal(width in 40_usize..200, models in 1_usize..9, datasets in 1_usize..9) {
            for text in [large(models, datasets).within(width), summary().within(width)] {
                for line in text.lines() {
                    prop_assert!(line.width() <= width, "{width}: {line}");
                }
            }
        }

        #[test]
        fn a_broken_name_is_whole(name in "[a-z_./中-]{0,60}", width in 2_usize..20) {
            let lines = broken(&name, width);
            prop_assert_eq!(lines.concat(), name);
            prop_assert!(lines.iter().all(|line| line.width() <= width));
        }
    }
}
