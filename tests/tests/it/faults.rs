//! Exactly once, whatever dies: real processes on the echo engine, real `kill -9`, and bytes compared.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{
    SAMPLES, assert_same, children_of, configuration, echo_job, free_port, held_job, is_alive, kill, program,
    undisturbed, wait_until,
};
use std::process::{Command, Stdio};

/// The agent and the engines of a master.
fn family(master: u32) -> (u32, Vec<u32>) {
    let agent = wait_until("the agent runs", || children_of(master).first().copied());
    let engines = wait_until("engines run", || Some(children_of(agent)).filter(|engines| !engines.is_empty()));
    (agent, engines)
}

#[test]
fn no_number_depends_on_workers_or_partitioner() {
    let expected = undisturbed();
    let settings = [
        (1, "[infer.partitioner]\ntype = \"naive\""),
        (2, "[infer.partitioner]\ntype = \"naive\""),
        (5, "[infer.partitioner]\ntype = \"size\"\nmax_task_size = 40\ngen_task_coef = 3"),
        (2, "[infer.partitioner]\ntype = \"size\"\nmax_task_size = 90\nstrategy = \"split\""),
        (5, "[infer.partitioner]\ntype = \"num_worker\""),
        (2, "[infer.partitioner]\ntype = \"num_worker\"\nnum_split = 7\nmin_task_size = 2"),
        (1, "[infer.partitioner]\ntype = \"balanced\""),
        (5, ""),
    ];
    for (workers, partitioner) in settings {
        let job = echo_job("", partitioner);
        job.run(&["--max-num-workers", &workers.to_string()]).expect(0);
        assert_same(&job, &expected);
    }
}

#[test]
fn a_killed_engine_loses_nothing() {
    let expected = undisturbed();
    let job = held_job(20, "", "");
    let master = job.start(&["--max-num-workers", "2"]);
    job.wait_until_durable();
    let (agent, engines) = family(master.pid());
    kill(engines[0], "KILL");
    wait_until("the engine is replaced", || {
        let now = children_of(agent);
        (now.len() == engines.len() && !now.contains(&engines[0])).then_some(())
    });
    job.gate().open();
    master.finish().expect(0);
    assert_same(&job, &expected);
}

#[test]
fn a_killed_agent_loses_nothing() {
    let expected = undisturbed();
    let job = held_job(20, "", "");
    let master = job.start(&["--max-num-workers", "2"]);
    job.wait_until_durable();
    let (agent, engines) = family(master.pid());
    kill(agent, "KILL");
    wait_until("its engines end with it", || engines.iter().all(|&engine| !is_alive(engine)).then_some(()));
    job.gate().open();
    master.finish().expect(0);
    assert_same(&job, &expected);
    let facts = job.facts();
    let deaths: u64 = facts["workers"].as_object().unwrap().values().map(|w| w["deaths"].as_u64().unwrap()).sum();
    assert_eq!(deaths, 1, "{facts}");
}

#[test]
#[ignore = "nightly"]
fn deaths_and_retries_of_a_run_are_counted_over_all_its_masters() {
    let job = held_job(20, "", "");
    let master = job.start(&["--max-num-workers", "2"]);
    job.wait_until_durable();
    kill(family(master.pid()).0, "KILL");
    let ledger = || std::fs::read_dir(job.latest().join("ledger")).unwrap().flatten();
    wait_until("the death is written down", || {
        // A tally names a worker there.
        let has = |bytes: Vec<u8>| bytes.windows(11).any(|window| window == b"\"deaths\":{\"");
        ledger().any(|segment| std::fs::read(segment.path()).is_ok_and(has)).then_some(())
    });
    // A group that follows it is appended once it is durable.
    let before = job.ledger_bytes();
    job.gate().admit_more(1);
    wait_until("its record is durable", || (job.ledger_bytes() > before).then_some(()));
    master.signal("KILL");
    master.finish();
    job.gate().open();
    let deaths = |facts: &serde_json::Value| -> u64 {
        facts["workers"].as_object().unwrap().values().map(|worker| worker["deaths"].as_u64().unwrap()).sum()
    };
    // The first of these continues, the second finds nothing left to do.
    for _ in 0..2 {
        job.run(&["--max-num-workers", "2", "-r"]).expect(0);
        let facts = job.facts();
        assert_eq!(deaths(&facts), 1, "{facts}");
        assert!(facts["retries"].as_u64().unwrap() > 0, "{facts}");
    }
}

