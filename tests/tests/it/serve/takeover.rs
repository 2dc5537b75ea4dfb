//! A server dies, stops or is stopped: its jobs continue where they were, under the next one.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::served::{SMALL_TASKS, Served, accepted, expected, named, two_jobs_with_samples};
use compass_tests::{Etcd, EtcdOptions, Running, Slurm, free_port, wait_until};
use serde_json::Value;
use std::fs;

#[test]
fn a_killed_server_goes_on_with_its_jobs() {
    let served = Served::new(2).held(0);
    let server = served.start();
    let (a, b) = two_jobs_with_samples(&served);
    server.signal("KILL");
    server.finish();
    let orphan = served.command(&["status"]).expect(3);
    assert!(orphan.stderr.contains("is gone") && orphan.stderr.contains("compass-master serve"), "{}", orphan.stderr);
    served.job.gate().open();
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
#[ignore = "nightly"]
fn a_stopped_server_keeps_what_it_has_and_goes_on_when_it_is_started_again() {
    let served = Served::new(1).held(5);
    let mut server = served.start();
    let a = accepted(&served.submit("a", &named("first", SMALL_TASKS), &[]).expect(0)).0;
    wait_until("it has samples", || served.status(&a)["recorded_samples"].as_u64().filter(|recorded| *recorded == 5));
    server.signal("INT");
    served.trickle_until(&["a"], "the server ends", || server.has_ended().then_some(()));
    server.finish().expect(130);
    assert!(served.job.log(served.log).contains("one job goes on when the server is started again"));
    served.job.gate().open();
    let server = served.start();
    assert_eq!(served.wait_for_end(&a)["exit_code"], 0);
    served.assert_same("a", "first", &expected());
    server.signal("TERM");
    server.finish().expect(143);
}

/// Two jobs under a server with leases in etcd, and a second server that stands by, once both jobs have samples.
fn two_jobs_and_two_servers(served: &Served) -> (Running, Running, [String; 2]) {
    let first = served.start();
    let (a, b) = two_jobs_with_samples(served);
    let second = served.stand_by("standby.log");
    let told = served.job.log("standby.log");
    assert!(told.contains(&format!("standing by: process {}", first.pid())), "{told}");
    (first, second, [a, b])
}

/// The jobs end under the server that took over, with the numbers of runs that nothing disturbed.
fn the_second_goes_on(served: &Served, jobs: &[String; 2]) {
    served.job.gate().open();
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
    let served = Served::with(2, &format!("store = \"etcd://{}/compass\"", etcd.endpoints()));
    Some((etcd, served.held(0)))
}

#[test]
#[ignore = "nightly"]
fn a_server_that_was_stopped_for_too_long_is_fenced_and_the_other_has_its_jobs() {
    let Some((_etcd, served)) = with_etcd("a_server_that_was_stopped_for_too_long") else { return };
    let (first, second, jobs) = two_jobs_and_two_servers(&served);
    let waiting = ["submit", "--config", "a.toml", "--wait"];
    let waiting = served.job.command_line(&waiting).spawn_logged(&served.job.path("wait.log"));
    wait_until("it waits", || served.job.log("wait.log").contains("running already").then_some(()));
    first.signal("STOP");
    wait_until("the other leads", || served.job.log("standby.log").contains("this server leads now").then_some(()));
    first.signal("CONT");
    first.finish().expect(4);
    assert!(served.job.log(served.log).contains("another server leads by now"), "{}", served.job.log(served.log));
    the_second_goes_on(&served, &jobs);
    waiting.finish().expect(0);
    let heard = served.job.log("wait.log");
    // The job continues, and its submitter has nothing to resume.
    assert!(heard.contains("another one goes on with job") && !heard.contains("resume with"), "{heard}");
    assert!(!heard.contains("error"), "{heard}");
    second.signal("TERM");
    second.finish().expect(143);
}

#[test]
#[ignore = "nightly"]
fn a_job_that_is_submitted_while_no_server_leads_goes_to_the_next() {
    let Some((_etcd, served)) = with_etcd("a_job_that_is_submitted_while_no_server_leads") else { return };
    let first = served.start();
    let second = served.stand_by("standby.log");
    first.signal("KILL");
    first.finish();
    let submitted = served.submit("a", &named("first", SMALL_TASKS), &[]).expect(0);
    assert!(submitted.stderr.contains("waiting for the one that stands by"), "{}", submitted.stderr);
    let (a, _) = accepted(&submitted);
    wait_until("the job is open", || {
        served.status(&a)["expected_samples"].as_u64().filter(|expected| *expected == 240)
    });
    second.signal("TERM");
    second.finish().expect(143);
}

#[test]
#[ignore = "nightly"]
fn who_waits_on_one_host_hears_of_the_end_under_a_server_of_another() {
    let Some((_etcd, mut served)) = with_etcd("who_waits_on_one_host") else { return };
    let first = served.start();
    let a = accepted(&served.submit("a", &named("first", SMALL_TASKS), &[]).expect(0)).0;
    // What the submitter knows of the store, as its file shares the server's `[master]`.
    let store = |text: String| text.lines().find(|line| line.starts_with("store")).unwrap().to_owned();
    let store = store(served.job.log("eval.toml"));
    served.job.write("a.toml", &served.job.log("a.toml").replace("[master]", &format!("[master]\n{store}")));
    let waiting = ["submit", "--config", "a.toml", "--wait"];
    let waiting = served.job.command_line(&waiting).spawn_watched(&served.job.path("wait.log"));
    wait_until("it waits", || served.job.log("wait.log").contains("running already").then_some(()));
    // The other host has a state folder and a home of its own.
    let (own, elsewhere) = (served.job.path("state"), served.job.path("elsewhere"));
    let (own, elsewhere) = (own.display().to_string(), elsewhere.display().to_string());
    served.job.write("eval.toml", &served.job.log("eval.toml").replace(&own, &elsewhere));
    let home = served.job.path("other-home").display().to_string();
    served.job.set_env("HOME", &home);
    // Without the key of the authority it could let no worker in, which it says before it is needed.
    let keyless = served.command(&["serve"]).expect(3);
    assert!(keyless.stderr.contains("sealed with another key"), "{}", keyless.stderr);
    std::fs::copy(format!("{own}/authority.key"), format!("{elsewhere}/authority.key")).unwrap();
    let second = served.stand_by("standby.log");
    first.signal("KILL");
    first.finish();
    served.job.gate().open();
    wait_until("it leads", || served.job.log("standby.log").contains("this server leads now").then_some(()));
    wait_until("it answers", || served.command(&["status"]).code.filter(|code| *code == 0));
    assert_eq!(served.wait_for_end(&a)["exit_code"], 0);
    let heard = waiting.finish().expect(0);
    assert!(heard.stdout.contains("choice_ppl"), "{}", heard.stdout);
    let said = served.job.log("wait.log");
    assert!(said.contains(&format!("one on another host goes on with job {a}")), "{said}");
    second.signal("TERM");
    second.finish().expect(143);
}

#[test]
#[ignore = "nightly"]
fn a_server_that_is_asked_to_stop_hands_its_jobs_over_at_once() {
    let Some((_etcd, served)) = with_etcd("a_server_that_is_asked_to_stop") else { return };
    let (mut first, second, jobs) = two_jobs_and_two_servers(&served);
    first.signal("TERM");
    served.trickle_until(&["a", "b"], "it ends", || first.has_ended().then_some(()));
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
#[ignore = "nightly"]
fn the_next_server_adopts_what_slurm_runs_and_who_waits_for_it() {
    const NAME: &str = "the_next_server_adopts_what_slurm_runs_and_who_waits_for_it";
    let Some(slurm) = Slurm::start(NAME, 2, 4) else { return };
    let Some(etcd) = Etcd::start(NAME, 1, EtcdOptions::default()) else { return };
    let (port, other) = (free_port(), free_port());
    let listen = |port: u16| format!("listen = \"127.0.0.1:{port}\"");
    let master = format!("store = \"etcd://{}/compass\"\n{}", etcd.endpoints(), listen(port));
    let mut served = Served::with(2, &master).held(20);
    served.job.set_env("SLURM_CONF", &slurm.conf());
    let runner = "[infer.runner]\ntype = \"slurm\"\npartition = \"llmeval\"";
    let first = fs::read_to_string(served.job.path("eval.toml")).unwrap().replace("[infer.runner]", runner);
    served.job.write("eval.toml", &first);
    served.job.write("other.toml", &first.replace(&listen(port), &listen(other)));
    let log = |name: &str| served.job.path(name);
    let is_told = |name: &str, what: &str| wait_until(what, || served.job.log(name).contains(what).then_some(()));
    // The other server leads, and knows the first one from the time when that one led.
    let first = served.start();
    let second = served.job.command_line(&["serve", "--config", "other.toml"]).spawn_logged(&log("other.log"));
    is_told("other.log", "standing by: process");
    first.signal("KILL");
    first.finish();
    is_told("other.log", "serving; workers dial");
    let third = served.stand_by("third.log");
    let a = accepted(&served.submit("a", &named("first", SMALL_TASKS), &[]).expect(0)).0;
    let waiting = served.job.command_line(&["submit", "--config", "a.toml", "--wait"]).spawn_logged(&log("wait.log"));
    is_told("wait.log", "this very job is running already");
    wait_until("all samples that may begin are recorded", || (served.results_written(&["a"]) == 20).then_some(()));
    second.signal("KILL");
    second.finish();
    is_told("third.log", "2 jobs of an earlier master go on");
    served.job.gate().open();
    assert_eq!(served.wait_for_end(&a)["exit_code"], 0, "{}", served.job.log("third.log"));
    waiting.finish().expect(0);
    assert!(served.job.log("wait.log").contains("another one goes on with job"), "{}", served.job.log("wait.log"));
    assert_eq!(slurm.ours().len(), 2, "no further job was submitted: {:?}", slurm.ours());
    served.assert_same("a", "first", &expected());
    third.signal("TERM");
    third.finish().expect(143);
    slurm.assert_empty();
}
