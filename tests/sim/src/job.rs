//! A job of a history: a small plan as the planner would have written it, the keys under which the store knows it, and
//! what its samples' results are.
//!
//! Every data set has one model, so that several models are at work without every pair of them; units without tasks exist
//! in the plan alone.

use super::fault::GARBLES;
use super::kind::Kind;
use super::scenario::Scenario;
use compass_eval::evaluator::Accumulator;
use compass_ledger::parse_result;
use compass_plan::prompt::{PrefixRun, Prompt, ShotFormat};
use compass_plan::{
    Body, DatasetPlan, Endpoint, EndpointApi, EndpointBudget, EvalSpec, ModelKind, ModelPlan, OptionPrompt,
    PLAN_FORMAT, Part, PartRef, Plan, Sample,
};
use compass_proto::v1;
use compass_rpc::UnitTerms;
use compass_run::task;
use compass_scheduler::broker::JobId;
use compass_scheduler::{Duplicates, Recorded, Requires, TaskView};
use compass_store::Keys;
use compass_types::ids::{Attempt, Digest, ModelId, UnitId};
use compass_types::intervals::IntervalSet;
use compass_types::result::{Outcome as Parsed, SampleResult};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use v1::sample_result::Outcome;

/// Distance of samples with long texts, where those are asked for: one sample in this number has one.
const LONG_EVERY: u32 = 5;

/// Characters of a sample beside what it shares with others.
const CHARACTERS: u64 = 20;

/// Answers to each prompt, in histories where an earlier run drew some of them.
const ANSWERS: u32 = 3;

/// A sample of a job: its unit and its index.
pub(super) type SampleKey = (u32, u32);

/// A sample of a history: its job, its unit and its index.
pub(super) type JobSample = (usize, u32, u32);

/// Plan of a job, its keys in the store, and the results of its samples.
#[derive(Debug)]
pub(super) struct Job {
    /// Its position among the jobs of the history.
    number: usize,
    pub(super) id: JobId,
    /// The scenario as if there were no other job.
    pub(super) shape: Scenario,
    plan: Plan,
    /// The plan's head, encoded.
    head: Vec<u8>,
    /// The parts, each with its data set and encoded.
    parts: BTreeMap<Digest, (usize, Vec<u8>)>,
    pub(super) digest: Digest,
    pub(super) keys: Keys,
}

fn sample(scenario: &Scenario, number: usize, dataset: usize, index: u32) -> Sample {
    let (of, asked) = scenario.asked(dataset, index);
    let prompt = Prompt::question(format!("question {asked} of {of}"));
    let body = match scenario.kind(dataset) {
        Kind::Options => Body::Ppl { options: vec![OptionPrompt { label: json!("A"), prompt, answer: None }] },
        _ => Body::Gen { prompt },
    };
    // Names the job and the data set: parts that ask the same are still two.
    Sample { index, gold: json!(format!("answer of {dataset} of {number}")), shots: Vec::new(), body }
}

/// A model of a job, by its position.
fn model(scenario: &Scenario, number: usize, at: u32) -> ModelPlan {
    let (abbr, path) = (format!("m{at}"), format!("/models/{number}/{at}"));
    if !scenario.endpoints.contains(&at) {
        return ModelPlan::new(abbr, ModelKind::Echo, path);
    }
    let endpoint = Endpoint {
        url: format!("http://endpoint/{number}"),
        model: abbr.clone(),
        api: EndpointApi::Chat,
        key: None,
        headers: BTreeMap::new(),
        body: Default::default(),
        scores: false,
        budget: EndpointBudget { max_concurrency: scenario.at_once.max(1), ..EndpointBudget::default() },
    };
    ModelPlan { endpoint: Some(endpoint), ..ModelPlan::new(abbr, ModelKind::Endpoint, String::new()) }
}

/// Prefix that all samples of a data set share.
fn prefix_runs(scenario: &Scenario, samples: u32) -> Vec<PrefixRun> {
    let run = PrefixRun { end: samples, characters: scenario.shared };
    if scenario.shared > 0 { vec![run] } else { Vec::new() }
}

