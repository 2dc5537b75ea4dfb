//! `compass-worker --once`: one task of a run folder without a master, found by the numbers that the master prints.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Job, SAMPLES, echo_job, program};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

fn once(run: &Path, task: &str, more: &[&str]) -> Output {
    let mut command = Command::new(program("compass-worker"));
    command.args(["--once", "--device", "cpu", "--plan"]).arg(run).args(["--task", task]).args(more);
    command.output().unwrap()
}

fn lines(bytes: &[u8]) -> Vec<Map<String, Value>> {
    String::from_utf8_lossy(bytes).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every file of the run, with its bytes.
fn whole(job: &Job) -> BTreeMap<String, Vec<u8>> {
    job.tree("")
}

#[test]
fn every_task_that_the_master_lists_gives_what_the_run_recorded() {
    let job = echo_job("", "[infer.partitioner]\ntype = \"size\"\nmax_task_size = 60\ngen_task_coef = 3\n");
    job.run(&[]).expect(0);
    let run = job.latest();
    let before = whole(&job);
    let listing = job.run(&["-r", "--dry-run"]).expect(0).stdout;
    let numbers: Vec<&str> = listing.lines().filter_map(|line| line.strip_prefix("task ")?.split(':').next()).collect();
    assert!(numbers.len() > 3 && listing.contains("(done)"), "{listing}");
    assert_eq!(whole(&job), before, "a dry run writes nothing");
    let mut seen = 0;
    for number in numbers {
        let output = once(&run, number, &[]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        for mut line in lines(&output.stdout) {
            let name = |value: Option<Value>| value.unwrap().as_str().unwrap().to_owned();
            let (model, dataset) = (name(line.shift_remove("model")), name(line.shift_remove("dataset")));
            let index = line.shift_remove("index").unwrap();
            assert_eq!(job.predictions(&model, &dataset)[index.to_string()], Value::Object(line), "{dataset} {index}");
            seen += 1;
        }
    }
    assert_eq!(seen, 2 * SAMPLES);
    assert_eq!(whole(&job), before, "the run folder stays as it was");
}

#[test]
#[ignore = "nightly"]
fn samples_are_named_as_they_are_listed_and_written_where_it_is_said() {
    let job = echo_job("", "");
    job.run(&[]).expect(0);
    let out = job.path("r.jsonl");
    let output = once(&job.latest(), "echo/answer_gen[3..5,9]", &["--out", out.to_str().unwrap()]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{}", said(&output));
    let indices: Vec<Value> = lines(&std::fs::read(out).unwrap()).iter().map(|line| line["index"].clone()).collect();
    assert_eq!(indices, [3, 4, 9]);
    assert!(said(&output).contains("3 samples scored, 0 failed"), "{}", said(&output));
}

#[test]
#[ignore = "nightly"]
fn a_sample_that_kills_its_engine_is_found_and_the_rest_gets_through() {
    let mut job = echo_job("", "[infer.partitioner]\ntype = \"naive\"\n");
    job.set_env("COMPASS_FAULT_DIE_ON", "What is 57?");
    job.run(&[]).expect(1);
    let listing = job.run(&["-r", "--dry-run"]).expect(0).stdout;
    let guilty = listing.lines().find(|line| line.contains("echo/answer_gen") && line.contains("1 of them failed"));
    let number = guilty.unwrap_or_else(|| panic!("{listing}"))["task ".len()..].split(':').next().unwrap();
    let mut command = Command::new(program("worker-with-faults"));
    command.args(["--once", "--task", number, "--plan"]).arg(job.latest());
    let output = command.env("COMPASS_FAULT_DIE_ON", "What is 57?").output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let lines = lines(&output.stdout);
    assert_eq!(lines.len(), SAMPLES as usize);
    let failed: Vec<&Map<String, Value>> = lines.iter().filter(|line| line.contains_key("error")).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["index"], 57);
    assert!(failed[0]["error"].as_str().unwrap().contains("died on this sample twice"), "{:?}", failed[0]);
}

#[test]
#[ignore = "nightly"]
fn what_is_wrong_is_said_in_a_line_and_nothing_is_started() {
    let job = echo_job("", "");
    job.run(&[]).expect(0);
    let run = job.latest();
    let refused = |run: &Path, task: &str, part: &str| {
        let output = once(run, task, &[]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{task}: {}", said(&output));
        assert!(said(&output).contains(part), "{task}: {}", said(&output));
    };
    refused(&job.path("nowhere"), "0", "is not a run folder");
    refused(&run, "4711", "there is no task 4711");
    refused(&run, "echo/none[0..1]", "the plan has no `echo/none`; it has echo/choice_ppl, echo/answer_gen");
    refused(&run, "echo/answer_gen[119..121]", "has 120 samples, from 0; 120 is not one of them");
    let parts: Vec<_> = std::fs::read_dir(run.join("plan/parts")).unwrap().map(|part| part.unwrap().path()).collect();
    let intact: Vec<Vec<u8>> = parts.iter().map(|part| std::fs::read(part).unwrap()).collect();
    for part in &parts {
        std::fs::write(part, "{}").unwrap();
    }
    refused(&run, "0", "its content does not match its name");
    for (part, bytes) in parts.iter().zip(intact) {
        std::fs::write(part, bytes).unwrap();
    }
    std::fs::write(run.join("logs/tasks.json"), "{\"plan\":").unwrap();
    refused(&run, "0", "the plan is damaged");
    std::fs::remove_file(run.join("logs/tasks.json")).unwrap();
    refused(&run, "0", "--task 'model/dataset[0..5]'");
    assert_eq!(once(&run, "echo/answer_gen[0]", &[]).status.code(), Some(0), "samples need no list");
    std::fs::write(run.join("plan/job.json"), "{}").unwrap();
    refused(&run, "0", "the run's plan has format 0, this worker reads format");
}
