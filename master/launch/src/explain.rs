//! Why nothing is running, in one sentence per pool. Pure: what is said follows from the reports alone.

use super::pool::PoolReport;
use compass_common::words::{counted, duration};
use compass_config::RunnerKind;
use compass_types::ids::WorkerId;

/// A job that runs for so long without its worker reporting is worth a word, in milliseconds.
const MUTE_MS: u64 = 20_000;

/// One sentence per pool, given who is connected by now.
pub fn explain_now(reports: &[PoolReport], is_connected: impl Fn(&WorkerId) -> bool) -> Vec<String> {
    explain(&reports.iter().map(|report| report.clone().knowing(&is_connected)).collect::<Vec<_>>())
}

/// One sentence per pool.
pub fn explain(reports: &[PoolReport]) -> Vec<String> {
    let who = |report: &PoolReport| match report.name == report.kind {
        true => report.name.clone(),
        false => format!("pool {} ({})", report.name, report.kind),
    };
    reports.iter().map(|report| format!("{}: {}", who(report), state(report))).collect()
}

/// Whether its workers are on this host, and no jobs of anybody's.
fn is_local(report: &PoolReport) -> bool {
    report.kind == RunnerKind::Local.name()
}

fn state(report: &PoolReport) -> String {
    let count = &report.count;
    if let Some(reason) = &report.given_up {
        return format!("nothing more is launched: {reason}");
    }
    if let Some(status_error) = &report.status_error {
        return format!("cannot query the state of its {}: {status_error}", counted(report.live(), "job"));
    }
    if count.reported > 0 {
        let all = report.target.max(report.live());
        return match (is_local(report), count.reported) {
            (true, 1) => format!("1 of {all} workers on this host is here"),
            (true, here) => format!("{here} of {all} workers on this host are here"),
            (false, 1) => format!("1 of {all} jobs runs and its worker is here"),
            (false, here) => format!("{here} of {all} jobs run and their workers are here"),
        };
    }
    let now = present(report);
    let Some(trouble) = &report.trouble else {
        return now.unwrap_or_else(|| "idle: no running job has work that it can do".to_owned());
    };
    let trouble = trouble.trim_end_matches('.');
    let seconds = report.pause_left.div_ceil(1000);
    match now.filter(|_| report.live() > 0) {
        Some(now) => format!("{now}; what came before failed: {trouble}"),
        None if seconds > 0 => format!("{trouble}; the next try is in {}", duration(seconds as f64)),
        None => trouble.to_owned(),
    }
}

/// Where its jobs stand, as long as none of their workers is here; `None` where there are to be none.
fn present(report: &PoolReport) -> Option<String> {
    let count = &report.count;
    if count.running > 0 && count.longest_mute >= MUTE_MS {
        let time = duration(count.longest_mute as f64 / 1000.0);
        let (run, whose) = match count.running {
            1 => (format!("1 job has run for {time}, but its worker has not"), "Its log tells"),
            jobs => (format!("{jobs} jobs have run for up to {time}, but no worker of theirs has"), "Their logs tell"),
        };
        return Some(format!(
            "{run} reached this master: is its address (master.advertise) reachable from there, and has the worker its \
             token? {whose}"
        ));
    }
    if count.running > 0 {
        return Some(match (is_local(report), count.running) {
            (true, 1) => "1 worker on this host has just started and is not here yet".to_owned(),
            (true, workers) => format!("{workers} workers on this host have just started and are not here yet"),
            (false, 1) => "1 job has just started, its worker is not here yet".to_owned(),
            (false, jobs) => format!("{jobs} jobs have just started, their workers are not here yet"),
        });
    }
    if count.queued > 0 {
        let why: Vec<String> = count.reasons.iter().map(|(reason, jobs)| because(reason, *jobs)).collect();
        let why = if why.is_empty() { "no reason is given".to_owned() } else { why.join("; ") };
        let wait = duration(count.longest_wait as f64 / 1000.0);
        return Some(format!("{} pending for {wait}: {why}", counted(count.queued, "job")));
    }
    (report.target > 0).then(|| "jobs are being submitted".to_owned())
}

