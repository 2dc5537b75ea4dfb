//! The rows that a configuration lists, in its order: OpenCompass's `dataset_abbrs`.

use super::Summary;
use super::table::SummaryRow;
use super::table_value::TableValue;
use compass_plan::summary::RowName;

impl Summary {
    /// With these rows alone, each as often as it is listed; all rows where `None`.
    ///
    /// A name without a metric is the first row of its data set or group. What names neither is a heading, or a data set that
    /// the job does not have: OpenCompass shows both as a row of dashes. Where a data set has other metrics than the one asked
    /// for, the row is one of dashes too, and a remark says which there are.
    pub fn in_order(mut self, rows: Option<&[RowName]>) -> Self {
        let listed: Option<Vec<SummaryRow>> = rows.map(|rows| rows.iter().map(|row| self.listed_row(row)).collect());
        let remarks = rows.into_iter().flatten().filter_map(|row| self.without_metric(row));
        let mut remarks: Vec<String> = remarks.collect();
        remarks.dedup();
        self.remarks.extend(remarks);
        self.listed = listed;
        self
    }

    fn rows_of(&self, name: &str) -> impl Iterator<Item = &SummaryRow> {
        self.rows.iter().filter(move |row| row.name() == name)
    }

    fn listed_row(&self, wanted: &RowName) -> SummaryRow {
        let mut known = self.rows_of(&wanted.name);
        let found = match &wanted.metric {
            None => known.next().cloned(),
            Some(metric) => known.find(|row| row.metric() == metric).cloned().or_else(|| self.unscored(wanted)),
        };
        found.unwrap_or_else(|| SummaryRow {
            head: [wanted.name.as_str(), "-", "-", "-"].map(String::from),
            values: self.models.iter().map(|_| TableValue::not_asked()).collect(),
            partial: true,
        })
    }

    /// The row of a data set that no model has a number for, whichever its metrics would be.
    fn unscored(&self, wanted: &RowName) -> Option<SummaryRow> {
        let mut known = self.rows_of(&wanted.name);
        let row = known.next().filter(|row| row.values.iter().all(|value| value.value.is_err()))?;
        let mut row = row.clone();
        row.head[2].clone_from(wanted.metric.as_ref()?);
        known.next().is_none().then_some(row)
    }

    fn without_metric(&self, wanted: &RowName) -> Option<String> {
        let metric = wanted.metric.as_ref()?;
        let known: Vec<&str> = self.rows_of(&wanted.name).map(SummaryRow::metric).collect();
        let lacks = !known.is_empty() && !known.contains(&metric.as_str()) && self.unscored(wanted).is_none();
        lacks.then(|| format!("{}: has no metric `{metric}`, but {}", wanted.name, known.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::summary;
    use super::*;
    use compass_plan::summary::SummaryGroup;

    fn row(name: &str, metric: Option<&str>) -> RowName {
        RowName { name: name.into(), metric: metric.map(String::from) }
    }

    #[test]
    fn rows_headings_and_blanks_in_the_order_asked_for() {
        let rows = [
            row("--------- exam ---------", None),
            row("gsm8k", Some("accuracy")),
            row("gsm8k", Some("score")),
            row("", None),
            row("arc_easy", Some("acc_norm")),
            row("arc_easy", None),
            row("arc_easy", Some("f1")),
            row("both", None),
        ];
        let both = SummaryGroup { whole: true, ..SummaryGroup::naive("both", ["piqa", "x"].map(String::from)) };
        let shown = summary().with_groups(&[both], Some(&rows)).in_order(Some(&rows));
        assert!(!shown.is_complete());
        assert_eq!(shown.text(), TEXT);
        assert!(shown.csv().contains("\n--------- exam ---------,-,-,-,-,-\n"), "{}", shown.csv());
        assert!(shown.markdown().contains("\n|  | - | - | - | - | - |\n"), "{}", shown.markdown());
    }

    #[test]
    fn without_a_list_all_is_shown() {
        assert_eq!(summary().in_order(None), summary());
    }

    const TEXT: &str = r#"dataset                    version   metric          mode                                 tiny   tiny, "big" | brother
------------------------------------------------------------------------------------------------------------------------
--------- exam ---------   -         -               -                                       -                       -
gsm8k                      1cf9f0    accuracy        gen                           missing [1]            withheld [2]
gsm8k                      1cf9f0    score           gen                           missing [1]            withheld [2]
                           -         -               -                                       -                       -
arc_easy                   1cf9f0    acc_norm        ll     33.33 (30/40, 1 failed, 9 missing)            withheld [3]
arc_easy                   1cf9f0    accuracy        ll     20.00 (30/40, 1 failed, 9 missing)            withheld [3]
arc_easy                   -         -               -                                       -                       -
both                       -         naive_average   ppl                          withheld [4]            withheld [4]

[1] missing: not evaluated
[2] withheld: 6 of 6 failed: no weights
[3] withheld: no sample was scored: 40 of 40 failed
[4] withheld: 1 of 2 subsets have no number: x (not in this job)
arc_easy: has no metric `f1`, but accuracy, acc_norm
"#;
}
