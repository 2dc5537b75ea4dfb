//! Models behind an endpoint, with real processes: an endpoint that follows scripts, faults, kills, limits, secrets.

use compass_mirrors::openai::{Endpoint, Fault, Script};
use compass_tests::{
    ENDPOINT_KEY as KEY, Job, children_of, endpoint_configuration as configuration, endpoint_job,
    endpoint_rows as rows, endpoint_score as score, is_alive, kill, tree_of, wait_until,
};
use std::path::Path;
use std::time::Duration;

/// A job of `samples` questions for a model whose `endpoint` has these keys beside its address and name.
fn job(endpoint: &Endpoint, keys: &str, samples: u32) -> Job {
    endpoint_job(&endpoint.url(), keys, samples)
}

#[test]
fn every_sample_is_scored_once_whatever_the_server_does() {
    let samples = if std::env::var_os("COMPASS_FULL").is_some() { 10_000 } else { 2_000 };
    let script = Script { latency: Duration::from_millis(2), faults_per_mille: 50, ..Script::default() };
    let endpoint = Endpoint::start(script).unwrap();
    let job = job(&endpoint, ", max_concurrency = 16, timeout = \"10s\"", samples);
    let done = job.run(&["--max-num-workers", "1"]).expect(0);
    assert_eq!(score(&job), Some(100.0), "{}", done.stdout);
    let answers = endpoint.answers();
    for at in 0..samples {
        assert_eq!(answers.get(&format!("What is {at}")), Some(&1), "sample {at}");
    }
    let failed = endpoint.seen().iter().filter(|seen| seen.status != 200).count();
    assert!(failed > 10, "the server failed {failed} times only");
    assert!(endpoint.most_at_once() <= 16, "{} requests at once", endpoint.most_at_once());
    assert!(done.stdout.contains("its texts may differ between runs"), "{}", done.stdout);
}

#[test]
fn completions_are_asked_with_texts() {
    let endpoint = Endpoint::start(Script::default()).unwrap();
    let job = job(&endpoint, ", api = \"completions\"", 20);
    job.run(&[]).expect(0);
    assert_eq!(score(&job), Some(100.0));
}

#[test]
fn a_server_that_is_busy_at_first_fails_nothing() {
    let script = Script { busy_at_first: 7, retry_after: Some(0), ..Script::default() };
    let endpoint = Endpoint::start(script).unwrap();
    let job = job(&endpoint, "", 50);
    job.run(&[]).expect(0);
    assert_eq!(score(&job), Some(100.0));
    assert!(endpoint.answers().values().all(|count| *count == 1));
}

#[test]
fn what_has_no_answer_has_a_class() {
    let endpoint = Endpoint::start(Script::default()).unwrap();
    let job = job(&endpoint, "", 4);
    let kinds = ["", "(too long) ", "(filtered) ", "(empty) "];
    rows(&job, 4, |at| format!("{}What is {at}", kinds[at as usize]));
    let done = job.run(&[]).expect(1);
    for class in ["too long: status 400", "filtered: ", "empty answer: no text with finish_reason `length`"] {
        assert!(done.stderr.contains(class), "{class} is missing in\n{}", done.stderr);
    }
    let records = job.predictions("served", "questions");
    assert_eq!(records["0"]["prediction"], "the answer is 0");
    assert!(records["2"]["prediction"].as_str().is_none_or(str::is_empty), "{}", records["2"]);
}

