//! The long form of the table, for programs: a line for each number, with the samples that it stands on.
//!
//! It holds all that the table does, so that another command can show the table again, without the run's plan.

use super::Summary;
use super::csv::written;
use super::long_answers::{answer_columns, answer_fields, read_answers};
use super::notes::MissingReason;
use super::table::{COLUMNS, SummaryRow};
use super::table_value::{TableValue, Uncertainty};
use crate::evaluator::Counts;
use csv::{ReaderBuilder, StringRecord};
use serde_json::{Value, json};

/// Text in the place of a reason beside a number of a job that was cancelled; the number of cancelled samples follows.
const CANCELLED: &str = "cancelled";

/// Columns that follow the first ones, which are OpenCompass's.
const REST: [&str; 6] = ["model", "value", "expected", "scored", "failed", "reason"];

/// Columns behind these; tables of earlier versions lack them.
const UNCERTAINTY: [&str; 3] = ["stderr", "low", "high"];

impl Summary {
    /// Comma-separated values: dataset, version, metric, mode, model, value, expected, scored, failed, reason, stderr, low, high, then
    /// the columns of [`answer_columns`]. The value is not rounded; where there is none, the reason stands in words, and beside a number how many samples
    /// were cancelled.
    /// Its standard error and the ends of its interval of 95 % are empty where it has none.
    pub fn long_csv(&self) -> String {
        let header = COLUMNS.into_iter().chain(REST).chain(UNCERTAINTY).chain(answer_columns());
        let mut lines = vec![header.map(str::to_owned).collect::<Vec<_>>()];
        for row in self.shown() {
            for (model, value) in self.models.iter().zip(&row.values) {
                let (number, reason) = match &value.value {
                    Ok(number) if value.counts.cancelled > 0 => {
                        (number.to_string(), format!("{CANCELLED}: {}", value.counts.cancelled))
                    }
                    Ok(number) => (number.to_string(), String::new()),
                    Err(reason) => (String::new(), reason.to_string()),
                };
                let counts = [value.expected, value.counts.scored, value.counts.failed].map(|count| count.to_string());
                let head = row.head.iter().cloned().chain([model.clone(), number]);
                let Uncertainty { stderr, ci95 } = value.uncertainty;
                let (low, high) = ci95.unzip();
                let known = [stderr, low, high].map(|known| known.map_or_else(String::new, |known| known.to_string()));
                let answers = answer_fields(value.answers.as_deref());
                lines.push(head.chain(counts).chain([reason]).chain(known).chain(answers).collect());
            }
        }
        written(&lines).unwrap_or_else(|error| unreachable!("lines of text, each as long as the header: {error}"))
    }

    /// The same lines as objects: `value` is null where there is none, `reason` where there is one.
    pub fn json(&self) -> Vec<Value> {
        let of_row = |row: &SummaryRow| -> Vec<Value> {
            let [dataset, version, metric, mode] = &row.head;
            let line = |(model, value): (&String, &TableValue)| {
                json!({
                    "dataset": dataset,
                    "version": version,
                    "metric": metric,
                    "mode": mode,
                    "model": model,
                    "value": value.value.as_ref().ok(),
                    "stderr": value.uncertainty.stderr,
                    "ci95": value.uncertainty.ci95.map(|(low, high)| [low, high]),
                    "expected": value.expected,
                    "scored": value.counts.scored,
                    "failed": value.counts.failed,
                    "cancelled": value.counts.cancelled,
                    "reason": value.value.as_ref().err().map(ToString::to_string),
                })
            };
            self.models.iter().zip(&row.values).map(line).collect()
        };
        self.shown().iter().flat_map(of_row).collect()
    }

    /// The table that [`Summary::long_csv`] wrote; `None` for anything else. Notes and rates below the table are not in it.
    pub fn from_long_csv(text: &str) -> Option<Self> {
        let mut reader = ReaderBuilder::new().from_reader(text.as_bytes());
        let known = COLUMNS.into_iter().chain(REST);
        let headers = reader.headers().ok()?;
        let with_error = known.clone().chain(UNCERTAINTY);
        if !headers.iter().eq(known)
            && !headers.iter().eq(with_error.clone())
            && !headers.iter().eq(with_error.chain(answer_columns()))
        {
            return None;
        }
        let records: Vec<StringRecord> = reader.records().collect::<Result<_, _>>().ok()?;
        let first = records.first().map(|record| record[4].to_owned());
        // Every row has a line for each model, in one order.
        let models = records.iter().skip(1).position(|record| first.as_deref() == Some(&record[4]));
        let models = models.map_or(records.len(), |at| at + 1);
        let names = records.iter().take(models).map(|record| record[4].to_owned()).collect();
        let row = |lines: &[StringRecord]| {
            let values = lines.iter().map(value).collect::<Option<Vec<_>>>()?;
            let head = [0, 1, 2, 3].map(|at| lines[0][at].to_owned());
            (values.len() == models).then_some(SummaryRow { head, values, partial: false })
        };
        let rows = records.chunks(models.max(1)).map(row).collect::<Option<_>>()?;
        Some(Self { models: names, rows, listed: None, remarks: Vec::new(), rates: Vec::new() })
    }
}

