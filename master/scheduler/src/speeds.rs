//! Speeds of the workers by model, and corrections of how much more or less a unit's samples cost than was thought: both
//! learnt from what workers hand in.
//!
//! A worker that was slow may have had the expensive units, and a unit that took long the slow workers. What is kept is
//! therefore who took how long for what, and the two are told apart by turns: speeds from corrected costs with every
//! observation, corrections from speeds with every [`Speeds::refine`].
//!
//! Invariants: only the product of the two counts, so that the corrections of a model are 1 on average: what a unit that no
//! worker has sent results of is taken for; what was seen of a worker outlives its going.

use super::worker_ids::WorkerIx;
use compass_types::ids::{ModelId, UnitId};
use std::collections::BTreeMap;

/// Observed time of a worker, in milliseconds, after which what was seen counts half: speeds change with the neighbours.
const HORIZON_MS: f64 = 300_000.0;
/// A unit's estimate is not moved further than this, nor before so many milliseconds were seen.
const MOST: f64 = 20.0;
const LEAST_SEEN_MS: f64 = 1000.0;
/// Workers whose speeds are refined with every tick; of more, with every second, third one.
const REFINED_EACH_TICK: usize = 2_000;
/// Units that are remembered of a worker.
const MOST_UNITS: usize = 256;

/// Cost as it was thought to be, and the milliseconds that it took.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    cost: f64,
    ms: f64,
}

/// Time that a worker was seen to take for the units of a model.
#[derive(Clone, Debug, Default)]
struct Seen {
    units: Vec<(UnitId, Taken)>,
    ms: f64,
    /// Corrected cost per millisecond.
    rate: Option<f64>,
}

#[derive(Clone, Debug, Default)]
struct OfModel {
    /// Position among `workers`, by number of the worker; one that has gone is remembered.
    places: Vec<Option<u32>>,
    /// In the order in which they were first seen.
    workers: Vec<Seen>,
    corrections: BTreeMap<UnitId, f64>,
    /// Corrected, of all workers.
    all: Taken,
    /// Set if anything was seen since the corrections were refined.
    news: bool,
}

impl Taken {
    fn rate(self) -> Option<f64> {
        (self.ms > 0.0 && self.cost > 0.0).then(|| self.cost / self.ms)
    }

    fn add(&mut self, other: Self) {
        self.cost += other.cost;
        self.ms += other.ms;
    }

    fn halve(&mut self) {
        (self.cost, self.ms) = (self.cost / 2.0, self.ms / 2.0);
    }
}

fn correction(corrections: &BTreeMap<UnitId, f64>, unit: UnitId) -> f64 {
    corrections.get(&unit).copied().unwrap_or(1.0)
}

impl Seen {
    fn observe(&mut self, unit: UnitId, taken: Taken) {
        match self.units.iter_mut().find(|(known, _)| *known == unit) {
            Some((_, known)) => known.add(taken),
            None => {
                if self.units.len() == MOST_UNITS {
                    self.units.remove(0);
                }
                self.units.push((unit, taken));
            }
        }
        self.ms += taken.ms;
        if self.ms > HORIZON_MS {
            self.ms /= 2.0;
            self.units.iter_mut().for_each(|(_, taken)| taken.halve());
        }
    }

    /// All that was seen, at corrected costs.
    fn corrected(&self, corrections: &BTreeMap<UnitId, f64>) -> Taken {
        let mut all = Taken::default();
        for (unit, taken) in &self.units {
            all.add(Taken { cost: taken.cost * correction(corrections, *unit), ms: taken.ms });
        }
        all
    }
}

impl OfModel {
    fn of(&self, worker: WorkerIx) -> Option<&Seen> {
        let place = self.places.get(worker.0 as usize).copied().flatten()?;
        self.workers.get(place as usize)
    }

    fn refine(&mut self) {
        let mut units: BTreeMap<UnitId, (Taken, f64)> = BTreeMap::new();
        for seen in &self.workers {
            let Some(rate) = seen.rate else { continue };
            for (unit, taken) in &seen.units {
                let (all, expected) = units.entry(*unit).or_default();
                all.add(*taken);
                *expected += taken.cost / rate;
            }
        }
        units.retain(|_, (taken, expected)| taken.ms >= LEAST_SEEN_MS && *expected > 0.0);
        let (mut cost, mut corrected) = (0.0, 0.0);
        for (taken, expected) in units.values() {
            cost += taken.cost;
            corrected += taken.cost * taken.ms / expected;
        }
        if corrected > 0.0 {
            let scale = cost / corrected;
            let correction = |(taken, expected): (Taken, f64)| (taken.ms / expected * scale).clamp(1.0 / MOST, MOST);
            self.corrections = units.into_iter().map(|(unit, seen)| (unit, correction(seen))).collect();
        }
        self.all = Taken::default();
        for seen in &mut self.workers {
            let taken = seen.corrected(&self.corrections);
            seen.rate = taken.rate();
            self.all.add(taken);
        }
        self.news = false;
    }
}

