//! The curve: the results of every checkpoint, by step, as a table for people and as CSV for programs.
//!
//! A checkpoint without a number has its reason in its place: the curve has a gap there, and no made-up value.

use super::ending::EndingKind;
use super::evaluation::{Evaluation, EvaluationState};
use super::watch::{Standing, Watch};
use compass_types::ids::Digest;
use csv::{Terminator, WriterBuilder};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Prefix of the reason of a failed sample whose weights were removed or overwritten while its job ran.
pub const WEIGHTS_GONE: &str = "weights_gone";

/// Reason why a content that was whole has no job.
const NEVER_BEGAN: &str = "removed or overwritten before it was evaluated";

/// The columns of the long form of a job's table.
const LONG: [&str; 10] =
    ["dataset", "version", "metric", "mode", "model", "value", "expected", "scored", "failed", "reason"];

/// A row of a job's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultRow {
    pub model: String,
    pub dataset: String,
    pub version: String,
    pub metric: String,
    pub mode: String,
    /// The number, with a star if it is based on a part of the samples; otherwise the reason, in words.
    pub value: String,
    pub expected: String,
    pub scored: String,
    pub failed: String,
}

impl ResultRow {
    fn has_number(&self) -> bool {
        self.value.trim_end_matches('*').parse::<f64>().is_ok()
    }
}

/// One checkpoint of the curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub step: Option<u64>,
    pub name: String,
    /// Digest of its weights; `None` while that is not known.
    pub content: Option<Digest>,
    /// In one word.
    pub state: &'static str,
    /// Reason why it has no number, in words.
    pub reason: String,
    /// Set if the checkpoint has another content by now: the numbers belong to the old one.
    pub overwritten: bool,
    /// The name of the run folder.
    pub run: String,
    pub rows: Vec<ResultRow>,
}

/// Every checkpoint that was ever seen, by step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve(pub Vec<Point>);

impl Curve {
    /// The curve of what `watch` knows, with the tables of the jobs that have one.
    pub fn new(watch: &Watch, tables: &BTreeMap<Digest, Vec<ResultRow>>) -> Self {
        let of_content = watch.history().iter().map(|known| {
            let evaluation = watch.evaluation(&known.content);
            let rows = tables.get(&known.content).cloned().unwrap_or_default();
            let (state, reason) = match evaluation {
                Some(evaluation) => standing(evaluation, &rows),
                // It waited when an earlier watch was killed.
                None if watch.is_past(known) => ("gone", NEVER_BEGAN.to_owned()),
                None => ("waiting", String::new()),
            };
            Point {
                step: known.step,
                name: known.name.clone(),
                content: Some(known.content),
                state,
                reason,
                overwritten: known.overwritten,
                run: evaluation.and_then(|evaluation| evaluation.folder.clone()).unwrap_or_default(),
                rows,
            }
        });
        let without = watch.without_content().map(|(name, step, standing)| {
            let (state, reason) = match standing {
                Standing::Unfinished(reason) => ("unfinished", reason),
                Standing::Gone => ("gone", "removed before it was whole".to_owned()),
            };
            let (name, run) = (name.to_owned(), String::new());
            Point { step, name, content: None, state, reason, overwritten: false, run, rows: Vec::new() }
        });
        let mut points: Vec<Point> = of_content.chain(without).collect();
        // Those without a step last; of one checkpoint the old content first.
        points.sort_by(|a, b| (a.step.is_none(), a.step, &a.name).cmp(&(b.step.is_none(), b.step, &b.name)));
        Self(points)
    }

    /// Returns whether every checkpoint to evaluate has all its numbers.
    pub fn is_complete(&self) -> bool {
        self.0.iter().all(|point| point.state == "scored" || point.state == "unfinished")
    }

    /// Comma-separated values, a line for each number and one for each checkpoint without any.
    pub fn csv(&self) -> String {
        let header = [
            "step",
            "checkpoint",
            "weights",
            "state",
            "overwritten",
            "model",
            "dataset",
            "version",
            "metric",
            "mode",
            "value",
            "expected",
            "scored",
            "failed",
            "run",
            "reason",
        ];
        let mut lines: Vec<Vec<String>> = vec![header.map(str::to_owned).to_vec()];
        for point in &self.0 {
            let step = point.step.map_or(String::new(), |step| step.to_string());
            let weights = point.content.map_or(String::new(), |content| content.short());
            let overwritten = if point.overwritten { "true" } else { "false" };
            let head = [step, point.name.clone(), weights, point.state.into(), overwritten.into()];
            let line = |row: Option<&ResultRow>| {
                let mut fields = head.to_vec();
                let reason = match row {
                    Some(row) => {
                        let (value, reason) = if row.has_number() {
                            (row.value.clone(), "")
                        } else {
                            (String::new(), row.value.as_str())
                        };
                        fields
                            .extend([&row.model, &row.dataset, &row.version, &row.metric, &row.mode].map(Clone::clone));
                        fields.push(value);
                        fields.extend([&row.expected, &row.scored, &row.failed].map(Clone::clone));
                        reason.to_owned()
                    }
                    None => {
                        fields.extend(std::iter::repeat_n(String::new(), 9));
                        point.reason.clone()
                    }
                };
                fields.extend([point.run.clone(), reason]);
                fields
            };
            match point.rows.as_slice() {
                [] => lines.push(line(None)),
                rows => lines.extend(rows.iter().map(|row| line(Some(row)))),
            }
        }
        written(&lines)
    }

