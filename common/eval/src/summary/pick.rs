//! A part of the table, in an order of one's own: what a person asks for who looks at many models and data sets.

use super::Summary;
use super::table::SummaryRow;
use compass_plan::summary::SummaryGroup;

/// Metrics in percent, of which more is better: an average over them says something.
const PERCENT: [&str; 4] = ["score", "accuracy", "acc_norm", "exact_match"];

/// Name of the average's row.
const AVERAGE: &str = "average";

/// No row and no metric of the table is called so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the table has nothing called `{name}` to sort by")]
pub struct UnknownSort {
    name: String,
    known: Vec<String>,
}

impl UnknownSort {
    /// Returns the names that the table can be sorted by: names of rows in their order, then metrics.
    pub fn known(&self) -> &[String] {
        &self.known
    }
}

impl Summary {
    /// With the models and the rows of which these say yes. Asked for the name of a data set or group.
    pub fn only(mut self, model: impl Fn(&str) -> bool, dataset: impl Fn(&str) -> bool) -> Self {
        let kept: Vec<bool> = self.models.iter().map(|name| model(name)).collect();
        let mut keep = kept.iter();
        self.models.retain(|_| keep.next().copied().unwrap_or(false));
        for rows in [Some(&mut self.rows), self.listed.as_mut()].into_iter().flatten() {
            rows.retain(|row| dataset(row.name()));
            for row in rows {
                let mut keep = kept.iter();
                row.values.retain(|_| keep.next().copied().unwrap_or(false));
            }
        }
        self
    }

    /// Returns `true` if there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.models.is_empty() || self.shown().is_empty()
    }

    /// The models.
    pub fn models(&self) -> &[String] {
        &self.models
    }

    /// The names of the rows, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.shown().iter().map(SummaryRow::name).collect();
        names.dedup();
        names
    }

    /// With the average over the shown data sets, where there are several and their first metrics are percentages. A model
    /// that lacks a number of one of them has no average, and the reason is said.
    pub fn with_average(mut self) -> Self {
        let mut firsts: Vec<(&str, &str)> = Vec::new();
        for row in self.shown().iter().filter(|row| !row.is_group()) {
            if firsts.iter().all(|(name, _)| *name != row.name()) {
                firsts.push((row.name(), row.metric()));
            }
        }
        if firsts.len() < 2 || !firsts.iter().all(|(_, metric)| PERCENT.contains(metric)) {
            return self;
        }
        let group = SummaryGroup::naive(AVERAGE, firsts.iter().map(|(name, _)| (*name).to_owned()));
        let row = SummaryRow { partial: true, ..self.group_row(&group, None, true) };
        self.listed.as_mut().unwrap_or(&mut self.rows).push(row);
        self
    }

    /// With the models ordered by the row called `name` (a data set, a group, `average`; `NAME/METRIC` for one of several
    /// metrics), or by the mean of the rows of the metric called so: the largest first, those without a number last. Case does not
    /// matter, unless names differ in nothing else.
    ///
    /// # Errors
    /// There is none.
    pub fn sorted_by(mut self, name: &str) -> Result<Self, UnknownSort> {
        let rows = self.shown();
        let as_written = rows_called(rows, |row| row == name);
        let folded = name.to_lowercase();
        let meant =
            if as_written.is_empty() { rows_called(rows, |row| row.to_lowercase() == folded) } else { as_written };
        if meant.is_empty() {
            let mut known: Vec<String> = Vec::new();
            for name in rows.iter().map(SummaryRow::name).chain(rows.iter().map(SummaryRow::metric)) {
                if !known.iter().any(|other| other == name) {
                    known.push(name.into());
                }
            }
            return Err(UnknownSort { name: name.into(), known });
        }
        let mean = |model: usize| {
            let numbers: Option<Vec<f64>> =
                meant.iter().map(|row| row.values[model].value.as_ref().ok().copied()).collect();
            numbers.map(|numbers| numbers.iter().sum::<f64>() / numbers.len() as f64)
        };
        let keys: Vec<Option<f64>> = (0..self.models.len()).map(mean).collect();
        let mut order: Vec<usize> = (0..self.models.len()).collect();
        let key = |at: usize| keys[at].filter(|key| !key.is_nan()).unwrap_or(f64::NEG_INFINITY);
        order.sort_by(|a, b| key(*b).total_cmp(&key(*a)));
        self.models = order.iter().map(|at| self.models[*at].clone()).collect();
        for rows in [Some(&mut self.rows), self.listed.as_mut()].into_iter().flatten() {
            for row in rows {
                row.values = order.iter().map(|at| row.values[*at].clone()).collect();
            }
        }
        Ok(self)
    }
}

