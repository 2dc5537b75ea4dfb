//! `profile:s3://` and `s3://`.

use crate::elsewhere::job::{ACCESS, LOCAL, SECRET, expected, holding, job, outcome, rows, store, write_profile};
use compass_mirrors::{Fault, ObjectServer};
use compass_tests::{Worker, copy_demo_model, told_address, wait_until, worker_command};

const MODEL: &str = "path = \"weights:s3://models/demo/7b/\"";

#[test]
#[ignore = "nightly"]
fn a_model_of_a_profile_gives_the_numbers_of_a_copy_on_this_host() {
    let server = store();
    server.put("data", "sets/rows.jsonl", rows());
    let job = job(MODEL, "weights:s3://data/sets/rows.jsonl", LOCAL);
    write_profile(&job, &server, SECRET);
    let finished = job.run(&[]).expect(0);
    assert!(outcome(&job) == expected(), "{}", finished.stderr);
    for folder in ["out", "state", "cache"] {
        assert_eq!(holding(&job.path(folder), SECRET), Vec::<String>::new(), "a secret was written down");
    }
    assert!(!finished.stderr.contains(SECRET) && !finished.stdout.contains(SECRET));
    let plan = std::fs::read_to_string(job.latest().join("plan/job.json")).unwrap();
    assert!(plan.contains("weights:s3://models/demo/7b") && plan.contains("weights/model.safetensors"), "{plan}");
    // Whole files are fetched once for the node; a later run asks what is there, and reads some samples of it.
    let whole = || {
        server
            .requests()
            .iter()
            .filter(|line| line.contains("model.safetensors bytes=0-") && !line.ends_with("bytes=0-7"))
            .count()
    };
    let before = whole();
    job.run(&[]).expect(0);
    assert!(outcome(&job) == expected());
    let again: Vec<_> = server.requests().into_iter().filter(|line| line.contains("tokenizer.json bytes=")).collect();
    assert_eq!(again.len(), 1, "{again:?}");
    assert!(whole() >= before);
}

#[test]
#[ignore = "nightly"]
fn variables_of_aws_stand_for_a_profile() {
    let server = store();
    let mut job = job("path = \"s3://models/demo/7b\"", "rows.jsonl", LOCAL);
    for (name, value) in
        [("AWS_ACCESS_KEY_ID", ACCESS), ("AWS_SECRET_ACCESS_KEY", SECRET), ("AWS_ENDPOINT_URL", server.url().as_str())]
    {
        job.set_env(name, value);
    }
    job.run(&[]).expect(0);
    assert!(outcome(&job) == expected());
}

#[test]
#[ignore = "nightly"]
fn what_cannot_be_had_is_told_at_once_before_anything_starts() {
    let server = store();
    let job = job(MODEL, "weights:s3://data/none.jsonl", LOCAL);
    write_profile(&job, &server, "wrong");
    let finished = job.run(&[]).expect(2);
    let said = finished.stderr;
    assert!(said.contains("`demo/7b` in bucket `models` of http://127.0.0.1:"), "{said}");
    assert!(said.contains("with profile `weights`: the secret key is wrong (SignatureDoesNotMatch)"), "{said}");
    assert!(said.contains("check access_key and secret_key of `[weights]`"), "{said}");
    assert!(said.contains("none.jsonl") && said.contains("errors"), "both errors: {said}");
    assert!(said.contains("eval.toml:"), "with their places: {said}");
    assert!(job.runs().is_empty());
    // Without a file of profiles the remedy is how to name one.
    std::fs::remove_file(job.path("home/petreloss.conf")).unwrap();
    let said = job.run(&[]).expect(2).stderr;
    assert!(said.contains("cannot read the profile `weights` from") && said.contains("--petreloss-conf"), "{said}");
}

/// The demo's weights with one number of the last tensor turned round: same shapes, same size.
fn turned_round(server: &ObjectServer) {
    let folder = tempfile::tempdir().unwrap();
    copy_demo_model(folder.path()).unwrap();
    let mut bytes = std::fs::read(folder.path().join("model.safetensors")).unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    bytes[header..].chunks_exact_mut(4).for_each(|number| number[3] ^= 0x80);
    server.put("models", "demo/7b/model.safetensors", bytes);
}

#[test]
#[ignore = "nightly"]
fn weights_that_changed_after_the_plan_was_made_compute_nothing() {
    let server = store();
    let pool = "[[pool]]\nname = \"one\"\nlauncher = \"none\"\n";
    let job = job(MODEL, "rows.jsonl", pool);
    write_profile(&job, &server, SECRET);
    let text = std::fs::read_to_string(job.path("eval.toml")).unwrap();
    job.write("eval.toml", &text.replacen("[master]\n", "[master]\nlisten = \"127.0.0.1:0\"\n", 1));
    let _master = job.start_logged(&[], "master.log");
    let address = told_address(&job, "master.log");
    turned_round(&server);
    let mut command = worker_command(&address, &job.path("home"));
    command.args(["--name", "late", "--pool", "one", "--no-sandbox"]);
    command.arg("--storage-cache").arg(job.path("cache"));
    let _worker = Worker::start(command, job.path("worker.log"));
    let said = wait_until("the weights are told apart", || {
        let log = job.log("master.log");
        log.contains("weights digest").then_some(log)
    });
    assert!(said.contains("weights:s3://models/demo/7b"), "the place is named, not the cache: {said}");
    assert!(said.contains("model.safetensors has other content"), "{said}");
    assert!(!said.contains(&job.path("cache").display().to_string()), "{said}");
}

#[test]
#[ignore = "nightly"]
fn a_store_that_does_not_answer_is_shown_by_the_master_until_it_does() {
    let server = store();
    let pool = "[[pool]]\nname = \"one\"\nlauncher = \"none\"\n";
    let job = job(MODEL, "rows.jsonl", pool);
    write_profile(&job, &server, SECRET);
    let text = std::fs::read_to_string(job.path("eval.toml")).unwrap();
    job.write("eval.toml", &text.replacen("[master]\n", "[master]\nlisten = \"127.0.0.1:0\"\n", 1));
    let master = job.start_logged(&[], "master.log");
    let address = told_address(&job, "master.log");
    server.break_reads(Fault::SlowDown, usize::MAX);
    let mut command = worker_command(&address, &job.path("home"));
    command.args(["--name", "patient", "--pool", "one", "--no-sandbox"]);
    command.arg("--storage-cache").arg(job.path("cache"));
    let _worker = Worker::start(command, job.path("worker.log"));
    let said = wait_until("the master shows what the worker waits for", || {
        let log = job.log("master.log");
        log.contains("cannot load its model yet").then_some(log)
    });
    assert!(said.contains("patient") && said.contains("the store throttles requests (SlowDown)"), "{said}");
    assert!(!said.contains(SECRET), "{said}");
    server.mend();
    assert_eq!(master.finish().code, Some(0), "{}", job.log("master.log"));
    assert!(outcome(&job) == expected());
    let log = job.log("master.log");
    assert!(!log.contains("are gone") && !log.contains("was removed"), "it never was on this host: {log}");
    assert_eq!(log.matches("cannot load its model yet").count(), 1, "a reason is told once: {log}");
}
