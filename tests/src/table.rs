//! Plain tables: columns aligned, numbers to the right.

/// Rows of text under a heading.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table of these columns.
    pub fn new(heading: &[&str]) -> Self {
        Self { rows: vec![heading.iter().map(|&cell| cell.to_owned()).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &Vec<String>, at: usize| row.get(at).map_or(0, |cell| cell.chars().count());
        let widths: Vec<usize> =
            (0..columns).map(|at| self.rows.iter().map(|row| cell(row, at)).max().unwrap_or(0)).collect();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| {
                // The first column names the row.
                if at == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["case", "MiB"]);
        table.row(["é".to_owned(), "1024".to_owned()]);
        assert_eq!(table.to_string(), "case   MiB\né     1024\n");
    }
}
