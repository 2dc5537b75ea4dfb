//! `predictions/` during a run: whole JSON of what is durable, whatever dies, and in the end the bytes of scoring.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Job, echo_job, held_job, wait_until};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const FILES: [&str; 2] = ["echo/choice_ppl.json", "echo/answer_gen.json"];

/// The predictions files that are there, each of them a whole document; those that lack samples lie in `tmp/`.
fn present(job: &Job) -> BTreeMap<String, Map<String, Value>> {
    let files = job.tree("predictions").into_iter().map(|(name, bytes)| (name.replace("/tmp/", "/"), bytes));
    let files = files.filter(|(name, _)| FILES.contains(&name.as_str()));
    files.map(|(name, bytes)| (name, serde_json::from_slice(&bytes).unwrap())).collect()
}

fn samples(files: &BTreeMap<String, Map<String, Value>>) -> usize {
    files.values().map(Map::len).sum()
}

fn undisturbed() -> Job {
    let job = echo_job("", "");
    job.run(&[]).expect(0);
    job
}

#[test]
#[ignore = "nightly"]
fn predictions_grow_while_the_run_goes_on() {
    let whole = undisturbed();
    let last = present(&whole);
    let job = held_job(20, "", "");
    let running = job.start(&["--max-num-workers", "1"]);
    let early = wait_until("some predictions are written", || {
        let files = present(&job);
        (samples(&files) == 20).then_some(files)
    });
    job.gate().admit(50);
    wait_until("more predictions are written", || (samples(&present(&job)) == 50).then_some(()));
    assert!(job.tree("results").is_empty(), "there are results before the end");
    for (name, records) in &early {
        for (index, record) in records {
            assert_eq!(Some(record), last[name].get(index), "{name} {index}");
        }
    }
    running.signal("KILL");
    running.finish();
    assert_eq!(samples(&present(&job)), 50, "what was written outlives the master");
    job.gate().open();
    job.run(&["-r"]).expect(0);
    assert_eq!(job.tree("predictions"), whole.tree("predictions"));
    assert_eq!(job.tree("results"), whole.tree("results"));
}

#[test]
#[ignore = "nightly"]
fn inference_alone_leaves_its_predictions() {
    let whole = undisturbed();
    let job = echo_job("", "");
    job.run(&["-m", "infer"]).expect(0);
    assert_eq!(job.tree("predictions"), whole.tree("predictions"));
    assert!(job.tree("results").is_empty());
}