impl Job {
    /// A job of a scenario. `None` where plain data does not serialise, which it always does.
    pub(super) fn new(scenario: &Scenario, number: usize) -> Option<Self> {
        let scenario = &scenario.of_job(number);
        let (mut parts, mut datasets) = (BTreeMap::new(), Vec::new());
        for (at, &samples) in scenario.units.iter().enumerate() {
            let mut refs = Vec::new();
            let each = scenario.part_samples.max(1);
            for first in (0..samples).step_by(each as usize) {
                let end = samples.min(first + each);
                let part = (first..end).map(|index| sample(scenario, number, at, index));
                let bytes = serde_json::to_vec(&Part { shots: Vec::new(), samples: part.collect() }).ok()?;
                let digest = Digest::of(&bytes);
                refs.push(PartRef { digest, first, samples: end - first, bytes: bytes.len() as u64 });
                parts.insert(digest, (at, bytes));
            }
            let kind = scenario.kind(at);
            datasets.push(DatasetPlan {
                abbr: format!("d{at}"),
                version: "000000".into(),
                infer: kind.infer(if scenario.drawn { ANSWERS } else { 1 }),
                shot_format: ShotFormat::default(),
                eval: EvalSpec::new(kind.evaluator()),
                samples,
                characters: CHARACTERS * u64::from(samples),
                prefix_runs: prefix_runs(scenario, samples),
                labels: (kind == Kind::Options).then_some(1),
                own_questions: 0,
                entries: if kind == Kind::Options { vec![(samples, 1)] } else { Vec::new() },
                parts: refs,
            });
        }
        let models = 1 + (0..scenario.units.len()).map(|at| scenario.model(at)).max().unwrap_or(0);
        let models = (0..models).map(|at| model(scenario, number, at));
        let config = Digest::of(b"a configuration");
        let plan = Plan {
            format: PLAN_FORMAT,
            config,
            models: models.collect(),
            datasets,
            duplicates: None,
            left_out: Default::default(),
        };
        let head = serde_json::to_vec(&plan).ok()?;
        let digest = Digest::of(&head);
        let keys = Keys::new(&digest);
        let id = JobId::of(&digest);
        Some(Self { number, id, shape: scenario.clone(), plan, head, parts, digest, keys })
    }

    /// A head or part that somebody fetches.
    pub(super) fn content(&self, digest: &Digest) -> Option<&[u8]> {
        if *digest == self.digest {
            return Some(&self.head);
        }
        self.parts.get(digest).map(|(_, bytes)| bytes.as_slice())
    }

    /// The unit of a part's samples.
    pub(super) fn unit_of_part(&self, digest: &Digest) -> Option<u32> {
        self.parts.get(digest).map(|(dataset, _)| self.unit(*dataset))
    }

    /// The unit of a data set and its model.
    pub(super) fn unit(&self, dataset: usize) -> u32 {
        (self.shape.model(dataset) as usize * self.plan.datasets.len() + dataset) as u32
    }

    fn dataset(&self, unit: u32) -> usize {
        unit as usize % self.plan.datasets.len().max(1)
    }

    pub(super) fn model(&self, unit: u32) -> u32 {
        self.shape.model(self.dataset(unit))
    }

    /// The pools where its models load, where these are not any.
    pub(super) fn places(&self) -> BTreeMap<ModelId, BTreeSet<String>> {
        let places = self.shape.places.iter();
        places.map(|&(model, pool)| (ModelId(model), BTreeSet::from([pool.to_owned()]))).collect()
    }

    /// Number of workers that may ask each of its models behind an endpoint.
    pub(super) fn most_workers(&self) -> BTreeMap<ModelId, u32> {
        let budget = |(at, model): (ModelId, &ModelPlan)| Some((at, model.endpoint.as_ref()?.budget.workers));
        self.plan.models().filter_map(budget).collect()
    }

    /// Its models, as workers name them.
    pub(super) fn models(&self) -> BTreeSet<Digest> {
        // Plain data always serialises.
        let encoded = self.plan.models.iter().filter_map(|model| serde_json::to_vec(model).ok());
        encoded.map(|bytes| Digest::of(&bytes)).collect()
    }

