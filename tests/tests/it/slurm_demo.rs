//! The demo on a real Slurm: four workers, each a job with a GPU, and the bytes of a local run.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Job, Slurm, wait_until};
use std::path::PathBuf;

/// Text in a worker's log once it has joined.
const JOINED: &str = "welcomed by the master";

/// The demo in a folder of its own; a replica takes a GPU and computes on the CPU.
fn demo() -> Job {
    let demo = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../deploy/demo/eval.toml").canonicalize().unwrap();
    let model = "[[model]]\nabbr = \"demo\"\ndevice = \"cpu\"\nrun_cfg = { num_gpus = 1 }\n";
    Job::new(&format!("include = [\"{}\"]\n\n[master]\nlisten = \"127.0.0.1:0\"\n\n{model}", demo.display()))
}

#[test]
#[ignore = "nightly"]
fn the_demo_on_slurm_has_the_bytes_of_a_local_run() {
    let Some(slurm) = Slurm::start("the_demo_on_slurm_has_the_bytes_of_a_local_run", 4, 8) else { return };
    let local = demo();
    local.run(&["--max-num-workers", "2"]).expect(0);
    let mut remote = demo();
    remote.set_env("SLURM_CONF", &slurm.conf());
    // No sample begins before all four workers are there.
    remote.hold_after(0);
    let watch = slurm.watch();
    let flags = ["--slurm", "-p", "llmeval", "--max-num-workers", "32", "--max-gpus", "4"];
    let master = remote.start(&flags);
    wait_until("four jobs run", || (slurm.running().len() == 4).then_some(()));
    watch.look();
    let joined = || remote.tree("logs/infer").into_values().filter(|log| String::from_utf8_lossy(log).contains(JOINED));
    wait_until("four workers are there", || (joined().count() == 4).then_some(()));
    remote.gate().open();
    master.finish().expect(0);
    slurm.assert_empty();
    assert_eq!(watch.finish(), 4, "GPUs at once, where 4 are allowed");
    for tree in ["results", "predictions"] {
        assert!(local.tree(tree) == remote.tree(tree), "{tree}/ differ");
    }
    let facts = remote.facts();
    let workers = facts["workers"].as_object().unwrap();
    assert!(workers.len() >= 4, "{facts}");
}
