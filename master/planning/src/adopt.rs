//! Predictions that OpenCompass wrote, taken over as the results of a run: whole files, or shards `_0.json`, `_1.json`, ...
//!
//! A record counts only for the sample that it answers: its gold answer and its prompt are that sample's, so that scores of
//! other rows, or of another template, are never mixed in. What is missing is an error where nothing can be run, and is left
//! to be run where it can; never a silent end.
//!
//! For a data set with `n`, OpenCompass asks all rows `n` times over: record `at` is an answer to sample `at` modulo the rows.

use super::adopt_files::{Records, ShardFile, Shards};
use super::adopt_record::{Adopter, Mismatch};
use compass_diagnostic::Diagnostic;
use compass_plan::{InferSpec, Part, Sample, Unit};
use compass_run_folder::{Planned, RunFolder};
use compass_types::ids::{Digest, UnitId};
use compass_types::result::{Outcome, SampleResult};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Treatment of samples without a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Nothing is run: shards in the middle have to be there.
    Refused,
    /// They are run.
    Run,
}

/// Contents of a folder of predictions for the samples of a plan.
#[derive(Debug, Default)]
pub struct Adopted {
    pub results: Vec<(UnitId, SampleResult)>,
    /// Units for which there is no file at all, as `model/dataset`.
    pub without: Vec<String>,
    /// Differences in how the prompts of a model were put, in words.
    pub notes: BTreeSet<String>,
}

