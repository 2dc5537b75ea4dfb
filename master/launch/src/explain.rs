//! The reasons why nothing is running, in one sentence per pool. Pure: the text follows from the reports alone.

use super::pool::PoolReport;
use compass_common::words::{counted, duration};
use compass_settings::RunnerKind;
use compass_types::ids::WorkerId;

/// A job that runs for so long without its worker reporting is worth a word, in milliseconds.
const MUTE_MS: u64 = 20_000;

/// One sentence per pool, given who is connected by now.
pub fn explain_now(reports: &[PoolReport], is_connected: impl Fn(&WorkerId) -> bool) -> Vec<String> {
    explain(&reports.iter().map(|report| report.clone().knowing(&is_connected)).collect::<Vec<_>>())
}

/// As [`explain_now`], of the pools alone that have not brought the workers that they should.
pub fn explain_missing(reports: &[PoolReport], is_connected: impl Fn(&WorkerId) -> bool) -> Vec<String> {
    let reports = reports.iter().map(|report| report.clone().knowing(&is_connected));
    let is_short = |report: &PoolReport| report.count.reported < report.target || report.given_up.is_some();
    explain(&reports.filter(is_short).collect::<Vec<_>>())
}

/// One sentence per pool.
pub fn explain(reports: &[PoolReport]) -> Vec<String> {
    let who = |report: &PoolReport| match report.name == report.kind {
        true => report.name.clone(),
        false => format!("pool {} ({})", report.name, report.kind),
    };
    reports.iter().map(|report| format!("{}: {}", who(report), state(report))).collect()
}

/// Returns whether its workers are on this host, and no jobs of anybody's.
fn is_local(report: &PoolReport) -> bool {
    report.kind == RunnerKind::Local.name()
}

fn state(report: &PoolReport) -> String {
    if let Some(reason) = &report.given_up {
        return format!("nothing more is launched: {reason}");
    }
    if let Some(status_error) = &report.status_error {
        let of_what = match report.live() {
            0 => "the queue".to_owned(),
            jobs => format!("the state of its {}", counted(jobs, "job")),
        };
        return format!("cannot query {of_what}: {status_error}");
    }
    let mut parts: Vec<String> = here(report).into_iter().chain(missing(report)).collect();
    let live = report.live();
    // What failed is over once no jobs are wanted any more, and the next try is free.
    let is_over = live == 0 && report.target == 0 && report.pause_left == 0;
    let is_told = !is_over && report.count.reported < report.target.max(1);
    if let Some(trouble) = report.trouble.as_ref().filter(|_| is_told) {
        let trouble = trouble.trim_end_matches('.');
        let whose = if parts.is_empty() { "" } else { "what came before failed: " };
        let next = match report.pause_left.div_ceil(1000) {
            0 => String::new(),
            _ if live > 0 && live >= report.target => String::new(),
            seconds => format!("; the next try is in {}", duration(seconds as f64)),
        };
        parts.push(format!("{whose}{trouble}{next}"));
    }
    if parts.is_empty() {
        let is_wanted = report.target > 0;
        let text = if is_wanted { "jobs are being submitted" } else { "idle: no running job has work that it can do" };
        parts.push(text.to_owned());
    }
    parts.join("; ")
}

/// The jobs whose workers are here, of all that there are or are to be; `None` for none. The noun goes with all, the verb with
/// those that are here.
fn here(report: &PoolReport) -> Option<String> {
    let here = report.count.reported;
    let all = u64::from(report.target.max(report.live()));
    let what = match is_local(report) {
        true => format!("{here} of {} on this host", counted(all, "worker")),
        false => format!("{here} of {}", counted(all, "job")),
    };
    Some(match (is_local(report), here) {
        (_, 0) => return None,
        (true, 1) => format!("{what} is here"),
        (true, _) => format!("{what} are here"),
        (false, 1) => format!("{what} runs and its worker is here"),
        (false, _) => format!("{what} run and their workers are here"),
    })
}

