//! The page of a run that ended under another master: from its record and its table.

use super::score::latest_summary;
use compass_common::regular_file;
use compass_progress::{LiveMetric, RunFacts, RunView};
use compass_run_folder::RunFolder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// The last that is known of the run in this folder; `None` where it has no record. Waits for the disk.
pub fn recalled(root: &Path) -> Option<RunView> {
    let record = regular_file::read(&RunFolder::at(root)?.logs().join("run.json"), regular_file::LARGE).ok()?;
    let facts: RunFacts = serde_json::from_slice(&record).ok()?;
    let mut view = facts.view(|_| false);
    // Results by minute are not recorded.
    view.workers.iter_mut().for_each(|worker| worker.by_minute.clear());
    view.live = latest_summary(root).map(|summary| scores(&summary.json())).unwrap_or_default();
    Some(view)
}

/// The first metric of each data set under each model.
fn scores(lines: &[Value]) -> Vec<LiveMetric> {
    let mut seen = BTreeSet::new();
    let text = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    let metric = |line: &Value| LiveMetric {
        model: text(line, "model"),
        dataset: text(line, "dataset"),
        recorded: line["scored"].as_u64().unwrap_or(0) + line["failed"].as_u64().unwrap_or(0),
        expected: line["expected"].as_u64().unwrap_or(0),
        scored: line["scored"].as_u64().unwrap_or(0),
        failed: line["failed"].as_u64().unwrap_or(0),
        metric: text(line, "metric"),
        value: line["value"].as_f64(),
        ..LiveMetric::default()
    };
    let with_interval = |line: &Value| {
        let ends = (line["ci95"][0].as_f64(), line["ci95"][1].as_f64());
        match ends {
            (Some(low), Some(high)) => LiveMetric { interval: Some((low, high)), ..metric(line) },
            // A group's number is no share of its samples.
            _ if line["version"] == "-" => metric(line),
            _ => metric(line).with_interval(),
        }
    };
    let metrics = lines.iter().map(with_interval);
    let firsts = metrics.filter(|metric| seen.insert((metric.model.clone(), metric.dataset.clone())));
    firsts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plans::planned;
    use compass_progress::WorkerFacts;
    use compass_run_folder::{write_atomically, write_plan};

    #[test]
    fn a_run_that_ended_is_shown_by_its_record_and_its_table() {
        let work_dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(work_dir.path(), "run").unwrap();
        assert_eq!(recalled(folder.root()), None, "it has no plan");
        write_plan(&folder, &planned()).unwrap();
        assert_eq!(recalled(folder.root()), None, "it has no record");
        let worker = WorkerFacts { results: 2, busy_seconds: 3.0, slots: 1, ..WorkerFacts::default() };
        let facts = RunFacts {
            plan: "p".into(),
            seconds: 12.5,
            recorded_samples: 2,
            expected_samples: 2,
            workers: [("w".to_owned(), worker)].into(),
            ..RunFacts::default()
        };
        write_atomically(&folder.logs().join("run.json"), &serde_json::to_vec(&facts).unwrap()).unwrap();
        let table = "dataset,version,metric,mode,model,value,expected,scored,failed,reason\n\
                     d,000000,accuracy,ppl,m,50,2,2,0,\nd,000000,other,ppl,m,7,2,2,0,\n";
        write_atomically(&folder.summary().join("long_20260102_030405.csv"), table.as_bytes()).unwrap();
        let view = recalled(folder.root()).unwrap();
        assert_eq!((view.seconds, view.recorded_samples, view.workers[0].results), (12.5, 2, 2));
        let [metric] = view.live.as_slice() else { panic!("{:?}", view.live) };
        assert_eq!((metric.value, metric.scored, metric.metric.as_str()), (Some(50.0), 2, "accuracy"));
        assert!(metric.interval.is_some(), "{metric:?}");
        let table = "dataset,version,metric,mode,model,value,expected,scored,failed,reason,stderr,low,high\n\
                     g,-,naive_average,ppl,m,50,2,2,0,,5,41,60\nh,-,naive_average,ppl,m,50,2,2,0,,,,\n";
        write_atomically(&folder.summary().join("long_20260102_030406.csv"), table.as_bytes()).unwrap();
        let live = recalled(folder.root()).unwrap().live;
        let intervals: Vec<_> = live.iter().map(|metric| metric.interval).collect();
        assert_eq!(intervals, [Some((41.0, 60.0)), None], "a group has that of its row, or none");
    }
}
