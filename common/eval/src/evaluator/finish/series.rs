//! The metrics of every line, each by its rule; those of several answers per question averaged over the answers.

use super::effort::Effort;
use super::{
    area, average, bbq, circular, circular_eval, classes, corpus, crows_pairs, mean, pass_rate, perplexity, replicas,
    rouge, weighted,
};
use crate::evaluator::metric_contribution::Aggregation;
use crate::evaluator::series::{AllSeries, Column, MetricSeries};
use crate::evaluator::{Metric, Proportion};

/// The metrics of all lines in their order. A line that saw no sample gives none.
pub(in crate::evaluator) fn finish(lines: &AllSeries, effort: Effort) -> Vec<Metric> {
    let lines: Vec<&MetricSeries> = lines.iter().filter(|line| line.column.samples() > 0).collect();
    // AllSeries of one rank and name lie side by side, one per replica.
    let groups = lines.chunk_by(|one, next| (one.rank, &one.name) == (next.rank, &next.name));
    groups
        .flat_map(|group| match group {
            [only] if only.replica == 0 => single(only, effort),
            several => average::over_replicas(several.iter().map(|line| single(line, effort)).collect()),
        })
        .filter(|metric| metric.value.is_finite())
        .collect()
}

fn single(line: &MetricSeries, effort: Effort) -> Vec<Metric> {
    let name = line.name.as_str();
    let one = |metric: Option<Metric>| metric.into_iter().collect();
    match (&line.rule, &line.column) {
        (Aggregation::Proportion, &Column::Hits { hits, total }) => {
            one(Metric::proportion(name, Proportion { hits, total }, |hits, total| hits / total * 100.0))
        }
        (Aggregation::ProportionScaledFirst, &Column::Hits { hits, total }) => {
            one(Metric::proportion(name, Proportion { hits, total }, |hits, total| 100.0 * hits / total))
        }
        (Aggregation::Count, &Column::Hits { hits, .. }) => vec![Metric::plain(name, hits as f64)],
        (Aggregation::PassAtK { prefix, k }, column) => pass_rate::metrics(column, prefix, k),
        (Aggregation::Mean { scale, bounds }, column) => one(mean::metric(name, column, *scale, *bounds)),
        (Aggregation::Perplexity, column) => one(perplexity::metric(name, column, effort)),
        (Aggregation::WeightedPerplexity, column) => one(weighted::perplexity(name, column)),
        (Aggregation::BitsPerWeight, column) => one(weighted::bits(name, column)),
        (Aggregation::Ratio, column) => one(weighted::ratio(name, column)),
        (Aggregation::MeanPerWeight, column) => one(weighted::mean(name, column)),
        (Aggregation::Matthews { scale }, column) => one(classes::matthews(name, column, *scale, effort)),
        (Aggregation::F1 { average }, column) => one(classes::f1(name, column, *average, effort)),
        (Aggregation::AucRoc, column) => one(area::metric(name, column)),
        (Aggregation::Rouge, column) => rouge::metrics(column, effort),
        (Aggregation::Bleu { tokenizer }, column) => one(corpus::bleu(name, column, *tokenizer, effort)),
        (Aggregation::Chrf { .. }, column) => one(corpus::chrf(name, column, effort)),
        (Aggregation::Ter, column) => one(corpus::ter(name, column, effort)),
        (Aggregation::CrowsPairs, column) => crows_pairs::metrics(column),
        (Aggregation::BbqBias { ambiguous }, column) => one(bbq::metric(name, column, *ambiguous)),
        (Aggregation::Circular, column) => circular::metrics(column),
        (Aggregation::Grouped, column) => one(circular_eval::accuracy(name, column)),
        (Aggregation::AtLeast { set, of }, column) => circular_eval::at_least(column, set, *of),
        (Aggregation::Replicas { k }, column) => replicas::metrics(column, k),
        (Aggregation::Proportion | Aggregation::ProportionScaledFirst | Aggregation::Count, Column::Items(_)) => {
            Vec::new()
        }
    }
}
