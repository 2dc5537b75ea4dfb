//! Observations of one model on one data set, kept to be compared: for every sample what was asked, and its value of every metric.
//!
//! Some forty bytes a sample and a few for each metric: texts are digested, never kept.

use compass_eval::evaluator::{Aggregation, MetricContribution, SampleValue, judge};
use compass_plan::{Body, DatasetPlan, EvalSpec, OptionText, Part, Sample, Unit};
use compass_types::ids::Digest;
use compass_types::result::{Outcome, SampleResult};
use serde::Serialize;
use serde_json::Value;

/// The metric that every data set of scored continuations has beside its own: bits per byte of the gold answer.
pub const BITS_PER_BYTE: &str = "bpb_gold";

/// One model on one data set.
#[derive(Clone, Debug)]
pub struct UnitData {
    pub model: String,
    pub dataset: String,
    /// The kind of request: `ppl`, `gen`, ...
    pub mode: &'static str,
    /// In order of index.
    pub samples: Vec<SampleFacts>,
    /// In the order of the table.
    pub series: Vec<Series>,
}

/// A sample as it is paired.
#[derive(Clone, Copy, Debug)]
pub struct SampleFacts {
    pub index: u32,
    /// Digest of the kind of request, the shots and the question, without the model's wrapping.
    pub question: u128,
    /// Digest of the gold answer.
    pub gold: u64,
    pub has_result: bool,
    /// Digest of the value in the column that clusters are made by; 0 without one.
    pub column: u64,
    /// Bytes that its question has in common with that of the sample before it, from the beginning, ...
    pub shared: u32,
    /// ... and from the end.
    pub shared_end: u32,
    /// Bytes of its question.
    pub length: u32,
}

/// The values of one line of the results.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub rule: Aggregation,
    pub column: Column,
}

/// By position of the sample.
#[derive(Clone, Debug)]
pub enum Column {
    /// Right, wrong, or without a value.
    Hits(Vec<Hit>),
    /// NaN without a value.
    Scores(Vec<f64>),
    /// The mean over several answers to the question, and the answers themselves, so many of each sample.
    Several { means: Vec<f64>, answers: Vec<f32>, of: usize },
    /// Whatever else corpus metrics are made of.
    Items(Vec<Option<SampleValue>>),
}

/// A right or wrong answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    Wrong,
    Right,
    None,
}

/// Digests what the samples of a data set ask, in order of index: once for all models.
#[derive(Debug)]
pub struct QuestionReader {
    head: Vec<u8>,
    cluster: Option<String>,
    /// Set if a gold answer had the column of the clusters.
    column_found: bool,
    shots: Vec<[u8; 32]>,
    before: String,
    digests: Digests,
}

/// Takes the results of a unit in order of index.
#[derive(Debug)]
pub struct UnitBuilder {
    unit: UnitData,
    spec: EvalSpec,
}

/// Digests values as JSON: through a text, since a hasher takes many short pieces slowly.
#[derive(Debug, Default)]
struct Digests(Vec<u8>);

impl Digests {
    fn of(&mut self, value: &impl Serialize) -> blake3::Hash {
        self.0.clear();
        self.add(value);
        blake3::hash(&self.0)
    }

    fn add(&mut self, value: &impl Serialize) {
        // What the plan holds was read from JSON, and memory takes all that is written.
        let _ = serde_json::to_writer(&mut self.0, value);
    }
}

fn short(hash: blake3::Hash) -> u64 {
    hash.as_bytes().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl UnitData {
    /// Clusters samples by values that are not in their gold answers: one for each sample, by index.
    pub fn cluster_by(&mut self, values: &[Option<Value>]) {
        let mut digests = Digests::default();
        for facts in &mut self.samples {
            let value = values.get(facts.index as usize).and_then(Option::as_ref);
            facts.column = value.map_or(0, |value| short(digests.of(value)));
        }
    }
}

impl QuestionReader {
    /// `cluster` is the column of gold answers by which samples are clustered.
    pub fn new(dataset: &DatasetPlan, cluster: Option<&str>) -> Self {
        let head = serde_json::to_vec(&(dataset.infer.mode(), &dataset.shot_format)).unwrap_or_default();
        Self {
            head,
            cluster: cluster.map(str::to_owned),
            column_found: false,
            shots: Vec::new(),
            before: String::new(),
            digests: Digests::default(),
        }
    }

    /// The part whose samples follow.
    pub fn begin(&mut self, part: &Part) {
        self.shots = part.shots.iter().map(|shot| *self.digests.of(shot).as_bytes()).collect();
    }

    /// The next sample, of no result.
    pub fn facts(&mut self, sample: &Sample) -> SampleFacts {
        let text = text_of(sample, 2);
        let is_same = |(one, other): &(u8, u8)| one == other;
        let shared = self.before.bytes().zip(text.bytes()).take_while(is_same).count();
        let shared_end = self.before.bytes().rev().zip(text.bytes().rev()).take_while(is_same).count();
        let column = self.cluster.as_ref().and_then(|name| sample.gold.get(name));
        self.column_found |= column.is_some();
        let facts = SampleFacts {
            index: sample.index,
            question: self.question(sample),
            gold: short(self.digests.of(&sample.gold)),
            has_result: false,
            column: column.map_or(0, |value| short(self.digests.of(value))),
            shared: shared as u32,
            shared_end: shared_end as u32,
            length: text.len() as u32,
        };
        self.before = text;
        facts
    }

    /// Returns whether the column of the clusters was there.
    pub fn found_column(&self) -> bool {
        self.column_found
    }

    fn question(&mut self, sample: &Sample) -> u128 {
        self.digests.0.clear();
        self.digests.0.extend_from_slice(&self.head);
        for shot in sample.shots.iter().filter_map(|&shot| self.shots.get(shot as usize)) {
            self.digests.0.extend_from_slice(shot);
        }
        self.digests.add(&sample.body);
        let hash = blake3::hash(&self.digests.0);
        hash.as_bytes().iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte))
    }
}