fn value(record: &StringRecord) -> Option<TableValue> {
    let count = |at: usize| record[at].parse().ok();
    let (kind, reason) = record[9].split_once(": ").unwrap_or((&record[9], ""));
    let cancelled = if kind == CANCELLED { reason.parse().ok()? } else { 0 };
    let reason = reason.to_owned();
    let value = match kind {
        "" | CANCELLED => Ok(record[5].parse().ok()?),
        "withheld" => Err(MissingReason::withheld(reason)),
        "missing" => Err(MissingReason::missing(reason)),
        "none" => Err(MissingReason::none(reason)),
        "-" => Err(MissingReason::not_asked(reason)),
        _ => return None,
    };
    let fields: Vec<&str> = record.iter().skip(COLUMNS.len() + REST.len() + UNCERTAINTY.len()).collect();
    let answers = read_answers(&fields)?.map(Box::new);
    let (of_answers, unfinished) = answers.as_ref().map_or((0, 0), |figures| (figures.answers, figures.unfinished()));
    let counts = Counts {
        scored: count(7)?,
        failed: count(8)?,
        cancelled,
        answers: of_answers,
        unfinished,
        ..Counts::default()
    };
    let number = |at: usize| record.get(at).filter(|field| !field.is_empty()).map(str::parse::<f64>).transpose().ok();
    let (stderr, low, high) = (number(10)?, number(11)?, number(12)?);
    let uncertainty = Uncertainty { stderr, ci95: low.zip(high) };
    Some(TableValue { value, expected: count(6)?, counts, uncertainty, answers })
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::summary;
    use super::*;

    #[test]
    fn snapshot() {
        assert_eq!(summary().long_csv(), EXPECTED);
    }

    #[test]
    fn lines_are_objects_too() {
        let (lines, summary) = (summary().json(), summary());
        assert_eq!(lines.len(), EXPECTED.lines().count() - 1);
        assert_eq!(
            lines[0],
            json!({"dataset": "piqa", "version": "1cf9f0", "metric": "accuracy", "mode": "ppl", "model": "tiny", "expected": 200,
                   "value": 55.00000000000001, "stderr": null, "ci95": null, "scored": 200, "failed": 0, "cancelled": 0, "reason": null})
        );
        assert_eq!((&lines[6]["value"], &lines[6]["reason"]), (&Value::Null, &json!("missing: not evaluated")));
        assert_eq!(lines[1]["model"], summary.models[1]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        assert_eq!(Summary::from_long_csv(&summary().long_csv()), Some(summary()));
        let none =
            Summary { models: Vec::new(), rows: Vec::new(), listed: None, remarks: Vec::new(), rates: Vec::new() };
        assert_eq!(Summary::from_long_csv(&none.long_csv()), Some(none));
        let cut = EXPECTED.trim_end().rsplit_once('\n').unwrap().0;
        // Without the columns of answers, and without the uncertainty.
        for columns in [19, 22] {
            let line = |line: &str| line.rsplitn(columns + 1, ',').last().unwrap().to_owned() + "\n";
            let older: String = summary().long_csv().lines().map(line).collect();
            assert_eq!(Summary::from_long_csv(&older), Some(summary()), "as earlier versions wrote it: {older}");
        }
        for other in [&summary().csv(), "", cut, &EXPECTED.replace("withheld:", "lost:")] {
            assert_eq!(Summary::from_long_csv(other), None, "{other}");
        }
    }

    const EXPECTED: &str = r#"dataset,version,metric,mode,model,value,expected,scored,failed,reason,stderr,low,high,answers,forced,unfinished,thought_only,cut,empty,refused,looping,not_found,last_resort,outside,undecided,thinking_tokens_median,thinking_tokens_p95,answer_tokens_median,answer_tokens_p95,if_right,bound_low,bound_high
piqa,1cf9f0,accuracy,ppl,tiny,55.00000000000001,200,200,0,,,,,,,,,,,,,,,,,,,,,,,
piqa,1cf9f0,accuracy,ppl,"tiny, ""big"" | brother",93.5,200,198,2,,,,,,,,,,,,,,,,,,,,,,,
arc_easy,1cf9f0,accuracy,ll,tiny,20,40,30,1,,,,,,,,,,,,,,,,,,,,,,,
arc_easy,1cf9f0,accuracy,ll,"tiny, ""big"" | brother",,40,0,40,withheld: no sample was scored: 40 of 40 failed,,,,,,,,,,,,,,,,,,,,,,
arc_easy,1cf9f0,acc_norm,ll,tiny,33.333333333333336,40,30,1,,,,,,,,,,,,,,,,,,,,,,,
arc_easy,1cf9f0,acc_norm,ll,"tiny, ""big"" | brother",,40,0,40,withheld: no sample was scored: 40 of 40 failed,,,,,,,,,,,,,,,,,,,,,,
gsm8k,1cf9f0,accuracy,gen,tiny,,6,0,0,missing: not evaluated,,,,,,,,,,,,,,,,,,,,,,
gsm8k,1cf9f0,accuracy,gen,"tiny, ""big"" | brother",,6,0,6,withheld: 6 of 6 failed: no weights,,,,,,,,,,,,,,,,,,,,,,
"#;
}
