//! A real Slurm: jobs are launched, lost in every way that Slurm knows, and end with the run; no byte of a result changes.

use compass_tests::{
    Job, Running, SAMPLES, Slurm, assert_same, configuration, echo_job, free_port, program, told_address, undisturbed,
    wait_until,
};
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Each job a node of its own, so that one node lost is one worker lost.
const RUNNER: &str = "[infer.runner]\ntype = \"slurm\"\npartition = \"llmeval\"\nextra_command = [\"--exclusive\"]\n";

/// All nodes are this host.
const LOOPBACK: &str = "listen = \"127.0.0.1:0\"";

/// An echo job whose replicas take a GPU.
fn job(slurm: &Slurm, master: &str, infer: &str) -> Job {
    let mut job = echo_job(master, infer);
    let text = configuration(master, infer).replace("type = \"echo\"", "type = \"echo\"\nrun_cfg = { num_gpus = 1 }");
    job.configure(&text);
    job.set_env("SLURM_CONF", &slurm.conf());
    job
}

/// The same, held once this many samples have begun.
fn held(samples: u64, slurm: &Slurm, master: &str, infer: &str) -> Job {
    let mut job = job(slurm, master, infer);
    job.hold_after(samples);
    job
}

fn wait_for_running(slurm: &Slurm, jobs: usize) {
    wait_until("jobs run", || (slurm.running().len() >= jobs).then_some(()));
}

fn expect(master: Running, slurm: &Slurm) -> String {
    let finished = master.finish();
    let logs = slurm.ours().iter().map(|job| format!("{job:?}\n")).collect::<String>();
    assert_eq!(finished.code, Some(0), "{}\n{}\n{logs}", finished.stdout, finished.stderr);
    finished.stderr
}

#[test]
#[ignore = "nightly"]
fn a_debug_run_shows_the_log_of_its_one_job_which_lies_where_log_dir_says() {
    let expected = undisturbed();
    let Some(slurm) = Slurm::start("a_debug_run_shows_the_log_of_its_one_job_which_lies_where_log_dir_says", 2, 4)
    else {
        return;
    };
    let runner = format!("{RUNNER}log_dir = \"job-logs\"\n");
    let job = job(&slurm, LOOPBACK, &runner);
    let told = expect(job.start(&["--debug"]), &slurm);
    assert_same(&job, &expected);
    let ours = slurm.ours();
    let [of_worker] = ours.as_slice() else { panic!("{ours:?}") };
    let name = format!("slurm {} | ", of_worker.id);
    let lines: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix(&name)).collect();
    assert!(lines.iter().any(|line| line.contains("model loaded")), "{told}");
    let logs: Vec<_> = std::fs::read_dir(job.path("job-logs")).unwrap().map(|log| log.unwrap().path()).collect();
    let [log] = logs.as_slice() else { panic!("{logs:?}") };
    let written = std::fs::read_to_string(log).unwrap();
    assert!(lines.iter().all(|line| written.lines().any(|own| own == *line)), "{written}");
}

#[test]
#[ignore = "nightly"]
fn every_loss_that_slurm_knows_changes_no_byte() {
    let expected = undisturbed();
    let Some(slurm) = Slurm::start("every_loss_that_slurm_knows_changes_no_byte", 4, 8) else { return };
    let job = held(20, &slurm, LOOPBACK, RUNNER);
    let watch = slurm.watch();
    let master = job.start(&["--max-num-workers", "4", "--max-gpus", "3"]);
    wait_for_running(&slurm, 3);
    job.wait_until_durable();
    watch.look();

    let cancelled = slurm.running()[0].clone();
    slurm.run("scancel", &[&cancelled.id]);
    job.trickle_until("the cancelled job is over", || {
        slurm.ours().iter().all(|job| job.id != cancelled.id || !job.is_live())
    });
    wait_until("another job takes its place", || (slurm.running().len() == 3).then_some(()));
    watch.look();

    let lost = slurm.running()[0].clone();
    slurm.kill_node(&lost.nodes);
    wait_until("the job of the dead node runs elsewhere", || {
        let now = slurm.running();
        let again = now.iter().find(|job| job.id == lost.id)?;
        (again.restarts > lost.restarts && again.nodes != lost.nodes).then_some(())
    });
    slurm.start_node(&lost.nodes);

    let weak = slurm.running()[1].clone();
    let node = format!("--nodelist={}", weak.nodes);
    slurm.run("sbatch", &["-p", "urgent", "--exclusive", &node, "--output=/dev/null", "--wrap", "sleep 2"]);
    job.trickle_until("a more urgent job puts one back into the queue", || {
        slurm.ours().iter().any(|job| job.id == weak.id && job.restarts > weak.restarts)
    });
    wait_for_running(&slurm, 3);
    watch.look();
    job.gate().open();

    let said = expect(master, &slurm);
    slurm.assert_empty();
    assert_same(&job, &expected);
    assert_eq!(watch.finish(), 3, "GPUs at once, where 3 are allowed");
    let facts = job.facts();
    assert_eq!((facts["divergences"].as_u64(), facts["runner"].as_str()), (Some(0), Some("slurm")), "{facts}\n{said}");
    let workers = facts["workers"].as_object().unwrap();
    assert!(workers.len() >= 4 && workers.keys().all(|name| name.starts_with("slurm-")), "{facts}");
}

