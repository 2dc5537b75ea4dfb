//! Models behind an endpoint, with real processes: an endpoint that follows scripts, faults, kills, limits, secrets.

use compass_mirrors::openai::{Endpoint, Fault, Script};
use compass_plan::prompt::prompt_sha;
use compass_tests::{
    ENDPOINT_KEY as KEY, Job, Worker, children_of, endpoint_configuration as configuration, endpoint_job,
    endpoint_rows as rows, endpoint_score as score, is_alive, kill, told_address, tree_of, wait_until, worker_command,
};
use std::path::Path;

/// A job of `samples` questions for a model whose `endpoint` has these keys beside its address and name.
fn job(endpoint: &Endpoint, keys: &str, samples: u32) -> Job {
    endpoint_job(&endpoint.url(), keys, samples)
}

/// Requests for samples so far, those that wait for their answers included; others greet the endpoint.
fn asked(endpoint: &Endpoint) -> u32 {
    endpoint.answers().iter().filter(|(prompt, _)| prompt.starts_with("What")).map(|(_, count)| count).sum()
}

/// Requests that were made for a sample that had been asked for before.
fn asked_again(endpoint: &Endpoint, samples: u32) -> u32 {
    let answers = endpoint.answers();
    (0..samples).map(|at| answers[&format!("What is {at}")] - 1).sum()
}

/// Waits until this many requests wait for their answers, and every other sample that was asked for is recorded: nothing else is
/// under way.
fn wait_until_only_in_flight(endpoint: &Endpoint, job: &Job, at_once: u32) {
    wait_until("all that was answered is recorded", || {
        let is_recorded = job.results_written() as u32 + at_once == asked(endpoint);
        (is_recorded && endpoint.held() == at_once).then_some(())
    });
}

