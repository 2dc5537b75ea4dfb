//! A master's report on itself and its jobs: as JSON for programs, as a table for people, no wider than their terminal.

use super::job_view::JobView;
use crate::job::why_it_ended;
use compass_cli::wrapping::{fits, wrapped_text};
use compass_common::words::{counted, grouped};
use compass_progress::WorkerView;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::Path;

/// One master.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MasterStatus {
    /// `serve`, or `run` for one that ends with its job.
    pub kind: String,
    pub process: u32,
    pub host: String,
    /// The other server that leads, in words, while this one stands by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_by: Option<String>,
    /// Address where workers dial; empty while the ports are closed.
    pub workers_at: String,
    /// Workers for which no job has anything to do.
    pub idle_workers: u32,
    /// Slots of its workers, at work or not.
    #[serde(default)]
    pub slots: u32,
    /// Messages of its launcher, where workers do not start.
    pub notes: Vec<String>,
    pub jobs: Vec<JobStatus>,
    /// Since when its job is planned; `null` once it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planning_since: Option<String>,
}

/// One job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    pub job: String,
    pub plan: String,
    /// Name of the run folder, and where it is.
    pub run: String,
    pub folder: String,
    /// `standby`, `opening`, `infer`, `execute`, `score` or `ended`.
    pub state: String,
    pub priority: u32,
    pub submitted: String,
    pub recorded_samples: u64,
    pub expected_samples: u64,
    pub open_tasks: u32,
    pub granted_tasks: u32,
    pub failed_tasks: u32,
    /// Slots of the workers that are at it.
    pub slots: u32,
    /// Slots that are its share now, those of workers on their way included; `null` where there are no others.
    pub share: Option<u32>,
    /// Most slots that it may have; `null` for no bound.
    pub max_slots: Option<u32>,
    /// The key or flag that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_slots_by: Option<String>,
    /// The job's shortage and what changes it, in a sentence; `null` where nothing is short, or its scheduler is not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortage: Option<String>,
    /// The other master that leads it, in words, while this one stands by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_by: Option<String>,
    pub workers: Vec<WorkerStatus>,
    pub cancelled: Option<String>,
    pub exit_code: Option<u8>,
    /// Reason why it ended without a table.
    pub reason: Option<String>,
    /// Advice on that reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl JobStatus {
    /// Returns whether it has a scheduler that may be short of something.
    pub(super) fn is_at_work(&self) -> bool {
        let is_running = matches!(self.state.as_str(), "infer" | "execute") && self.reason.is_none();
        is_running && self.cancelled.is_none()
    }

    /// Returns its state in words, with how it ended.
    pub fn state_in_words(&self) -> String {
        match (self.exit_code, &self.cancelled) {
            (Some(code), Some(_)) => format!("ended ({code}), cancelled"),
            (Some(code), None) => format!("ended ({code})"),
            (None, Some(_)) => format!("{}, cancelled", self.state),
            (None, None) => self.state.clone(),
        }
    }

    /// Returns the lines below its row.
    fn notes(&self) -> Vec<String> {
        let stands_by = self.stands_by.iter().map(|for_whom| format!("stands by: {for_whom}"));
        stands_by.chain(self.shortage.clone()).collect()
    }
}

impl From<JobView> for JobStatus {
    fn from(view: JobView) -> Self {
        let run_name = view.run_name();
        let (reason, help) = (view.reason().map(str::to_owned), view.help().map(str::to_owned));
        let JobView { run, max_slots, ended, .. } = view;
        let (max_slots, max_slots_by) = max_slots.map(|bound| (bound.slots, bound.by)).unzip();
        Self {
            job: view.job,
            plan: view.plan,
            run: run_name,
            folder: view.folder.display().to_string(),
            state: view.state.into(),
            priority: view.priority,
            submitted: view.submitted,
            recorded_samples: run.recorded_samples,
            expected_samples: run.expected_samples,
            open_tasks: run.open_tasks,
            granted_tasks: run.granted_tasks,
            failed_tasks: run.failed_tasks,
            slots: run.slots,
            share: view.share,
            max_slots,
            max_slots_by: max_slots_by.map(|by| by.trim_matches('`').to_owned()),
            shortage: None,
            stands_by: view.stands_by,
            workers: run.workers.into_iter().map(WorkerStatus::from).collect(),
            cancelled: view.cancelled,
            exit_code: ended.map(|ended| ended.exit_code),
            reason,
            help,
        }
    }
}

