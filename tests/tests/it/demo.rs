//! The demo as a new user runs it: a real model through the real chain, scores well above chance, and the same bytes
//! whatever the schedule and whatever is killed.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Job, children_of, is_alive, kill, wait_until};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

type Tree = BTreeMap<String, Vec<u8>>;

const DATASETS: [(&str, &str, f64); 3] =
    [("sums_gen", "score", 0.0), ("stories_ppl", "accuracy", 100.0 / 3.0), ("larger_ppl", "accuracy", 50.0)];

/// The demo's configuration with `more` on top, in a folder of its own.
fn demo(more: &str) -> Job {
    let demo = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../deploy/demo/eval.toml").canonicalize().unwrap();
    Job::new(&format!("include = [\"{}\"]\n\n[master]\n{more}\n", demo.display()))
}

fn outcome(job: &Job) -> (Tree, Tree, Vec<Vec<u8>>) {
    // The summary's files are named after the time; their bytes are not.
    (job.tree("results"), job.tree("predictions"), job.tree("summary").into_values().collect())
}

/// A run that nothing disturbed, made once.
fn undisturbed() -> &'static (Tree, Tree, Vec<Vec<u8>>) {
    static UNDISTURBED: OnceLock<(Tree, Tree, Vec<Vec<u8>>)> = OnceLock::new();
    UNDISTURBED.get_or_init(|| {
        let job = demo("");
        let run = job.run(&["--max-num-workers", "2"]).expect(0);
        assert!(
            run.stdout.contains("sums_gen") && run.stdout.contains("100.00\n") && !run.stdout.contains("240/240"),
            "{}",
            run.stdout
        );
        for (dataset, metric, chance) in DATASETS {
            let result = job.result("demo", dataset);
            let low = result["ci95"][metric][0].as_f64().unwrap();
            assert!(low >= (chance + 100.0) / 2.0, "{dataset}: the lower bound {low} is nearer to chance than to 100");
            assert!(result["scored"].as_u64().unwrap() >= 200, "{result}");
        }
        outcome(&job)
    })
}

#[test]
#[ignore = "nightly"]
fn the_bytes_are_the_same_for_every_number_of_workers_and_partitioner() {
    let settings = [
        ("1", "[infer.partitioner]\ntype = \"naive\""),
        ("2", "[infer.partitioner]\ntype = \"size\"\nmax_task_size = 150\ngen_task_coef = 2"),
        ("5", "[infer.partitioner]\ntype = \"num_worker\""),
        ("5", "[infer.partitioner]\ntype = \"balanced\""),
    ];
    for (workers, partitioner) in settings {
        let job = demo(partitioner);
        job.run(&["--max-num-workers", workers]).expect(0);
        assert!(outcome(&job) == *undisturbed(), "{workers} workers, {partitioner}");
    }
}

#[test]
fn kills_of_engine_agent_and_master_change_no_byte() {
    let expected = undisturbed();
    for victim in ["engine", "agent", "master"] {
        let mut job = demo("");
        job.hold_after(40);
        let master = job.start(&["--max-num-workers", "2"]);
        job.wait_until_durable();
        let agent = wait_until("the agent runs", || children_of(master.pid()).first().copied());
        match victim {
            "engine" => {
                let engine = wait_until("an engine runs", || children_of(agent).first().copied());
                kill(engine, "KILL");
                wait_until("the engine is gone", || (!is_alive(engine)).then_some(()));
                job.gate().open();
                master.finish().expect(0);
            }
            "agent" => {
                kill(agent, "KILL");
                wait_until("the agent is gone", || (!is_alive(agent)).then_some(()));
                job.gate().open();
                master.finish().expect(0);
            }
            _ => {
                master.signal("KILL");
                assert_eq!(master.finish().code, None);
                job.gate().open();
                job.run(&["--max-num-workers", "2", "-r"]).expect(0);
                let facts = job.facts();
                let resumed = facts["resumed_samples"].as_u64().unwrap();
                assert!((40..=41).contains(&resumed), "{facts}");
            }
        }
        assert!(outcome(&job) == *expected, "after the {victim} was killed");
    }
}