#[test]
fn what_refuses_the_job_ends_it_once_with_a_remedy() {
    let wrong_key = Script { key: Some("another".into()), ..Script::default() };
    let elsewhere = Script { redirect: Some("https://collector.example/v1".into()), ..Script::default() };
    let unknown = Script { status: Some((0, 404)), ..Script::default() };
    let cases = [
        (wrong_key, "key_env"),
        (elsewhere, "redirects to `https://collector.example`"),
        (unknown, "`model = \"tiny\"`"),
    ];
    for (script, remedy) in cases {
        let endpoint = Endpoint::start(script).unwrap();
        let job = job(&endpoint, ", key_env = \"COMPASS_TEST_ENDPOINT_KEY\"", 50);
        let done = job.run(&["--max-num-workers", "2"]).expect(2);
        assert!(
            done.stderr.contains("the endpoint refuses the job") && done.stderr.contains(remedy),
            "{}",
            done.stderr
        );
        assert!(endpoint.seen().len() <= 2, "asked {} times", endpoint.seen().len());
        assert_secret(&job, &done.stderr);
    }
    // In the middle: what was answered stays.
    let endpoint = Endpoint::start(Script { status: Some((40, 403)), ..Script::default() }).unwrap();
    let job = job(&endpoint, ", max_concurrency = 4", 200);
    let done = job.run(&["--max-num-workers", "1"]).expect(2);
    assert!(done.stderr.contains("the endpoint refuses the job"), "{}", done.stderr);
    let asked = endpoint.seen().len();
    assert!((41..=48).contains(&asked), "asked {asked} times");
}

/// Fails where the key stands in a file of the job, or in what was said.
fn assert_secret(job: &Job, said: &str) {
    assert!(!said.contains(KEY), "{said}");
    for (name, bytes) in tree_of(&job.path("")) {
        let holds = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
        assert!(!holds, "{name} holds the key");
    }
}

#[test]
fn the_key_is_nowhere() {
    let script = Script { key: Some(KEY.into()), latency: Duration::from_millis(30), ..Script::default() };
    let endpoint = Endpoint::start(script).unwrap();
    let job = job(&endpoint, ", key_env = \"COMPASS_TEST_ENDPOINT_KEY\", max_concurrency = 2", 100);
    let master = job.start_logged(&[], "master.log");
    wait_until("samples are asked for", || (endpoint.seen().len() > 10).then_some(()));
    let mut family = vec![master.pid()];
    let mut at = 0;
    while let Some(pid) = family.get(at).copied() {
        family.extend(children_of(pid));
        at += 1;
    }
    assert!(family.len() >= 3, "master, worker and engine: {family:?}");
    for pid in &family {
        let line = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains(KEY), "the command line of {pid}");
    }
    let done = master.finish().expect(0);
    assert_eq!(score(&job), Some(100.0));
    assert_secret(&job, &done.stdout);
    assert!(!job.log("master.log").contains(KEY));
}

#[test]
fn a_worker_without_the_key_says_so() {
    let endpoint = Endpoint::start(Script::default()).unwrap();
    let job = job(&endpoint, ", key_env = \"COMPASS_TEST_NO_SUCH_KEY\"", 5);
    let done = job.run(&[]).expect(1);
    assert!(done.stderr.contains("COMPASS_TEST_NO_SUCH_KEY is not set"), "{}", done.stderr);
    assert_eq!(endpoint.seen().len(), 0);
}

#[test]
fn a_killed_worker_repeats_at_most_what_was_in_flight() {
    let at_once = 8;
    let samples = 400;
    let endpoint = Endpoint::start(Script { latency: Duration::from_millis(40), ..Script::default() }).unwrap();
    let job = job(&endpoint, &format!(", max_concurrency = {at_once}"), samples);
    let master = job.start(&["--max-num-workers", "1"]);
    job.wait_until_durable();
    let agent = wait_until("the agent runs", || children_of(master.pid()).first().copied());
    let engine = wait_until("the engine runs", || children_of(agent).first().copied());
    kill(engine, "KILL");
    master.finish().expect(0);
    assert_eq!(score(&job), Some(100.0));
    let answers = endpoint.answers();
    let again: u32 = (0..samples).map(|at| answers[&format!("What is {at}")] - 1).sum();
    assert!(again <= at_once, "{again} requests were made again, {at_once} were in flight");
}