/// Describes the state of the jobs whose workers are not here.
fn missing(report: &PoolReport) -> Vec<String> {
    let count = &report.count;
    let mut parts = Vec::new();
    let late = count.running.saturating_sub(count.reported);
    if late > 0 && count.longest_mute >= MUTE_MS {
        let time = duration(count.longest_mute as f64 / 1000.0);
        let (run, whose) = match late {
            1 => (format!("1 job has run for {time}, but its worker has not"), "Its log tells"),
            jobs => (format!("{jobs} jobs have run for up to {time}, but no worker of theirs has"), "Their logs tell"),
        };
        parts.push(format!(
            "{run} reached this master: is its address (master.advertise) reachable from there, and has the worker its \
             token? {whose}"
        ));
    } else if late > 0 {
        parts.push(match (is_local(report), late) {
            (true, 1) => "1 worker on this host has just started and is not here yet".to_owned(),
            (true, workers) => format!("{workers} workers on this host have just started and are not here yet"),
            (false, 1) => "1 job has just started, its worker is not here yet".to_owned(),
            (false, jobs) => format!("{jobs} jobs have just started, their workers are not here yet"),
        });
    }
    // A job whose worker is here runs, whatever its launcher said last.
    let queued = count.queued.saturating_sub(count.reported.saturating_sub(count.running));
    if queued > 0 {
        let why: Vec<String> = count.reasons.iter().map(|(reason, jobs)| because(reason, *jobs)).collect();
        let why = if why.is_empty() { "no reason is given".to_owned() } else { why.join("; ") };
        let wait = duration(count.longest_wait as f64 / 1000.0);
        parts.push(format!("{} pending for {wait}: {why}", counted(queued, "job")));
    }
    parts
}

