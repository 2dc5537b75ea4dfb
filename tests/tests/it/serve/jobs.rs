//! Jobs side by side, one after the other, and what is left of them.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::served::{Served, accepted, expected, named, two_jobs_with_a_slot_each};
use compass_tests::{Finished, Job, echo_job, wait_until};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn two_jobs_run_side_by_side_and_each_as_if_it_were_alone() {
    let served = Served::new(2).held(0);
    let server = served.start();
    let (a, b) = two_jobs_with_a_slot_each(&served);
    served.job.gate().open();
    for job in [&a, &b] {
        assert_eq!(served.wait_for_end(job)["exit_code"], 0);
    }
    let expected = expected();
    served.assert_same("a", "first", &expected);
    served.assert_same("b", "second", &expected);
    for name in ["a", "b"] {
        let facts = fs::read(served.run(name).join("logs/run.json")).unwrap();
        let facts: Value = serde_json::from_slice(&facts).unwrap();
        assert_eq!((&facts["violations"], &facts["divergences"]), (&0.into(), &0.into()), "{facts}");
        // A worker that moved lost nothing that it had computed.
        assert_eq!(facts["repeats"], 0, "{facts}");
    }
    server.signal("TERM");
    server.finish().expect(143);
}

#[test]
#[ignore = "nightly"]
fn a_model_runs_in_the_pools_of_the_server_that_it_names() {
    let pools = "[[pool]]\nname = \"left\"\nlauncher = \"local\"\nmax_num_workers = 1\n\
                 [[pool]]\nname = \"right\"\nlabels = [\"big\"]\nlauncher = \"local\"\nmax_num_workers = 1\n";
    let served = Served { job: echo_job("", pools), log: "serve.log" };
    let server = served.start();
    // The pools are the server's: the job's own file defines none.
    let bound = named("bound", "").replace("type = \"echo\"", "type = \"echo\"\npools = [\"big\"]");
    let lost = served.submit("c", &bound.replace("\"big\"", "\"bigg\""), &[]);
    assert!(
        lost.stderr.contains("model `bound` wants the pool `bigg`, and this server has the pools `left`, `right`"),
        "{}",
        lost.stderr
    );
    assert_eq!(lost.code, Some(2), "no other try would find another answer");
    let a = accepted(&served.submit("a", &bound, &[]).expect(0)).0;
    let b = accepted(&served.submit("b", &named("free", ""), &[]).expect(0)).0;
    for job in [&a, &b] {
        assert_eq!(served.wait_for_end(job)["exit_code"], 0);
    }
    let expected = expected();
    served.assert_same("a", "bound", &expected);
    served.assert_same("b", "free", &expected);
    let facts = fs::read(served.run("a").join("logs/run.json")).unwrap();
    let facts: Value = serde_json::from_slice(&facts).unwrap();
    let workers = facts["workers"].as_object().unwrap();
    assert!(!workers.is_empty() && workers.values().all(|worker| worker["pool"] == "right"), "{facts}");
    server.signal("TERM");
    server.finish().expect(143);
}

#[test]
#[ignore = "nightly"]
fn submit_wait_prints_the_table_exits_with_the_code_and_no_job_runs_twice() {
    let served = Served::new(2).held(0);
    let server = served.start();
    let alone = echo_job("", "");
    let table = alone.run(&[]).expect(0).stdout;
    let first = accepted(&served.submit("a", &named("echo", ""), &[]).expect(0));
    let waiting = served.job.command_line(&["submit", "--config", "a.toml", "--wait"]);
    let waiting = waiting.spawn_watched(&served.job.path("waiting.log"));
    wait_until("it follows the job", || {
        served.job.log("waiting.log").contains("this very job is running already").then_some(())
    });
    served.job.gate().open();
    let waited = waiting.finish().expect(0);
    let (head, printed) = waited.stdout.split_once('\n').unwrap();
    assert_eq!(accepted(&Finished { stdout: head.to_owned() + "\n", ..Finished::default() }), first);
    assert_eq!(printed, table, "{}", served.job.log("waiting.log"));
    assert_same_run(&served, &alone);
    server.signal("TERM");
    server.finish().expect(143);
}

#[test]
#[ignore = "nightly"]
fn a_job_that_is_submitted_again_after_its_end_runs_again_on_the_same_workers() {
    let served = Served::new(2);
    let server = served.start();
    let alone = echo_job("", "");
    let table = alone.run(&[]).expect(0).stdout;
    let mut folders = Vec::new();
    // Its plan, tasks and attempts are the same as before: nothing of an earlier run may be taken for this one's.
    for _ in 0..4 {
        let waited = served.submit("a", &named("echo", ""), &["--wait"]).expect(0);
        let (head, printed) = waited.stdout.split_once('\n').unwrap();
        assert_eq!(printed, table, "{}", waited.stderr);
        folders.push(accepted(&Finished { stdout: head.to_owned() + "\n", ..Finished::default() }).1);
        let results = served.job.path("").join(&folders[folders.len() - 1]).join("results");
        assert!(compass_tests::tree_of(&results) == alone.tree("results"), "{results:?}");
    }
    folders.dedup();
    assert_eq!(folders.len(), 4, "each has a folder of its own: {folders:?}");
    server.signal("TERM");
    server.finish().expect(143);
}

fn assert_same_run(served: &Served, alone: &Job) {
    assert_eq!(compass_tests::tree_of(&served.run("a").join("results")), alone.tree("results"));
}

/// Returns the files of the run folders that a process has open.
fn open_files(pid: u32, below: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.filter(|target| target.starts_with(below)).collect()
}

#[test]
#[ignore = "nightly"]
fn a_server_keeps_no_descriptor_of_jobs_that_have_ended() {
    let served = Served::with(1, "http = \"127.0.0.1:0\"");
    let server = served.start();
    let mut jobs = Vec::new();
    for at in 0..4 {
        let name = format!("job{at}");
        jobs.push(accepted(&served.submit(&name, &named(&name, ""), &[]).expect(0)).0);
    }
    for job in &jobs {
        assert_eq!(served.wait_for_end(job)["exit_code"], 0);
    }
    // Reported before the file is closed: its end is awaited.
    let runs: Vec<PathBuf> = (0..4).map(|at| served.job.path(&format!("job{at}")).canonicalize().unwrap()).collect();
    wait_until("nothing of the jobs is open", || {
        runs.iter().all(|run| open_files(server.pid(), run).is_empty()).then_some(())
    });
    assert!(fs::read_to_string(served.run("job0").join("logs/serve.log")).unwrap().contains("accuracy"));
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let files: Vec<&str> =
        limits.lines().find(|line| line.starts_with("Max open files")).unwrap().split_whitespace().collect();
    assert_eq!(files[3], files[4], "the soft limit is the hard one");
    server.signal("TERM");
    server.finish().expect(143);
    // A server that is started again opens nothing for what has ended.
    let server = served.start();
    assert!(runs.iter().all(|run| open_files(server.pid(), run).is_empty()));
    server.signal("TERM");
    server.finish().expect(143);
}