/// Cost per millisecond by worker and model, and the correction of each unit's cost.
#[derive(Clone, Debug, Default)]
pub(super) struct Speeds {
    models: BTreeMap<ModelId, OfModel>,
    /// Time that models took to load: milliseconds of all loads, and their number.
    loads: BTreeMap<ModelId, (f64, f64)>,
    /// Ticks until speeds and corrections are told apart again.
    ticks: usize,
}

impl Speeds {
    /// A worker got through `cost` of a unit in `ms`.
    pub(super) fn observe(&mut self, worker: WorkerIx, unit: UnitId, model: ModelId, cost: u64, ms: u64) {
        let of_model = self.models.entry(model).or_default();
        let taken = Taken { cost: cost as f64, ms: ms as f64 };
        let factor = correction(&of_model.corrections, unit);
        of_model.all.add(Taken { cost: taken.cost * factor, ms: taken.ms });
        of_model.news = true;
        let at = worker.0 as usize;
        if of_model.places.len() <= at {
            of_model.places.resize(at + 1, None);
        }
        let place = *of_model.places[at].get_or_insert_with(|| {
            of_model.workers.push(Seen::default());
            of_model.workers.len() as u32 - 1
        });
        if let Some(seen) = of_model.workers.get_mut(place as usize) {
            seen.observe(unit, taken);
            seen.rate = seen.corrected(&of_model.corrections).rate();
        }
    }

    /// A model was loaded in `ms`.
    pub(super) fn loaded(&mut self, model: ModelId, ms: u64) {
        let (all, loads) = self.loads.entry(model).or_default();
        (*all, *loads) = (*all + ms as f64, *loads + 1.0);
    }

    /// Returns the average time that a model takes to load, in milliseconds; `None` before it was loaded.
    pub(super) fn load_ms(&self, model: ModelId) -> Option<f64> {
        self.loads.get(&model).map(|(all, loads)| all / loads)
    }

    /// Returns whether the worker got through some of the unit, as far as is remembered.
    pub(super) fn has_seen(&self, worker: WorkerIx, model: ModelId, unit: UnitId) -> bool {
        let seen = self.models.get(&model).and_then(|of_model| of_model.of(worker));
        seen.is_some_and(|seen| seen.units.iter().any(|(known, _)| *known == unit))
    }

    /// Looks at what all workers were seen to take: the more are attached, the less often.
    pub(super) fn tick(&mut self, workers: usize) {
        self.ticks = self.ticks.saturating_sub(1);
        if self.ticks == 0 {
            self.ticks = workers / REFINED_EACH_TICK;
            self.refine();
        }
    }

    /// Tells expensive units and slow workers apart a little better.
    fn refine(&mut self) {
        self.models.values_mut().filter(|of_model| of_model.news).for_each(OfModel::refine);
    }

    /// Cost of a sample of the unit, as a multiple of what was thought.
    pub(super) fn correction(&self, model: ModelId, unit: UnitId) -> f64 {
        self.models.get(&model).map_or(1.0, |of_model| correction(&of_model.corrections, unit))
    }

    /// Returns the cost that workers get through in a millisecond on average.
    pub(super) fn average(&self, model: ModelId) -> Option<f64> {
        self.models.get(&model)?.all.rate()
    }

    /// From how many milliseconds the worker's own speed with a model was learnt.
    pub(super) fn seen_ms(&self, worker: WorkerIx, model: ModelId) -> f64 {
        let seen = self.models.get(&model).and_then(|of_model| of_model.of(worker));
        seen.map_or(0.0, |seen| seen.ms)
    }

    /// Returns the cost that the worker gets through in a millisecond; for one that was not seen with this model yet, the
    /// average of all.
    pub(super) fn rate(&self, worker: WorkerIx, model: ModelId) -> Option<f64> {
        let of_model = self.models.get(&model)?;
        let own = of_model.of(worker).and_then(|seen| seen.rate);
        own.or_else(|| of_model.all.rate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True speeds and true costs; every worker has other units than the next.
    #[test]
    fn slow_workers_and_dear_units_are_told_apart() {
        let (speeds, costs) = ([1.0, 2.0, 4.0], [0.4, 1.0, 2.5]);
        let mut learnt = Speeds::default();
        let worker = |at: usize| WorkerIx(at as u32);
        for round in 0..60 {
            for (at, speed) in speeds.iter().enumerate() {
                let unit = (at + round / 20) % costs.len();
                let ms = 16.0 * 1000.0 * costs[unit] / speed;
                learnt.observe(worker(at), UnitId(unit as u32), ModelId(0), 16, ms as u64);
            }
            learnt.refine();
        }
        let rate = |at: usize| learnt.rate(worker(at), ModelId(0)).unwrap();
        assert!((rate(1) / rate(0) - 2.0).abs() < 0.1 && (rate(2) / rate(0) - 4.0).abs() < 0.2, "{learnt:?}");
        let correction = |unit: usize| learnt.correction(ModelId(0), UnitId(unit as u32));
        assert!((correction(2) / correction(0) - 2.5 / 0.4).abs() < 0.3, "{learnt:?}");
        assert_eq!(learnt.correction(ModelId(0), UnitId(9)), 1.0, "what was never measured costs what was estimated");
        let new = learnt.rate(WorkerIx(9), ModelId(0)).unwrap();
        assert!(rate(0) < new && new < rate(2), "{new} belongs to another worker");
    }
}