    /// Every sample of the job.
    pub(super) fn samples(&self) -> impl Iterator<Item = SampleKey> {
        self.units().into_iter().flat_map(|(unit, samples)| (0..samples).map(move |index| (unit, index)))
    }

    /// Units with their number of samples.
    pub(super) fn units(&self) -> Vec<(u32, u32)> {
        self.shape.units.iter().enumerate().map(|(at, &samples)| (self.unit(at), samples)).collect()
    }

    /// Returns the facts that a leader knows about the units.
    pub(super) fn terms(&self) -> BTreeMap<UnitId, UnitTerms> {
        let unit = |(unit, _): (u32, u32)| {
            let known = self.plan.unit(UnitId(unit))?;
            Some((UnitId(unit), UnitTerms { drawn: self.drawn_in(unit), ..UnitTerms::new(&known) }))
        };
        self.units().into_iter().filter_map(unit).collect()
    }

    /// Number of answers to a sample that an earlier run drew.
    pub(super) fn drawn(&self, (unit, index): SampleKey) -> u32 {
        let is_asked = self.shape.drawn && self.shape.kind(self.dataset(unit)) != Kind::Options;
        if is_asked { index % ANSWERS } else { 0 }
    }

    /// Answers that an earlier run drew for samples of a unit.
    fn drawn_in(&self, unit: u32) -> BTreeMap<u32, SampleResult> {
        let drawn = |(_, index): SampleKey| {
            let count = self.drawn((unit, index)) as usize;
            let whole = SampleResult::try_from(self.result((unit, index), 0)).ok().filter(|_| count > 0)?;
            Some((index, whole.first_answers(count, false)))
        };
        self.samples().filter(|(known, _)| *known == unit).filter_map(drawn).collect()
    }

    /// Returns a worker's result of a sample of which `drawn` answers are there.
    pub(super) fn rest(&self, key: SampleKey, by: u64, drawn: u32) -> v1::SampleResult {
        let mut result = self.result(key, by);
        if drawn > 0
            && let Some(Outcome::Generations(all)) = &mut result.outcome
        {
            all.generations.drain(..all.generations.len().min(drawn as usize));
            if let [only] = all.generations.as_slice() {
                result.outcome = Some(Outcome::Generation(only.clone()));
            }
        }
        result
    }

    /// Returns the request of a sample: equal for samples with equal requests.
    pub(super) fn asked(&self, (unit, index): SampleKey) -> (usize, u32) {
        self.shape.asked(self.dataset(unit), index)
    }

    /// Returns whether no worker can run a sample.
    pub(super) fn is_poison(&self, key: SampleKey) -> bool {
        self.shape.poison.is_some_and(|poison| self.asked(poison) == self.asked(key))
    }

    /// Returns whether this is a result of a sample of the unit, whichever worker computed it.
    pub(super) fn fits(&self, unit: u32, result: &v1::SampleResult) -> bool {
        let shape = self.plan.unit(UnitId(unit)).map(|unit| unit.shape());
        let known = SampleResult::try_from(result.clone());
        shape.zip(known.ok()).is_some_and(|(shape, known)| shape.misfit(known.index, &known.outcome).is_none())
    }

    /// Returns a worker's result of a sample; `by` is the worker's number where results are unsteady, else 0.
    pub(super) fn result(&self, key: SampleKey, by: u64) -> v1::SampleResult {
        let (of, asked) = self.asked(key);
        let of_job = if self.number == 0 { String::new() } else { format!(" of job {}", self.number) };
        let outcome = match self.shape.kind(self.dataset(key.0)) {
            Kind::Options => {
                let nll_sum = vec![self.number as f64 * 1e9 + of as f64 * 1e6 + f64::from(asked) + by as f64 / 16.0];
                Outcome::Ppl(v1::PplScores { nll_sum, tokens: vec![1], ..Default::default() })
            }
            Kind::Answers => {
                let length = if asked % LONG_EVERY == 0 { self.shape.long_bytes as usize } else { 0 };
                // In lines of their own: an evaluator that looks at the first line does not walk over the rest.
                self.answers(format!("{asked} of {of}{of_job} by {by}\n{}", "x".repeat(length)))
            }
            _ => self.answers(format!("answer of {} {of}{of_job} by {by}", asked % 3)),
        };
        v1::SampleResult { index: key.1, outcome: Some(outcome), ..Default::default() }
    }

