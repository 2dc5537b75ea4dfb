//! `owner/name`, through a mirror of the hub.

use crate::job::{LOCAL, expected, job, outcome};
use compass_mirrors::HubMirror;
use compass_tests::demo_model;

#[test]
fn a_model_of_the_hub_comes_once_and_runs_without_a_network_from_then_on() {
    let mirror = HubMirror::start().unwrap();
    mirror.put_folder("org/demo", &demo_model()).unwrap();
    let mut job = job("path = \"org/demo\"", "rows.jsonl", LOCAL);
    let home = job.path("hf").display().to_string();
    for (name, value) in [("HF_ENDPOINT", mirror.url().as_str()), ("HF_HOME", home.as_str())] {
        job.set_env(name, value);
    }
    let finished = job.run(&[]).expect(0);
    assert!(outcome(&job) == expected(), "{}", finished.stderr);
    let plan = std::fs::read_to_string(job.latest().join("plan/job.json")).unwrap();
    assert!(plan.contains(&format!("hub:org/demo@{}", mirror.commit())), "{plan}");
    let before = mirror.requests().len();
    job.set_env("HF_DATASETS_OFFLINE", "1");
    job.run(&[]).expect(0);
    assert_eq!(mirror.requests().len(), before, "nothing is missing, nothing is asked");
    assert!(outcome(&job) == expected());
}

#[test]
fn offline_what_is_missing_is_told_with_the_variable() {
    let mirror = HubMirror::start().unwrap();
    let mut job = job("path = \"org/demo\"", "rows.jsonl", LOCAL);
    job.set_env("HF_ENDPOINT", &mirror.url());
    job.set_env("HF_HUB_OFFLINE", "1");
    let said = job.run(&[]).expect(2).stderr;
    assert!(
        said.contains("no directory `org/demo`") && said.contains("HF_HUB_OFFLINE=1 forbids to fetch it"),
        "{said}"
    );
    assert_eq!(mirror.requests(), Vec::<String>::new());
    job.set_env("HF_HUB_OFFLINE", "");
    let said = job.run(&[]).expect(2).stderr;
    assert!(said.contains("`org/demo` at revision `main`") && said.contains("RepoNotFound"), "{said}");
}
