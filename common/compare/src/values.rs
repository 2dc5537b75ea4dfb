//! The metrics that a unit's values make, each in the form in which it is compared.

use super::observed::{BITS_PER_BYTE, Column, Hit, Series, UnitData};
use compass_eval::evaluator::{Aggregation, SampleValue, Scale};
use compass_metrics::statistics::pass_at_k;
use std::borrow::Cow;

/// One metric of one unit.
#[derive(Clone, Debug)]
pub(crate) struct Values<'a> {
    pub name: String,
    pub form: Form<'a>,
    pub direction: Direction,
    /// Factor of a value that puts it in the metric's unit.
    pub factor: f64,
}

/// The form of a metric's values.
#[derive(Clone, Debug)]
pub(crate) enum Form<'a> {
    /// Right or wrong, by position.
    Hits(Cow<'a, [Hit]>),
    /// A score by position, NaN without one; with the answers of which each is the mean, where there are several.
    Scores { values: Cow<'a, [f64]>, answers: Option<Answers<'a>> },
    /// Items of the corpus, with the rule that makes its number of them.
    Corpus { items: &'a Column, rule: &'a Aggregation },
    /// Not comparable question by question, and why.
    None(&'static str),
}

/// Several answers to each question, in the order in which they were drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answers<'a> {
    values: &'a [f32],
    of: usize,
}

impl<'a> Answers<'a> {
    /// Returns the answers of the sample at a position.
    pub(crate) fn at(&self, position: u32) -> &'a [f32] {
        let start = position as usize * self.of;
        self.values.get(start..start + self.of).unwrap_or_default()
    }
}

/// Direction in which values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Higher,
    Lower,
}

impl Direction {
    /// 1 where a greater number is better, else -1.
    pub fn sign(self) -> f64 {
        if self == Self::Higher { 1.0 } else { -1.0 }
    }
}

/// Metrics of which less is better and whose rule does not say so.
const LOWER: [&str; 4] = ["brier_score", "average_ppl", "likelihood_diff", "pct_stereotype"];

/// Returns the direction in which a metric is better.
pub fn direction(rule: &Aggregation, name: &str) -> Direction {
    let base = name.split([',', ' ']).next().unwrap_or(name);
    match rule {
        Aggregation::Perplexity
        | Aggregation::WeightedPerplexity
        | Aggregation::BitsPerWeight
        | Aggregation::Ter
        | Aggregation::BbqBias { .. } => Direction::Lower,
        _ if LOWER.contains(&base) => Direction::Lower,
        _ => Direction::Higher,
    }
}

/// All metrics of a unit, in the order of the table; bits per byte of the gold answer last.
pub(crate) fn metrics(unit: &UnitData) -> Vec<Values<'_>> {
    let mut found: Vec<Values<'_>> = unit.series.iter().flat_map(of_series).collect();
    found.sort_by_key(|values| values.name == BITS_PER_BYTE);
    found
}