    /// The answers to a prompt of which the first is `text`.
    fn answers(&self, text: String) -> Outcome {
        if !self.shape.drawn {
            return Outcome::Generation(generation(text));
        }
        let others = (1..ANSWERS).map(|at| generation(format!("{at} after {}", text.len())));
        let generations = std::iter::once(generation(text.clone())).chain(others).collect();
        Outcome::Generations(v1::Generations { generations })
    }

    /// The digest of what the evaluator of a unit makes of a worker's results of these samples, and how many it counted.
    pub(super) fn fold(&self, unit: u32, samples: &IntervalSet) -> Option<(Digest, u64)> {
        let dataset = self.plan.unit(UnitId(unit))?;
        let mut evaluator = Accumulator::new(&dataset.eval());
        for index in samples.iter() {
            let key = (unit, index);
            let result = SampleResult::try_from(self.rest(key, 0, self.drawn(key))).ok()?;
            evaluator.observe(&sample(&self.shape, self.number, self.dataset(unit), index), &result);
        }
        let counts = evaluator.counts();
        Some((evaluator.digest(), counts.scored + counts.failed))
    }

    /// The samples that are not computed, for a leader that finds so much recorded.
    pub(super) fn duplicates(&self, recorded: &Recorded) -> Duplicates {
        let mut groups: BTreeMap<(usize, u32), Vec<(UnitId, u32)>> = BTreeMap::new();
        for (unit, index) in self.samples() {
            groups.entry(self.asked((unit, index))).or_default().push((UnitId(unit), index));
        }
        Duplicates::beside(groups.into_values(), recorded)
    }

    /// The tasks of a leader that finds so much recorded: runs of what is left.
    pub(super) fn tasks(
        &self,
        (recorded, duplicates): (&Recorded, &Duplicates),
        attempts: &BTreeMap<(UnitId, u32), Attempt>,
    ) -> Vec<TaskView> {
        let (mut views, mut left_out) = (Vec::new(), duplicates.by_unit());
        for (unit, samples) in self.units() {
            let id = UnitId(unit);
            let left = IntervalSet::range(0, samples).minus(&recorded.done(id));
            let left: Vec<u32> = left.minus(&left_out.remove(&id).unwrap_or_default()).iter().collect();
            for run in left.chunks(self.shape.task_samples.max(1) as usize) {
                let samples = IntervalSet::from_indices(run.iter().copied());
                let attempt = attempts.get(&task(id, &samples)).copied().unwrap_or_default();
                views.push(TaskView {
                    unit: id,
                    model: ModelId(self.model(unit)),
                    requires: Requires::Echo,
                    samples,
                    attempt,
                    sample_cost: 1,
                    // A sample's own characters, as the plan has them, cost 1.
                    shared_cost: self.shape.shared / CHARACTERS,
                });
            }
        }
        views
    }
}

fn generation(text: String) -> v1::Generation {
    v1::Generation { text, tokens: 1, finish: v1::Finish::Stop.into(), ..Default::default() }
}

/// Returns whether a recorded result says that its sample cannot be run.
pub(super) fn has_failed(result: &[u8]) -> bool {
    parse_result(result).is_some_and(|result| matches!(result.outcome, Parsed::Failed { .. }))
}

/// The way in which the numbers of a result are not finite.
pub(super) const NOT_FINITE: u64 = 2;

/// Makes of a result one that does not fit the plan.
pub(super) fn garble(result: &mut v1::SampleResult, way: u64) {
    let ppl = |nll_sum: Vec<f64>, tokens: Vec<u32>| v1::PplScores { nll_sum, tokens, ..Default::default() };
    result.outcome = match way % GARBLES {
        0 => Some(Outcome::Rolling(v1::RollingScore { sum: -1.0, tokens: 1 })),
        1 => Some(Outcome::Ppl(ppl(vec![], vec![]))),
        NOT_FINITE => Some(Outcome::Ppl(ppl(vec![f64::NAN], vec![1]))),
        // Not even a result.
        _ => Some(Outcome::Ppl(ppl(vec![1.0], vec![]))),
    };
}