#[test]
fn a_killed_master_resumes_and_repeats_at_most_what_was_in_flight() {
    let expected = undisturbed();
    let job = held_job(20, "", "");
    let master = job.start(&["--max-num-workers", "2"]);
    job.wait_until_durable();
    let (agent, engines) = family(master.pid());
    master.signal("KILL");
    assert_eq!(master.finish().code, None);
    wait_until("old workers are gone", || {
        (!is_alive(agent) && engines.iter().all(|&engine| !is_alive(engine))).then_some(())
    });
    job.gate().open();
    job.run(&["--max-num-workers", "2", "-r"]).expect(0);
    assert_same(&job, &expected);
    assert_eq!(job.runs().len(), 1, "resumed in its own folder");
    let facts = job.facts();
    let (resumed, results) = (facts["resumed_samples"].as_u64().unwrap(), results_received(&facts));
    assert!(resumed > 0 && resumed < 2 * u64::from(SAMPLES), "{facts}");
    assert_eq!(results, 2 * u64::from(SAMPLES), "what was durable was not run again: {facts}");
    assert_eq!(facts["epoch"], 2);
}

fn results_received(facts: &serde_json::Value) -> u64 {
    facts["workers"].as_object().unwrap().values().map(|worker| worker["results"].as_u64().unwrap()).sum()
}

#[test]
#[ignore = "nightly"]
fn a_run_resumes_without_its_store() {
    let expected = undisturbed();
    let job = held_job(20, "", "");
    let master = job.start(&["--max-num-workers", "2"]);
    job.wait_until_durable();
    master.signal("KILL");
    master.finish();
    job.gate().open();
    std::fs::remove_dir_all(job.path("state")).unwrap();
    job.run(&["-r"]).expect(0);
    assert_same(&job, &expected);
    assert!(job.facts()["resumed_samples"].as_u64().unwrap() > 0);
}

#[test]
fn ctrl_c_stops_cleanly_and_says_how_to_resume() {
    let expected = undisturbed();
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let job = held_job(20, "", "");
        let mut master = job.start(&[]);
        job.wait_until_durable();
        let (agent, _) = family(master.pid());
        master.signal(signal);
        job.trickle_until("the master ends", || master.has_ended());
        let finished = master.finish().expect(code);
        let name = job.latest().file_name().unwrap().to_string_lossy().into_owned();
        let hint = format!("resume with: compass-master --config eval.toml -r {name}");
        assert!(finished.stderr.contains(&hint), "{}", finished.stderr);
        assert!(!is_alive(agent));
        job.gate().open();
        job.run(&["-r"]).expect(0);
        assert_same(&job, &expected);
    }
}

#[test]
fn a_second_master_on_the_same_run_is_told_who_has_it() {
    let job = held_job(20, "", "");
    let first = job.start(&[]);
    job.wait_until_durable();
    let second = job.run(&["-r"]).expect(3);
    let holder = format!("another master works on this run: process {}", first.pid());
    assert!(second.stderr.contains(&holder), "{}", second.stderr);
    job.gate().open();
    first.finish().expect(0);
}

#[test]
fn a_finished_run_scores_again_without_a_worker() {
    let job = echo_job("", "");
    job.run(&["-m", "infer"]).expect(0);
    assert!(job.tree("results").is_empty());
    job.run(&["-m", "eval", "-r"]).expect(0);
    let results = job.tree("results");
    assert_eq!(results.len(), 2);
    let (facts, tasks) = (job.facts(), std::fs::read(job.latest().join("logs/tasks.json")).unwrap());
    assert_eq!(facts["workers"].as_object().unwrap().len(), 1);
    job.run(&["-r"]).expect(0);
    assert_eq!(job.tree("results"), results);
    // Nothing was left to run: the record of the run is what it was.
    let again = job.facts();
    for of_all_masters in ["workers", "tokens", "started", "tasks", "notes", "devices", "samples"] {
        assert_eq!(again[of_all_masters], facts[of_all_masters], "{of_all_masters}");
    }
    assert_eq!((&again["epoch"], &again["resumed_samples"]), (&2.into(), &facts["recorded_samples"]));
    assert!(again["seconds"].as_f64() >= facts["seconds"].as_f64(), "{again}");
    assert_eq!(std::fs::read(job.latest().join("logs/tasks.json")).unwrap(), tasks);
    let shown = job.run(&["-m", "viz", "-r"]).expect(0);
    assert!(shown.stdout.contains("choice_ppl"), "{}", shown.stdout);
}