/// The row whose name is meant, else the one whose name and metric are, else those of data sets whose metric is.
fn rows_called(rows: &[SummaryRow], is_meant: impl Fn(&str) -> bool) -> Vec<&SummaryRow> {
    let by_name = rows.iter().find(|row| is_meant(row.name()));
    let by_both = || rows.iter().find(|row| is_meant(&format!("{}/{}", row.name(), row.metric())));
    match by_name.or_else(by_both) {
        Some(row) => vec![row],
        None => rows.iter().filter(|row| is_meant(row.metric()) && !row.is_group()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::{cell, plan_with, summary};
    use super::*;

    fn table() -> Summary {
        let plan = plan_with(&["a", "b", "c"].map(String::from), &["x", "y"].map(String::from));
        // Units go by model, then by data set.
        let numbers = [[10.0, 20.0], [30.0, 40.0], [5.0, 90.0]].concat();
        let cells = plan.units().zip(numbers).map(|(unit, number)| (unit.id, cell(&[("accuracy", number)], 10, 0)));
        Summary::new(&plan, cells.collect::<Vec<_>>())
    }

    #[test]
    fn models_in_the_order_of_a_row_or_a_metric() {
        let order = |name: &str| table().with_average().sorted_by(name).map(|table| table.models().concat());
        assert_eq!(order("x").unwrap(), "bac");
        assert_eq!(order("y/accuracy").unwrap(), "cba");
        assert_eq!(order("average").unwrap(), "cba");
        assert_eq!(order("accuracy").unwrap(), "cba");
        assert_eq!([order("X"), order("Y/Accuracy"), order("AVERAGE")].map(Result::unwrap), ["bac", "cba", "cba"]);
        let error = order("bleu").unwrap_err();
        assert_eq!(error.to_string(), "the table has nothing called `bleu` to sort by");
        assert_eq!(error.known(), ["x", "y", "average", "accuracy", "naive_average"]);
        let sorted = table().sorted_by("y").unwrap();
        assert!(
            sorted.text().lines().any(|line| line.starts_with('x') && line.ends_with("5.00   30.00   10.00")),
            "{}",
            sorted.text()
        );
    }

    #[test]
    fn those_without_a_number_are_last_and_have_no_average() {
        let sorted = summary().sorted_by("gsm8k").unwrap();
        assert_eq!(sorted.models(), summary().models(), "none has one: the order stays");
        let sorted = summary().sorted_by("arc_easy").unwrap();
        assert_eq!(sorted.models()[0], "tiny");
        let text = summary().with_average().text();
        assert!(text.contains("average") && text.contains("1 of 3 subsets have no number: gsm8k"), "{text}");
    }

    #[test]
    fn a_part_of_the_table() {
        let part = table().only(|model| model != "b", |dataset| dataset == "y");
        assert_eq!((part.models().concat(), part.names()), ("ac".into(), vec!["y"]));
        assert!(!part.text().contains("40.00") && part.text().contains("90.00"), "{}", part.text());
        assert!(!part.clone().with_average().text().contains("average"), "of one data set");
        assert!(part.only(|_| false, |_| true).is_empty());
    }
}