impl UnitBuilder {
    /// Makes a builder of a unit without samples yet.
    pub fn new(unit: Unit<'_>) -> Self {
        let data = UnitData {
            model: unit.model.abbr.clone(),
            dataset: unit.dataset.abbr.clone(),
            mode: unit.dataset.infer.mode(),
            samples: Vec::with_capacity(unit.dataset.samples as usize),
            series: Vec::new(),
        };
        Self { unit: data, spec: unit.eval() }
    }

    /// The next sample, what it asks, and its result where it has one.
    pub fn observe(&mut self, facts: SampleFacts, sample: &Sample, result: Option<&SampleResult>) {
        let at = self.unit.samples.len();
        let score = result.and_then(|result| judge(sample, result, &self.spec).ok());
        self.unit.samples.push(SampleFacts { has_result: score.is_some(), ..facts });
        let contributions = score.map(|score| score.contributions).unwrap_or_default();
        self.add(at, contributions);
        if let Some(item) = result.and_then(|result| bits_of_gold(sample, result)) {
            let name = BITS_PER_BYTE.to_owned();
            self.put(at, &name, &Aggregation::BitsPerWeight, item);
        }
    }

    fn add(&mut self, at: usize, contributions: Vec<MetricContribution>) {
        let mut several: Vec<(String, Aggregation, Vec<f64>)> = Vec::new();
        for MetricContribution { replica, name, rule, item, .. } in contributions {
            if replica == 0 {
                self.put(at, &name, &rule, item);
                continue;
            }
            let value = match item {
                SampleValue::Hit(hit) => f64::from(u8::from(hit)),
                SampleValue::Score(score) => score,
                // Corpus metrics of several answers are averages of several corpora: not one of questions.
                _ => continue,
            };
            match several.iter_mut().find(|(known, ..)| *known == name) {
                Some((.., values)) => values.push(value),
                None => several.push((name, rule, vec![value])),
            }
        }
        for (name, rule, values) in several {
            let k = values.len() as f64;
            let mean = values.iter().sum::<f64>() / k;
            let name = format!("{name} ({} runs average)", values.len());
            let of = values.len();
            let empty = || Column::Several { means: Vec::new(), answers: Vec::new(), of };
            if let Column::Several { means, answers, .. } = self.series(&name, &rule, empty) {
                means.resize(at, f64::NAN);
                answers.resize(at * of, f32::NAN);
                means.push(mean);
                answers.extend(values.iter().map(|value| *value as f32));
            }
        }
    }

    fn series(&mut self, name: &str, rule: &Aggregation, empty: impl FnOnce() -> Column) -> &mut Column {
        let found = self.unit.series.iter().position(|series| series.name == name);
        let at = found.unwrap_or_else(|| {
            self.unit.series.push(Series { name: name.to_owned(), rule: rule.clone(), column: empty() });
            self.unit.series.len() - 1
        });
        &mut self.unit.series[at].column
    }

    fn put(&mut self, at: usize, name: &str, rule: &Aggregation, item: SampleValue) {
        let empty = match &item {
            SampleValue::Hit(_) => Column::Hits(Vec::new()),
            SampleValue::Score(_) => Column::Scores(Vec::new()),
            _ => Column::Items(Vec::new()),
        };
        match (self.series(name, rule, || empty), item) {
            (Column::Hits(hits), SampleValue::Hit(hit)) => {
                hits.resize(at, Hit::None);
                hits.push(if hit { Hit::Right } else { Hit::Wrong });
            }
            (Column::Scores(scores), SampleValue::Score(score)) => {
                scores.resize(at, f64::NAN);
                scores.push(score);
            }
            (Column::Items(items), item) => {
                items.resize(at, None);
                items.push(Some(item));
            }
            // An evaluator gives one kind of item to a line.
            _ => {}
        }
    }