/// One worker that has been seen in this stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerStatus {
    pub name: String,
    pub connected: bool,
    pub slots: u32,
    pub device: String,
    pub results: u64,
}

impl From<WorkerView> for WorkerStatus {
    fn from(view: WorkerView) -> Self {
        let WorkerView { name, connected, slots, device, results, .. } = view;
        Self { name, connected, slots, device, results }
    }
}

const HEADS: [&str; 9] = ["job", "state", "samples", "granted", "pending", "slots", "share", "priority", "run"];

/// Indent of lines that are broken, in columns.
const INDENT: usize = 4;

/// All of it as text, within the width of the terminal where there is one; folders below `here` are shown from there.
pub(super) fn table(masters: &[MasterStatus], here: &Path, width: Option<usize>) -> String {
    let mut text = String::new();
    for master in masters {
        let what = if master.kind == "serve" { "server" } else { "run" };
        let _ = write!(text, "{what}: process {} on {}", master.process, master.host);
        if !master.workers_at.is_empty() {
            let _ = write!(text, ", workers dial {}", master.workers_at);
        }
        if master.idle_workers > 0 {
            let _ = write!(text, ", {} without work", counted(master.idle_workers, "worker"));
        }
        text.push('\n');
        for note in &master.notes {
            let _ = writeln!(text, "  {note}");
        }
        if let Some(for_whom) = &master.stands_by {
            let _ = writeln!(text, "  stands by: {for_whom}");
            continue;
        }
        if let Some(since) = &master.planning_since {
            let _ = writeln!(text, "  reads data and plans its job since {since}; it has an id once that is done");
            continue;
        }
        if master.jobs.is_empty() {
            text.push_str("  no jobs\n");
            continue;
        }
        let rows: Vec<[String; 9]> = master.jobs.iter().map(|job| row(job, here)).collect();
        text.push_str(&aligned(HEADS, &rows, width));
        for job in &master.jobs {
            let cancelled = job.cancelled.iter().map(|reason| format!("cancelled: {reason}"));
            for note in cancelled.chain(job.notes()) {
                let _ = writeln!(text, "  {}: {note}", job.job);
            }
        }
    }
    wrapped_text(&text, width, INDENT)
}

/// One job in full, within the width of the terminal where there is one.
pub(super) fn details(job: &JobStatus, here: &Path, width: Option<usize>) -> String {
    let mut text = aligned(HEADS, &[row(job, here)], width);
    if let Some(reason) = &job.cancelled {
        let _ = writeln!(text, "cancelled: {reason}");
    }
    if let Some(why) = why_it_ended(job.reason.clone().unwrap_or_default(), job.help.clone()) {
        let _ = writeln!(text, "{why}");
    }
    if job.failed_tasks > 0 {
        let _ = writeln!(text, "{} failed", counted(job.failed_tasks, "task"));
    }
    for note in job.notes() {
        let _ = writeln!(text, "{note}");
    }
    if !job.workers.is_empty() {
        let rows = job.workers.iter().map(|worker| {
            let state = if worker.connected { "connected" } else { "away" };
            let (slots, results) = (worker.slots.to_string(), worker.results.to_string());
            [worker.name.clone(), state.into(), worker.device.clone(), slots, results]
        });
        let rows: Vec<[String; 5]> = rows.collect();
        text.push_str(&aligned(["worker", "state", "device", "slots", "results"], &rows, width));
    }
    wrapped_text(&text, width, INDENT)
}

fn row(job: &JobStatus, here: &Path) -> [String; 9] {
    let folder = Path::new(&job.folder);
    let share = match (job.share, job.max_slots) {
        (None, _) => String::new(),
        (Some(share), None) => share.to_string(),
        (Some(share), Some(most)) => format!("{share} (max {most})"),
    };
    let (recorded, expected) = (grouped(job.recorded_samples), grouped(job.expected_samples));
    let (granted, open) = (job.granted_tasks, job.open_tasks);
    let (samples, granted, pending) = match &job.stands_by {
        // The other master knows.
        Some(_) => Default::default(),
        None if job.exit_code.is_some() => (format!("{recorded}/{expected}"), String::new(), String::new()),
        None => {
            let pending = open.saturating_sub(granted);
            (format!("{recorded}/{expected}"), grouped(granted.into()), grouped(pending.into()))
        }
    };
    [
        job.job.clone(),
        job.state_in_words(),
        samples,
        granted,
        pending,
        job.slots.to_string(),
        share,
        job.priority.to_string(),
        folder.strip_prefix(here).unwrap_or(folder).display().to_string(),
    ]
}

