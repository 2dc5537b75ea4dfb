//! Matrices, read from LaTeX's environments and compared cell by cell.

use super::decision::Why;
use super::latex::Sign;
use super::reader::{Reader, split};
use super::token::{Kind, Token};
use super::value::{Matrix, Value};

impl Matrix {
    /// None where rows differ in length.
    fn new(rows: Vec<Vec<Value>>) -> Option<Self> {
        let width = rows.first()?.len();
        rows.iter().all(|row| row.len() == width).then_some(Self { rows })
    }

    pub(super) fn has_shape_of(&self, other: &Self) -> bool {
        self.rows.len() == other.rows.len() && self.rows[0].len() == other.rows[0].len()
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = &Value> {
        self.rows.iter().flatten()
    }
}

impl Reader<'_> {
    /// A matrix from its environment.
    pub(super) fn matrix(&mut self, tokens: &[Token], sign: Option<Sign>) -> Result<Value, Why> {
        let Kind::Begin(kind) = &tokens[0].kind else { return Err(Why::Unread) };
        let mut inner = &tokens[1..tokens.len() - 1];
        match kind.as_str() {
            "pmatrix" | "bmatrix" | "matrix" | "smallmatrix" | "Bmatrix" => {}
            "array" => {
                // The columns' alignment.
                let end = inner.iter().position(|token| token.is_mark('}')).ok_or(Why::Unread)?;
                inner = &inner[end + 1..];
            }
            _ => return Err(Why::Unread),
        }
        let mut rows = Vec::new();
        for row in split(inner, |token| token.is_command("\\")).into_iter().filter(|row| !row.is_empty()) {
            let mut cells = Vec::new();
            for cell in split(row, |token| token.is_mark('&')) {
                cells.push(self.single(cell, Some(sign.unwrap_or(Sign::Plus)))?);
            }
            rows.push(cells);
        }
        Matrix::new(rows).map(Value::Matrix).ok_or(Why::Unread)
    }
}