#[test]
#[ignore = "nightly"]
fn a_worker_goes_before_its_time_is_up() {
    let expected = undisturbed();
    let Some(slurm) = Slurm::start("a_worker_goes_before_its_time_is_up", 1, 8) else { return };
    let runner = "[infer.runner]\ntype = \"slurm\"\npartition = \"llmeval\"\nmax_num_workers = 2\n\
                  extra_command = \"--time=1 --signal=B:TERM@5\"\n";
    let job = held(20, &slurm, LOOPBACK, runner);
    let master = job.start(&[]);
    // A minute is the least that Slurm gives; no sample begins before a worker's is nearly up.
    wait_until("a worker drains", || {
        let drains = |log: Vec<u8>| String::from_utf8_lossy(&log).contains("draining");
        job.tree("logs/infer").into_values().any(drains).then_some(())
    });
    let drained = slurm.running();
    job.trickle_until("its job is over", || drained.iter().any(|job| !slurm.running().contains(job)));
    wait_until("another job takes its place", || {
        (slurm.ours().iter().filter(|job| job.state != "PENDING").count() >= 3).then_some(())
    });
    job.gate().open();
    expect(master, &slurm);
    slurm.assert_empty();
    assert_same(&job, &expected);
    let facts = job.facts();
    assert!(facts["workers"].as_object().unwrap().len() >= 3, "no worker's time was up: {facts}");
}

#[test]
#[ignore = "nightly"]
fn nothing_stays_in_the_queue_however_the_master_ends() {
    let Some(slurm) = Slurm::start("nothing_stays_in_the_queue_however_the_master_ends", 2, 8) else { return };
    for (signals, code) in [(&["TERM"][..], 143), (&["INT"][..], 130), (&["INT", "INT"][..], 130)] {
        let job = held(0, &slurm, LOOPBACK, RUNNER);
        // Two jobs run and two wait: the nodes are two.
        let mut master = job.start(&["--max-num-workers", "4"]);
        wait_for_running(&slurm, 2);
        wait_until("two wait", || {
            (slurm.ours().iter().filter(|job| job.state == "PENDING").count() == 2).then_some(())
        });
        for (at, signal) in signals.iter().enumerate() {
            if at > 0 {
                #[expect(clippy::disallowed_methods, reason = "signals of one moment are taken for one")]
                std::thread::sleep(Duration::from_millis(600));
            }
            master.signal(signal);
        }
        if signals.len() == 1 {
            job.trickle_until("the master ends", || master.has_ended());
        }
        assert_eq!(master.finish().code, Some(code));
        // A master that gets two signals does not wait for it.
        wait_until("the queue is empty", || slurm.ours().iter().all(|job| !job.is_live()).then_some(()));
    }
}

#[test]
#[ignore = "nightly"]
fn a_restarted_master_takes_over_its_jobs() {
    let expected = undisturbed();
    let Some(slurm) = Slurm::start("a_restarted_master_takes_over_its_jobs", 2, 8) else { return };
    let port = free_port();
    let job = held(20, &slurm, &format!("listen = \"127.0.0.1:{port}\""), RUNNER);
    let master = job.start(&["--max-num-workers", "2"]);
    wait_for_running(&slurm, 2);
    job.wait_until_durable();
    let before: Vec<String> = slurm.running().into_iter().map(|job| job.id).collect();
    master.signal("KILL");
    assert_eq!(master.finish().code, None);
    job.gate().open();
    let again = job.start(&["--max-num-workers", "2", "-r"]);
    let said = expect(again, &slurm);
    assert!(said.contains("2 jobs of an earlier master go on"), "{said}");
    assert_eq!(slurm.ours().len(), before.len(), "no further job was submitted: {:?}", slurm.ours());
    slurm.assert_empty();
    assert_same(&job, &expected);
}