/// Columns of equal width. Where a line would be wider than `width`, the last column stands below the others, and where that is not
/// enough each row is a sentence.
fn aligned<const N: usize>(heads: [&str; N], rows: &[[String; N]], width: Option<usize>) -> String {
    let heads = heads.map(str::to_owned);
    let columns = |count: usize| {
        let all = || std::iter::once(&heads).chain(rows);
        let width = |at: usize| all().map(|row| row[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..count).map(width).collect();
        let line = |row: &[String; N]| {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            cells.join("  ").trim_end().to_owned() + "\n"
        };
        all().map(line).collect::<Vec<String>>()
    };
    let whole = columns(N).concat();
    if fits(&whole, width) {
        return whole;
    }
    let last = N.saturating_sub(1);
    let short = columns(last);
    if fits(&short.concat(), width) {
        let below = |(at, line): (usize, &String)| match at.checked_sub(1).and_then(|at| rows.get(at)) {
            Some(row) => format!("{line}  {} {}\n", heads[last], row[last]),
            None => line.clone(),
        };
        return short.iter().enumerate().map(below).collect();
    }
    let sentence = |row: &[String; N]| {
        let cells = heads.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty());
        let cells: Vec<String> = cells.map(|(head, cell)| format!("{head} {cell}")).collect();
        format!("{}: {}\n", row[0], cells.join(", "))
    };
    rows.iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> JobStatus {
        JobStatus {
            job: "3f2a9c0b1d2e".into(),
            folder: "/home/me/out/20261122_000001".into(),
            state: "infer".into(),
            priority: 2,
            recorded_samples: 7260,
            expected_samples: 20_000,
            open_tasks: 9,
            granted_tasks: 3,
            slots: 2,
            share: Some(2),
            max_slots: Some(4),
            shortage: Some("6 tasks wait for a slot: more workers or GPUs would shorten it".into()),
            ..JobStatus::default()
        }
    }

    #[test]
    fn what_a_person_reads() {
        let ended = JobStatus {
            exit_code: Some(1),
            state: "ended".into(),
            share: Some(0),
            max_slots: None,
            shortage: None,
            ..job()
        };
        let master = MasterStatus {
            kind: "serve".into(),
            process: 17,
            host: "h".into(),
            workers_at: "127.0.0.1:50051".into(),
            idle_workers: 1,
            notes: vec![],
            jobs: vec![job(), ended],
            ..MasterStatus::default()
        };
        let planning = MasterStatus {
            kind: "run".into(),
            process: 18,
            host: "h".into(),
            planning_since: Some("2026-11-22T00:00:01Z".into()),
            ..MasterStatus::default()
        };
        let for_whom = "process 9 on vm serves; from here workers would dial 127.0.0.1:50172".to_owned();
        let standby = MasterStatus { stands_by: Some(for_whom), kind: "serve".into(), ..planning.clone() };
        let standby = MasterStatus { planning_since: None, ..standby };
        let for_whom = "process 9 on vm leads this run; from here workers would dial 127.0.0.1:50173".to_owned();
        let job_of_standby = JobStatus {
            stands_by: Some(for_whom),
            state: "standby".into(),
            share: None,
            shortage: None,
            slots: 0,
            ..job()
        };
        let standby_of_run = MasterStatus { jobs: vec![job_of_standby], planning_since: None, ..planning.clone() };
        let masters = [master.clone(), MasterStatus { jobs: vec![], ..master }, planning, standby, standby_of_run];
        let text = table(&masters, Path::new("/home/me"), None);
        let expected = "\
server: process 17 on h, workers dial 127.0.0.1:50051, 1 worker without work
job           state      samples       granted  pending  slots  share      priority  run
3f2a9c0b1d2e  infer      7,260/20,000  3        6        2      2 (max 4)  2         out/20261122_000001
3f2a9c0b1d2e  ended (1)  7,260/20,000                    2      0          2         out/20261122_000001
  3f2a9c0b1d2e: 6 tasks wait for a slot: more workers or GPUs would shorten it
server: process 17 on h, workers dial 127.0.0.1:50051, 1 worker without work
  no jobs
run: process 18 on h
  reads data and plans its job since 2026-11-22T00:00:01Z; it has an id once that is done
server: process 18 on h
  stands by: process 9 on vm serves; from here workers would dial 127.0.0.1:50172
run: process 18 on h
job           state    samples  granted  pending  slots  share  priority  run
3f2a9c0b1d2e  standby                             0             2         out/20261122_000001
  3f2a9c0b1d2e: stands by: process 9 on vm leads this run; from here workers would dial 127.0.0.1:50173
";
        assert_eq!(text, expected);
    }

    #[test]
    fn one_job_is_shown_with_its_workers_and_why_it_was_cancelled() {
        let worker = WorkerStatus { name: "w1".into(), connected: true, slots: 2, device: "cpu".into(), results: 7 };
        let cancelled = JobStatus {
            cancelled: Some("by me".into()),
            workers: vec![worker],
            failed_tasks: 2,
            shortage: None,
            ..job()
        };
        let expected = "\
job           state             samples       granted  pending  slots  share      priority  run
3f2a9c0b1d2e  infer, cancelled  7,260/20,000  3        6        2      2 (max 4)  2         /home/me/out/20261122_000001
cancelled: by me
2 tasks failed
worker  state      device  slots  results
w1      connected  cpu     2      7
";
        assert_eq!(details(&cancelled, Path::new("/elsewhere"), None), expected);
        let over = JobStatus { exit_code: Some(1), state: "ended".into(), workers: vec![], ..cancelled };
        let master = MasterStatus { jobs: vec![over], ..MasterStatus::default() };
        let all = table(&[master], Path::new("/elsewhere"), None);
        assert!(all.contains("  ended (1), cancelled  "), "{all}");
        assert!(all.ends_with("\n  3f2a9c0b1d2e: cancelled: by me\n"), "{all}");
        let failed = JobStatus {
            reason: Some("the disk is full".into()),
            help: Some("clear it".into()),
            shortage: None,
            ..job()
        };
        let shown = details(&failed, Path::new("/elsewhere"), None);
        assert!(shown.ends_with("\nerror: the disk is full\n  = help: clear it\n"), "{shown}");
    }

    #[test]
    fn nothing_is_wider_than_the_terminal() {
        let folder = "/scratch/people/me/evaluations/internlm2/outputs/default/20261122_000001";
        let worker = WorkerStatus { name: "node-12.cluster.example.org:4711".into(), ..WorkerStatus::default() };
        let far = JobStatus { folder: folder.into(), workers: vec![worker], ..job() };
        let master = MasterStatus {
            kind: "serve".into(),
            host: "login-3.cluster.example.org".into(),
            workers_at: "login-3.cluster.example.org:50051".into(),
            jobs: vec![far.clone()],
            ..MasterStatus::default()
        };
        let (masters, here) = ([master], Path::new("/elsewhere"));
        for width in [40, 60, 72, 80, 100] {
            for text in [table(&masters, here, Some(width)), details(&far, here, Some(width))] {
                assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
            }
        }
        let expected = "\
server: process 0 on login-3.cluster.example.org, workers dial
    login-3.cluster.example.org:50051
job           state  samples       granted  pending  slots  share      priority
3f2a9c0b1d2e  infer  7,260/20,000  3        6        2      2 (max 4)  2
  run /scratch/people/me/evaluations/internlm2/outputs/default/20261122_000001
  3f2a9c0b1d2e: 6 tasks wait for a slot: more workers or GPUs would shorten it
";
        assert_eq!(table(&masters, here, Some(80)), expected);
        assert_eq!(table(&masters, here, Some(500)), table(&masters, here, None));
        let narrow = details(&far, here, Some(50));
        assert!(narrow.starts_with("3f2a9c0b1d2e: state infer, samples 7,260/20,000,"), "{narrow}");
    }
}
