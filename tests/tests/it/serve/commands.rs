//! Commands to a server or a run: what they say, what they refuse, and how they end a job.

use super::served::{SMALL_TASKS, Served, accepted, named};
use compass_tests::{assert_same, undisturbed, wait_until};
use std::fs;

#[test]
fn a_cancelled_job_is_granted_nothing_more_and_says_why() {
    let served = Served::new(1).held(3);
    let server = served.start();
    let a = accepted(&served.submit("a", &named("first", SMALL_TASKS), &[]).expect(0)).0;
    let b = accepted(&served.submit("b", &named("second", SMALL_TASKS), &[]).expect(0)).0;
    wait_until("it has samples", || served.status(&a)["recorded_samples"].as_u64().filter(|recorded| *recorded == 3));
    let turn = format!("for the job's turn: the server's 1 slot (`max_num_workers` of the server) works for job {a}");
    wait_until("the other waits", || {
        served.command(&["explain", "job", &b]).expect(0).stdout.contains(&turn).then_some(())
    });
    let several = served.command(&["cancel"]).expect(2);
    assert!(several.stderr.contains("several jobs are running"), "{}", several.stderr);
    let cancelled = served.command(&["cancel", &a[..6], "--reason", "wrong model"]).expect(0);
    assert!(cancelled.stderr.contains(&format!("job {a} is cancelled")), "{}", cancelled.stderr);
    let has_ended = |job: &str| Some(served.status(job)).filter(|status| !status["exit_code"].is_null());
    let ended = served.trickle_until(&["a", "b"], "it ends", || has_ended(&a));
    assert_eq!((&ended["exit_code"], &ended["cancelled"]), (&1.into(), &"wrong model".into()));
    assert!(ended["recorded_samples"].as_u64() < ended["expected_samples"].as_u64(), "{ended}");
    let table = fs::read_to_string(served.run("a").join("logs/serve.log")).unwrap();
    assert!(table.contains("error: cancelled: wrong model"), "{table}");
    let explained = served.command(&["explain", "job", &a]).expect(0).stdout;
    assert!(explained.contains("with exit code 1") && explained.contains("cancelled: wrong model"), "{explained}");
    assert!(table.lines().all(|line| line.as_bytes().get(19) == Some(&b'Z')), "each line has its time: {table}");
    assert!(ended["submitted"].as_str().is_some_and(|at| at.ends_with('Z')), "{ended}");
    let again = served.command(&["cancel", &a]).expect(2);
    assert!(again.stderr.contains("has ended already, with exit code 1"), "{}", again.stderr);
    // The slot is the other's now.
    let more = |recorded: &u64| *recorded > 2;
    served.trickle_until(&["a", "b"], "the other has samples", || {
        served.status(&b)["recorded_samples"].as_u64().filter(more)
    });
    let only = served.command(&["cancel"]).expect(0);
    assert!(only.stderr.contains(&format!("job {b} is cancelled")), "{}", only.stderr);
    served.trickle_until(&["a", "b"], "the other ends", || has_ended(&b));
    server.signal("TERM");
    server.finish().expect(143);
}

#[test]
#[ignore = "nightly"]
fn a_job_is_estimated_on_the_slots_of_the_server() {
    let served = Served::new(3);
    let server = served.start();
    let job = named("first", SMALL_TASKS);
    served.submit("a", &job, &["--wait"]).expect(0);
    // Workers that have just been launched may still be on their way.
    let said = wait_until("all are connected", || {
        let said = served.submit("b", &job, &["--estimate"]).expect(0).stdout;
        said.contains("time on 3 slots without GPUs").then_some(said)
    });
    assert_eq!(said.matches("a run on echo").count(), 2, "{said}");
    let bounded = format!("{job}\n[infer.runner]\nmax_num_workers = 2");
    let said = served.submit("b", &bounded, &["--estimate"]).expect(0).stdout;
    assert!(said.contains("time on 2 slots without GPUs"), "{said}");
    server.signal("TERM");
    server.finish().expect(143);
    let said = served.submit("b", &job, &["--estimate"]).expect(3).stderr;
    assert!(said.contains("no server"), "{said}");
}

