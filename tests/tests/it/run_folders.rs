//! Run folders that two masters want, and ones in which a master was stopped before its plan was whole.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Finished, Job, SAMPLES, assert_same, echo_job, held_job, undisturbed, wait_until};
use std::fs;

/// Runs a master whose state lies elsewhere to its end.
fn run_elsewhere(job: &Job, arguments: &[&str]) -> Finished {
    let state = |name: &str| format!("state_dir = \"{}\"", job.path(name).display());
    let config = fs::read_to_string(job.path("eval.toml")).unwrap();
    job.write("elsewhere.toml", &config.replace(&state("state"), &state("elsewhere")));
    job.command_line(&[&["--config", "elsewhere.toml"], arguments].concat()).run()
}

#[test]
#[ignore = "nightly"]
fn a_second_master_with_another_state_dir_is_refused_until_the_first_is_gone() {
    let job = held_job(20, "", "");
    let first = job.start(&["--max-num-workers", "2"]);
    job.wait_until_durable();
    let second = run_elsewhere(&job, &["-r"]).expect(3);
    let said = format!("another master works on this run: process {} on ", first.pid());
    assert!(second.stderr.contains(&said), "{}", second.stderr);
    let states = (job.path("state"), job.path("elsewhere"));
    let said = format!("its state in {}; this one has its in {}", states.0.display(), states.1.display());
    assert!(second.stderr.contains(&said), "{}", second.stderr);
    first.signal("KILL");
    first.finish();
    job.gate().open();
    // The dead one left its record, and nothing that holds.
    run_elsewhere(&job, &["-r"]).expect(0);
    assert_same(&job, &undisturbed());
    assert!(job.facts()["resumed_samples"].as_u64().unwrap() > 0);
    assert_eq!(fs::read_dir(job.latest().join("ledger")).unwrap().count(), 2, "the refused one made no segment");
    job.run(&["-r"]).expect(0);
}

/// A run folder as a master leaves it that is killed over its plan.
fn half_planned(job: &Job, name: &str) -> std::path::PathBuf {
    let run = job.path("out").join(name);
    fs::create_dir_all(run.join("plan/parts")).unwrap();
    fs::create_dir_all(run.join("ledger")).unwrap();
    fs::write(run.join("plan/parts/0123.json"), "{").unwrap();
    fs::write(run.join("plan/job.json.0123-0.partial"), "{").unwrap();
    run
}

#[test]
#[ignore = "nightly"]
fn a_run_whose_plan_is_not_whole_is_planned_again_in_its_folder() {
    let expected = undisturbed();
    for name in ["latest", "20200101_000000"] {
        let job = echo_job("", "");
        let run = half_planned(&job, "20200101_000000");
        let scored = job.run(&["-m", "eval", "-r"]).expect(2);
        assert!(scored.stderr.contains("there is no run to resume"), "{}", scored.stderr);
        let resumed = job.run(&["-r", name]).expect(0);
        let said = "the plan of 20200101_000000 was not whole when its master was stopped: it was made again";
        assert!(resumed.stderr.contains(said), "{}", resumed.stderr);
        assert_eq!(job.runs(), std::slice::from_ref(&run));
        assert_same(&job, &expected);
        assert!(!run.join("plan/parts/0123.json").exists());
    }
}

#[test]
#[ignore = "nightly"]
fn a_run_that_was_to_keep_results_keeps_them_when_it_is_planned_again() {
    let job = echo_job("", "");
    job.run(&[]).expect(0);
    let run = half_planned(&job, "20990101_000000");
    let first = job.runs()[0].file_name().unwrap().to_string_lossy().into_owned();
    fs::write(run.join("plan/earlier"), first).unwrap();
    job.run(&["-r"]).expect(0);
    assert_same(&job, &undisturbed());
    assert_eq!((job.latest(), job.facts()["resumed_samples"].as_u64()), (run, Some(2 * u64::from(SAMPLES))));
}

#[test]
fn a_folder_that_a_master_is_planning_in_is_left_to_it() {
    let job = echo_job("", "");
    let run = half_planned(&job, "20200101_000000");
    // As a master does until its plan is whole.
    let owner = fs::File::create(run.join("owner.json")).unwrap();
    owner.lock().unwrap();
    let refused = job.run(&["-r"]).expect(3);
    assert!(refused.stderr.contains("another master works on this run"), "{}", refused.stderr);
    assert!(run.join("plan/parts/0123.json").exists(), "nothing of it was touched");
    drop(owner);
    job.run(&["-r"]).expect(0);
}

#[test]
#[ignore = "nightly"]
fn a_plan_is_whole_only_once_what_it_keeps_is_there() {
    // A master that is killed at any time leaves the kept results, or no plan.
    let job = echo_job("", "");
    job.run(&[]).expect(0);
    let config = fs::read_to_string(job.path("eval.toml")).unwrap();
    job.write("eval.toml", &config.replace("abbr = \"answer_gen\"", "abbr = \"answers\""));
    let master = job.start(&["-r"]);
    wait_until("the second plan is whole", || {
        (job.runs().len() == 2 && job.runs()[1].join("plan/job.json").exists()).then_some(())
    });
    assert!(job.runs()[1].join("ledger/00000000-imported").exists());
    master.finish().expect(0);
    assert_eq!(job.facts()["resumed_samples"], 2 * SAMPLES);
}
