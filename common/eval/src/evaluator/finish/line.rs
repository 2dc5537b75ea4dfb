//! The metrics of every line, each by its rule; those of several answers per question averaged over the answers.

use super::{
    area, average, bbq, circular, classes, corpus, crows_pairs, mean, pass_rate, perplexity, replicas, rouge, weighted,
};
use crate::evaluator::line::{Column, Line, Lines};
use crate::evaluator::share::Rule;
use crate::evaluator::{Metric, Proportion};

/// How much work an uncertainty may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::evaluator) enum Effort {
    /// Only what a formula gives.
    ClosedForm,
    /// Bootstraps too.
    Full,
}

/// The metrics of all lines in their order. A line that saw no sample gives none.
pub(in crate::evaluator) fn finish(lines: &Lines, effort: Effort) -> Vec<Metric> {
    let lines: Vec<&Line> = lines.iter().filter(|line| line.column.samples() > 0).collect();
    // Lines of one rank and name lie side by side, one per replica.
    let groups = lines.chunk_by(|one, next| (one.rank, &one.name) == (next.rank, &next.name));
    groups
        .flat_map(|group| match group {
            [only] if only.replica == 0 => single(only, effort),
            several => average::over_replicas(several.iter().map(|line| single(line, effort)).collect()),
        })
        .filter(|metric| metric.value.is_finite())
        .collect()
}

fn single(line: &Line, effort: Effort) -> Vec<Metric> {
    let name = line.name.as_str();
    let one = |metric: Option<Metric>| metric.into_iter().collect();
    match (&line.rule, &line.column) {
        (Rule::Share, &Column::Hits { hits, total }) => {
            one(Metric::share(name, Proportion { hits, total }, |hits, total| hits / total * 100.0))
        }
        (Rule::ShareScaledFirst, &Column::Hits { hits, total }) => {
            one(Metric::share(name, Proportion { hits, total }, |hits, total| 100.0 * hits / total))
        }
        (Rule::Count, &Column::Hits { hits, .. }) => vec![Metric::estimate(name, hits as f64, None)],
        (Rule::PassAtK { prefix, k }, column) => pass_rate::metrics(column, prefix, k),
        (Rule::Mean { scale }, column) => one(mean::metric(name, column, *scale)),
        (Rule::Perplexity, column) => one(perplexity::metric(name, column, effort)),
        (Rule::WeightedPerplexity, column) => one(weighted::perplexity(name, column)),
        (Rule::BitsPerWeight, column) => one(weighted::bits(name, column)),
        (Rule::Ratio { scale }, column) => one(weighted::ratio(name, column, *scale)),
        (Rule::Matthews { scale }, column) => one(classes::matthews(name, column, *scale, effort)),
        (Rule::F1 { average }, column) => one(classes::f1(name, column, *average, effort)),
        (Rule::AucRoc, column) => one(area::metric(name, column)),
        (Rule::Rouge, column) => rouge::metrics(column, effort),
        (Rule::Bleu { tokenizer }, column) => one(corpus::bleu(name, column, *tokenizer, effort)),
        (Rule::Chrf { .. }, column) => one(corpus::chrf(name, column, effort)),
        (Rule::Ter, column) => one(corpus::ter(name, column, effort)),
        (Rule::CrowsPairs, column) => crows_pairs::metrics(column),
        (Rule::BbqBias { ambiguous }, column) => one(bbq::metric(name, column, *ambiguous)),
        (Rule::Circular, column) => circular::metrics(column),
        (Rule::Replicas { k }, column) => replicas::metrics(column, k),
        (Rule::Share | Rule::ShareScaledFirst | Rule::Count, Column::Items(_)) => Vec::new(),
    }
}