#[test]
#[ignore = "nightly"]
fn a_bound_holds_and_what_is_beyond_it_is_explained() {
    let served = Served::new(3).held(0);
    let server = served.start();
    let bounded = named("first", "[infer.runner]\nmax_num_workers = 1");
    let a = accepted(&served.submit("a", &bounded, &["--priority", "5"]).expect(0)).0;
    let explained = wait_until("it runs", || {
        let text = served.command(&["explain", "job", &a]).expect(0).stdout;
        let runs = text.contains(" granted; 1 worker with 1 slot is connected") && !text.contains(", 0 granted");
        (runs && text.contains("2 workers are idle: no running job has work")).then_some(text)
    });
    assert!(explained.contains("its share is 1 slot (priority 5), at most 1 (`max_num_workers`)"), "{explained}");
    // What is shown follows what is so, at intervals.
    let status = wait_until("it is shown", || Some(served.status(&a)).filter(|status| status["slots"] != 0));
    assert_eq!((&status["slots"], &status["max_slots"], &status["priority"]), (&1.into(), &1.into(), &5.into()));
    let worker = status["workers"][0]["name"].as_str().unwrap().to_owned();
    let told = served.command(&["explain", "worker", &worker]).expect(0).stdout;
    assert!(told.starts_with(&format!("job {a}: worker {worker}: 1 slot,")), "{told}");
    let task = served.command(&["explain", "task", "0", "--job", &a]).expect(0).stdout;
    assert!(task.starts_with("task 0: "), "{task}");
    for (words, says) in [
        (&["explain", "task", "9999"][..], "has no task 9999"),
        (&["explain", "worker", "missing"][..], "there is no worker `missing`; known: local-"),
        (&["explain", "job", "zzz"][..], "there is no job `zzz`"),
        (&["status", "zzz"][..], "the only job is "),
        (&["cancel", "zzz"][..], "there is no job `zzz`"),
    ] {
        let refused = served.command(words).expect(2);
        assert!(refused.stderr.contains(says), "{words:?}: {}", refused.stderr);
    }
    let table = served.command(&["status"]).expect(0).stdout;
    // The state of the pools is above them.
    let heads = table.lines().find(|line| line.starts_with("job")).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(
        heads,
        ["job", "state", "samples", "granted", "pending", "slots", "share", "priority", "run"],
        "{table}"
    );
    assert!(table.contains("1 (max 1)") && table.contains("workers dial 127.0.0.1:"), "{table}");
    served.command(&["cancel", &a]).expect(0);
    served.job.gate().open();
    served.wait_for_end(&a);
    server.signal("TERM");
    server.finish().expect(143);
}

#[test]
#[ignore = "nightly"]
fn what_cannot_be_is_said_and_nothing_is_started() {
    let served = Served::new(1);
    let refused = served.submit("a", &named("first", ""), &[]).expect(3);
    assert!(
        refused.stderr.contains("no server works in") && refused.stderr.contains("compass-master serve"),
        "{}",
        refused.stderr
    );
    assert!(!served.job.path("a").exists(), "a run folder was made");
    let nothing = served.command(&["status"]).expect(3);
    assert!(nothing.stderr.contains("no master works in"), "{}", nothing.stderr);
    let server = served.start();
    let second = served.job.command_line(&["serve", "--config", "eval.toml"]).run().expect(3);
    let held = format!("already: process {} on", server.pid());
    assert!(second.stderr.contains(&held), "{}", second.stderr);
    // Without a word of it in the file, the server is found by its folder.
    let elsewhere = named("first", "").replace("[master]", "[master]\nhttp = \"off\"");
    served.job.write("elsewhere.toml", &format!("work_dir = \"elsewhere\"\n{elsewhere}"));
    let line = ["submit", "--config", "elsewhere.toml", "--state-dir", "state", "--wait"];
    let waited = served.job.command_line(&line).run().expect(0);
    assert!(waited.stdout.contains("elsewhere/"), "{}", waited.stdout);
    let wrong = served.submit("b", &named("first", "").replace("\"em\"", "\"emm\""), &[]).expect(2);
    assert!(wrong.stderr.contains("b.toml:") && wrong.stderr.contains("emm"), "{}", wrong.stderr);
    assert!(!served.job.path("b").exists(), "a run folder was made");
    for flags in [&["--debug"][..], &["--dry-run"], &["--slurm", "-p", "llmeval"], &["--qos", "high"]] {
        let refused = served.submit("c", &named("first", ""), flags).expect(2);
        assert!(refused.stderr.contains(&format!("`{}` is not for `submit`", flags[0])), "{}", refused.stderr);
    }
    let bound = named("first", "").replace("type = \"echo\"", "type = \"echo\"\npools = [\"gold\"]");
    let refused = served.submit("d", &bound, &[]).expect(2);
    let because = "wants the pool `gold`, and this server defines no pools";
    assert!(refused.stderr.contains(because), "{}", refused.stderr);
    let left = std::fs::read_dir(served.job.path("d")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "the folder of a refused job stays");
    served.job.write("wrong.toml", "[master]\nlisten = \"x\"\n");
    let base = served.job.command_line(&["serve", "--config", "wrong.toml"]).run().expect(2);
    assert!(base.stderr.contains("wrong.toml:2:10"), "{}", base.stderr);
    server.signal("TERM");
    server.finish().expect(143);
}

