//! A pool that continues while it is cut off (`offline = "continue"`): what it makes waits on its disk and is sent when the
//! link is back; and when its worker dies meanwhile, another does it again, with the same bytes.

use compass_tests::{
    Job, Mood, Proxy, Running, SAMPLES, Worker, assert_same, echo_job, join_token_file, told_address, wait_until,
    worker_command,
};
use std::fmt::Write as _;
use std::path::Path;

/// Each data set is one task: the worker holds all of the job when the link is cut.
const FAR: &str =
    "[[pool]]\nname = \"far\"\nlauncher = \"none\"\noffline = \"continue\"\n[infer.partitioner]\ntype = \"naive\"\n";
/// Bytes of an answer: some 40 of them are more than memory should hold.
const ANSWER: usize = 100_000;

/// A job whose answers are long: the echo engine repeats the last word of a prompt.
fn job(infer: &str) -> Job {
    let job = echo_job("listen = \"127.0.0.1:0\"", infer);
    let mut rows = String::new();
    for at in 0..SAMPLES {
        let (word, label) = ("x".repeat(ANSWER), at % 2);
        // Writing to a string cannot fail.
        let _ = writeln!(rows, r#"{{"q": "What is {at}? {word}{at}", "a": "a{at}", "b": "b{at}", "label": {label}}}"#);
    }
    job.write("rows.jsonl", &rows);
    job
}

struct CutOff {
    job: Job,
    master: Running,
    proxy: Proxy,
    worker: Worker,
}

fn start(job: &Job, proxy: &Proxy, log: &str) -> Worker {
    let mut command = worker_command(&proxy.address(), &job.path("home"));
    command.env("COMPASS_TOKEN_FILE", join_token_file(job));
    command.args(["--name", "far", "--pool", "far", "--slots", "2", "--no-sandbox"]);
    command.envs(job.environment()).env("COMPASS_FAULT_TRACE", job.path("trace"));
    Worker::start(command, job.path(log))
}

/// Samples that were run so far, by whomever.
fn run_so_far(job: &Job) -> usize {
    job.log("trace").lines().count()
}

/// Returns whether a process has results on its disk: a file without a name.
fn spools(pid: u32) -> bool {
    let files = std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd")).into_iter().flatten().flatten();
    let spool = files
        .map(|file| file.path())
        .find(|file| std::fs::read_link(file).is_ok_and(|target| target.to_string_lossy().contains("compass-spool-")));
    spool.is_some_and(|file| std::fs::metadata(file).is_ok_and(|file| file.len() > 0))
}

impl CutOff {
    /// A worker that was cut off in the middle of its work, and has put results aside since.
    fn new() -> Self {
        let mut job = job(FAR);
        job.hold_after(20);
        let master = job.start_logged(&[], "master.log");
        let proxy = Proxy::start(&told_address(&job, "master.log"));
        let worker = start(&job, &proxy, "worker.log");
        job.wait_until_durable();
        proxy.set(Mood::Cut);
        let (worker_pid, gate) = (worker.pid(), job.gate());
        wait_until("results wait on the disk", || {
            if gate.admitted() != Some(run_so_far(&job) as u64) {
                return None;
            }
            let spooled = spools(worker_pid).then_some(());
            if spooled.is_none() {
                gate.admit_more(1);
            }
            spooled
        });
        Self { job, master, proxy, worker }
    }
}

fn ended(job: &Job, master: Running, worker: Worker) {
    assert_eq!(master.finish().code, Some(0), "{}\n{}", job.log("master.log"), worker.said());
    let (code, said) = worker.finish();
    assert_eq!(code, Some(0), "{said}");
}

fn expected() -> (compass_tests::Tree, compass_tests::Tree) {
    let job = job("");
    job.run(&[]).expect(0);
    (job.tree("results"), job.tree("predictions"))
}

#[test]
#[ignore = "nightly"]
fn what_was_made_meanwhile_is_handed_in_and_nothing_is_made_again() {
    let CutOff { job, master, proxy, worker } = CutOff::new();
    let all = 2 * SAMPLES as usize;
    // A worker of another pool would stop now.
    job.wait_until_lost("far");
    job.gate().admit(all as u64 - 20);
    wait_until("it is nearly through", || (run_so_far(&job) == all - 20).then_some(()));
    proxy.set(Mood::Pass);
    job.gate().open();
    ended(&job, master, worker);
    assert_same(&job, &expected());
    assert_eq!(run_so_far(&job), all, "every sample was run once");
    let facts = job.facts();
    assert_eq!((&facts["repeats"], &facts["divergences"]), (&0.into(), &0.into()), "{facts}");
}