    /// A table with a line for each checkpoint and a column for each metric.
    pub fn text(&self) -> String {
        let mut columns: Vec<[&str; 3]> = Vec::new();
        let mut models: Vec<&str> = Vec::new();
        for row in self.0.iter().flat_map(|point| &point.rows) {
            let column = [row.model.as_str(), row.dataset.as_str(), row.metric.as_str()];
            if !columns.contains(&column) {
                columns.push(column);
            }
            if !models.contains(&row.model.as_str()) {
                models.push(&row.model);
            }
        }
        let mut header = ["step", "checkpoint", "weights"].map(str::to_owned).to_vec();
        header.extend(columns.iter().map(|[model, dataset, metric]| match models.len() {
            0 | 1 => format!("{dataset} {metric}"),
            _ => format!("{model} {dataset} {metric}"),
        }));
        header.push("state".into());
        let mut table = vec![header];
        for point in &self.0 {
            let mut line = vec![
                point.step.map_or("-".to_owned(), |step| step.to_string()),
                point.name.clone(),
                point.content.map_or("-".to_owned(), |content| content.short()),
            ];
            line.extend(columns.iter().map(|column| {
                let row = point.rows.iter().find(|row| [&row.model, &row.dataset, &row.metric] == *column);
                row.filter(|row| row.has_number()).map_or("-".to_owned(), |row| row.value.clone())
            }));
            let mut state = point.state.to_owned();
            if !point.reason.is_empty() {
                let _ = write!(state, ": {}", point.reason);
            }
            if point.overwritten {
                state += " (as of the old content: it was overwritten since)";
            }
            line.push(state);
            table.push(line);
        }
        aligned(&table)
    }
}

/// Returns the state of an evaluation, in one word and with the reason.
fn standing(evaluation: &Evaluation, rows: &[ResultRow]) -> (&'static str, String) {
    let words = |text: &str| text.to_owned();
    match &evaluation.state {
        EvaluationState::Queued => ("waiting", String::new()),
        EvaluationState::Skipped => ("skipped", words("too many waited")),
        EvaluationState::Begun { .. } => ("running", String::new()),
        EvaluationState::Gone => ("gone", words(NEVER_BEGAN)),
        EvaluationState::Ended(ending) => match ending.kind() {
            EndingKind::Whole => ("scored", String::new()),
            EndingKind::Incomplete => match rows.iter().find(|row| row.value.contains(WEIGHTS_GONE)) {
                Some(row) => (WEIGHTS_GONE, row.value.clone()),
                None => {
                    let reason = rows.iter().find(|row| !row.has_number()).map(|row| row.value.clone());
                    ("incomplete", reason.unwrap_or_default())
                }
            },
            EndingKind::Refused | EndingKind::Failed => ("failed", ending.reason.clone()),
        },
    }
}

fn written(lines: &[Vec<String>]) -> String {
    let mut writer = WriterBuilder::new().terminator(Terminator::Any(b'\n')).from_writer(Vec::new());
    let written = lines.iter().try_for_each(|fields| writer.write_record(fields));
    let bytes = written.ok().and_then(|()| writer.into_inner().ok());
    String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default()
}

fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}

/// Reads the rows of a job's table from the long form of its summary; `None` if it is not one.
pub fn rows_of(csv: &str) -> Option<Vec<ResultRow>> {
    let mut reader = csv::ReaderBuilder::new().from_reader(csv.as_bytes());
    // Columns that were added later follow these.
    if !reader.headers().ok()?.iter().take(LONG.len()).eq(LONG) {
        return None;
    }
    let row = |record: csv::StringRecord| {
        let field = |at: usize| record.get(at).unwrap_or_default().to_owned();
        let (expected, scored) = (field(6), field(7));
        let star = if expected == scored { "" } else { "*" };
        let value = match field(5).parse::<f64>() {
            Ok(number) => format!("{number:.2}{star}"),
            Err(_) => field(9),
        };
        ResultRow {
            model: field(4),
            dataset: field(0),
            version: field(1),
            metric: field(2),
            mode: field(3),
            value,
            expected,
            scored,
            failed: field(8),
        }
    };
    reader.records().map(|record| record.ok().map(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_from_a_summary_with_quotes_stars_and_reasons() {
        let csv = "dataset,version,metric,mode,model,value,expected,scored,failed,reason\n\
                   piqa,1cf9f0,accuracy,ppl,m,55,200,200,0,\n\
                   piqa,1cf9f0,accuracy,ppl,\"a, b\",93.496,200,198,2,\n\
                   gsm8k,1cf9f0,accuracy,gen,m,,6,0,0,missing: not evaluated\n\
                   gsm8k,1cf9f0,accuracy,gen,\"a, b\",,6,0,6,\"withheld: 6, all\"\n";
        let rows = rows_of(csv).unwrap();
        assert_eq!(rows.len(), 4);
        assert_eq!((rows[1].model.as_str(), rows[1].value.as_str(), rows[1].failed.as_str()), ("a, b", "93.50*", "2"));
        assert_eq!((rows[0].value.as_str(), rows[3].value.as_str()), ("55.00", "withheld: 6, all"));
        assert!(rows[0].has_number() && rows[1].has_number() && !rows[2].has_number() && !rows[3].has_number());
        let later = csv.replace("reason\n", "reason,stderr,low,high\n").replace(",0,\n", ",0,,1.5,52,58\n");
        let later =
            later.replace("2,\n", "2,,,,\n").replace("evaluated\n", "evaluated,,,\n").replace("all\"\n", "all\",,,\n");
        assert_eq!(rows_of(&later), Some(rows));
        assert_eq!(rows_of("something else\n"), None);
    }
}
