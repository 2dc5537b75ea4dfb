//! The rows of the table: one per data set and metric, then one per group and metric; one value per model.

use super::notes::Notes;
use super::rate_table::RateTable;
use super::table_value::TableValue;
use super::{TableCell, metric_order};
use crate::evaluator::Metrics;
use compass_plan::{DatasetPlan, Plan};
use compass_types::ids::UnitId;
use std::collections::BTreeMap;

/// The first columns, OpenCompass's.
pub(super) const COLUMNS: [&str; 4] = ["dataset", "version", "metric", "mode"];

/// The table of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub(super) models: Vec<String>,
    pub(super) rows: Vec<SummaryRow>,
    /// The rows that are shown, where the configuration lists them; otherwise all of `rows` are.
    pub(super) listed: Option<Vec<SummaryRow>>,
    /// Remarks on numbers, for example one that is not by the formula that its data set asks for.
    pub(super) remarks: Vec<String>,
    /// Rates by k below it.
    pub(super) rates: Vec<RateTable>,
}

/// One metric of one data set or group.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SummaryRow {
    /// dataset, version, metric, mode.
    pub(super) head: [String; 4],
    /// Per model in the order of the plan.
    pub(super) values: Vec<TableValue>,
    /// Set if it is a group with a subset that is not part of the job: its number cannot be expected.
    pub(super) partial: bool,
}

impl SummaryRow {
    /// The data set or the group.
    pub(super) fn name(&self) -> &str {
        &self.head[0]
    }

    pub(super) fn metric(&self) -> &str {
        &self.head[2]
    }

    pub(super) fn mode(&self) -> &str {
        &self.head[3]
    }

    /// Returns whether it is made of other rows, or a heading: data sets alone have a version.
    pub(super) fn is_group(&self) -> bool {
        self.head[1] == "-"
    }
}

impl Summary {
    /// The table of `plan`. A unit without a cell is missing, and said to be.
    pub fn new(plan: &Plan, cells: impl IntoIterator<Item = (UnitId, TableCell)>) -> Self {
        let mut known: BTreeMap<UnitId, TableCell> = cells.into_iter().collect();
        let is_alone = plan.models.len() == 1;
        let rates = plan.units().filter_map(|unit| match known.get(&unit.id)? {
            TableCell::Evaluated(metrics) => {
                let name = if is_alone { unit.dataset.abbr.clone() } else { unit.name() };
                Some(RateTable::new(&name, metrics.by_k.as_ref()?))
            }
            _ => None,
        });
        let rates = rates.collect();
        let mut cell = |model, dataset| {
            let id = plan.unit_id(model, dataset);
            match plan.unit(id) {
                Some(unit) => known.remove(&unit.id).unwrap_or_else(|| TableCell::Missing("not evaluated".into())),
                None => TableCell::NotAsked,
            }
        };
        let cells = |dataset| plan.models().map(|(model, _)| cell(model, dataset)).collect::<Vec<_>>();
        let columns: Vec<Vec<TableCell>> = (0..plan.datasets.len()).map(cells).collect();
        let rows = plan.datasets.iter().zip(columns).flat_map(|(dataset, cells)| rows(dataset, &cells)).collect();
        let remarks = plan.units().filter_map(|unit| {
            Some(format!("{}: {}", unit.name(), unit.dataset.infer.other_formula(unit.model.profile)?))
        });
        let remarks = remarks.collect();
        Self {
            models: plan.models.iter().map(|model| model.abbr.clone()).collect(),
            rows,
            listed: None,
            remarks,
            rates,
        }
    }

    /// With these notes below the table, each on a line of its own.
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.remarks.extend(notes.into_iter().map(|note| note.replace(['\n', '\r'], " ")));
        self
    }

    /// Returns whether every number is from all its samples: nothing failed, nothing missing, nothing withheld. A group
    /// some of whose subsets are not part of the job is not asked.
    pub fn is_complete(&self) -> bool {
        self.rows.iter().filter(|row| !row.partial).all(|row| row.values.iter().all(TableValue::is_complete))
    }

    /// The rows that are shown.
    pub(super) fn shown(&self) -> &[SummaryRow] {
        self.listed.as_deref().unwrap_or(&self.rows)
    }

    /// The header and the rows, each cell with its counts, and the reasons of those without a number. A group's number stands with
    /// its standard error, for which there is no other place: those of data sets are in `results/`.
    pub(super) fn grid(&self) -> (Vec<Vec<String>>, Notes) {
        let mut notes = Notes::with_remarks(&self.remarks);
        let header = COLUMNS.iter().map(|column| column.to_string()).chain(self.models.iter().cloned());
        let mut grid = vec![header.collect()];
        for row in self.shown() {
            let values = row.values.iter().map(|value| match row.is_group() {
                true => value.with_error(&mut notes),
                false => value.with_counts(&mut notes),
            });
            grid.push(row.head.iter().cloned().chain(values).collect());
        }
        (grid, notes)
    }
}

