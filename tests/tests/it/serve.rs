//! A master that stays: jobs side by side, commands to it, and what happens when it dies. Real processes, echo engine.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{
    Etcd, EtcdOptions, Finished, Job, Running, assert_same, configuration, echo_job, undisturbed, wait_until,
};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A server and the folder that its jobs are in, each configuration under a name of its own.
struct Served {
    job: Job,
    log: &'static str,
}

/// A job's configuration is told from another's by its model's name.
fn named(abbr: &str, infer: &str) -> String {
    configuration("", infer).replace("\"echo\"\ntype", &format!("\"{abbr}\"\ntype"))
}

impl Served {
    /// A folder whose `eval.toml` is the server's; `delay_ms` is what every sample takes.
    fn new(delay_ms: u32, workers: u32) -> Self {
        Self::with(delay_ms, workers, "")
    }

    /// The same with more of `[master]`.
    fn with(delay_ms: u32, workers: u32, master: &str) -> Self {
        let job = echo_job(delay_ms, master, &format!("[infer.runner]\nmax_num_workers = {workers}"));
        Self { job, log: "serve.log" }
    }

    /// A second server of the same store and state folder, once it stands by.
    fn stand_by(&self, log: &str) -> Running {
        let line = self.job.command_line(&["serve", "--config", "eval.toml"]);
        let running = line.spawn_logged(&self.job.path(log));
        wait_until("it stands by", || self.job.log(log).contains("standing by: process").then_some(()));
        running
    }

    fn start(&self) -> Running {
        let running = self.job.command_line(&["serve", "--config", "eval.toml"]).spawn_logged(&self.job.path(self.log));
        wait_until("the server answers", || self.command(&["status"]).code.filter(|code| *code == 0));
        running
    }

    /// Runs a command against the server to its end.
    fn command(&self, words: &[&str]) -> Finished {
        let mut line = words.to_vec();
        line.extend(["--config", "eval.toml"]);
        self.job.command_line(&line).run()
    }

    /// Submits a configuration under `name` and returns the id of the job.
    fn submit(&self, name: &str, toml: &str, more: &[&str]) -> Finished {
        let state = self.job.path("state");
        let toml = toml.replace("[master]", &format!("[master]\nstate_dir = \"{}\"", state.display()));
        self.job.write(&format!("{name}.toml"), &format!("work_dir = \"{name}\"\n{toml}"));
        let file = format!("{name}.toml");
        let mut line = vec!["submit", "--config", &file];
        line.extend(more);
        self.job.command_line(&line).run()
    }

    /// Everything about one job.
    fn status(&self, job: &str) -> Value {
        serde_json::from_str(&self.command(&["status", job, "--json"]).expect(0).stdout).unwrap()
    }

    fn wait_for_end(&self, job: &str) -> Value {
        wait_until("the job ends", || Some(self.status(job)).filter(|status| !status["exit_code"].is_null()))
    }

    /// The files of a run's `results/` and `predictions/` as an echo job of its own writes them.
    fn assert_same(&self, name: &str, abbr: &str, expected: &(compass_tests::Tree, compass_tests::Tree)) {
        let renamed = |tree: &compass_tests::Tree| -> compass_tests::Tree {
            tree.iter().map(|(name, bytes)| (name.replace("echo/", &format!("{abbr}/")), bytes.clone())).collect()
        };
        let run = self.run(name);
        assert_eq!(compass_tests::tree_of(&run.join("results")), renamed(&expected.0));
        assert_eq!(compass_tests::tree_of(&run.join("predictions")), renamed(&expected.1));
    }

    fn run(&self, name: &str) -> PathBuf {
        let runs: Vec<_> = fs::read_dir(self.job.path(name)).unwrap().flatten().map(|entry| entry.path()).collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }
}

/// The id in what `submit` prints, and the run folder.
fn accepted(finished: &Finished) -> (String, PathBuf) {
    let (job, folder) = finished.stdout.trim_end().split_once(' ').unwrap();
    assert_eq!(job.len(), 12, "{}", finished.stdout);
    (job.to_owned(), Path::new(folder).to_owned())
}