#[test]
fn every_sample_is_scored_once_whatever_the_server_does() {
    let samples = if std::env::var_os("COMPASS_FULL").is_some() { 10_000 } else { 2_000 };
    let endpoint = Endpoint::start(Script { faults_per_mille: 50, ..Script::default() }).unwrap();
    let job = job(&endpoint, ", max_concurrency = 16", samples);
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

/// Two slots and a beginning that all rows share: the slot that may not ask holds grants that the other one runs.
#[test]
fn shots_that_all_rows_share_are_asked_by_one_slot_of_two() {
    let endpoint = Endpoint::start(Script::default()).unwrap();
    let job = job(&endpoint, "", 6);
    let shots = "infer_cfg = { retriever = { type = \"first_n\", k = 2 }, ice_template = { round = [{ role = \"HUMAN\", prompt = \"{q}\" }, \
                 { role = \"BOT\", prompt = \"{a}\" }] }, ";
    let template = "prompt_template = { begin = \"</E>\", round = [{ role = \"HUMAN\", prompt = \"{q}\" }] }";
    let config = configuration(&endpoint.url(), "").replace("infer_cfg = { ", shots);
    let config = config.replace("prompt_template = \"{q}\"", template);
    job.configure(&config.replace("test = {", "train = { path = \"rows.jsonl\" }\ntest = {"));
    for _ in 0..3 {
        job.run(&["--max-num-workers", "2"]).expect(0);
        assert_eq!(score(&job), Some(100.0));
    }
}

#[test]
#[ignore = "nightly"]
fn completions_are_asked_with_texts() {
    let endpoint = Endpoint::start(Script::default()).unwrap();
    let job = job(&endpoint, ", api = \"completions\"", 20);
    job.run(&[]).expect(0);
    assert_eq!(score(&job), Some(100.0));
}

#[test]
#[ignore = "nightly"]
fn a_server_that_is_busy_at_first_fails_nothing() {
    let script = Script { busy_at_first: 4, retry_after: Some(0), ..Script::default() };
    let endpoint = Endpoint::start(script).unwrap();
    let job = job(&endpoint, "", 50);
    job.run(&[]).expect(0);
    assert_eq!(score(&job), Some(100.0));
    assert!(endpoint.answers().values().all(|count| *count == 1));
}

#[test]
#[ignore = "nightly"]
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

/// Fails where the key is in a file of the job, or in the output.
fn assert_secret(job: &Job, said: &str) {
    assert!(!said.contains(KEY), "{said}");
    for (name, bytes) in tree_of(&job.path("")) {
        let holds = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
        assert!(!holds, "{name} holds the key");
    }
}

#[test]
fn the_key_is_nowhere() {
    let endpoint = Endpoint::start(Script { key: Some(KEY.into()), ..Script::default() }).unwrap();
    endpoint.hold_after(10);
    let job = job(&endpoint, ", key_env = \"COMPASS_TEST_ENDPOINT_KEY\", max_concurrency = 2", 100);
    let master = job.start_logged(&[], "master.log");
    wait_until("samples are being asked for", || (endpoint.held() == 2).then_some(()));
    let mut family = vec![master.pid()];
    let mut at = 0;
    while let Some(pid) = family.get(at).copied() {
        family.extend(children_of(pid));
        at += 1;
    }
    assert!(family.len() >= 3, "master, worker and engine: {family:?}");
    for pid in &family {
        let line = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
        assert!(!line.is_empty() && !String::from_utf8_lossy(&line).contains(KEY), "the command line of {pid}");
    }
    endpoint.open();
    let done = master.finish().expect(0);
    assert_eq!(score(&job), Some(100.0));
    assert_secret(&job, &done.stdout);
    assert!(!job.log("master.log").contains(KEY));
}

#[test]
#[ignore = "nightly"]
fn a_worker_without_the_key_says_so() {
    let endpoint = Endpoint::start(Script::default()).unwrap();
    let job = job(&endpoint, ", key_env = \"COMPASS_TEST_NO_SUCH_KEY\"", 5);
    let done = job.run(&[]).expect(1);
    assert!(done.stderr.contains("COMPASS_TEST_NO_SUCH_KEY is not set"), "{}", done.stderr);
    assert_eq!(endpoint.seen().len(), 0);
}

#[test]
#[ignore = "nightly"]
fn a_killed_engine_repeats_what_was_in_flight_and_nothing_else() {
    let (at_once, samples) = (8, 400);
    let endpoint = Endpoint::start(Script::default()).unwrap();
    endpoint.hold_after(60);
    let job = job(&endpoint, &format!(", max_concurrency = {at_once}"), samples);
    let master = job.start(&["--max-num-workers", "1"]);
    wait_until_only_in_flight(&endpoint, &job, at_once);
    let agent = wait_until("the agent runs", || children_of(master.pid()).first().copied());
    let engine = wait_until("the engine runs", || children_of(agent).first().copied());
    kill(engine, "KILL");
    wait_until("the engine is gone", || (!is_alive(engine)).then_some(()));
    endpoint.open();
    master.finish().expect(0);
    assert_eq!(score(&job), Some(100.0));
    assert_eq!(asked_again(&endpoint, samples), at_once);
}

#[test]
#[ignore = "nightly"]
fn a_killed_agent_repeats_what_was_in_flight_and_nothing_else() {
    let (at_once, samples) = (8, 400);
    let endpoint = Endpoint::start(Script::default()).unwrap();
    endpoint.hold_after(60);
    let job = job(&endpoint, &format!(", max_concurrency = {at_once}"), samples);
    let master = job.start(&["--max-num-workers", "1"]);
    wait_until_only_in_flight(&endpoint, &job, at_once);
    let agent = wait_until("the agent runs", || children_of(master.pid()).first().copied());
    let engine = wait_until("the engine runs", || children_of(agent).first().copied());
    kill(agent, "KILL");
    wait_until("the worker is gone", || (!is_alive(agent) && !is_alive(engine)).then_some(()));
    endpoint.open();
    master.finish().expect(0);
    assert_eq!(score(&job), Some(100.0));
    assert_eq!(asked_again(&endpoint, samples), at_once);
}

#[test]
#[ignore = "nightly"]
fn a_master_that_hangs_is_not_paid_ahead_for() {
    let at_once = 4;
    let endpoint = Endpoint::start(Script::default()).unwrap();
    endpoint.hold_after(60);
    let job = job(&endpoint, &format!(", max_concurrency = {at_once}"), 300);
    let master = job.start(&["--max-num-workers", "1"]);
    wait_until_only_in_flight(&endpoint, &job, at_once);
    master.signal("STOP");
    // Twice as many samples as requests may be under way: those in flight, and as many that the engine has ready.
    let most = job.results_written() as u32 + 2 * at_once;
    for _ in 0..at_once {
        endpoint.admit_more(1);
        wait_until("another request takes its place", || (endpoint.held() == at_once).then_some(()));
    }
    assert_eq!(asked(&endpoint), most);
    for left in (0..at_once).rev() {
        endpoint.admit_more(1);
        wait_until("no request takes its place", || (endpoint.held() == left).then_some(()));
    }
    assert_eq!(asked(&endpoint), most, "nothing more is asked for while nothing is recorded");
    endpoint.open();
    master.signal("CONT");
    master.finish().expect(0);
    assert_eq!(score(&job), Some(100.0));
    assert_eq!(asked_again(&endpoint, 300), 0);
}

#[test]
#[ignore = "nightly"]
fn a_killed_master_repeats_at_most_what_was_not_durable() {
    let (at_once, samples) = (4, 300);
    let endpoint = Endpoint::start(Script::default()).unwrap();
    endpoint.hold_after(40);
    let job = job(&endpoint, &format!(", max_concurrency = {at_once}"), samples);
    let master = job.start(&["--max-num-workers", "1"]);
    wait_until_only_in_flight(&endpoint, &job, at_once);
    // With the next group that is appended, this one is durable.
    let written = job.results_written() as u32;
    endpoint.admit_more(1);
    wait_until_only_in_flight(&endpoint, &job, at_once);
    let agent = wait_until("the agent runs", || children_of(master.pid()).first().copied());
    let engine = wait_until("the engine runs", || children_of(agent).first().copied());
    master.signal("KILL");
    master.finish();
    wait_until("the old worker is gone", || (!is_alive(agent) && !is_alive(engine)).then_some(()));
    endpoint.open();
    job.run(&["--max-num-workers", "1", "-r"]).expect(0);
    assert_eq!(score(&job), Some(100.0));
    let facts = job.facts();
    let resumed = facts["resumed_samples"].as_u64().unwrap() as u32;
    assert!((written..=written + 1).contains(&resumed), "{written} were durable: {facts}");
    let in_flight_or_lost = written + 1 + at_once - resumed;
    assert_eq!(asked_again(&endpoint, samples), in_flight_or_lost, "what was durable was not asked for again");
}

#[test]
#[ignore = "nightly"]
fn a_limit_of_the_server_fails_nothing_and_repeats_nothing() {
    // How seldom it is hit, and how much of it is used, depends on the machine: `bench-endpoint` says.
    let script = Script { limit: Some((100.0, 5.0)), retry_after: Some(0), ..Script::default() };
    let endpoint = Endpoint::start(script).unwrap();
    let job = job(&endpoint, ", max_concurrency = 64", 200);
    job.run(&["--max-num-workers", "1"]).expect(0);
    assert_eq!(score(&job), Some(100.0));
    assert_eq!((asked(&endpoint), asked_again(&endpoint, 200)), (200, 0));
}

#[test]
#[ignore = "nightly"]
fn one_worker_of_several_asks_unless_more_may() {
    let endpoint = Endpoint::start(Script::default()).unwrap();
    let job = job(&endpoint, "", 250);
    let in_flight = |many| wait_until("requests are in flight", || (endpoint.held() == many).then_some(()));
    for (keys, asking) in [(", max_concurrency = 6", 1), (", max_concurrency = 6, workers = 3", 3)] {
        // Five tasks: a worker takes at most two, and none ends before the latch is opened.
        let tasks = "[infer.partitioner]\ntype = \"size\"\nmax_task_size = 50\ngen_task_coef = 1\n";
        let tasks = format!("{tasks}[infer.runner]\ntype = \"none\"\n");
        let of_model = configuration(&endpoint.url(), keys);
        job.configure(&format!("\n[master]\nlisten = \"127.0.0.1:0\"\n{of_model}{tasks}"));
        let master = job.start_logged(&[], "master.log");
        let address = told_address(&job, "master.log");
        endpoint.hold();
        let workers = ["one", "two", "three"].map(|name| {
            let mut command = worker_command(&address, &job.path("home"));
            command.args(["--name", name, "--slots", "1", "--no-sandbox"]);
            Worker::start(command, job.path(&format!("{name}.log")))
        });
        // An engine greets the endpoint before it has a sample for it, and asks for more at once with every answer.
        in_flight(asking);
        endpoint.admit_more(asking + 6);
        in_flight(6);
        for _ in 0..30 {
            endpoint.admit_more(1);
            in_flight(6);
        }
        endpoint.open();
        assert_eq!(master.finish().code, Some(0), "{}", job.log("master.log"));
        drop(workers);
        assert_eq!((score(&job), endpoint.most_at_once()), (Some(100.0), 6), "{keys}");
        let facts = job.facts();
        assert_eq!(facts["samples"].as_object().unwrap().len(), asking as usize, "{facts}");
    }
}

#[test]
#[ignore = "nightly"]
fn the_money_that_is_spent_ends_the_asking() {
    let endpoint = Endpoint::start(Script::default()).unwrap();
    endpoint.hold_after(20);
    // 15 tokens a sample, of which 10 are read: 0.02 for each.
    let keys = ", max_concurrency = 2, price = { input = 1000, output = 2000 }, max_cost = 0.99";
    let job = job(&endpoint, keys, 500);
    let master = job.start_logged(&["--max-num-workers", "1"], "master.log");
    wait_until_only_in_flight(&endpoint, &job, 2);
    assert!(!job.log("master.log").contains("max_cost is reached"));
    // The fiftieth sample spends it.
    endpoint.admit_more(50 - job.results_written() as u32);
    wait_until("the money is spent", || job.log("master.log").contains("max_cost is reached").then_some(()));
    endpoint.open();
    let done = master.finish().expect(1);
    // Two in flight, and as many that were ready, may have been asked for meanwhile.
    let asked = asked(&endpoint);
    assert!((50..=50 + 4).contains(&asked), "asked {asked} times");
    let facts = job.facts();
    let cost = facts["endpoints"]["served"]["cost"].as_f64().unwrap();
    assert!(cost > 0.99 && cost < 0.02 * f64::from(asked) + 1e-9, "{facts}");
    assert!(done.stdout.contains("cost"), "{}", done.stdout);
}

#[test]
#[ignore = "nightly"]
fn another_fingerprint_is_another_model() {
    let endpoint = Endpoint::start(Script { status: Some((60, 403)), ..Script::default() }).unwrap();
    let job = job(&endpoint, ", max_concurrency = 4", 100);
    job.run(&["--max-num-workers", "1"]).expect(2);
    let kept = endpoint.answers().len();
    // A run continues with the same model only, by its fingerprint.
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
#[ignore = "nightly"]
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
#[ignore = "nightly"]
fn every_kind_of_fault_is_survived() {
    for fault in Fault::ALL {
        let script = Script { faults_per_mille: 200, faults: vec![fault], ..Script::default() };
        let endpoint = Endpoint::start(script).unwrap();
        let job = job(&endpoint, ", max_concurrency = 8", 60);
        job.run(&["--max-num-workers", "1"]).expect(0);
        assert_eq!(score(&job), Some(100.0), "{fault:?}");
    }
}

/// A server whose template has no role for the system says so, or fails at it.
#[test]
#[ignore = "nightly"]
fn a_description_that_the_server_refuses_stands_before_the_question_where_asked() {
    let described = |endpoint: &Endpoint, system: &str| {
        let job = job(endpoint, "", 2);
        let config = configuration(&endpoint.url(), "")
            .replace("[[dataset]]", &format!("{system}\n[[dataset]]"))
            .replace("prompt_template = ", "description = \"Be brief. \", prompt_template = ");
        job.configure(&config);
        job
    };
    for status in [400, 500] {
        let endpoint = Endpoint::start(Script { refuses_system: Some(status), ..Script::default() }).unwrap();
        let job = described(&endpoint, "system = \"user\"\n");
        let done = job.run(&["--max-num-workers", "1"]).expect(0);
        assert_eq!(score(&job), Some(100.0), "{}", done.stdout);
        assert!(done.stderr.contains("the endpoint refuses system messages"), "{}", done.stderr);
        let asked: Vec<String> = endpoint.answers().into_keys().filter(|prompt| prompt.contains("What")).collect();
        assert_eq!(asked, ["Be brief. \n\nWhat is 0", "Be brief. \n\nWhat is 1"]);
        let sent = serde_json::json!([{"role": "user", "content": asked[0]}]).to_string();
        let record = &job.predictions("served", "questions")["0"];
        assert_eq!(record["prompt_sha"], prompt_sha([sent.as_str()]).to_string(), "{record}");
        assert_eq!(record["origin_prompt"][0]["role"], "SYSTEM", "as it was asked: {record}");
    }
    let endpoint = Endpoint::start(Script { refuses_system: Some(400), ..Script::default() }).unwrap();
    let refused = described(&endpoint, "");
    refused.run(&["--max-num-workers", "1"]).expect(1);
    let record = &refused.predictions("served", "questions")["1"];
    assert!(record["error"].as_str().unwrap().contains("System role not supported"), "{record}");
    let sent = r#"[{"role":"system","content":"Be brief. "},{"role":"user","content":"What is 1"}]"#;
    assert_eq!(record["rendered_prompt"], sent);
    assert_eq!(record["prompt_sha"], prompt_sha([sent]).to_string());
    let takes = Endpoint::start(Script::default()).unwrap();
    described(&takes, "system = \"user\"\n").run(&["--max-num-workers", "1"]).expect(0);
    assert!(takes.answers().contains_key("What is 1"), "it gets system messages: {:?}", takes.answers());
}
