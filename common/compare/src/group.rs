//! The numbers of groups, with an error of their own: their subsets are independent, and a data set that is in several subsets
//! counts with the sum of its weights. A group is never more certain than its subsets: see [`of_group`].

use super::comparison::Comparison;
use super::estimate::{Estimate, Method, power_z};
use super::reach::{NO_SPREAD, Part, Reach, error_of_group, of_group, p_of_group};
use super::row::{Conclusion, Row};
use super::run::RunData;
use compass_plan::summary::{Average, SummaryGroup};
use compass_stats::{Interval, detectable_difference, two_sided_z};
use std::collections::BTreeMap;

/// The weights of data sets, by data set and metric; the metric is the first one where none is named.
type Weights = BTreeMap<(String, Option<String>), f64>;

/// Adds a row for every group whose data sets are all compared.
pub(crate) fn add(a: &RunData, b: &RunData, models: &[(String, String)], found: &mut Comparison) {
    let mut rows = Vec::new();
    for group in &a.groups {
        let is_known = |name: &str| a.units.iter().any(|unit| unit.dataset == name);
        let weights = match weights(&group.name, &a.groups, &is_known) {
            Ok(weights) => weights,
            Err(why) => {
                found.left_out.extend(why.map(|why| format!("{}: {why}", group.name)));
                continue;
            }
        };
        if b.groups.iter().any(|other| other.name == group.name && other != group) {
            found.left_out.push(format!("{}: the two runs have another group of that name", group.name));
            continue;
        }
        for (model_a, model_b) in models {
            match row(group, &weights, (model_a, model_b), found, found.confidence) {
                Ok(row) => rows.push(row),
                Err(why) => found.left_out.push(format!("{}: {why}", group.name)),
            }
        }
    }
    found.rows.extend(rows);
}

/// Returns the weights of a group's data sets. `Err(None)` where it is not part of the run, as groups that come with presets are.
fn weights(
    name: &str,
    groups: &[SummaryGroup],
    is_known: &dyn Fn(&str) -> bool,
) -> Result<Weights, Option<&'static str>> {
    let Some(at) = groups.iter().position(|group| group.name == name) else { return Err(None) };
    // Groups are made of groups that come before them.
    let before = &groups[..at];
    let group = groups[at].of_leaves(before, is_known);
    if !group.transforms.is_empty() {
        return Err(Some("its numbers are transformed, and their errors are not"));
    }
    let shares = match &group.average {
        Average::Naive | Average::ByDataSet => vec![1.0 / group.subsets.len() as f64; group.subsets.len()],
        Average::Sum => vec![1.0; group.subsets.len()],
        Average::Weighted(weights) => {
            let total: f64 = weights.iter().sum();
            weights.iter().map(|weight| weight / total).collect()
        }
        Average::BySize => {
            return Err(Some("its data sets weigh as many samples as were scored, which differ between runs"));
        }
        Average::Harmonic | Average::StandardDeviation => {
            return Err(Some("only means and sums have an error that follows from their subsets"));
        }
    };
    let mut found = Weights::new();
    for (subset, share) in group.subsets.iter().zip(shares) {
        if is_known(&subset.name) {
            *found.entry((subset.name.clone(), subset.metric.clone())).or_default() += share;
            continue;
        }
        for (dataset, weight) in weights(&subset.name, before, is_known)? {
            *found.entry(dataset).or_default() += share * weight;
        }
    }
    Ok(found)
}

fn row(
    group: &SummaryGroup,
    weights: &Weights,
    models: (&String, &String),
    found: &Comparison,
    confidence: f64,
) -> Result<Row, String> {
    let (mut a, mut b, mut difference, mut variance) = (0.0, 0.0, 0.0, 0.0);
    let (mut pairs, mut unscored, mut left_out) = (0, (0, 0), 0);
    let (mut low, mut high) = (0.0, 0.0);
    let (mut is_bounded, mut first, mut parts) = (true, None, Vec::new());
    for ((dataset, metric), weight) in weights {
        let is_meant = |row: &&Row| {
            row.dataset == *dataset
                && (&row.model_a, &row.model_b) == models
                && metric.as_ref().is_none_or(|metric| row.metric == *metric)
        };
        let row = found.rows.iter().find(is_meant).ok_or_else(|| format!("`{dataset}` is not compared"))?;
        let estimate = &row.estimate;
        a += weight * estimate.a;
        b += weight * estimate.b;
        difference += weight * estimate.difference;
        variance += weight * weight * estimate.stderr * estimate.stderr;
        parts.push(Part {
            weight: *weight,
            pairs: estimate.pairs,
            stderr: estimate.stderr,
            reach: estimate.reach.clone(),
        });
        pairs += estimate.pairs;
        unscored = (unscored.0 + estimate.unscored.0, unscored.1 + estimate.unscored.1);
        left_out += estimate.left_out;
        match estimate.bounds {
            // What missing answers add beyond the interval, to either side.
            Some(bounds) => {
                low += weight.abs() * (estimate.interval.low - bounds.low).max(0.0);
                high += weight.abs() * (bounds.high - estimate.interval.high).max(0.0);
            }
            None => is_bounded = false,
        }
        let kind = (row.direction, row.is_percent);
        if *first.get_or_insert(kind) != kind {
            return Err("its subsets have metrics of several kinds".into());
        }
    }
    let (direction, is_percent) = first.ok_or("it has no subset")?;
    let stderr = variance.sqrt();
    let (down, up) = of_group(&parts, 1.0, confidence);
    let interval = Interval { low: difference - down, high: difference + up };
    let p = p_of_group(&parts, difference, confidence);
    let detectable = (stderr > NO_SPREAD).then(|| {
        let error = |is_down| error_of_group(&parts, is_down, confidence);
        detectable_difference(error(true).max(error(false)), two_sided_z(confidence), power_z())
    });
    let estimate = Estimate {
        pairs,
        unscored,
        left_out,
        a,
        b,
        difference,
        stderr,
        interval,
        p,
        method: Method::Normal,
        bounds: is_bounded.then_some(Interval { low: interval.low - low, high: interval.high + high }),
        detectable,
        variance: None,
        clusters: None,
        reach: vec![Reach::Group(parts)],
    };
    Ok(Row {
        model_a: models.0.clone(),
        model_b: models.1.clone(),
        dataset: group.name.clone(),
        metric: group.metric_name().to_owned(),
        is_group: true,
        is_percent,
        direction,
        adjusted_p: estimate.p,
        estimate,
        conclusion: Conclusion::Undecided,
    })
}
