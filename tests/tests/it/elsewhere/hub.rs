//! `owner/name`, through a mirror of the hub.

use crate::elsewhere::job::{LOCAL, expected, job, outcome, rows};
use compass_mirrors::HubMirror;
use compass_tests::{demo_model, wait_until};
use std::path::PathBuf;

#[test]
#[ignore = "nightly"]
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
#[ignore = "nightly"]
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

#[test]
#[ignore = "nightly"]
fn a_data_set_of_the_hub_comes_once_and_is_read_without_a_network_from_then_on() {
    let mirror = HubMirror::start().unwrap();
    let all = rows();
    mirror.put("datasets/org/sums", "main/test.jsonl", all.clone());
    mirror.put("datasets/org/sums", "main/train.jsonl", all.clone());
    mirror.put("datasets/org/sums", "other/test.jsonl", "{}\n");
    let mut job = job("path = \"model\"", "hub:org/sums/main", LOCAL);
    compass_tests::copy_demo_model(&job.path("model")).unwrap();
    let home = job.path("hf").display().to_string();
    job.set_env("HF_HOME", &home);
    job.set_env("HF_ENDPOINT", &mirror.url());
    job.set_env("HF_DATASETS_OFFLINE", "1");
    let said = job.run(&[]).expect(2).stderr;
    assert!(
        said.contains("the data set `org/sums` is not in the local hub cache")
            && said.contains("HF_DATASETS_OFFLINE=1 forbids to fetch it"),
        "{said}"
    );
    assert_eq!(mirror.requests(), Vec::<String>::new());
    job.set_env("HF_DATASETS_OFFLINE", "");
    let finished = job.run(&[]).expect(0);
    assert!(outcome(&job) == expected(), "{}", finished.stderr);
    let snapshot = job.path("hf/hub/datasets--org--sums/snapshots").join(mirror.commit());
    assert_eq!(std::fs::read_to_string(snapshot.join("main/test.jsonl")).unwrap(), all);
    assert!(!snapshot.join("main/train.jsonl").exists(), "only what is read is fetched");
    let before = mirror.requests().len();
    job.run(&[]).expect(0);
    assert_eq!(mirror.requests().len(), before, "nothing is missing, nothing is asked");
}

/// Rows of the demo with so much beside them that they come in several pieces of 8 MiB.
fn large_rows() -> String {
    let padding = "x".repeat(1 << 20);
    rows().lines().map(|row| format!("{}, \"beside\": \"{padding}\"}}\n", row.trim_end_matches('}'))).collect()
}

/// The journal of the one file that is being downloaded, once it names this many pieces.
fn pieces(blobs: PathBuf, count: usize) -> Vec<u64> {
    wait_until("some pieces are durable", || {
        let mut files = std::fs::read_dir(&blobs).into_iter().flatten().flatten().map(|entry| entry.path());
        let journal = files.find(|path| path.extension().is_some_and(|ending| ending == "pieces"))?;
        let text = std::fs::read_to_string(journal).ok()?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let pieces: Vec<u64> = whole.lines().skip(1).map(|line| line.parse().unwrap()).collect();
        (pieces.len() == count).then_some(pieces)
    })
}

#[test]
#[ignore = "nightly"]
fn one_process_of_a_node_downloads_and_another_goes_on_where_it_was_killed() {
    let mirror = HubMirror::start().unwrap();
    mirror.put("datasets/org/sums", "test.jsonl", large_rows());
    let mut job = job("path = \"model\"", "hub:org/sums", LOCAL);
    compass_tests::copy_demo_model(&job.path("model")).unwrap();
    let home = job.path("hf").display().to_string();
    job.set_env("HF_HOME", &home);
    job.set_env("HF_ENDPOINT", &mirror.url());
    mirror.hold_large_after(3);
    let first = job.start_logged(&["--dry-run"], "first.log");
    let done = pieces(job.path("hf/hub/datasets--org--sums/blobs"), 3);
    let second = job.start_logged(&["--dry-run"], "second.log");
    wait_until("the second process waits", || {
        job.log("second.log").contains("another process on this node is fetching it").then_some(())
    });
    let all = large_rows().len().div_ceil(8 << 20);
    wait_until("every piece is asked for", || (mirror.large_reads().len() == all).then_some(()));
    mirror.release_large();
    first.signal("KILL");
    let finished = second.finish();
    assert_eq!(finished.code, Some(0), "{}", job.log("second.log"));
    let later = mirror.large_reads().split_off(all);
    assert_eq!(later.len(), all - 3, "what was durable is not asked for again: {later:?}");
    for piece in done {
        let begin = format!("bytes={}-", piece << 23);
        assert!(later.iter().all(|read| !read.contains(&begin)), "{begin}: {later:?}");
    }
    assert!(job.log("second.log").contains("were here"), "{}", job.log("second.log"));
    let file = job.path("hf/hub/datasets--org--sums/snapshots").join(mirror.commit()).join("test.jsonl");
    assert!(std::fs::read_to_string(file).unwrap() == large_rows());
}
