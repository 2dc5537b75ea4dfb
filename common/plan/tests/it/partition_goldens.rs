//! Tasks as OpenCompass 0.5.4's partitioners cut them, for random jobs (`goldens/partitions.py` drew and ran them).

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_plan::partition::{PartitionStrategy, PartitionerKind, UnitSize, partition};
use compass_types::ids::UnitId;
use compass_types::intervals::IntervalSet;
use serde_json::{Value, json};

fn kind(case: &Value) -> PartitionerKind {
    let config = &case["config"];
    let number = |key: &str| config[key].as_u64().unwrap();
    let strategy = || match config["strategy"].as_str() {
        Some("split") => PartitionStrategy::Split,
        _ => PartitionStrategy::Heuristic,
    };
    match case["partitioner"].as_str().unwrap() {
        "size" => PartitionerKind::Size {
            max_task_size: number("max_task_size"),
            gen_task_coef: number("gen_task_coef"),
            strategy: strategy(),
        },
        "num_worker" => PartitionerKind::NumWorker {
            num_worker: number("num_worker") as u32,
            num_split: config["num_split"].as_u64().map(|split| split as u32),
            min_task_size: number("min_task_size") as u32,
            strategy: strategy(),
        },
        _ => PartitionerKind::Naive,
    }
}

fn units(case: &Value) -> Vec<UnitSize> {
    let (models, datasets) = (case["models"].as_array().unwrap(), case["datasets"].as_array().unwrap());
    let pairs = models.iter().enumerate().flat_map(|(model, _)| datasets.iter().map(move |dataset| (model, dataset)));
    let unit = |(at, (model, dataset)): (usize, (usize, &Value))| {
        let samples = dataset["rows"].as_u64().unwrap() as u32;
        let labels = match dataset["kind"].as_str().unwrap() {
            "ppl2" => Some(2),
            "ll3" => Some(3),
            "ppl4" => Some(4),
            _ => None,
        };
        UnitSize {
            id: UnitId(at as u32),
            model,
            abbr: dataset["abbr"].as_str().unwrap().into(),
            remaining: IntervalSet::range(0, samples),
            samples,
            factor_labels: labels,
            generates: labels.is_none(),
            characters: 0,
            prefix_runs: Vec::new(),
        }
    };
    pairs.enumerate().map(unit).collect()
}

#[test]
fn tasks_are_those_of_opencompass() {
    let text =
        std::fs::read_to_string(format!("{}/tests/goldens/partitions.json", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert!(cases.len() > 100);
    for (number, case) in cases.iter().enumerate() {
        let units = units(case);
        let tasks = partition(&kind(case), &units, 1).unwrap();
        let shown: Vec<Value> = tasks
            .iter()
            .map(|task| {
                let unit = |id: UnitId| &units[id.0 as usize];
                let model = &case["models"][unit(task.pieces[0].0).model];
                let pieces = task.pieces.iter().flat_map(|(id, set)| {
                    set.pairs().iter().map(|(first, end)| json!([unit(*id).abbr, first, end])).collect::<Vec<_>>()
                });
                json!([model, pieces.collect::<Vec<_>>()])
            })
            .collect();
        // Pieces of one data set in one task are one set here, wherever OpenCompass lists them: their order is not a promise.
        let sorted = |tasks: &[Value]| -> Vec<Value> {
            let mut tasks = tasks.to_vec();
            for task in &mut tasks {
                task[1].as_array_mut().unwrap().sort_by_key(|piece| (piece[0].to_string(), piece[1].as_u64()));
            }
            tasks
        };
        let expected = case["tasks"].as_array().unwrap();
        assert_eq!(
            sorted(&shown),
            joined(&sorted(expected)),
            "case {number}: {} {}",
            case["partitioner"],
            case["config"]
        );
    }
}

/// Neighbouring pieces of one data set as one.
fn joined(tasks: &[Value]) -> Vec<Value> {
    let join = |task: &Value| {
        let mut pieces: Vec<Value> = Vec::new();
        for piece in task[1].as_array().unwrap() {
            match pieces.last_mut() {
                Some(last) if last[0] == piece[0] && last[2] == piece[1] => last[2] = piece[2].clone(),
                _ => pieces.push(piece.clone()),
            }
        }
        json!([task[0], pieces])
    };
    tasks.iter().map(join).collect()
}
