//! Tables and notes within the width of a terminal.
//!
//! A table that does not fit is cut into blocks of columns, one below the other, each with the names of the rows; long cells and
//! notes are wrapped at words, long names behind a mark. Where the rows are models and the columns data sets, the way round with
//! fewer lines is taken. Without a width everything is as wide as it comes: what a file and a pipe get.

use comfy_table::CellAlignment;
use compass_eval::summary::broken;
use unicode_width::UnicodeWidthStr;

/// Only a rule below the header, as the table of a run has it.
const STYLE: &str = "     --            ";

/// Narrower than this nothing is made.
const NARROWEST: usize = 40;

/// Longest line of a heading that is wider than its cells, ...
const HEADING: usize = 12;

/// ... and of a cell of words.
const CELL: usize = 36;

/// Between two columns.
const GAP: usize = 2;

/// A table of texts that are plain.
pub(crate) struct Table {
    /// The first row is the header.
    pub(crate) grid: Vec<Vec<String>>,
    /// So many columns name a row, ...
    pub(crate) names: usize,
    /// ... and so many are words, as the last one may be too; the others are numbers.
    pub(crate) words: usize,
    /// Set if rows may become columns; only where one column names a row.
    pub(crate) turns: bool,
}

/// A column of a block: its heading and its cells, in lines.
struct Column {
    head: Vec<String>,
    cells: Vec<Vec<String>>,
    width: usize,
    is_words: bool,
}

impl Table {
    /// The lines, none of which is wider than `width` (nor than 40, where that is more).
    pub(crate) fn lines(self, width: Option<usize>) -> Vec<String> {
        let plain = self.drawn();
        let Some(width) = width.map(|width| width.max(NARROWEST)) else { return plain };
        if plain.iter().all(|line| line.width() <= width) {
            return plain;
        }
        let upright = blocks(&self.grid, self.names, self.words, width);
        if !self.turns {
            return upright;
        }
        let turned = blocks(&self.turned(), 1, 1, width);
        if turned.len() < upright.len() { turned } else { upright }
    }

