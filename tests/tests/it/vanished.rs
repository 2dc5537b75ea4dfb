//! Run folders that lose what a run has written, during the run: nothing is acknowledged that is not there to be read.

use compass_tests::{Job, SAMPLES, assert_same, held_job, undisturbed, wait_until};
use std::path::PathBuf;

/// The segment of the leader that works now.
fn segment(job: &Job) -> PathBuf {
    wait_until("a segment exists", || {
        let entries = std::fs::read_dir(job.latest().join("ledger")).ok()?;
        entries.flatten().map(|entry| entry.path()).max()
    })
}

/// Runs a job whose ledger's segment is lost in `how`; returns the master's output, after exit code 3.
fn lose(job: &Job, how: impl FnOnce(&std::path::Path)) -> String {
    let master = job.start(&["--max-num-workers", "2"]);
    job.wait_until_durable();
    how(&segment(job));
    job.gate().open();
    master.finish().expect(3).stderr
}

#[test]
#[ignore = "nightly"]
fn a_run_folder_that_is_deleted_in_mid_run_ends_the_run() {
    let job = held_job(20, "", "");
    // Workers write their logs there meanwhile: what appears behind the deletion is deleted, too.
    let said = lose(&job, |_| {
        let run = job.latest();
        wait_until("the run folder is gone", || std::fs::remove_dir_all(&run).is_ok().then_some(()));
    });
    assert!(said.contains("is not there any more"), "{said}");
    assert!(said.contains("start it again with: compass-master --config eval.toml"), "{said}");
    assert!(!said.contains(" -r "), "there is nothing left to resume: {said}");
    job.run(&[]).expect(0);
    assert_same(&job, &undisturbed());
}

#[test]
fn a_segment_that_is_unlinked_in_mid_run_ends_the_run_and_its_samples_run_again() {
    let job = held_job(20, "", "");
    let said = lose(&job, |segment| std::fs::remove_file(segment).unwrap());
    assert!(said.contains("is not there any more"), "{said}");
    assert!(said.contains("resume with: compass-master --config eval.toml --max-num-workers 2 -r "), "{said}");
    job.run(&["-r"]).expect(0);
    assert_same(&job, &undisturbed());
    assert_eq!(job.facts()["resumed_samples"], 0, "nothing of the lost segment counts");
    assert_eq!(job.facts()["recorded_samples"], 2 * SAMPLES);
}

#[test]
#[ignore = "nightly"]
fn a_segment_that_another_file_replaces_in_mid_run_ends_the_run() {
    let job = held_job(20, "", "");
    let said = lose(&job, |segment| {
        let copy = segment.with_file_name("copy");
        std::fs::copy(segment, &copy).unwrap();
        std::fs::rename(&copy, segment).unwrap();
    });
    assert!(said.contains("was replaced by another file"), "{said}");
    assert!(said.contains("resume with: compass-master --config eval.toml --max-num-workers 2 -r "), "{said}");
}

#[test]
#[ignore = "nightly"]
fn a_run_folder_that_is_moved_in_mid_run_ends_the_run_and_resumes_where_it_is() {
    let job = held_job(20, "", "");
    let (moved, run) = (job.path("out/20300101_000000"), std::cell::OnceCell::new());
    let said = lose(&job, |_| {
        run.set(job.latest()).unwrap();
        std::fs::rename(job.latest(), &moved).unwrap();
    });
    assert!(said.contains("is not there any more"), "{said}");
    let left = run.get().unwrap();
    if left.exists() {
        std::fs::remove_dir_all(left).unwrap();
    }
    job.run(&["-r"]).expect(0);
    assert_same(&job, &undisturbed());
    assert!(job.facts()["resumed_samples"].as_u64().unwrap() > 0);
}
