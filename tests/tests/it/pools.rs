//! Pools: several at once under one master, models that load in some of them, workers that say which one they are of.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{FakeDlc, Job, SAMPLES, assert_same, configuration, echo_job, undisturbed, wait_until};

const POOLS: &str = "
[[pool]]
name = \"left\"
launcher = \"local\"
labels = [\"big\"]
max_num_workers = 1
[[pool]]
name = \"right\"
launcher = \"local\"
max_num_workers = 2
";

fn job(model: &str, more: &str) -> Job {
    let job = echo_job("", more);
    let text = configuration("listen = \"127.0.0.1:0\"", more)
        .replace("type = \"echo\"", &format!("type = \"echo\"\n{model}"));
    job.configure(&text);
    job
}

/// Samples that the workers of each pool ran.
fn by_pool(job: &Job) -> Vec<(String, u64)> {
    let facts = job.facts();
    let workers = facts["workers"].as_object().unwrap();
    let samples = |name: &String| -> u64 {
        let runs = facts["samples"][name].as_object().into_iter().flat_map(|units| units.values());
        let runs = runs.flat_map(|runs| runs.as_str().unwrap().split(',').map(str::to_owned).collect::<Vec<_>>());
        runs.map(|run| {
            let (first, end) = run.split_once("..").unwrap();
            end.parse::<u64>().unwrap() - first.parse::<u64>().unwrap()
        })
        .sum()
    };
    workers.iter().map(|(name, worker)| (worker["pool"].as_str().unwrap().to_owned(), samples(name))).collect()
}

#[test]
#[ignore = "nightly"]
fn several_pools_work_side_by_side() {
    let expected = undisturbed();
    let mut job = job("", POOLS);
    // No sample begins before the one slot of the left pool and the two of the right one have work.
    job.hold_after(0);
    let master = job.start(&[]);
    let loaded = |log: &Vec<u8>| String::from_utf8_lossy(log).matches("model loaded").count();
    wait_until("all slots have work", || {
        (job.tree("logs/infer").values().map(loaded).sum::<usize>() == 3).then_some(())
    });
    job.gate().open();
    master.finish().expect(0);
    assert_same(&job, &expected);
    let pools = by_pool(&job);
    assert_eq!(pools.iter().map(|(_, samples)| samples).sum::<u64>(), u64::from(2 * SAMPLES), "{pools:?}");
    for name in ["left", "right"] {
        assert!(pools.iter().any(|(pool, samples)| pool == name && *samples > 0), "{pools:?}");
    }
    assert_eq!(job.facts()["runner"].as_str(), Some("left:local,right:local"));
}

#[test]
fn a_worker_that_comes_by_itself_says_its_pool() {
    let expected = undisturbed();
    let pool = "[[pool]]\nname = \"far\"\nlauncher = \"none\"\n";
    let job = job("pools = [\"far\"]", pool);
    let master = job.start_logged(&[], "master.log");
    let address = wait_until("the master waits for workers", || {
        let log = job.log("master.log");
        Some(log.split_once("--master ")?.1.split_whitespace().next()?.to_owned())
    });
    let start = |name: &str, pool: Option<&str>| {
        let mut command = std::process::Command::new(compass_tests::program("compass-worker"));
        command.env("HOME", job.path("home"));
        command.args(["--master", &address, "--name", name]).stdin(std::process::Stdio::null());
        if let Some(pool) = pool {
            command.env("COMPASS_POOL", pool);
        }
        command.stderr(std::process::Stdio::null()).spawn().unwrap()
    };
    let mut elsewhere = start("elsewhere", None);
    let misspelt = start("misspelt", Some("farr")).wait().unwrap();
    assert_eq!(misspelt.code(), Some(4), "{}", job.log("master.log"));
    let refused = "it works for pool farr, which this master does not have; there are far";
    assert!(job.log("master.log").contains(refused), "{}", job.log("master.log"));
    let mut right = start("right", Some("far"));
    assert_eq!(master.finish().code, Some(0), "{}", job.log("master.log"));
    assert!(right.wait().unwrap().success() && elsewhere.wait().unwrap().success());
    assert_same(&job, &expected);
    assert!(by_pool(&job).iter().all(|(pool, samples)| pool == "far" || *samples == 0), "{:?}", by_pool(&job));
}

#[test]
#[ignore = "nightly"]
fn a_model_that_no_pool_takes_is_refused() {
    let pools = POOLS.replace("labels = [\"big\"]", "");
    let job = job("pools = [\"lefft\"]", &pools);
    let finished = job.run(&[]).expect(2);
    assert!(finished.stderr.contains("wants the pool `lefft`, which is not defined"), "{}", finished.stderr);
    assert!(finished.stderr.contains("did you mean `left`?"), "{}", finished.stderr);
}

#[test]
#[ignore = "nightly"]
fn what_is_stuck_in_a_queue_goes_to_a_pool_that_can_start_it() {
    let expected = undisturbed();
    let pools = "[[pool]]\nname = \"queue\"\nlauncher = { type = \"dlc\", aliyun_cfg = \"aliyun.toml\" }\n\
                 [[pool]]\nname = \"near\"\nlauncher = { type = \"command\", template = \"{task_cmd}\" }\n\
                 [infer.runner]\nmax_num_workers = 2\nmax_gpus = 2\n";
    let mut job = job("run_cfg = { num_gpus = 1 }\ndevice = \"cpu\"", pools);
    let dlc = FakeDlc::install(&mut job, "");
    // No job of the first pool ever leaves its queue, and these two are all that the job may have.
    dlc.faults("queue=1\n");
    job.run(&[]).expect(0);
    assert_same(&job, &expected);
    let ran = by_pool(&job);
    assert_eq!(ran.iter().map(|(_, samples)| samples).sum::<u64>(), u64::from(2 * SAMPLES), "{ran:?}");
    assert!(ran.iter().all(|(pool, _)| pool == "near"), "{ran:?}");
    assert_eq!(dlc.jobs().len(), 2, "what was given up was not asked for again");
    dlc.assert_all_over();
}