    fn drawn(&self) -> Vec<String> {
        let last = self.grid.first().map_or(0, |head| head.len().saturating_sub(1));
        let mut grid = self.grid.iter().cloned();
        let mut table = comfy_table::Table::new();
        table.load_preset(STYLE).set_header(grid.next().unwrap_or_default()).add_rows(grid);
        for (at, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if at >= self.words && at != last {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// Rows as columns.
    fn turned(&self) -> Vec<Vec<String>> {
        let columns = self.grid.first().map_or(0, Vec::len);
        let cell = |row: &Vec<String>, at: usize| row.get(at).cloned().unwrap_or_default();
        (0..columns).map(|at| self.grid.iter().map(|row| cell(row, at)).collect()).collect()
    }
}

fn blocks(grid: &[Vec<String>], names: usize, words: usize, width: usize) -> Vec<String> {
    let Some((head, rows)) = grid.split_first() else { return Vec::new() };
    let name = |row: &[String]| broken(row[..names.min(row.len())].join(" ").trim(), width * 2 / 5);
    let corner = name(head);
    let labels: Vec<Vec<String>> = rows.iter().map(|row| name(row)).collect();
    let label = labels.iter().chain([&corner]).flatten().map(|line| line.width()).max().unwrap_or(0);
    let room = width.saturating_sub(label + GAP);
    let last = head.len().saturating_sub(1);
    let column = |at: usize| {
        let cell = |row: &Vec<String>| wrapped(row.get(at).map_or("", String::as_str), room.min(CELL), "");
        let cells: Vec<Vec<String>> = rows.iter().map(cell).collect();
        let widest = cells.iter().flatten().map(|line| line.width()).max().unwrap_or(0);
        let head = broken(&head[at], widest.max(HEADING).min(room));
        let width = head.iter().map(|line| line.width()).max().unwrap_or(0).max(widest);
        Column { head, cells, width, is_words: at < words || at == last && widest > HEADING }
    };
    let columns: Vec<Column> = (names..head.len()).map(column).collect();
    let mut lines = Vec::new();
    let mut left = columns.as_slice();
    while !left.is_empty() {
        let mut taken = label;
        let fits = |column: &&Column| {
            taken += GAP + column.width;
            taken <= width
        };
        let (block, rest) = left.split_at(left.iter().take_while(fits).count().max(1));
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(block_lines(&corner, &labels, label, block));
        left = rest;
    }
    lines
}

fn block_lines(corner: &[String], labels: &[Vec<String>], label: usize, block: &[Column]) -> Vec<String> {
    let part = |lines: &[String], at: usize| lines.get(at).cloned().unwrap_or_default();
    let line = |name: &str, cell: &dyn Fn(&Column) -> String| {
        let mut line = format!("{name}{}", " ".repeat(label.saturating_sub(name.width())));
        for column in block {
            let cell = cell(column);
            let space = " ".repeat(column.width.saturating_sub(cell.width()));
            line += &" ".repeat(GAP);
            line += &if column.is_words { cell + &space } else { space + &cell };
        }
        line.trim_end().to_owned()
    };
    // Short headings stand at the bottom.
    let height = block.iter().map(|column| column.head.len()).max().unwrap_or(1).max(corner.len());
    let bottom = |lines: &[String], at: usize| {
        (at + lines.len()).checked_sub(height).map_or(String::new(), |at| part(lines, at))
    };
    let mut lines: Vec<String> =
        (0..height).map(|at| line(&bottom(corner, at), &|column| bottom(&column.head, at))).collect();
    lines.push("-".repeat(label + block.iter().map(|column| GAP + column.width).sum::<usize>()));
    for (row, name) in labels.iter().enumerate() {
        let height = block.iter().map(|column| column.cells[row].len()).max().unwrap_or(1).max(name.len());
        lines.extend((0..height).map(|at| line(&part(name, at), &|column| part(&column.cells[row], at))));
    }
    lines
}

/// Lines of a text that is broken at words, those after the first set in by `indent`. Spaces at its beginning stay.
fn wrapped(text: &str, width: usize, indent: &str) -> Vec<String> {
    if text.width() <= width {
        return vec![text.to_owned()];
    }
    let begin = &text[..text.len() - text.trim_start().len()];
    let (mut lines, mut line, mut is_empty) = (Vec::new(), begin.to_owned(), true);
    let next = format!("{begin}{indent}");
    let room = width.saturating_sub(next.width()).max(1);
    for word in text.split_whitespace() {
        for part in if word.width() <= room { vec![word.to_owned()] } else { broken(word, room) } {
            if !is_empty && line.width() + 1 + part.width() > width {
                lines.push(std::mem::replace(&mut line, next.clone()));
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line.push_str(&part);
            is_empty = false;
        }
    }
    lines.push(line);
    lines
}

/// Notes that are wrapped where there is a width.
pub(crate) fn wrapped_all(notes: impl IntoIterator<Item = String>, width: Option<usize>) -> Vec<String> {
    let notes = notes.into_iter();
    match width.map(|width| width.max(NARROWEST)) {
        None => notes.collect(),
        Some(width) => notes.flat_map(|note| wrapped(&note, width, "  ")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: usize, rows: usize, turns: bool) -> Table {
        let mut grid = vec![vec!["model".to_owned()]];
        grid[0].extend((0..columns).map(|at| format!("lukaemon_mmlu_subject_{at}")));
        for row in 0..rows {
            let mut cells = vec![format!("internlm2-chat-7b-hf-step-{row}000")];
            cells.extend((0..columns).map(|at| format!("{}.{row:02} ±1.50", at + 10)));
            grid.push(cells);
        }
        Table { grid, names: 1, words: 1, turns }
    }

    #[test]
    fn what_fits_and_what_has_no_width_is_as_it_comes() {
        assert_eq!(table(2, 3, true).lines(Some(200)), table(2, 3, true).lines(None));
        assert!(table(20, 3, true).lines(None)[0].width() > 400);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_no_number_is_lost() {
        for width in [40, 60, 80, 100, 132] {
            for (columns, rows) in [(30, 2), (12, 9), (1, 1)] {
                for turns in [false, true] {
                    let lines = table(columns, rows, turns).lines(Some(width));
                    assert!(lines.iter().all(|line| line.width() <= width), "{width}:\n{}", lines.join("\n"));
                    let text = lines.join("\n");
                    for (row, at) in (0..rows).flat_map(|row| (0..columns).map(move |at| (row, at))) {
                        let number = format!(" {}.{row:02} ±1.50", at + 10);
                        assert_eq!(text.matches(&number).count(), 1, "{width}: {number}\n{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn few_models_on_many_data_sets_are_turned() {
        let (turned, upright) = (table(30, 2, true).lines(Some(80)), table(30, 2, false).lines(Some(80)));
        assert!(turned.len() < upright.len(), "{}", turned.join("\n"));
        assert!(turned.iter().any(|line| line.starts_with("lukaemon_mmlu_subject_7 ")), "{}", turned.join("\n"));
    }

    #[test]
    fn words_are_wrapped_and_names_broken() {
        let grid = [
            ["dataset", "pairs", "conclusion"],
            ["piqa", "20", "cannot tell: the interval holds the margin; 125 pairs would tell"],
        ];
        let grid = grid.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        let lines = Table { grid, names: 1, words: 1, turns: false }.lines(Some(60));
        assert_eq!(lines.join("\n"), WRAPPED);
        assert_eq!(wrapped("  what: long words here", 16, "  "), ["  what: long", "    words here"]);
        assert_eq!(wrapped("abcdefghij", 4, ""), ["abcd", "efgh", "ij"]);
    }

    const WRAPPED: &str = "dataset  pairs  conclusion
---------------------------------------------------
piqa        20  cannot tell: the interval holds the
                margin; 125 pairs would tell";
}