#[test]
fn a_killed_agent_repeats_at_most_what_was_in_flight_and_not_told() {
    let at_once = 8;
    let samples = 400;
    let endpoint = Endpoint::start(Script { latency: Duration::from_millis(40), ..Script::default() }).unwrap();
    let job = job(&endpoint, &format!(", max_concurrency = {at_once}"), samples);
    let master = job.start(&["--max-num-workers", "1"]);
    job.wait_until_durable();
    let agent = wait_until("the agent runs", || children_of(master.pid()).first().copied());
    kill(agent, "KILL");
    master.finish().expect(0);
    assert_eq!(score(&job), Some(100.0));
    let answers = endpoint.answers();
    let again: u32 = (0..samples).map(|at| answers[&format!("What is {at}")] - 1).sum();
    // As many as are in flight, and a round of answers that was on its way to the master.
    assert!(again <= 2 * at_once, "{again} requests were made again, {at_once} were in flight");
}

#[test]
fn a_master_that_hangs_is_not_paid_ahead_for() {
    let at_once = 4;
    let endpoint = Endpoint::start(Script { latency: Duration::from_millis(40), ..Script::default() }).unwrap();
    let job = job(&endpoint, &format!(", max_concurrency = {at_once}"), 300);
    let master = job.start(&["--max-num-workers", "1"]);
    job.wait_until_durable();
    master.signal("STOP");
    let before = endpoint.seen().len();
    let mut asked = before;
    wait_until("nothing is asked for", || {
        std::thread::sleep(Duration::from_millis(500));
        let now = endpoint.seen().len();
        (std::mem::replace(&mut asked, now) == now).then_some(())
    });
    master.signal("CONT");
    assert!(asked - before <= 2 * at_once, "{} requests were made while nothing was recorded", asked - before);
    assert!(asked < 200, "{asked} of 300: the job was nearly over");
    master.finish().expect(0);
    assert_eq!(score(&job), Some(100.0));
    assert_eq!(endpoint.answers().values().filter(|times| **times > 1).count(), 0, "nothing was asked twice");
}

#[test]
fn a_killed_master_repeats_at_most_what_was_in_flight_and_not_told() {
    let at_once = 4;
    let samples = 300;
    let endpoint = Endpoint::start(Script { latency: Duration::from_millis(40), ..Script::default() }).unwrap();
    let job = job(&endpoint, &format!(", max_concurrency = {at_once}"), samples);
    let master = job.start(&["--max-num-workers", "1"]);
    job.wait_until_durable();
    let agent = wait_until("the agent runs", || children_of(master.pid()).first().copied());
    let engine = wait_until("the engine runs", || children_of(agent).first().copied());
    master.signal("KILL");
    master.finish();
    wait_until("the old worker is gone", || (!is_alive(agent) && !is_alive(engine)).then_some(()));
    let before: u32 = endpoint.answers().iter().filter(|(prompt, _)| prompt.starts_with("What")).map(|(_, n)| n).sum();
    job.run(&["--max-num-workers", "1", "-r"]).expect(0);
    assert_eq!(score(&job), Some(100.0));
    let facts = job.facts();
    let resumed = facts["resumed_samples"].as_u64().unwrap() as u32;
    assert!(resumed > 0, "{facts}");
    let answers = endpoint.answers();
    let again: u32 = (0..samples).map(|at| answers[&format!("What is {at}")] - 1).sum();
    assert_eq!(again, before - resumed, "what was durable was not asked for again");
}

#[test]
fn a_limit_of_the_server_is_seldom_hit() {
    // How much of it is used depends on the machine: `bench-endpoint` says.
    let (rate, samples) = (50.0, 700);
    let script = Script {
        latency: Duration::from_millis(20),
        limit: Some((rate, 5.0)),
        retry_after: Some(1),
        ..Script::default()
    };
    let endpoint = Endpoint::start(script).unwrap();
    let job = job(&endpoint, ", max_concurrency = 64", samples);
    job.run(&["--max-num-workers", "1"]).expect(0);
    assert_eq!(score(&job), Some(100.0));
    let seen = endpoint.seen();
    let begin = seen.first().unwrap().at + Duration::from_secs(4);
    let after: Vec<_> = seen.iter().filter(|seen| seen.at >= begin).collect();
    let refused = after.iter().filter(|seen| seen.status != 200).count();
    assert!(refused * 50 <= after.len(), "{refused} of {} refused", after.len());
}