/// One row per metric that any model has, in OpenCompass's order; one row of reasons when none has any.
fn rows(dataset: &DatasetPlan, cells: &[TableCell]) -> Vec<SummaryRow> {
    let mut names: Vec<String> = Vec::new();
    for metric in cells.iter().flat_map(|cell| match cell {
        TableCell::Evaluated(Metrics { values, .. }) => values.as_slice(),
        TableCell::Failed { .. } | TableCell::Missing(_) | TableCell::NotAsked => &[],
    }) {
        if !names.contains(&metric.name) {
            names.push(metric.name.clone());
        }
    }
    if names.is_empty() {
        names.push(dataset.eval.evaluator.metric().into());
    }
    let values = |metric: &str| cells.iter().map(|cell| cell.value(metric, dataset.samples.into())).collect();
    let row = |metric: String| SummaryRow {
        values: values(&metric),
        head: [dataset.abbr.clone(), dataset.shown_version(), metric, dataset.infer.mode().into()],
        partial: false,
    };
    metric_order::shown(names).into_iter().map(row).collect()
}

#[cfg(test)]
pub(super) mod tests {
    //! The plan and the cells that the renderers are tested with: two models, three data sets, every way to reason a number.
    use super::*;
    use crate::evaluator::fixture::dataset;
    use crate::evaluator::{ACC_NORM, Counts, Metric};
    use compass_plan::{GenSpec, InferSpec, ModelKind, ModelPlan, PLAN_FORMAT};
    use compass_types::ids::Digest;
    use std::collections::BTreeSet;

    fn model(abbr: &str) -> ModelPlan {
        ModelPlan::new(abbr, ModelKind::Echo, "")
    }

    pub(in crate::summary) fn plan() -> Plan {
        let gen_infer = InferSpec::Gen(GenSpec::default());
        Plan {
            format: PLAN_FORMAT,
            config: Digest::of(b""),
            models: vec![model("tiny"), model("tiny, \"big\" | brother")],
            datasets: vec![
                dataset("piqa", InferSpec::Ppl, 200),
                dataset("arc_easy", InferSpec::Loglikelihood, 40),
                dataset("gsm8k", gen_infer, 6),
            ],
            duplicates: None,
            left_out: BTreeSet::new(),
        }
    }

    pub(in crate::summary) fn cell(values: &[(&str, f64)], scored: u64, failed: u64) -> TableCell {
        let metric = |&(name, value): &(&str, f64)| Metric { name: name.into(), value, stderr: None, ci95: None };
        let counts = Counts { scored, failed, ..Counts::default() };
        TableCell::Evaluated(Metrics { values: values.iter().map(metric).collect(), counts, by_k: None, answers: None })
    }

    pub(in crate::summary) fn summary() -> Summary {
        let cells = [
            (UnitId(3), cell(&[("accuracy", 93.5)], 198, 2)),
            (UnitId(0), cell(&[("accuracy", 55.00000000000001)], 200, 0)),
            (UnitId(1), cell(&[("accuracy", 20.0), (ACC_NORM, 100.0 / 3.0)], 30, 1)),
            (UnitId(4), cell(&[], 0, 40)),
            (
                UnitId(5),
                TableCell::Failed { counts: Counts { failed: 6, ..Counts::default() }, reason: "no weights".into() },
            ),
        ];
        Summary::new(&plan(), cells)
    }

    pub(in crate::summary) fn plan_of(abbr: &str, datasets: Vec<DatasetPlan>) -> Plan {
        Plan { models: vec![model(abbr)], datasets, ..plan() }
    }

    /// Models of these names, each on data sets of these names, ten samples each.
    pub(in crate::summary) fn plan_with(models: &[String], datasets: &[String]) -> Plan {
        let datasets = datasets.iter().map(|abbr| dataset(abbr, InferSpec::Ppl, 10)).collect();
        Plan { models: models.iter().map(|abbr| model(abbr)).collect(), datasets, ..plan() }
    }

    /// One model, every data set evaluated on its samples.
    pub(in crate::summary) fn summary_of(abbrs: &[String]) -> Summary {
        let plan = plan_of("tiny", abbrs.iter().map(|abbr| dataset(abbr, InferSpec::Ppl, 10)).collect());
        let cells: Vec<_> = plan.units().map(|unit| (unit.id, cell(&[("accuracy", 50.0)], 10, 0))).collect();
        Summary::new(&plan, cells)
    }

    #[test]
    fn complete_means_every_sample_of_every_unit() {
        assert!(!summary().is_complete());
        let plan = plan();
        let full = |failed| {
            let cells = plan.units().map(move |unit| {
                let scored = u64::from(unit.dataset.samples) - failed;
                (unit.id, cell(&[("accuracy", 1.0)], scored, failed))
            });
            Summary::new(&plan, cells.collect::<Vec<_>>()).is_complete()
        };
        assert!(full(0));
        assert!(!full(1));
    }
}