/// Returns the meaning of a launcher's reason for this number of jobs.
fn because(reason: &str, jobs: u32) -> String {
    let is_one = jobs == 1;
    let of = |one: &'static str, many: &'static str| if is_one { one } else { many };
    let meaning = match reason {
        "Resources" => of("the nodes that it needs are busy", "the nodes that they need are busy"),
        "Priority" => of("others are before it in the queue", "others are before them in the queue"),
        "QOSMaxGRESPerUser" | "QOSMaxGRESPerAccount" | "AssocGrpGRES" | "QOSGrpGRES" => "the quota of GPUs is used up",
        "QOSMaxJobsPerUserLimit" | "AssocMaxJobsLimit" | "QOSMaxSubmitJobPerUserLimit" => {
            "the quota of jobs is used up"
        }
        "BeginTime" => {
            of("it was put back and waits for its new start", "they were put back and wait for their new start")
        }
        "PartitionDown" | "PartitionInactive" => "the partition takes no jobs now",
        "PartitionNodeLimit" | "PartitionTimeLimit" | "BadConstraints" => {
            of("no node of the partition can ever run it", "no node of the partition can ever run them")
        }
        "JobHeldUser" | "JobHeldAdmin" => {
            of("somebody holds it (scontrol release)", "somebody holds them (scontrol release)")
        }
        "ReqNodeNotAvail"
        | "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions" => of(
            "the nodes that could run it are down, drained or reserved",
            "the nodes that could run them are down, drained or reserved",
        ),
        "Licenses" => of("a licence that it wants is taken", "a licence that they want is taken"),
        "Dependency" => of("it waits for another job", "they wait for another job"),
        _ => return if is_one { reason.to_owned() } else { format!("{reason} ({jobs} jobs)") },
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
            "pool s (slurm): 4 jobs pending for 1m 01s: others are before them in the queue (Priority); the nodes that it \
             needs are busy (Resources)"
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
        let local = RunnerKind::Local.name();
        assert!(now(local, &[]).ends_with("2 workers on this host have just started and are not here yet"));
        assert!(now(local, &["w0", "w1"]).ends_with("2 of 2 workers on this host are here"));
        assert_eq!(
            now("slurm", &["w1"]),
            "pool a (slurm): 1 of 2 jobs runs and its worker is here; 1 job has just started, its worker is not here yet"
        );
        let one = report(|report| (report.count.queued, report.count.longest_wait) = (1, 4_000_000));
        assert_eq!(one, "pool s (slurm): 1 job pending for 1h 06m: no reason is given");
        let silent = report(|report| (report.count.running, report.count.longest_mute) = (1, 40_000));
        assert!(silent.contains("1 job has run for 40s, but its worker has not reached this master"), "{silent}");
        assert_eq!(report(|report| report.target = 0), "pool s (slurm): idle: no running job has work that it can do");
        let given_up = report(|report| report.given_up = Some("no `sbatch`".into()));
        assert_eq!(given_up, "pool s (slurm): nothing more is launched: no `sbatch`");
    }

    #[test]
    fn a_job_that_was_put_back_is_named_beside_one_that_runs() {
        let requeued = report(|report| {
            report.target = 2;
            let reasons = BTreeMap::from([("BeginTime".into(), 1)]);
            report.count = Count { running: 1, reported: 1, queued: 1, longest_wait: 5_000, reasons, longest_mute: 0 };
        });
        assert_eq!(
            requeued,
            "pool s (slurm): 1 of 2 jobs runs and its worker is here; 1 job pending for 5s: it was put back and waits for its \
             new start (BeginTime)"
        );
    }

    #[test]
    fn what_a_reason_means_goes_with_the_number_of_its_jobs() {
        assert_eq!(because("BeginTime", 1), "it was put back and waits for its new start (BeginTime)");
        assert_eq!(because("BeginTime", 2), "they were put back and wait for their new start (BeginTime)");
        assert_eq!(because("Resources", 2), "the nodes that they need are busy (Resources)");
        assert_eq!(because("QOSGrpGRES", 2), "the quota of GPUs is used up (QOSGrpGRES)");
        assert_eq!([because("Reserved", 1), because("Reserved", 2)], ["Reserved", "Reserved (2 jobs)"]);
    }

    #[test]
    fn what_is_missing_is_asked_of_pools_that_should_have_brought_more() {
        let of =
            |name: &str, target: u32| PoolReport { name: name.into(), kind: "slurm", target, ..PoolReport::default() };
        let here = Count { running: 1, reported: 1, ..Count::default() };
        let whole = PoolReport { count: here.clone(), ..of("whole", 1) };
        let short = PoolReport { count: here, ..of("short", 2) };
        let given_up = PoolReport { given_up: Some("no `sbatch`".into()), ..of("none", 0) };
        assert_eq!(
            explain_missing(&[whole, short, of("idle", 0), given_up], |_| false),
            [
                "pool short (slurm): 1 of 2 jobs runs and its worker is here",
                "pool none (slurm): nothing more is launched: no `sbatch`",
            ]
        );
    }

    #[test]
    fn nouns_go_with_all_and_verbs_with_those_that_are_here() {
        let of = |kind: &'static str, here: u32, all: u32| {
            let count = Count { running: here, reported: here, ..Count::default() };
            let report = PoolReport { name: kind.into(), kind, target: all, count, ..PoolReport::default() };
            explain(&[report]).remove(0)
        };
        assert_eq!(of("local", 1, 1), "local: 1 of 1 worker on this host is here");
        assert_eq!(of("slurm", 1, 1), "slurm: 1 of 1 job runs and its worker is here");
        assert_eq!(of("slurm", 1, 3), "slurm: 1 of 3 jobs runs and its worker is here");
        assert_eq!(of("slurm", 3, 3), "slurm: 3 of 3 jobs run and their workers are here");
    }

    #[test]
    fn trouble_goes_once_no_jobs_are_wanted() {
        let failed = |target: u32, pause_left: u64, running: u32| {
            report(|report| {
                (report.target, report.pause_left, report.trouble) = (target, pause_left, Some("no memory".into()));
                (report.count.running, report.count.reported) = (running, running);
            })
        };
        assert_eq!(failed(0, 0, 0), "pool s (slurm): idle: no running job has work that it can do");
        assert_eq!(failed(0, 900, 0), "pool s (slurm): no memory; the next try is in 1s");
        assert_eq!(
            failed(2, 900, 1),
            "pool s (slurm): 1 of 2 jobs runs and its worker is here; what came before failed: no memory; the next try is in 1s"
        );
        assert_eq!(failed(1, 0, 1), "pool s (slurm): 1 of 1 job runs and its worker is here");
    }
}