/// What a launcher's reason means.
fn because(reason: &str, jobs: u32) -> String {
    let meaning = match reason {
        "Resources" => "the nodes that it needs are busy",
        "Priority" => "others are before it in the queue",
        "QOSMaxGRESPerUser" | "QOSMaxGRESPerAccount" | "AssocGrpGRES" | "QOSGrpGRES" => "the quota of GPUs is used up",
        "QOSMaxJobsPerUserLimit" | "AssocMaxJobsLimit" | "QOSMaxSubmitJobPerUserLimit" => {
            "the quota of jobs is used up"
        }
        "BeginTime" => "it was put back and waits for its new start",
        "PartitionDown" | "PartitionInactive" => "the partition takes no jobs now",
        "PartitionNodeLimit" | "PartitionTimeLimit" | "BadConstraints" => "no node of the partition can ever run it",
        "JobHeldUser" | "JobHeldAdmin" => "somebody holds it (scontrol release)",
        "ReqNodeNotAvail"
        | "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions" => {
            "the nodes that could run it are down, drained or reserved"
        }
        "Licenses" => "a licence that it wants is taken",
        "Dependency" => "it waits for another job",
        _ => return if jobs > 1 { format!("{reason} ({jobs} jobs)") } else { reason.to_owned() },
    };
    format!("{meaning} ({reason})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job_table::Count;
    use std::collections::BTreeMap;

    fn report(change: impl FnOnce(&mut PoolReport)) -> String {
        let mut report = PoolReport { name: "s".into(), kind: "slurm", target: 4, ..PoolReport::default() };
        change(&mut report);
        explain(&[report]).remove(0)
    }

    #[test]
    fn each_case_has_its_sentence() {
        let queued = report(|report| {
            report.count.queued = 4;
            report.count.longest_wait = 61_000;
            report.count.reasons = BTreeMap::from([("Resources".into(), 1), ("Priority".into(), 3)]);
        });
        assert_eq!(
            queued,
            "pool s (slurm): 4 jobs pending for 1m 01s: others are before it in the queue (Priority); the nodes that it needs \
             are busy (Resources)"
        );
        let never_connected = report(|report| (report.count.running, report.count.longest_mute) = (2, 40_000));
        assert!(
            never_connected.contains("2 jobs have run for up to 40s, but no worker of theirs has reached this master"),
            "{never_connected}"
        );
        let trouble = report(|report| {
            (report.trouble, report.pause_left) = (Some("there is no partition `x`".into()), 1500);
        });
        assert_eq!(trouble, "pool s (slurm): there is no partition `x`; the next try is in 2s");
        let again = report(|report| {
            (report.trouble, report.count.running) = (Some("its worker was ended by signal 9".into()), 3);
        });
        assert_eq!(
            again,
            "pool s (slurm): 3 jobs have just started, their workers are not here yet; what came before failed: its worker \
             was ended by signal 9"
        );
        let started = |kind: &'static str| {
            let report = PoolReport { name: "a".into(), kind, target: 2, ..PoolReport::default() };
            let count = Count { running: 2, ..Count::default() };
            PoolReport { count, workers: [WorkerId("w0".into()), WorkerId("w1".into())].into(), ..report }
        };
        let now = |kind, here: &[&str]| explain_now(&[started(kind)], |worker| here.contains(&&*worker.0)).remove(0);
        assert_eq!(now("slurm", &[]), "pool a (slurm): 2 jobs have just started, their workers are not here yet");
        assert_eq!(now("slurm", &["w1", "w7"]), "pool a (slurm): 1 of 2 jobs runs and its worker is here");
        let local = RunnerKind::Local.name();
        assert!(now(local, &[]).ends_with("2 workers on this host have just started and are not here yet"));
        assert!(now(local, &["w0", "w1"]).ends_with("2 of 2 workers on this host are here"));
        let one = report(|report| (report.count.queued, report.count.longest_wait) = (1, 4_000_000));
        assert_eq!(one, "pool s (slurm): 1 job pending for 1h 06m: no reason is given");
        let silent = report(|report| (report.count.running, report.count.longest_mute) = (1, 40_000));
        assert!(silent.contains("1 job has run for 40s, but its worker has not reached this master"), "{silent}");
        assert_eq!(report(|report| report.target = 0), "pool s (slurm): idle: no running job has work that it can do");
        let given_up = report(|report| report.given_up = Some("no `sbatch`".into()));
        assert_eq!(given_up, "pool s (slurm): nothing more is launched: no `sbatch`");
    }
}
