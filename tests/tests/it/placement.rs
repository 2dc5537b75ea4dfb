//! Placement of tasks: not on a worker that cannot load their model, on every worker that has nothing to do, and with no more
//! loads than pay.

use compass_tests::{Job, Worker, demo_model, told_address, worker_command};
use std::path::Path;

const DATASET: &str = r#"
[[dataset]]
abbr = "d"
reader_cfg = { input_columns = ["q", "a"], output_column = "label" }
[dataset.test]
path = "rows.jsonl"
[dataset.infer_cfg]
retriever = "zero"
inferencer = "ppl"
[dataset.infer_cfg.prompt_template]
0 = "{q} {a}"
1 = "{q} no {a}"
[dataset.eval_cfg]
evaluator = "acc"
"#;

fn job(model: &Path, models: u32, samples: u32, more: &str) -> Job {
    let models: String =
        (0..models).map(|at| format!("\n[[model]]\nabbr = \"m{at}\"\npath = \"{}\"\n", model.display())).collect();
    let job = Job::new(&format!("\n[master]\nlisten = \"127.0.0.1:0\"\n{models}{DATASET}{more}"));
    let rows: String =
        (0..samples).map(|at| format!("{{\"q\": \"once {at}\", \"a\": \"upon\", \"label\": {}}}\n", at % 2)).collect();
    job.write("rows.jsonl", &rows);
    job
}

/// A pool of local workers; of one that is `bad` the model's folder is missing.
fn pool(name: &str, bad: Option<&Path>) -> String {
    let paths = bad.map(|model| format!("paths = {{ \"{}\" = \"/nowhere\" }}\n", model.display())).unwrap_or_default();
    format!("[[pool]]\nname = \"{name}\"\nlauncher = \"local\"\nmax_num_workers = 1\n{paths}")
}

#[test]
fn one_node_without_the_weights_costs_no_sample() {
    let model = demo_model();
    let pools = [pool("bad", Some(&model)), pool("one", None), pool("two", None)].concat();
    for partitioner in ["{ type = \"size\", max_task_size = 40, gen_task_coef = 1 }", "{ type = \"balanced\" }"] {
        let more = format!("[infer]\npartitioner = {partitioner}\n[infer.runner]\nretry = 0\n{pools}");
        let job = job(&model, 1, 60, &more);
        let finished = job.run(&[]).expect(0);
        assert_eq!(job.result("m0", "d")["scored"], 60, "{}", finished.stderr);
        let facts = job.facts();
        let barred = facts["barred"].as_array().unwrap();
        // It may have come when all was done.
        for bar in barred {
            assert_eq!((bar["model"].as_str(), bar["kind"].as_str()), (Some("m0"), Some("missing")), "{bar}");
            assert!(bar["reason"].as_str().unwrap().contains("no such model directory"), "{bar}");
            assert!(finished.stderr.contains("cannot load m0 and gets no more of its tasks"), "{}", finished.stderr);
        }
        let of_bad = facts["workers"].as_object().unwrap().values().filter(|worker| worker["pool"] == "bad");
        assert!(of_bad.into_iter().all(|worker| worker["results"] == 0), "{facts}");
        assert_eq!(facts["retries"], 0, "{facts}");
    }
}

#[test]
#[ignore = "nightly"]
fn a_model_that_no_worker_can_load_fails_with_its_reason_at_once() {
    let model = demo_model();
    let pools = [pool("one", Some(&model)), pool("two", Some(&model))].concat();
    let job = job(&model, 1, 60, &pools);
    let finished = job.run(&[]).expect(1);
    let result = job.result("m0", "d");
    assert_eq!((&result["scored"], &result["failed"]), (&0.into(), &60.into()), "{result}");
    let reason = result["failed_samples"]["0"].as_str().unwrap();
    assert!(reason.contains("/nowhere: no such model directory") && reason.contains("worker"), "{reason}");
    assert!(finished.stdout.contains("withheld"), "{}", finished.stdout);
}

#[test]
#[ignore = "nightly"]
fn a_model_waits_as_long_as_it_is_told_for_a_worker_that_can_load_it() {
    let model = demo_model();
    let pool = pool("bad", Some(&model)).replace("\"local\"", "\"none\"").replace("max_num_workers = 1\n", "");
    let job = job(&model, 1, 6, &format!("[infer.runner]\nunschedulable_timeout = \"2s\"\n{pool}"));
    let master = job.start_logged(&[], "master.log");
    let mut command = worker_command(&told_address(&job, "master.log"), &job.path("home"));
    command.args(["--name", "lost", "--pool", "bad"]);
    let worker = Worker::start(command, job.path("worker.log"));
    assert_eq!(master.finish().code, Some(1), "{}", job.log("master.log"));
    drop(worker);
    let log = job.log("master.log");
    assert!(log.contains("no connected worker can load m0: its tasks fail in 2s"), "{log}");
    assert!(log.contains("no worker can load m0; its"), "{log}");
    assert_eq!(job.result("m0", "d")["failed"], 6);
}

#[test]
#[ignore = "nightly"]
fn many_models_on_two_slots_are_loaded_about_once_each() {
    let model = demo_model();
    let models = 12;
    let more = "[infer]\npartitioner = { type = \"size\", max_task_size = 20, gen_task_coef = 1 }\n\
                [infer.runner]\nmax_num_workers = 2\n";
    let job = job(&model, models, 40, more);
    let finished = job.run(&[]).expect(0);
    let loads = job.facts()["loads"].as_u64().unwrap();
    assert!((u64::from(models)..=u64::from(models) + 2).contains(&loads), "{loads} loads of {models} models");
    assert!(finished.stderr.contains(&format!("models: {models}, loaded {loads} times")), "{}", finished.stderr);
}

#[test]
#[ignore = "nightly"]
fn as_many_models_as_slots_are_loaded_about_once_each() {
    let more = "[infer]\npartitioner = { type = \"size\", max_task_size = 20, gen_task_coef = 1 }\n\
                [infer.runner]\nmax_num_workers = 2\n";
    let job = job(&demo_model(), 2, 400, more);
    job.run(&[]).expect(0);
    let facts = job.facts();
    assert!(facts["tasks"].as_u64().unwrap() >= 40, "{facts}");
    // A slot whose model has nothing left may help with the other at the end.
    assert!((2..=4).contains(&facts["loads"].as_u64().unwrap()), "{} loads of 2 models", facts["loads"]);
}