#[test]
fn one_worker_of_several_asks_unless_more_may() {
    let endpoint = Endpoint::start(Script { latency: Duration::from_millis(10), ..Script::default() }).unwrap();
    let job = job(&endpoint, ", max_concurrency = 6", 200);
    job.run(&["--max-num-workers", "3"]).expect(0);
    assert_eq!(score(&job), Some(100.0));
    assert!(endpoint.most_at_once() <= 6, "{} at once", endpoint.most_at_once());
    job.configure(&configuration(&endpoint.url(), ", max_concurrency = 6, workers = 3"));
    job.run(&["--max-num-workers", "3"]).expect(0);
    assert!(endpoint.most_at_once() <= 6, "{} at once", endpoint.most_at_once());
}

#[test]
fn the_money_that_is_spent_ends_the_asking() {
    let endpoint = Endpoint::start(Script { latency: Duration::from_millis(5), ..Script::default() }).unwrap();
    // 15 tokens a sample, of which 10 are read: 0.02 for each.
    let keys = ", max_concurrency = 2, price = { input = 1000, output = 2000 }, max_cost = 1.0";
    let job = job(&endpoint, keys, 500);
    let done = job.run(&["--max-num-workers", "1"]).expect(1);
    assert!(done.stderr.contains("max_cost is reached"), "{}", done.stderr);
    let asked = endpoint.answers().len();
    assert!((50..250).contains(&asked), "asked {asked} times");
    let facts = job.facts();
    let of_model = &facts["endpoints"]["served"];
    let cost = of_model["cost"].as_f64().unwrap();
    assert!((1.0..5.0).contains(&cost), "{facts}");
    assert!(done.stdout.contains("cost"), "{}", done.stdout);
}

#[test]
fn another_fingerprint_is_another_model() {
    let endpoint = Endpoint::start(Script { status: Some((60, 403)), ..Script::default() }).unwrap();
    let job = job(&endpoint, ", max_concurrency = 4", 100);
    job.run(&["--max-num-workers", "1"]).expect(2);
    let kept = endpoint.answers().len();
    // The same goes on; another does not continue its run.
    endpoint.follow(Script { fingerprint: "fp-2".into(), ..Script::default() });
    let done = job.run(&["--max-num-workers", "1", "-r"]);
    assert_ne!(done.code, Some(0), "{}", done.stdout);
    assert!(done.stderr.contains("fingerprint"), "{}", done.stderr);
    endpoint.follow(Script::default());
    let before = endpoint.seen().len();
    job.run(&["--max-num-workers", "1", "-r"]).expect(0);
    assert_eq!(score(&job), Some(100.0));
    let asked = endpoint.seen().len() - before;
    assert!(asked <= 100 - kept + 8, "{asked} requests for what {kept} of 100 had no answer to");
}

#[test]
fn what_cannot_run_on_it_is_said_at_planning() {
    let endpoint = Endpoint::start(Script::default()).unwrap();
    let job = job(&endpoint, "", 5);
    let scored = configuration(&endpoint.url(), "")
        .replace("{ type = \"gen\", max_out_len = 8 }", "\"ppl\"")
        .replace("prompt_template = \"{q}\"", "prompt_template = { a = \"{q} a\", b = \"{q} b\" }")
        .replace("\"em\"", "\"acc\"");
    job.configure(&scored);
    let done = job.run(&[]).expect(2);
    assert!(done.stderr.contains("a chat endpoint gives no log-probabilities"), "{}", done.stderr);
    assert_eq!(endpoint.seen().len(), 0);
}

#[test]
fn every_kind_of_fault_is_survived() {
    for fault in Fault::ALL {
        let script = Script { faults_per_mille: 200, faults: vec![fault], ..Script::default() };
        let endpoint = Endpoint::start(script).unwrap();
        let job = job(&endpoint, ", max_concurrency = 8, timeout = \"10s\"", 60);
        job.run(&["--max-num-workers", "1"]).expect(0);
        assert_eq!(score(&job), Some(100.0), "{fault:?}");
    }
}
