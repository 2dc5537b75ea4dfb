//! A comparison as Markdown, with the forest plot in a code block.

use super::escape::markdown_text as md;
use super::forest::drawn_line;
use super::text::{headline, interval_name, models_of, notes, p_name, shows_models};
use crate::comparison::Comparison;
use crate::flip::Flip;
use std::fmt::Write;

/// A document of its own.
pub fn markdown(comparison: &Comparison, flips: &[Flip]) -> String {
    let mut out = format!("# Comparison\n\n**{}**\n\n", md(&headline(comparison)));
    if !comparison.differences.is_empty() {
        out.push_str("What else differs:\n\n| | A | B |\n|---|---|---|\n");
        for difference in &comparison.differences {
            let _ = writeln!(out, "| {} | {} | {} |", md(&difference.what), md(&difference.a), md(&difference.b));
        }
        out.push('\n');
    }
    let models = shows_models(comparison);
    let (head, rule) = if models { ("| models ", "|---") } else { ("", "") };
    let _ = writeln!(
        out,
        "{head}| dataset | metric | pairs | A | B | B - A | {} | {} | detectable | conclusion |\n\
         {rule}|---|---|--:|--:|--:|--:|--:|--:|--:|---|",
        interval_name(comparison),
        p_name(comparison)
    );
    for row in &comparison.rows {
        if models {
            let _ = write!(out, "| {} ", md(&models_of(row)));
        }
        let _ = write!(out, "| {} | {} ", md(&row.dataset), md(&row.metric));
        for cell in row.cells() {
            let _ = write!(out, "| {} ", cell.replace('<', "&lt;"));
        }
        let _ = writeln!(out, "| {} |", md(&row.said()));
    }
    out.push_str("\n```text\n");
    for row in &comparison.rows {
        out.push_str(&drawn_line(row, &comparison.rows));
    }
    out.push_str("```\n\n");
    for note in notes(comparison) {
        let _ = writeln!(out, "- {}", md(&note));
    }
    if !flips.is_empty() {
        out.push_str("\n## Flips\n");
    }
    for flip in flips {
        let side = if flip.gained { "only B is right" } else { "only A is right" };
        let _ =
            writeln!(out, "\n**{}**, sample {} in A, {} in B: {side}\n", md(&flip.dataset), flip.index_a, flip.index_b);
        for (name, text) in
            [("question", &flip.question), ("gold", &flip.gold), ("A", &flip.answer_a), ("B", &flip.answer_b)]
        {
            let _ = writeln!(out, "- {name}: {}", md(text));
        }
    }
    out
}
