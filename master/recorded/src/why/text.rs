//! The answers of a run by their classes, as a terminal shows them.

use super::gather::{ClassOfAnswers, SelectedAnswer, UnitAnswers};
use compass_common::words::{counted, grouped};
use std::fmt::Write as _;

/// Returns the classes of each unit, then the first answers of each class.
pub(super) fn text(units: &[UnitAnswers], run: &str) -> String {
    let mut text = String::new();
    for unit in units {
        let name = format!("{} {}", unit.model, unit.dataset);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}: {}{}", counted(unit.answers, "answer"), accuracy(unit.right, unit.judged));
        if unit.classes.is_empty() {
            let _ = writeln!(text, "  none of them is of a class\n");
            continue;
        }
        let _ = writeln!(text, "  {:<12} {:>9} {:>8} {:>8}", "class", "answers", "share", "right");
        for class in &unit.classes {
            let share = 100.0 * class.answers as f64 / unit.answers as f64;
            let right = if class.judged == 0 { "-".to_owned() } else { percent(class.right, class.judged) };
            let _ = writeln!(text, "  {:<12} {:>9} {share:>6.1} % {right:>8}", class.class, grouped(class.answers));
        }
        for class in &unit.classes {
            shown(&mut text, class, unit.reading.is_some());
        }
        text.push('\n');
    }
    if units.is_empty() {
        let _ = writeln!(text, "{run}: no answers were generated");
    }
    text
}

fn shown(text: &mut String, class: &ClassOfAnswers, is_read: bool) {
    if class.first.is_empty() {
        return;
    }
    let of_all = match class.first.len() as u64 == class.answers {
        true => String::new(),
        false => format!(", the first {} of {}", class.first.len(), grouped(class.answers)),
    };
    let _ = writeln!(text, "\n  {}{of_all}", class.class);
    for answer in &class.first {
        let SelectedAnswer { key, begin, end, processed, read, gold, right, .. } = answer;
        let decision = match right {
            Some(true) => "right",
            Some(false) => "wrong",
            None => "without a decision",
        };
        let read = match (is_read, read) {
            (false, _) => String::new(),
            (true, None) => ", `answer` reads nothing".to_owned(),
            (true, Some(read)) => format!(", `answer` reads {}", quoted(read)),
        };
        let _ = writeln!(
            text,
            "    {key}  {decision}: gold {}, the evaluator compares {}{read}",
            quoted(gold),
            quoted(processed)
        );
        let _ = writeln!(text, "      {}", quoted(begin));
        if !end.is_empty() {
            let _ = writeln!(text, "      ... {}", quoted(end));
        }
    }
}

fn accuracy(right: u64, judged: u64) -> String {
    if judged == 0 { String::new() } else { format!(", {} right", percent(right, judged)) }
}

fn percent(right: u64, judged: u64) -> String {
    format!("{:.1} %", 100.0 * right as f64 / judged as f64)
}

/// A text on one line, without what would control the terminal.
fn quoted(text: &str) -> String {
    format!("{text:?}")
}