#[test]
fn a_poison_sample_fails_alone_and_by_name() {
    let mut job = echo_job("", "");
    job.set_env("COMPASS_FAULT_DIE_ON", "What is 77?");
    job.run(&[]).expect(1);
    for dataset in ["choice_ppl", "answer_gen"] {
        let result = job.result("echo", dataset);
        assert_eq!((&result["scored"], &result["failed"]), (&(SAMPLES - 1).into(), &1.into()), "{result}");
        let failed = result["failed_samples"].as_object().unwrap();
        assert_eq!(failed.keys().collect::<Vec<_>>(), ["77"]);
    }
    let again = job.run(&["-r"]).expect(1);
    assert!(again.stderr.contains("2 samples failed for the reason of a node or an engine"), "{}", again.stderr);
    assert_eq!(job.result("echo", "answer_gen")["failed"], 1, "it has failed again");
    // Another engine may know better.
    job.set_env("COMPASS_FAULT_DIE_ON", "");
    job.run(&["-r"]).expect(0);
    assert_same(&job, &undisturbed());
}

#[test]
#[ignore = "nightly"]
fn workers_started_by_hand_join_a_master_that_launches_none() {
    let expected = undisturbed();
    let job = echo_job("listen = \"127.0.0.1:0\"", "[infer.runner]\ntype = \"none\"");
    let master = job.command(&[]).stderr(Stdio::from(std::fs::File::create(job.path("err")).unwrap())).spawn().unwrap();
    let address = wait_until("the master says where it listens", || {
        let text = std::fs::read_to_string(job.path("err")).unwrap_or_default();
        Some(text.lines().find_map(|line| line.split_once("compass-worker --master "))?.1.trim().to_owned())
    });
    let worker = Command::new(program("compass-worker"))
        .args(["--master", &address, "--slots", "3"])
        .env("HOME", job.path("home"))
        .output()
        .unwrap();
    assert_eq!(worker.status.code(), Some(0), "{}", String::from_utf8_lossy(&worker.stderr));
    assert_eq!(master.wait_with_output().unwrap().status.code(), Some(0));
    assert_same(&job, &expected);
}

#[test]
fn a_worker_by_hand_survives_its_master_and_goes_on_with_the_next() {
    let expected = undisturbed();
    let runner = "[infer.runner]\ntype = \"none\"";
    let job = held_job(20, "", runner);
    // A port of our own, so that the second master listens where the first one did.
    let port = free_port();
    job.configure(&configuration(&format!("listen = \"127.0.0.1:{port}\""), runner));
    let master = job.start(&[]);
    let mut worker = Command::new(program("worker-with-faults"));
    worker.env("HOME", job.path("home"));
    worker.args(["--master", &format!("127.0.0.1:{port}"), "--slots", "2"]).envs(job.environment());
    let mut worker = worker.stderr(Stdio::null()).spawn().unwrap();
    job.wait_until_durable();
    master.signal("KILL");
    master.finish();
    job.gate().open();
    job.run(&["-r"]).expect(0);
    assert_eq!(worker.wait().unwrap().code(), Some(0));
    assert_same(&job, &expected);
    let facts = job.facts();
    assert!(facts["adopted"].as_u64().unwrap() > 0, "it kept what it held: {facts}");
    // The repeats were durable at the first master, which could no longer acknowledge them; results count for both masters.
    let (resumed, repeats) = (facts["resumed_samples"].as_u64().unwrap(), facts["repeats"].as_u64().unwrap());
    assert_eq!(results_received(&facts) - repeats, 2 * u64::from(SAMPLES), "{facts}");
    assert!(repeats <= resumed, "{facts}");
    assert_eq!(facts["violations"], 0, "{facts}");
}

#[test]
fn a_full_disk_stops_the_run_and_it_resumes() {
    let expected = undisturbed();
    let job = held_job(20, "", "");
    // No file may be written beyond its first 4 KiB from now on: what a full disk looks like to the ledger.
    let mut limited = Command::new("bash");
    let master = program("compass-master").display().to_string();
    limited.arg("-c").arg(format!("trap '' XFSZ; exec {master} --config eval.toml --max-num-workers 2"));
    limited.current_dir(job.path(".")).env("COMPASS_WORKER", program("worker-with-faults"));
    limited.envs(job.environment()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let limited = limited.spawn().unwrap();
    job.wait_until_durable();
    let limit = ["--pid", &limited.id().to_string(), "--fsize=4096"];
    assert!(Command::new("prlimit").args(limit).status().unwrap().success());
    job.gate().open();
    let output = limited.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("nothing more can be made durable: cannot"), "{stderr}");
    let hint = "resume with: compass-master --config eval.toml --max-num-workers 2 -r ";
    assert!(stderr.contains(hint), "{stderr}");
    job.run(&["-r"]).expect(0);
    assert_same(&job, &expected);
}