#[test]
#[ignore = "nightly"]
fn a_client_that_waits_and_is_interrupted_says_that_its_job_goes_on() {
    let served = Served::new(1).held(4);
    let server = served.start();
    let a = accepted(&served.submit("a", &named("first", ""), &[]).expect(0)).0;
    let waiting = served.job.command_line(&["submit", "--config", "a.toml", "--wait"]);
    let waiting = waiting.spawn_logged(&served.job.path("waiting.log"));
    wait_until("it follows the job", || served.job.log("waiting.log").contains("running already").then_some(()));
    // It watches for signals once it follows; the job says something by then.
    wait_until("it is told", || served.job.log("waiting.log").contains("samples  ").then_some(()));
    waiting.signal("INT");
    waiting.finish().expect(130);
    let said = served.job.log("waiting.log");
    let state = format!(" --state-dir {}", served.job.path("state").display());
    let expected =
        format!("the job goes on: compass-master status {a}{state}; compass-master cancel {a}{state} ends it");
    assert!(said.contains(&expected), "{said}");
    served.command(&["cancel", &a]).expect(0);
    served.job.gate().open();
    served.wait_for_end(&a);
    server.signal("TERM");
    server.finish().expect(143);
}

#[test]
#[ignore = "nightly"]
fn a_run_that_ends_with_its_job_answers_as_well() {
    let served = Served::new(1).held(0);
    let mut running = served.job.start(&[]);
    let explained = wait_until("it runs", || {
        let text = served.command(&["explain", "job"]);
        let runs = text.stdout.contains(" granted; 1 worker with ") && !text.stdout.contains(", 0 granted");
        runs.then_some(text.stdout)
    });
    assert!(explained.contains(" of 240 samples"), "{explained}");
    let table = served.command(&["status"]).expect(0).stdout;
    assert!(table.starts_with(&format!("run: process {} on", running.pid())), "{table}");
    let run = served.job.latest().file_name().unwrap().to_string_lossy().into_owned();
    let refused = served.submit("a", &named("first", ""), &[]).expect(3);
    assert!(refused.stderr.contains("no server works in"), "{}", refused.stderr);
    served.command(&["cancel", &run, "--reason", "enough"]).expect(0);
    served.job.trickle_until("it ends", || running.has_ended());
    let finished = running.finish().expect(1);
    assert!(finished.stdout.contains("enough"), "{}", finished.stdout);
    served.command(&["status"]).expect(3);
    // Recorded results are kept, and the run can continue.
    served.job.gate().open();
    served.job.run(&["-r"]).expect(0);
    assert_same(&served.job, &undisturbed());
}

#[test]
#[ignore = "nightly"]
fn a_run_is_found_while_it_is_planned() {
    let served = Served::new(1);
    // Each prompt takes nearly all the steps that one may: thousands of them are not planned while the test runs.
    let rows = fs::read_to_string(served.job.path("rows.jsonl")).unwrap();
    served.job.write("rows.jsonl", &rows.repeat(100));
    let long = "{ jinja = \"{% for i in range(20) %}{% for j in range(90000) %}{% endfor %}{% endfor %}{{ q }}\" }";
    let toml = served.job.log("eval.toml").replace("prompt_template = \"{q}\"", &format!("prompt_template = {long}"));
    served.job.write("eval.toml", &toml);
    fs::create_dir_all(served.job.path("state")).unwrap();
    let running = served.job.start(&[]);
    let found = wait_until("it is found", || Some(served.command(&["status"])).filter(|found| found.code == Some(0)));
    let (first, second) = found.stdout.split_once('\n').unwrap();
    assert!(first.starts_with(&format!("run: process {} on", running.pid())), "{first}");
    assert!(second.starts_with("  reads data and plans its job since "), "{second}");
    let refused = served.command(&["explain", "job"]).expect(2).stderr;
    assert!(refused.contains("no job is running") && refused.contains("a job is being planned"), "{refused}");
    // One that is gone is found no more.
    running.signal("KILL");
    running.finish();
    served.command(&["status"]).expect(3);
}
