//! Another release at the other end: the first frame of a worker, and a run folder, as a release of protocol 3 wrote them. Its
//! master was killed when 35 of 80 samples were recorded.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::played::{Peer, ends_well, hello, master, with_peers};
use compass_proto::v1::master_frame::Body as Told;
use compass_proto::v1::worker_frame::Body as Say;
use compass_proto::{OLDEST_PROTOCOL, Protocols, v1};
use compass_tests::{Job, tree_of};
use prost::Message as _;
use std::fs;
use std::path::{Path, PathBuf};

const RUN: &str = "20261122_101200";

fn written(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/protocol_3").join(name)
}

/// The job of protocol 3, without its run.
fn job() -> Job {
    let job = Job::new(&fs::read_to_string(written("eval.toml")).unwrap());
    job.write("rows.jsonl", &fs::read_to_string(written("rows.jsonl")).unwrap());
    job
}

/// The job of protocol 3 with the run that its master began.
fn begun() -> Job {
    let job = job();
    for (name, bytes) in tree_of(&written("run")) {
        let path = job.path("out").join(RUN).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    job
}

#[test]
#[ignore = "nightly"]
fn a_worker_of_protocol_3_is_told_which_release_to_install() {
    let frame = v1::WorkerFrame::decode(fs::read(written("hello.bin")).unwrap().as_slice()).unwrap();
    let Some(Say::Hello(hello)) = frame.body else { unreachable!("a hello, not {frame:?}") };
    assert_eq!((hello.protocol, hello.worker.as_str(), hello.slots), (3, "gpu7-4711", 2));
    let (job, running, address) = master();
    let reason = with_peers(async {
        match Peer::call(&job, &address, hello).await.told().await {
            Some(Told::Refused(refused)) => refused.reason,
            other => unreachable!("a refusal, not {other:?}"),
        }
    });
    let release = env!("CARGO_PKG_VERSION");
    let sentence = format!(
        "it speaks protocol 3, this master speaks {}; install compass-worker {release} on its host",
        Protocols::OURS
    );
    assert_eq!(reason, sentence);
    ends_well(&job, running, &address);
}

#[test]
#[ignore = "nightly"]
fn a_worker_of_the_oldest_protocol_is_spoken_to_in_it() {
    let (job, running, address) = master();
    let welcomed = with_peers(async {
        let hello = v1::Hello { protocol: OLDEST_PROTOCOL, ..hello("older") };
        Peer::call(&job, &address, hello).await.welcome().await.protocol
    });
    assert_eq!(welcomed, OLDEST_PROTOCOL);
    ends_well(&job, running, &address);
}

#[test]
fn a_run_that_protocol_3_began_keeps_its_samples_and_gets_the_same_results() {
    let (begun, whole) = (begun(), job());
    let finished = begun.run(&["-r", RUN]).expect(0);
    // In another folder than where it began its configuration is another one, and its samples are the same.
    assert!(finished.stderr.contains("35 of 80 samples are the same and kept"), "{}", finished.stderr);
    let facts = begun.facts();
    assert_eq!((&facts["resumed_samples"], &facts["recorded_samples"]), (&35.into(), &80.into()), "{facts}");
    whole.run(&[]).expect(0);
    assert_eq!(begun.tree("results"), whole.tree("results"));
    assert_eq!(begun.tree("predictions"), whole.tree("predictions"));
}

#[test]
#[ignore = "nightly"]
fn a_run_of_another_plan_format_is_refused_with_the_reason() {
    let job = begun();
    let plan = job.path("out").join(RUN).join("plan/job.json");
    let text = fs::read_to_string(&plan).unwrap();
    let changed = text.replacen("\"format\": 2,", "\"format\": 1,", 1);
    assert_ne!(changed, text);
    fs::write(&plan, changed).unwrap();
    let before = tree_of(&job.path("out"));
    let finished = job.run(&["-r", RUN]).expect(2);
    let sentence = "was planned by format 1, this master reads format 3; resume it with the version that began it";
    assert!(finished.stderr.contains(sentence), "{}", finished.stderr);
    assert_eq!(tree_of(&job.path("out")), before, "nothing was written");
}
