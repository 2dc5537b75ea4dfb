//! The board: an entry for every model of every run, a cell for every data set.

use super::entry::{Cell, Entry};
use super::number::number;
use super::tiers::tiers;
use crate::observed::{BITS_PER_BYTE, UnitData};
use crate::run::RunData;
use crate::values::{Direction, metrics};
use std::collections::BTreeMap;

/// A leaderboard.
#[derive(Clone, Debug)]
pub struct Board {
    /// By step where every entry has one, else the best first.
    pub entries: Vec<Entry>,
    /// In the order of the first run that has each.
    pub datasets: Vec<String>,
    /// The data sets that are averaged.
    pub averaged: Vec<String>,
    pub notes: Vec<String>,
}

impl Board {
    /// Returns whether it is a curve.
    pub fn has_steps(&self) -> bool {
        !self.entries.is_empty() && self.entries.iter().all(|entry| entry.step.is_some())
    }
}

/// Makes the board of runs. `step` reads the step of a model out of its name or its run's.
pub fn board(runs: &[RunData], step: &dyn Fn(&str) -> Option<u64>) -> Board {
    let mut datasets: Vec<String> = Vec::new();
    let mut entries: Vec<(Entry, usize)> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        for model in run.models.keys() {
            let units: Vec<&UnitData> = run.units.iter().filter(|unit| unit.model == *model).collect();
            for unit in &units {
                if !datasets.contains(&unit.dataset) {
                    datasets.push(unit.dataset.clone());
                }
            }
            let is_alone = runs.iter().filter(|other| other.models.contains_key(model)).count() == 1;
            let path = run.models.get(model).and_then(|facts| facts.get("path"));
            let found = step(model).or_else(|| path.and_then(|path| step(path))).or_else(|| step(&run.name));
            let entry = Entry {
                label: if is_alone { model.clone() } else { format!("{} {model}", run.name) },
                run: run.name.clone(),
                model: model.clone(),
                step: found,
                cells: units.iter().map(|unit| (unit.dataset.clone(), cells(unit))).collect(),
                average: None,
                tier: None,
            };
            entries.push((entry, at));
        }
    }
    let averaged = averaged(&datasets, &entries);
    let mut notes = Vec::new();
    for (entry, _) in &mut entries {
        let values: Vec<f64> = averaged.iter().filter_map(|name| Some(entry.cells.get(name)?.first()?.value)).collect();
        entry.average = (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    }
    if averaged.len() < datasets.len() && !averaged.is_empty() {
        notes.push(format!(
            "the average is of the {} of {} data sets whose percentages every entry has",
            averaged.len(),
            datasets.len()
        ));
    }
    entries.sort_by(|(a, _), (b, _)| b.average.unwrap_or(f64::MIN).total_cmp(&a.average.unwrap_or(f64::MIN)));
    notes.extend(tiers(&mut entries, runs, &averaged));
    let mut board = Board { entries: entries.into_iter().map(|(entry, _)| entry).collect(), datasets, averaged, notes };
    if board.has_steps() {
        board.entries.sort_by(|a, b| (a.step, &a.label).cmp(&(b.step, &b.label)));
        let shared = shared_steps(&board.entries);
        board.notes.extend(shared);
    }
    board
}

/// Steps, and entries of one, that a note names.
const NAMED: usize = 4;

/// Returns the note where several entries have one step: a curve has one point for a step.
fn shared_steps(entries: &[Entry]) -> Option<String> {
    let mut by_step: BTreeMap<u64, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        by_step.entry(entry.step?).or_default().push(entry);
    }
    by_step.retain(|_, alike| alike.len() > 1);
    let models_differ = |alike: &Vec<&Entry>| alike.iter().any(|entry| entry.model != alike[0].model);
    let why = match by_step.values().any(models_differ) {
        true => " (an expression with `(\\d+)` takes all digits of a step)",
        false => "",
    };
    let listed = |names: Vec<String>, all: usize, between: &str| {
        let more = if all > NAMED { format!("{between}and {} more", all - NAMED) } else { String::new() };
        names.join(between) + &more
    };
    let of_step = |(step, alike): (&u64, &Vec<&Entry>)| {
        let names = alike.iter().take(NAMED).map(|entry| entry.label.clone()).collect();
        format!("step {step} of {}", listed(names, alike.len(), ", "))
    };
    let steps: Vec<String> = by_step.iter().take(NAMED).map(of_step).collect();
    let said = listed(steps, by_step.len(), "; ");
    (!by_step.is_empty())
        .then(|| format!("several entries have one step, and curves and trends have the first of them{why}: {said}"))
}

fn cells(unit: &UnitData) -> Vec<Cell> {
    let all = metrics(unit);
    let wanted = all.iter().enumerate().filter(|(at, values)| *at == 0 || values.name == BITS_PER_BYTE);
    let cell = |(_, values): (usize, &crate::values::Values<'_>)| {
        let found = number(unit, values)?;
        Some(Cell {
            metric: values.name.clone(),
            value: found.value,
            stderr: found.stderr,
            interval: found.interval,
            samples: found.samples,
            is_percent: crate::compare::is_percent(values),
            direction: values.direction,
        })
    };
    wanted.filter_map(cell).collect()
}

/// Data sets of which every entry has a percentage that is better when it is higher.
fn averaged(datasets: &[String], entries: &[(Entry, usize)]) -> Vec<String> {
    let has = |entry: &Entry, name: &str| {
        let first = entry.cells.get(name).and_then(|cells| cells.first());
        first.is_some_and(|cell| cell.is_percent && cell.direction == Direction::Higher)
    };
    datasets.iter().filter(|name| entries.iter().all(|(entry, _)| has(entry, name))).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(model: &str, step: u64) -> Entry {
        Entry {
            label: format!("out/r {model}"),
            run: "out/r".into(),
            model: model.into(),
            step: Some(step),
            cells: BTreeMap::new(),
            average: None,
            tier: None,
        }
    }

    #[test]
    fn entries_of_one_step_are_named() {
        assert_eq!(shared_steps(&[entry("step_100", 100), entry("step_1000", 1_000)]), None);
        let said = shared_steps(&[entry("step_100", 1), entry("step_1000", 1), entry("step_200", 2)]).unwrap();
        assert!(said.ends_with(": step 1 of out/r step_100, out/r step_1000"), "{said}");
        assert!(said.contains("takes all digits of a step"), "{said}");
        // The same checkpoint ran several times: the expression is right.
        let again = vec![entry("step_100", 100); 6];
        let said = shared_steps(&again).unwrap();
        assert!(said.ends_with("out/r step_100, and 2 more") && !said.contains("digits"), "{said}");
    }
}