#[test]
#[ignore = "nightly"]
fn srun_by_hand_on_several_nodes_and_tasks_at_once() {
    let expected = undisturbed();
    let Some(slurm) = Slurm::start("srun_by_hand_on_several_nodes_and_tasks_at_once", 2, 8) else { return };
    // No sample begins before the workers of both nodes are there.
    let job = held(0, &slurm, LOOPBACK, "[infer.runner]\ntype = \"none\"\n");
    let master = job.start_logged(&[], "master.log");
    let address = told_address(&job, "master.log");
    let mut srun = Command::new("srun");
    srun.args(["-p", "llmeval", "-N2", "--ntasks-per-node=2", "--gres=gpu:2"]);
    srun.arg(program("worker-with-faults")).args(["--master", &address]);
    srun.envs(job.environment()).env("HOME", job.path("home")).stdin(Stdio::null()).stdout(Stdio::null());
    let mut srun = srun.stderr(File::create(job.path("srun.log")).unwrap()).spawn().unwrap();
    wait_until("both nodes work", || {
        (job.log("srun.log").matches("welcomed by the master").count() == 2).then_some(())
    });
    job.gate().open();
    let ended = srun.wait().unwrap();
    let said = job.log("srun.log");
    assert!(ended.success(), "{said}");
    assert_eq!(said.matches("sees the same 2 GPUs as task 0").count(), 2, "{said}");
    assert_eq!(master.finish().code, Some(0), "{}", job.log("master.log"));
    assert_same(&job, &expected);
    let facts = job.facts();
    let workers = facts["workers"].as_object().unwrap();
    let slots: Vec<u64> = workers.values().map(|worker| worker["slots"].as_u64().unwrap()).collect();
    assert_eq!(slots, [2, 2], "one agent a node, with an engine for each of its GPUs: {facts}");
    assert_eq!(facts["recorded_samples"].as_u64(), Some(u64::from(2 * SAMPLES)), "{facts}");
}

/// Returns the message of a master that cannot launch anything, and ends with this code.
fn refusal(job: &Job, arguments: &[&str], code: i32) -> String {
    let finished = job.run(arguments);
    assert_eq!(finished.code, Some(code), "{}", finished.stderr);
    assert!(job.runs().is_empty(), "nothing is written");
    finished.stderr
}

#[test]
#[ignore = "nightly"]
fn each_refusal_is_one_sentence() {
    let Some(slurm) = Slurm::start("each_refusal_is_one_sentence", 1, 2) else { return };
    let mut job = job(&slurm, LOOPBACK, "");
    for (arguments, expected) in [
        (
            &["--slurm", "-p", "nowhere"][..],
            "error: Slurm has no partition `nowhere`; `sinfo` lists what there is (-p NAME)\n",
        ),
        (
            &["--slurm", "-p", "llmeval", "-q", "auto"][..],
            "error: this Slurm does not know --quotatype=auto, which some sites add to it; leave -q away\n",
        ),
    ] {
        assert_eq!(refusal(&job, arguments, 2), expected);
    }
    slurm.kill_munge();
    let said = refusal(&job, &["--slurm", "-p", "llmeval"], 3);
    assert!(said.starts_with("error: munge, by which Slurm knows who asks, does not answer"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    job.set_env("PATH", "/nowhere");
    let said = refusal(&job, &["--slurm", "-p", "llmeval"], 2);
    assert!(said.starts_with("error: there is no `sbatch` on this host: start the master where"), "{said}");
}

#[test]
#[ignore = "nightly"]
fn a_dry_run_shows_what_would_be_submitted() {
    let mut job = echo_job(LOOPBACK, RUNNER);
    job.set_env("COMPASS_WORKER", &program("compass-worker").display().to_string());
    let shown = job.run(&["--dry-run", "--max-num-workers", "4", "-q", "auto"]).expect(0).stdout;
    let command = "would launch: sbatch --parsable --partition=llmeval --quotatype=auto --nodes=1 --ntasks=1";
    assert!(shown.contains(command) && shown.contains("--array=0-3") && shown.contains("--exclusive"), "{shown}");
    let worker = "compass-worker --master '<host of the master>:<port>' --device auto --slots 1 --no-sandbox";
    assert!(shown.contains(worker), "{shown}");
    assert!(shown.contains("'--output=<run folder>/logs/infer/slurm-%A_%a.log'"), "{shown}");
}
