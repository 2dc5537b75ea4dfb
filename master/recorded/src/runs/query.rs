//! Selection of the samples of a run that are shown: filtered, and a page at a time, from the last sample of the page before.

use super::key::Key;
use super::marks::{Filter, Marks};
use super::opened::OpenedRun;
use compass_compare::question_text;
use compass_eval::evaluator::judge;
use compass_plan::{EvalSpec, Sample, Unit};
use compass_pyfmt::python_str;
use compass_scoring::ScoreError;
use compass_types::ids::UnitId;
use compass_types::result::{Outcome, SampleResult};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows of a page.
const ROWS: usize = 50;
/// Characters of a text in a row.
const CHARACTERS: usize = 240;
/// Time for which texts are searched for one page; the next page continues from there.
const SEARCH_TIME: Duration = Duration::from_secs(2);

/// Query of a run's samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SampleQuery {
    /// Abbr of a model or data set; empty for all.
    pub model: String,
    pub dataset: String,
    /// Name of a [`Filter`]; empty for all.
    pub filter: String,
    /// A text that question, answer or gold answer has, in upper or lower case.
    pub q: String,
    /// The last sample of the page before, as [`Key`] writes it.
    pub after: String,
}

/// One sample in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleRow {
    pub key: Key,
    pub model: String,
    pub dataset: String,
    pub marks: Vec<&'static str>,
    pub question: String,
    pub answer: String,
    pub gold: String,
}

/// A page of samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Found {
    pub rows: Vec<SampleRow>,
    /// Start of the next page; `None` at the end.
    pub next: Option<Key>,
}

impl SampleQuery {
    fn asked(&self) -> Option<Filter> {
        Filter::all().find(|filter| filter.name() == self.filter)
    }

    fn takes_unit(&self, unit: &Unit<'_>) -> bool {
        (self.model.is_empty() || self.model == unit.model.abbr)
            && (self.dataset.is_empty() || self.dataset == unit.dataset.abbr)
    }

    /// The samples of a page. Waits for the disk, and scores the samples of a unit when it is filtered first.
    ///
    /// # Errors
    /// The run is damaged.
    pub fn find(&self, run: &OpenedRun) -> Result<Found, ScoreError> {
        let (begun, after) = (Instant::now(), self.after.parse::<Key>().ok());
        let words = self.q.to_lowercase();
        let mut found = Found::default();
        for unit in run.recorded.plan.units().filter(|unit| self.takes_unit(unit)) {
            let spec = unit.eval();
            let from = match after {
                Some(key) if unit.id.0 < key.unit => continue,
                Some(key) if unit.id.0 == key.unit => key.index.saturating_add(1),
                _ => 0,
            };
            // Every sample of the unit is scored if the query filters them; otherwise only the samples that are shown.
            let filter = self.asked().map(|asked| run.marks(unit).map(|marks| (asked, marks))).transpose()?;
            let takes = |index: u32| {
                let has = |(asked, marks): &(Filter, Arc<Vec<Marks>>)| {
                    marks.get(index as usize).is_some_and(|it| it.passes(*asked))
                };
                index >= from && filter.as_ref().is_none_or(has)
            };
            for part in &unit.dataset.parts {
                let inside = part.first..part.first + part.samples;
                if !inside.clone().any(takes) {
                    continue;
                }
                let mut last = None;
                run.recorded.part(unit, part, |_, sample, recorded| {
                    if !takes(sample.index) || found.rows.len() > ROWS {
                        return;
                    }
                    last = Some(sample.index);
                    let row = row(unit, &spec, sample, recorded.map(|(result, _)| result));
                    if words.is_empty() || row.has(&words) {
                        found.rows.push(row.cut());
                    }
                })?;
                if found.rows.len() > ROWS {
                    found.rows.truncate(ROWS);
                    found.next = found.rows.last().map(|row| row.key);
                    return Ok(found);
                }
                if let (Some(index), true) = (last, begun.elapsed() > SEARCH_TIME) {
                    found.next = Some(Key { unit: unit.id.0, index });
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }
}

impl SampleRow {
    fn has(&self, words: &str) -> bool {
        [&self.question, &self.answer, &self.gold].into_iter().any(|text| text.to_lowercase().contains(words))
    }

    fn cut(mut self) -> Self {
        for text in [&mut self.question, &mut self.answer, &mut self.gold] {
            if let Some((at, _)) = text.char_indices().nth(CHARACTERS) {
                text.truncate(at);
                text.push('…');
            }
        }
        self
    }
}

fn row(unit: Unit<'_>, spec: &EvalSpec, sample: &Sample, result: Option<&SampleResult>) -> SampleRow {
    let UnitId(number) = unit.id;
    SampleRow {
        key: Key { unit: number, index: sample.index },
        model: unit.model.abbr.clone(),
        dataset: unit.dataset.abbr.clone(),
        marks: Marks::of(sample, result, spec).names(),
        question: question_text(sample),
        answer: result.map(|result| answer(sample, result, spec)).unwrap_or_default(),
        gold: if sample.gold.is_null() { String::new() } else { python_str(&sample.gold) },
    }
}

/// Returns the model's answer, and the answer extracted from it if that is another text.
pub fn answer(sample: &Sample, result: &SampleResult, spec: &EvalSpec) -> String {
    match (judge(sample, result, spec), &result.outcome) {
        // Of a text that is only scored, nothing is taken.
        (Ok(score), _) if score.prediction.is_null() && score.processed.is_null() => String::new(),
        (Ok(score), _) => {
            let (said, taken) = (python_str(&score.prediction), python_str(&score.processed));
            if said == taken { said } else { format!("{said} -> {taken}") }
        }
        (Err(_), Outcome::Generated(answers)) if answers.len() == 1 => answers[0].text.clone(),
        (Err(unscored), _) => format!("(no score: {unscored})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_written_as_addresses_have_it() {
        let key = Key { unit: 0, index: 49 };
        assert_eq!(serde_json::to_value(key).unwrap(), serde_json::json!({"unit": 0, "index": 49, "key": "0.49"}));
        assert_eq!("0.49".parse(), Ok(key));
        assert!(["bogus", "0", "0.", "1.x", ""].iter().all(|text| text.parse::<Key>().is_err()));
    }
}