/// Reads the predictions of every unit of the plan from `folder`.
///
/// # Errors
/// Every fault of every file.
pub fn adopt(folder: &RunFolder, planned: &Planned, gaps: Gaps) -> Result<Adopted, Vec<Diagnostic>> {
    let mut adopted = Adopted::default();
    let mut faults = Vec::new();
    for unit in planned.plan.units() {
        let whole = folder.predictions(&unit.model.abbr, &unit.dataset.abbr);
        let shards = Shards::find(&whole);
        if shards.is_empty() {
            adopted.without.push(format!("{}/{}", unit.model.abbr, unit.dataset.abbr));
            continue;
        }
        if let (Gaps::Refused, Some(fault)) = (gaps, shards.gap()) {
            let help = format!("run what is missing with `-r {}`, without `-m eval`", folder.name());
            faults.push(Diagnostic::error(fault).with_help(help));
            continue;
        }
        let parts = parts(planned, unit);
        match read_unit(&shards, unit, &parts, gaps) {
            Ok((results, note)) => {
                adopted.notes.extend(note);
                adopted.results.extend(results.into_iter().map(|result| (unit.id, result)));
            }
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(adopted) } else { Err(faults) }
}

fn parts(planned: &Planned, unit: Unit<'_>) -> Vec<Part> {
    let part = |digest: &Digest| serde_json::from_slice::<Part>(&planned.parts.get(digest)?).ok();
    unit.dataset.parts.iter().filter_map(|at| part(&at.digest)).collect()
}

/// A sample and the part that holds its shots.
type Place<'p> = (&'p Part, &'p Sample);

/// The results that the files of a unit give, and what differs in how its prompts were put.
fn read_unit(
    shards: &Shards,
    unit: Unit<'_>,
    parts: &[Part],
    gaps: Gaps,
) -> Result<(Vec<SampleResult>, Option<String>), Diagnostic> {
    let samples: Vec<Place<'_>> =
        parts.iter().flat_map(|part| part.samples.iter().map(move |sample| (part, sample))).collect();
    let read: Vec<Records> = shards.files.iter().map(|file| Records::read(&file.path)).collect::<Result<_, _>>()?;
    let answers = answers(unit);
    let records: usize = read.iter().map(Records::length).sum();
    let times = if answers > 1 && records > samples.len() { answers } else { 1 };
    let count = samples.len() * times;
    let samples: Vec<Place<'_>> = samples.into_iter().cycle().take(count).collect();
    let mut adopter = Adopter::new(unit);
    let mut results = Vec::new();
    let mut next = 0;
    for (at, (ShardFile { path: file, .. }, records)) in shards.files.iter().zip(&read).enumerate() {
        let fault = |what: String| Diagnostic::error(format!("{}: {what}", file.display()));
        if let (Gaps::Refused, Some(missing)) = (gaps, records.first_missing()) {
            let fault = fault(format!("{} records, but none is called \"{missing}\"", records.len()));
            return Err(fault.with_help("run what is missing with `-r`, without `-m eval`"));
        }
        let starts = if shards.follows(at) { vec![next] } else { starts(shards, &read, at, next, samples.len()) };
        let start = match starts.as_slice() {
            [only] => *only,
            several => {
                let fits = |start: &usize| place(&mut adopter.clone(), file, records, &samples, *start, gaps).is_ok();
                several.iter().copied().find(fits).unwrap_or(next)
            }
        };
        results.extend(place(&mut adopter, file, records, &samples, start, gaps)?);
        next = start + records.length();
    }
    Ok((if times > 1 { gathered(results, times) } else { results }, adopter.note()))
}

/// Answers that each sample is asked for.
fn answers(unit: Unit<'_>) -> usize {
    match &unit.dataset.infer {
        InferSpec::Gen(generation) => generation.decoding.over(&unit.model.decoding).sequences() as usize,
        _ => 1,
    }
}

/// One result for each sample of which every one of its answers is there.
fn gathered(results: Vec<SampleResult>, times: usize) -> Vec<SampleResult> {
    let mut all: BTreeMap<u32, SampleResult> = BTreeMap::new();
    for result in results {
        match all.entry(result.index) {
            Entry::Vacant(place) => {
                place.insert(result);
            }
            Entry::Occupied(mut first) => {
                if let (Outcome::Generated(answers), Outcome::Generated(more)) =
                    (&mut first.get_mut().outcome, result.outcome)
                {
                    answers.extend(more);
                }
            }
        }
    }
    let is_whole =
        |result: &SampleResult| matches!(&result.outcome, Outcome::Generated(answers) if answers.len() == times);
    all.into_values().filter(is_whole).collect()
}

/// Returns the positions where a shard may begin after shards that are missing, likeliest first: all but the last have one length
/// there.
fn starts(shards: &Shards, read: &[Records], at: usize, next: usize, samples: usize) -> Vec<usize> {
    let last = read.len() - 1;
    let length = read.iter().take(last).map(Records::length).max();
    let number = shards.files.get(at).and_then(|file| file.number).unwrap_or_default() as usize;
    let rest: usize = read.iter().skip(at).map(Records::length).sum();
    let own = read.get(at).map_or(0, Records::length);
    let by_number = length.map(|length| number * length);
    let from_end = samples.checked_sub(rest);
    let mut starts: Vec<usize> = by_number.into_iter().chain(from_end).collect();
    starts.extend(next..=samples.saturating_sub(own));
    starts.retain(|start| *start >= next && start + own <= samples);
    let mut seen = BTreeSet::new();
    starts.retain(|start| seen.insert(*start));
    // Too long for all that is left: said of where it would stand.
    if starts.is_empty() { vec![next] } else { starts }
}

/// The results of a file's records, whose first is of sample `start`.
fn place(
    adopter: &mut Adopter<'_>,
    file: &Path,
    records: &Records,
    samples: &[Place<'_>],
    start: usize,
    gaps: Gaps,
) -> Result<Vec<SampleResult>, Diagnostic> {
    let dataset = &adopter.unit.dataset.abbr;
    let mut results = Vec::with_capacity(records.len());
    for (at, record) in records.iter() {
        let fault = |what: String| Diagnostic::error(format!("{}: record \"{at}\" {what}", file.display()));
        let index = start + at;
        let (part, sample) = samples.get(index).ok_or_else(|| {
            fault(format!(
                "would be sample {index} of {dataset}, which has {}: was it made with another test_range?",
                samples.len()
            ))
        })?;
        match adopter.result(part, sample, record) {
            Ok(result) => results.push(result),
            // A failed answer: it is asked again.
            Err(Mismatch::NoAnswer(_)) if gaps == Gaps::Run => {}
            Err(mismatch) => {
                let help = mismatch.help();
                return Err(fault(mismatch.said(index, dataset)).with_help(help));
            }
        }
    }
    Ok(results)
}
