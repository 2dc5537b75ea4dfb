//! The state of one line of the results: counts where counts suffice, else every sample's item by index.

use super::metric_contribution::{Aggregation, MetricContribution, SampleValue};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One metric, or one family of metrics that are made of the same items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct MetricSeries {
    pub(super) replica: u16,
    pub(super) rank: u16,
    pub(super) name: String,
    pub(super) rule: Aggregation,
    pub(super) column: Column,
}

/// Items that a line has seen. Floats are never added before the end, because a float sum depends on its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Column {
    /// Right answers of how many.
    Hits { hits: u64, total: u64 },
    /// Items by sample index.
    Items(BTreeMap<u32, SampleValue>),
}

/// The lines of an accumulator in the order in which they are shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct AllSeries(Vec<MetricSeries>);

impl AllSeries {
    pub(super) fn iter(&self) -> impl Iterator<Item = &MetricSeries> {
        self.0.iter()
    }

    /// Adds what the sample at `index` gives.
    pub(super) fn add(&mut self, index: u32, contribution: MetricContribution) {
        let MetricContribution { replica, rank, name, rule, item } = contribution;
        let column = match item {
            SampleValue::Hit(hit) => Column::Hits { hits: u64::from(hit), total: 1 },
            item => Column::Items(BTreeMap::from([(index, item)])),
        };
        self.join(MetricSeries { replica, rank, name, rule, column });
    }

    /// Adds what `other` has seen; the caller knows that they share no sample.
    pub(super) fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|line| self.join(line.clone()));
    }

    fn join(&mut self, line: MetricSeries) {
        match self.0.binary_search_by(|own| own.place().cmp(&line.place())) {
            Ok(at) => self.0[at].column.merge(line.column),
            Err(at) => self.0.insert(at, line),
        }
    }
}

impl MetricSeries {
    fn place(&self) -> (u16, u16, &str) {
        (self.rank, self.replica, &self.name)
    }
}

impl Column {
    /// An evaluator gives one kind of item to a line, so the kinds never differ.
    fn merge(&mut self, other: Self) {
        match (self, other) {
            (Self::Hits { hits, total }, Self::Hits { hits: more, total: of }) => {
                // Reports of workers are added here: whatever one claims.
                *hits = hits.saturating_add(more);
                *total = total.saturating_add(of);
            }
            (Self::Items(items), Self::Items(more)) => items.extend(more),
            (Self::Hits { .. }, Self::Items(_)) | (Self::Items(_), Self::Hits { .. }) => {}
        }
    }

    /// Returns the number of samples in it.
    pub(super) fn samples(&self) -> u64 {
        match self {
            Self::Hits { total, .. } => *total,
            Self::Items(items) => items.len() as u64,
        }
    }

    /// Returns what `of` reads of every item, in order of the sample's index.
    pub(super) fn read<'a, T>(&'a self, of: impl Fn(&'a SampleValue) -> Option<T>) -> Vec<T> {
        match self {
            Self::Hits { .. } => Vec::new(),
            Self::Items(items) => items.values().filter_map(of).collect(),
        }
    }
}
