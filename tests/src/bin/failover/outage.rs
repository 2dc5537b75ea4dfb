//! etcd goes away in the middle of a run, for longer than any lease, and comes back.

use crate::takeover::{SMALL_TASKS, start, start_workers, wait_for};
use compass_tests::{Etcd, EtcdOptions, SAMPLES, committed, configuration, echo_job, free_port, wait_until};
use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

/// Plays it; whether nothing was lost or run again, and the leader stayed.
pub(crate) fn run(seconds: u64) -> Result<bool, Box<dyn Error>> {
    let expected = echo_job("", "");
    expected.run(&[]).expect(0);
    let Some(mut etcd) = Etcd::start("failover --outage", 1, EtcdOptions::default()) else { return Ok(true) };
    let port = free_port();
    let master = format!("listen = \"127.0.0.1:{port}\"\nstore = \"etcd://{}/outage\"", etcd.endpoints());
    let job = echo_job("", "");
    job.configure(&configuration(&master, SMALL_TASKS));
    let mut leader = start(job.command(&[]), &job, "leader")?;
    wait_for(&job, "leader", "waiting for workers");
    let workers = start_workers(&job, &format!("127.0.0.1:{port}"))?;
    let traced = || job.log("trace").lines().count();
    wait_until("some samples are done", || (traced() >= 30).then_some(()));
    let before = committed(&etcd, "outage", &job)?;
    etcd.kill(0);
    let run_before = traced();
    // The fault itself, not a wait for anything.
    std::thread::sleep(Duration::from_secs(seconds));
    let meanwhile = traced() - run_before;
    etcd.spawn(0);
    let ended = leader.wait()?;
    for mut worker in workers {
        worker.wait()?;
    }
    if !ended.success() {
        return Err(format!("the master ended with {ended}: {}", job.log("leader")).into());
    }
    if job.tree("results") != expected.tree("results") {
        return Err("results/ differs from a run that nothing disturbed".into());
    }
    let after = committed(&etcd, "outage", &job)?;
    let lost = before.samples.iter().filter(|(key, result)| after.samples.get(key) != Some(result)).count();
    let trace = job.log("trace");
    let again = trace.lines().count() - trace.lines().collect::<BTreeSet<_>>().len();
    let epoch = job.facts()["epoch"].as_u64().unwrap_or(0);
    println!(
        "etcd away for {seconds} s: {} of {} samples committed before, {meanwhile} run meanwhile, epoch {epoch} at the end",
        before.samples.len(),
        2 * SAMPLES
    );
    println!("outage: {seconds} s, lost commits: {lost}, samples run again: {again}");
    Ok(lost + again == 0 && epoch == 1)
}