fn of_series(series: &Series) -> Vec<Values<'_>> {
    let Series { name, rule, column } = series;
    let one = |form: Form<'static>, factor: f64| vec![values(name.clone(), rule, form, factor)];
    let percent = |form| vec![values(name.clone(), rule, form, 100.0)];
    match (rule, column) {
        (Aggregation::Replicas { .. }, _) => Vec::new(),
        (Aggregation::Count, _) => one(Form::None("a count of answers of one kind"), 1.0),
        (Aggregation::BbqBias { .. }, _) => one(Form::None("a bias score has no value by question"), 1.0),
        (_, Column::Hits(hits)) => percent(Form::Hits(Cow::Borrowed(hits))),
        (rule, Column::Several { means, answers, of }) => {
            let factor = factor(rule);
            let answers = Answers { values: answers, of: *of };
            let form = Form::Scores { values: Cow::Borrowed(means), answers: Some(answers) };
            vec![values(name.clone(), rule, form, factor)]
        }
        (Aggregation::Mean { scale, .. }, Column::Scores(scores)) => {
            let form = Form::Scores { values: Cow::Borrowed(scores), answers: None };
            vec![values(name.clone(), rule, form, scale.factor())]
        }
        (Aggregation::Rouge, Column::Items(items)) => rouge(rule, items),
        (Aggregation::PassAtK { prefix, k }, Column::Items(items)) => pass(rule, prefix, k, items),
        (Aggregation::CrowsPairs, Column::Items(items)) => {
            let right = |item: &SampleValue| match item {
                SampleValue::Classes(gold, predicted) => Some(gold == predicted),
                _ => None,
            };
            vec![values("accuracy".into(), rule, Form::Hits(hits(items, right)), 100.0)]
        }
        (Aggregation::Circular, Column::Items(items)) => {
            let right = |item: &SampleValue| match item {
                SampleValue::Member { gold, answer, .. } => Some(gold == answer),
                _ => None,
            };
            vec![values("acc_4".into(), rule, Form::Hits(hits(items, right)), 100.0)]
        }
        (Aggregation::Grouped, Column::Items(items)) => {
            let right = |item: &SampleValue| match item {
                SampleValue::Attempts { right, .. } => Some(*right > 0),
                _ => None,
            };
            percent(Form::Hits(hits(items, right)))
        }
        (Aggregation::AtLeast { .. }, _) => one(Form::None("several samples ask one question"), 1.0),
        (rule, column) => vec![values(name.clone(), rule, Form::Corpus { items: column, rule }, 1.0)],
    }
}

fn values<'a>(name: String, rule: &Aggregation, form: Form<'a>, factor: f64) -> Values<'a> {
    let direction = direction(rule, &name);
    Values { name, form, direction, factor }
}

fn factor(rule: &Aggregation) -> f64 {
    match rule {
        Aggregation::Mean { scale, .. } => scale.factor(),
        _ => Scale::Percent.factor(),
    }
}

fn hits<'a>(items: &[Option<SampleValue>], right: impl Fn(&SampleValue) -> Option<bool>) -> Cow<'a, [Hit]> {
    let hit = |item: &Option<SampleValue>| match item.as_ref().and_then(&right) {
        Some(true) => Hit::Right,
        Some(false) => Hit::Wrong,
        None => Hit::None,
    };
    items.iter().map(hit).collect()
}

/// The means over samples, of which the table shows medians of bootstrap means.
fn rouge<'a>(rule: &Aggregation, items: &[Option<SampleValue>]) -> Vec<Values<'a>> {
    let names = ["rouge1", "rouge2", "rougeL", "rougeLsum"];
    let one = |(at, name): (usize, &str)| {
        let score = |item: &Option<SampleValue>| match item {
            Some(SampleValue::Scores(scores)) => scores.get(at).copied().unwrap_or(f64::NAN),
            _ => f64::NAN,
        };
        let form = Form::Scores { values: items.iter().map(score).collect(), answers: None };
        values(name.into(), rule, form, 100.0)
    };
    names.into_iter().enumerate().map(one).collect()
}

/// pass@k of each question. Several samples that ask one task are clustered as questions asked several times, and are the same
/// number for k = 1 alone.
fn pass<'a>(rule: &Aggregation, prefix: &str, k: &[u32], items: &[Option<SampleValue>]) -> Vec<Values<'a>> {
    let attempts = || {
        items.iter().map(|item| match item {
            Some(SampleValue::Attempts { group, right, of }) => Some((group, *right, *of)),
            _ => None,
        })
    };
    let least = attempts().flatten().map(|(.., of)| of).min().unwrap_or(0);
    let tasks: std::collections::BTreeSet<&String> = attempts().flatten().map(|(group, ..)| group).collect();
    let is_one_each = tasks.len() == attempts().flatten().count();
    let named = |k: u32| {
        let name = format!("{prefix}pass@{k}");
        if k > 1 && !is_one_each {
            return values(name, rule, Form::None("several samples ask one task"), 100.0);
        }
        let score = |(_, right, of): (&String, u64, u64)| pass_at_k(of, right, u64::from(k));
        let scores = attempts().map(|found| found.map_or(f64::NAN, score)).collect();
        values(name, rule, Form::Scores { values: scores, answers: None }, 100.0)
    };
    k.iter().copied().filter(|k| u64::from(*k) <= least || (*k == 1 && least > 0)).map(named).collect()
}