/// Two jobs that differ only in the name of their model give the same numbers under either name.
fn expected() -> (compass_tests::Tree, compass_tests::Tree) {
    undisturbed()
}

#[test]
fn two_jobs_run_side_by_side_and_each_as_if_it_were_alone() {
    let served = Served::new(80, 2);
    let server = served.start();
    let a = accepted(&served.submit("a", &named("first", ""), &[]).expect(0)).0;
    let b = accepted(&served.submit("b", &named("second", ""), &[]).expect(0)).0;
    wait_until("both have a slot at once", || {
        let slots = |job: &str| served.status(job)["slots"].as_u64();
        (slots(&a) == Some(1) && slots(&b) == Some(1)).then_some(())
    });
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
fn a_model_runs_in_the_pools_of_the_server_that_it_names() {
    let pools = "[[pool]]\nname = \"left\"\nlauncher = \"local\"\nmax_num_workers = 1\n\
                 [[pool]]\nname = \"right\"\nlabels = [\"big\"]\nlauncher = \"local\"\nmax_num_workers = 1\n";
    let served = Served { job: echo_job(30, "", pools), log: "serve.log" };
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
fn submit_wait_prints_the_table_exits_with_the_code_and_no_job_runs_twice() {
    let served = Served::new(60, 2);
    let server = served.start();
    let alone = echo_job("", "");
    let table = alone.run(&[]).expect(0).stdout;
    let first = accepted(&served.submit("a", &named("echo", ""), &[]).expect(0));
    let waited = served.submit("a", &named("echo", ""), &["--wait"]).expect(0);
    let (head, printed) = waited.stdout.split_once('\n').unwrap();
    assert_eq!(accepted(&Finished { stdout: head.to_owned() + "\n", ..Finished::default() }), first);
    assert_eq!(printed, table, "{}", waited.stderr);
    assert!(waited.stderr.contains("this very job is running already"), "{}", waited.stderr);
    assert_same_run(&served, &alone);
    server.signal("TERM");
    server.finish().expect(143);
}

#[test]
fn a_job_that_is_submitted_again_after_its_end_runs_again_on_the_same_workers() {
    let served = Served::new(2, 2);
    let server = served.start();
    let alone = echo_job("", "");
    let table = alone.run(&[]).expect(0).stdout;
    let mut folders = Vec::new();
    // Its plan, tasks and attempts are those of before: nothing of an earlier run may be taken for this one's.
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

#[test]
fn a_killed_server_goes_on_with_its_jobs() {
    let served = Served::new(60, 2);
    let server = served.start();
    let a = accepted(&served.submit("a", &named("first", ""), &[]).expect(0)).0;
    let b = accepted(&served.submit("b", &named("second", ""), &[]).expect(0)).0;
    wait_until("both have samples", || {
        let recorded = |job: &str| served.status(job)["recorded_samples"].as_u64();
        (recorded(&a) > Some(4) && recorded(&b) > Some(4)).then_some(())
    });
    server.signal("KILL");
    server.finish();
    let orphan = served.command(&["status"]).expect(3);
    assert!(orphan.stderr.contains("is gone") && orphan.stderr.contains("compass-master serve"), "{}", orphan.stderr);
    let server = served.start();
    for job in [&a, &b] {
        assert_eq!(served.wait_for_end(job)["exit_code"], 0);
    }
    let expected = expected();
    served.assert_same("a", "first", &expected);
    served.assert_same("b", "second", &expected);
    let facts = fs::read(served.run("a").join("logs/run.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&facts).unwrap()["epoch"], 2);
    server.signal("TERM");
    server.finish().expect(143);
}

#[test]
fn a_stopped_server_keeps_what_it_has_and_goes_on_when_it_is_started_again() {
    let served = Served::new(60, 1);
    let server = served.start();
    let a = accepted(&served.submit("a", &named("first", ""), &[]).expect(0)).0;
    wait_until("it has samples", || served.status(&a)["recorded_samples"].as_u64().filter(|recorded| *recorded > 4));
    server.signal("INT");
    server.finish().expect(130);
    assert!(served.job.log(served.log).contains("one job goes on when the server is started again"));
    let server = served.start();
    assert_eq!(served.wait_for_end(&a)["exit_code"], 0);
    served.assert_same("a", "first", &expected());
    server.signal("TERM");
    server.finish().expect(143);
}

/// Two jobs under a server with leases in etcd, and a second server that stands by, once both jobs have samples.
fn two_jobs_and_two_servers(served: &Served) -> (Running, Running, [String; 2]) {
    let first = served.start();
    let a = accepted(&served.submit("a", &named("first", ""), &[]).expect(0)).0;
    let b = accepted(&served.submit("b", &named("second", ""), &[]).expect(0)).0;
    wait_until("both have samples", || {
        let recorded = |job: &str| served.status(job)["recorded_samples"].as_u64();
        (recorded(&a) > Some(4) && recorded(&b) > Some(4)).then_some(())
    });
    let second = served.stand_by("standby.log");
    let told = served.job.log("standby.log");
    assert!(told.contains(&format!("standing by: process {}", first.pid())), "{told}");
    (first, second, [a, b])
}

/// The jobs end under the server that took over, with the numbers of runs that nothing disturbed.
fn the_second_goes_on(served: &Served, jobs: &[String; 2]) {
    wait_until("it leads", || served.job.log("standby.log").contains("this server leads now").then_some(()));
    wait_until("it answers", || served.command(&["status"]).code.filter(|code| *code == 0));
    for job in jobs {
        assert_eq!(served.wait_for_end(job)["exit_code"], 0, "{}", served.job.log("standby.log"));
    }
    let expected = expected();
    served.assert_same("a", "first", &expected);
    served.assert_same("b", "second", &expected);
    let facts = fs::read(served.run("a").join("logs/run.json")).unwrap();
    let facts: Value = serde_json::from_slice(&facts).unwrap();
    assert_eq!((&facts["epoch"], &facts["violations"]), (&2.into(), &0.into()), "{facts}");
}

fn with_etcd(test: &str) -> Option<(Etcd, Served)> {
    let etcd = Etcd::start(test, 1, EtcdOptions::default())?;
    let served = Served::with(60, 2, &format!("store = \"etcd://{}/compass\"", etcd.endpoints()));
    Some((etcd, served))
}

#[test]
fn a_second_server_stands_by_and_goes_on_with_the_jobs_of_a_killed_one() {
    let Some((_etcd, served)) = with_etcd("a_second_server_stands_by") else { return };
    let (first, second, jobs) = two_jobs_and_two_servers(&served);
    first.signal("KILL");
    first.finish();
    the_second_goes_on(&served, &jobs);
    second.signal("TERM");
    second.finish().expect(143);
}

#[test]
fn a_server_that_was_stopped_for_too_long_is_fenced_and_the_other_has_its_jobs() {
    let Some((_etcd, served)) = with_etcd("a_server_that_was_stopped_for_too_long") else { return };
    let (first, second, jobs) = two_jobs_and_two_servers(&served);
    first.signal("STOP");
    wait_until("the other leads", || served.job.log("standby.log").contains("this server leads now").then_some(()));
    first.signal("CONT");
    first.finish().expect(4);
    assert!(served.job.log(served.log).contains("another server leads by now"), "{}", served.job.log(served.log));
    the_second_goes_on(&served, &jobs);
    second.signal("TERM");
    second.finish().expect(143);
}

#[test]
fn a_server_that_is_asked_to_stop_hands_its_jobs_over_at_once() {
    let Some((_etcd, served)) = with_etcd("a_server_that_is_asked_to_stop") else { return };
    let (first, second, jobs) = two_jobs_and_two_servers(&served);
    first.signal("TERM");
    first.finish().expect(143);
    the_second_goes_on(&served, &jobs);
    second.signal("INT");
    second.finish().expect(130);
    assert!(
        !served.job.log("standby.log").contains("when the server is started again"),
        "{}",
        served.job.log("standby.log")
    );
}

#[test]
fn a_cancelled_job_is_granted_nothing_more_and_says_why() {
    let served = Served::new(400, 1);
    let server = served.start();
    let a = accepted(&served.submit("a", &named("first", ""), &[]).expect(0)).0;
    let b = accepted(&served.submit("b", &named("second", ""), &[]).expect(0)).0;
    wait_until("it has samples", || served.status(&a)["recorded_samples"].as_u64().filter(|recorded| *recorded > 2));
    let turn = format!("for the job's turn: the server's 1 slot (`max_num_workers` of the server) works for job {a}");
    wait_until("the other waits", || {
        served.command(&["explain", "job", &b]).expect(0).stdout.contains(&turn).then_some(())
    });
    let several = served.command(&["cancel"]).expect(2);
    assert!(several.stderr.contains("several jobs are running"), "{}", several.stderr);
    let cancelled = served.command(&["cancel", &a[..6], "--reason", "wrong model"]).expect(0);
    assert!(cancelled.stderr.contains(&format!("job {a} is cancelled")), "{}", cancelled.stderr);
    let ended = served.wait_for_end(&a);
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
    wait_until("the other has samples", || served.status(&b)["recorded_samples"].as_u64().filter(more));
    let only = served.command(&["cancel"]).expect(0);
    assert!(only.stderr.contains(&format!("job {b} is cancelled")), "{}", only.stderr);
    served.wait_for_end(&b);
    server.signal("TERM");
    server.finish().expect(143);
}

#[test]
fn a_bound_holds_and_what_is_beyond_it_is_explained() {
    let served = Served::new(400, 3);
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
    // Above them stands how the pools are.
    let heads = table.lines().find(|line| line.starts_with("job")).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(
        heads,
        ["job", "state", "samples", "granted", "pending", "slots", "share", "priority", "run"],
        "{table}"
    );
    assert!(table.contains("1 (max 1)") && table.contains("workers dial 127.0.0.1:"), "{table}");
    served.command(&["cancel", &a]).expect(0);
    served.wait_for_end(&a);
    server.signal("TERM");
    server.finish().expect(143);
}

#[test]
fn what_cannot_be_is_said_and_nothing_is_started() {
    let served = Served::new(0, 1);
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
fn a_client_that_waits_and_is_interrupted_says_that_its_job_goes_on() {
    let served = Served::new(100, 1);
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
    served.wait_for_end(&a);
    server.signal("TERM");
    server.finish().expect(143);
}

#[test]
fn a_run_that_ends_with_its_job_answers_as_well() {
    let served = Served::new(400, 1);
    let running = served.job.start(&[]);
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
    let finished = running.finish().expect(1);
    assert!(finished.stdout.contains("enough"), "{}", finished.stdout);
    served.command(&["status"]).expect(3);
    // What is recorded is kept, and the run can go on.
    let mut served = served;
    served.job.set_env("COMPASS_FAULT_DELAY_MS", "0");
    served.job.run(&["-r"]).expect(0);
    assert_same(&served.job, &undisturbed());
}

#[test]
fn a_run_is_found_while_it_is_planned() {
    let served = Served::new(0, 1);
    // Enough for planning to take its time.
    let rows = fs::read_to_string(served.job.path("rows.jsonl")).unwrap();
    served.job.write("rows.jsonl", &rows.repeat(1_500));
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

/// What a process has open that is a file of the run folders.
fn open_files(pid: u32, below: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.filter(|target| target.starts_with(below)).collect()
}

#[test]
fn a_server_keeps_no_descriptor_of_jobs_that_have_ended() {
    let served = Served::with(0, 1, "http = \"127.0.0.1:0\"");
    let server = served.start();
    let mut jobs = Vec::new();
    for at in 0..4 {
        let name = format!("job{at}");
        jobs.push(accepted(&served.submit(&name, &named(&name, ""), &[]).expect(0)).0);
    }
    for job in &jobs {
        assert_eq!(served.wait_for_end(job)["exit_code"], 0);
    }
    // Told before the file is closed: its end is waited for.
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