    /// Returns the observations.
    pub fn finish(mut self) -> UnitData {
        let samples = self.unit.samples.len();
        for series in &mut self.unit.series {
            match &mut series.column {
                Column::Hits(hits) => hits.resize(samples, Hit::None),
                Column::Scores(scores) => scores.resize(samples, f64::NAN),
                Column::Several { means, answers, of } => {
                    means.resize(samples, f64::NAN);
                    answers.resize(samples * *of, f32::NAN);
                }
                Column::Items(items) => items.resize(samples, None),
            }
        }
        self.unit
    }
}

/// The words of a sample as a person reads them, without shots; of scored prompts what all options have in common, of own
/// contexts the first one's.
pub fn question_text(sample: &Sample) -> String {
    text_of(sample, usize::MAX)
}

/// As [`question_text`], from so many options: two say nearly as much as all, and are quickly made.
fn text_of(sample: &Sample, options_read: usize) -> String {
    let format = Default::default();
    match &sample.body {
        Body::Ppl { options } => {
            common_words(options.iter().take(options_read).map(|option| option.prompt.render(&[], &format)))
        }
        Body::Loglikelihood { context, options } => {
            let own = options.first().and_then(|option| option.context.as_ref());
            own.unwrap_or(context).render(&[], &format)
        }
        Body::Gen { prompt } | Body::Clp { prompt, .. } | Body::Rolling { text: prompt, .. } => {
            prompt.render(&[], &format)
        }
        Body::Chat { turns } => turns.iter().map(|turn| format!("{}: {}\n", turn.role, turn.content)).collect(),
        Body::Windows { slice, slices, .. } => format!("slice {} of {slices} of all texts", slice + 1),
        Body::Execute { .. } => String::new(),
    }
}

/// Returns the common beginning of texts, up to the end of a word; all of the first one where they have nothing in common.
fn common_words(mut texts: impl Iterator<Item = String>) -> String {
    let first = texts.next().unwrap_or_default();
    let mut common = first.len();
    // Whether a word of some text goes on where the common part ends.
    let is_word = |text: &str, at: usize| text[at..].chars().next().is_some_and(is_of_word);
    let mut goes_on = false;
    for text in texts {
        let mut same = first.bytes().zip(text.bytes()).take_while(|(one, other)| one == other).count();
        while !first.is_char_boundary(same) {
            same -= 1;
        }
        if same <= common {
            goes_on = same == common && goes_on || is_word(&first, same) || is_word(&text, same);
            common = same;
        }
    }
    let shared = &first[..common];
    let whole = if goes_on { shared.trim_end_matches(is_of_word) } else { shared }.trim_end();
    if whole.is_empty() { first } else { whole.to_owned() }
}

/// Letters of scripts that put spaces between words, and digits.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() && c < '\u{2e80}'
}

/// The log-probability of the gold answer and its bytes, where its options were scored as continuations.
fn bits_of_gold(sample: &Sample, result: &SampleResult) -> Option<SampleValue> {
    let (Body::Loglikelihood { options, .. }, Outcome::Loglikelihood(scores)) = (&sample.body, &result.outcome) else {
        return None;
    };
    let is_gold = |option: &OptionText| {
        let gold = &sample.gold;
        !option.unconditional
            && (option.label == *gold || gold.as_array().is_some_and(|all| all.contains(&option.label)))
    };
    let (option, score) = options.iter().zip(scores).find(|(option, _)| is_gold(option))?;
    let bytes = option.continuation.len() as u64;
    (bytes > 0 && score.sum.is_finite()).then_some(SampleValue::Weighted(score.sum, bytes))
}

/// A seed that belongs to a name.
pub(crate) fn seed(dataset: &str, metric: &str) -> u64 {
    let digest = Digest::of(format!("{dataset}\n{metric}").as_bytes());
    digest.0.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_share_their_question() {
        let common = |texts: &[&str]| common_words(texts.iter().map(|text| (*text).to_owned()));
        assert_eq!(common(&["What is 4? one of 4", "What is 4? only 4", "What is 4? two"]), "What is 4?");
        assert_eq!(common(&["It is 12", "It is 13"]), "It is", "a word is not cut");
        assert_eq!(common(&["It is", "It is 13"]), "It is");
        assert_eq!(common(&["It is 1 of", "It is 1", "It is 13"]), "It is");
        assert_eq!(common(&["今天天气好", "今天天气坏"]), "今天天气");
        assert_eq!(common(&["yes, it is", "no"]), "yes, it is", "nothing in common");
        assert_eq!((common(&["one alone"]), common(&[])), ("one alone".to_owned(), String::new()));
    }
}
