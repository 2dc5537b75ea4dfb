//! OpenCompass's own tables: every row of `summary.csv` from the numbers in `results/`.

use super::Summary;
use super::table::tests::{cell, plan_of};
use crate::evaluator::fixture::dataset;
use compass_plan::{GenSpec, InferSpec};
use serde_json::Value;

#[test]
fn the_tables_of_opencompass() {
    let Some(root) = compass_needs::shared("golden/opencompass") else { return };
    let mut tables = 0;
    for run in std::fs::read_dir(&root).unwrap() {
        let run = run.unwrap().path();
        // HumanEval was not evaluated there: it has no table.
        let Ok(table) = std::fs::read_to_string(run.join("summary.csv")) else { continue };
        let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
        let model = rows[0][4];
        let mut datasets = Vec::new();
        let mut cells = Vec::new();
        for row in &rows[1..] {
            let infer = match row[3] {
                "ppl" => InferSpec::Ppl,
                "ll" => InferSpec::Loglikelihood,
                "gen" => InferSpec::Gen(GenSpec::default()),
                mode => panic!("{mode}"),
            };
            let mut plan = dataset(row[0], infer, 1);
            plan.version = row[1].into();
            datasets.push(plan);
            let file = run.join("results").join(format!("{}.json", row[0]));
            let results: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
            let numbers = results.as_object().unwrap().iter().filter_map(|(name, value)| Some((name, value.as_f64()?)));
            let numbers: Vec<(&str, f64)> = numbers.map(|(name, value)| (name.as_str(), value)).collect();
            cells.push(cell(&numbers, 1, 0));
        }
        let plan = plan_of(model, datasets);
        let cells = plan.units().map(|unit| unit.id).zip(cells);
        let ours = Summary::new(&plan, cells.collect::<Vec<_>>()).with_groups(&[], None).csv();
        let columns = |line: &str| line.split(',').take(5).collect::<Vec<_>>().join(",") + "\n";
        // The fixture's evaluator has a metric of its own, which a result without it does not hold.
        let shown = ours.lines().filter(|line| !line.contains("is not a metric")).map(columns);
        assert_eq!(shown.collect::<String>(), table, "{}", run.display());
        tables += 1;
    }
    assert!(tables > 0, "{} holds no runs", root.display());
}
