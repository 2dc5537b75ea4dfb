//! Tables of rates by k below the main one, one for each model and data set with several answers to each question.

use super::Summary;
use super::rate_table::RateTable;

/// Most tables that are shown: all rates are in `results/`.
const MOST: usize = 12;

impl Summary {
    /// The lines of the tables of rates, an empty one before each.
    pub(super) fn rate_lines(&self, width: usize) -> Vec<String> {
        let (shown, more) = self.shown_rates();
        let tables = shown.iter().flat_map(|table| [vec![String::new()], table.lines(width)].concat());
        tables.chain(more.into_iter().flat_map(|more| [String::new(), more])).collect()
    }

    /// The tables of rates as Markdown.
    pub(super) fn rate_markdown(&self) -> String {
        let (shown, more) = self.shown_rates();
        let more = more.map(|more| format!("\n{more}\n")).unwrap_or_default();
        shown.iter().map(RateTable::markdown).chain([more]).collect()
    }

    fn shown_rates(&self) -> (&[RateTable], Option<String>) {
        let (shown, hidden) = self.rates.split_at(self.rates.len().min(MOST));
        let plural = if hidden.len() == 1 { "" } else { "s" };
        let more = format!("{} more result{plural} with several answers: `by_k` in results/", hidden.len());
        (shown, (!hidden.is_empty()).then_some(more))
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::{cell, plan, plan_of, summary};
    use super::super::{Summary, TableCell};
    use super::*;
    use crate::evaluator::fixture::{acc, dataset, generate, result};
    use crate::evaluator::{Accumulator, AtK, ByK, Metric, Metrics};
    use compass_plan::{GenSpec, InferSpec};
    use compass_types::result::{Finish, Generation, Outcome};
    use serde_json::json;
    use unicode_width::UnicodeWidthStr;

    fn rates(maj: bool) -> ByK {
        let metric = |name: &str, value: f64| Metric {
            name: name.into(),
            value,
            stderr: Some(7.0),
            ci95: Some((value - 13.6, value + 13.6)),
        };
        let at = |(k, pass, voted, all): (u64, f64, f64, f64)| AtK {
            k,
            pass: metric("pass", pass),
            maj: maj.then(|| metric("maj", voted)),
            all: metric("all", all),
        };
        let by_k = [(1, 61.35, 61.35, 61.35), (2, 66.7, 64.0, 55.1), (4, 73.2, 68.9, 48.01), (64, 100.0, 76.67, 30.0)];
        ByK { questions: 30, answers: (64, 64), unsettled: 16, draws_stderr: Some(0.46), rates: by_k.map(at).to_vec() }
    }

    fn with_rates(datasets: usize, maj: bool) -> Summary {
        let datasets = (0..datasets).map(|at| dataset(&format!("aime_{at}"), InferSpec::Gen(GenSpec::default()), 30));
        let plan = plan_of("qwen3-8b", datasets.collect());
        let cells: Vec<_> = plan
            .units()
            .map(|unit| match cell(&[("accuracy", 61.35)], 30, 0) {
                TableCell::Evaluated(metrics) => {
                    (unit.id, TableCell::Evaluated(Metrics { by_k: Some(rates(maj)), ..metrics }))
                }
                other => (unit.id, other),
            })
            .collect();
        Summary::new(&plan, cells)
    }

    #[test]
    fn below_the_table_and_its_notes() {
        let text = with_rates(1, true).with_notes(["a note".to_owned()]).text();
        assert_eq!(text, EXPECTED);
    }

    const EXPECTED: &str = "dataset   version   metric     mode   qwen3-8b
------------------------------------------------
aime_0    1cf9f0    accuracy   gen       61.35

a note

aime_0, 30 questions, 64 answers each
k              1       2       4      64
pass@k     61.35   66.70   73.20  100.00
maj@k      61.35   64.00   68.90   76.67
all@k      61.35   55.10   48.01   30.00
+-          13.6    13.6    13.6    13.6   of pass@k, by question; draws alone 0.9; 16 of 30 questions unsettled
";

    /// Votes for the right class, and for each other one, of the example in the book.
    const EXAMPLE: [&[usize]; 10] = [
        &[16],
        &[14, 2],
        &[11, 3, 2],
        &[9, 5, 2],
        &[7, 6, 3],
        &[5, 8, 3],
        &[2, 6, 4, 4],
        &[0, 10, 6],
        &[16],
        &[12, 2, 1, 1],
    ];

    #[test]
    fn the_book_shows_a_table_as_it_is() {
        let mut total = Accumulator::new(&acc());
        for (index, votes) in (0..).zip(EXAMPLE) {
            let letters = votes.iter().zip(["A", "B", "C", "D"]).flat_map(|(votes, letter)| vec![letter; *votes]);
            let answers = letters.map(|letter| Generation::new(letter, 1, Finish::Stop)).collect();
            total.observe(&generate(index, json!("A")), &result(index, Outcome::Generated(answers)));
        }
        let plan = plan_of("qwen3-8b", vec![dataset("physics", InferSpec::Gen(GenSpec::default()), 10)]);
        let cells = plan.units().map(|unit| (unit.id, TableCell::Evaluated(total.finish())));
        let table = Summary::new(&plan, cells.collect::<Vec<_>>()).rate_lines(usize::MAX).join("\n");
        let book = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/numbers.md")).unwrap();
        assert!(book.contains(&format!("```text{table}\n```\n")), "{table}");
    }

    #[test]
    fn programs_do_not_vote() {
        let text = with_rates(1, false).text();
        assert!(text.contains("\npass@k ") && text.contains("\nall@k ") && !text.contains("maj@k"), "{text}");
    }

    #[test]
    fn a_narrow_terminal_has_blocks() {
        let text = with_rates(2, true).within(40);
        assert!(text.lines().all(|line| line.width() <= 40), "{text}");
        assert_eq!(text.matches("pass@k ").count(), 2, "{text}");
        assert!(text.contains("unsettled"), "{text}");
    }

    #[test]
    fn markdown_has_them_too() {
        let text = with_rates(1, true).markdown();
        let expected = "\naime_0, 30 questions, 64 answers each\n\n| k | 1 | 2 | 4 | 64 |\n|----- | ----- | ----- | ----- | -----|\n\
                        | pass@k | 61.35 |";
        assert!(text.contains(expected) && text.ends_with("16 of 30 questions unsettled\n"), "{text}");
    }

    #[test]
    fn of_many_a_part_is_shown() {
        let text = with_rates(14, true).text();
        assert_eq!(text.matches("\npass@k ").count(), MOST);
        assert!(text.ends_with("\n\n2 more results with several answers: `by_k` in results/\n"), "{text}");
    }

    #[test]
    fn several_models_are_named() {
        let plan = plan();
        let cells = plan.units().map(|unit| {
            let metrics = Metrics { by_k: Some(rates(true)), ..Metrics::default() };
            (unit.id, TableCell::Evaluated(metrics))
        });
        let text = Summary::new(&plan, cells.collect::<Vec<_>>()).text();
        assert!(text.contains("\ntiny/gsm8k, 30 questions, 64 answers each\n"), "{text}");
        assert!(summary().rates.is_empty());
    }
}
