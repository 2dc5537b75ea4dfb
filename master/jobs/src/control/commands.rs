//! `status`, `cancel`, `explain`: from the command line to whichever master has the job.

use super::client::{ASK_THE_LEADER, Known, Master, Masters};
use super::status::{JobStatus, MasterStatus, details, table};
use crate::job::Failure;
use compass_cli::exit;
use compass_cli::terminal::terminal_width;
use compass_common::encode;
use compass_common::status_output::{OutputError, print, print_status, report};
use compass_common::words::those;
use compass_diagnostic::Diagnostic;
use compass_proto::v1;
use serde::Serialize;
use std::path::Path;

/// Subject of an explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A job; the newest that has not ended when none is named.
    Job(Option<String>),
    /// A task of a job, of the newest when none is named.
    Task {
        task: u32,
        job: Option<String>,
    },
    Worker(String),
}

/// The masters that answer, of which there are some. Those that hang are named.
async fn masters(state_dir: &Path) -> Result<Vec<Known>, Failure> {
    let Masters { known, mut silent } = Master::all(state_dir).await;
    if !known.is_empty() {
        for failure in silent {
            report(Diagnostic::warning(failure.diagnostics.message()));
        }
        return Ok(known);
    }
    if silent.len() == 1 {
        return Err(silent.remove(0));
    }
    if !silent.is_empty() {
        let said: Vec<String> = silent.iter().map(|failure| failure.diagnostics.message()).collect();
        return Err(Failure::new(exit::INFRASTRUCTURE, Diagnostic::error(said.join("; "))));
    }
    Err(match Master::serving(state_dir, "master").await {
        Err(failure) => failure,
        Ok(_) => Failure::new(exit::INFRASTRUCTURE, Diagnostic::error("the server does not answer; try again")),
    })
}

/// The job called `name`, and its master; the newest that has not ended where none is named.
fn choose<'k>(known: &'k mut [Known], name: Option<&str>) -> Result<(&'k mut Master, JobStatus), Failure> {
    let is_named = |job: &JobStatus| match name {
        Some(name) => job.job.starts_with(name) || job.run == name,
        None => job.exit_code.is_none(),
    };
    let all = known.iter().enumerate().flat_map(|(at, known)| known.status.jobs.iter().map(move |job| (at, job)));
    let mut found: Vec<(usize, JobStatus)> =
        all.filter(|(_, job)| is_named(job)).map(|(at, job)| (at, job.clone())).collect();
    found.sort_by(|(_, a), (_, b)| a.submitted.cmp(&b.submitted));
    let several = name.is_some() && found.len() > 1;
    let Some((at, job)) = found.pop().filter(|_| !several) else {
        let stands_by = known.iter().find_map(|known| known.status.stands_by.as_deref());
        let what = match name {
            Some(name) if several => format!("`{name}` may be several jobs; write more of its id"),
            Some(name) => format!("there is no job `{name}`"),
            None => match stands_by {
                Some(for_whom) => format!("no job runs here, where a server stands by: {for_whom}"),
                None => "no job is running".to_owned(),
            },
        };
        let jobs = known.iter().flat_map(|known| &known.status.jobs).map(|job| format!("{} ({})", job.job, job.run));
        let jobs: Vec<String> = jobs.collect();
        let mut diagnostic = Diagnostic::error(what);
        let is_planning = known.iter().any(|known| known.status.planning_since.is_some());
        diagnostic.help = match (jobs.is_empty(), is_planning) {
            (false, _) => Some(those("job", &jobs)),
            (true, true) => {
                Some("a job is being planned; it can be named once that is done, and Ctrl-C stops it".into())
            }
            (true, false) => stands_by.map(|_| ASK_THE_LEADER.to_owned()),
        };
        return Err(Failure::bad_input(diagnostic));
    };
    match known.get_mut(at) {
        Some(known) => Ok((&mut known.master, job)),
        None => Err(Failure::bad_input(Diagnostic::error("no job is running"))),
    }
}

fn show(text: String) -> Result<u8, Failure> {
    print(text).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?;
    Ok(exit::SCORED)
}

fn as_json(status: &impl Serialize) -> Result<String, Failure> {
    let json = encode::pretty_json("the status", status);
    let json = json.map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    Ok(String::from_utf8_lossy(&json).into_owned() + "\n")
}

/// All masters with their jobs, or one job in full; as a table or as JSON.
///
/// # Errors
/// There is no such job, or no master answers.
pub async fn status(state_dir: &Path, job: Option<&str>, json: bool) -> Result<u8, Failure> {
    let mut known = masters(state_dir).await?;
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    match job {
        None => {
            let all: Vec<MasterStatus> = known.into_iter().map(|known| known.status).collect();
            show(if json { as_json(&all)? } else { table(&all, &here, terminal_width()) })
        }
        Some(name) => {
            let (_, job) = choose(&mut known, Some(name))?;
            show(if json { as_json(&job)? } else { details(&job, &here, terminal_width()) })
        }
    }
}

/// Cancels a job. Without a name only where there is one that it can be.
///
/// # Errors
/// There is no such job, or it has ended, or no master answers.
pub async fn cancel(state_dir: &Path, job: Option<&str>, reason: Option<String>) -> Result<u8, Failure> {
    let mut known = masters(state_dir).await?;
    let running = known.iter().flat_map(|known| &known.status.jobs).filter(|job| job.exit_code.is_none());
    if job.is_none() && running.count() > 1 {
        return Err(Failure::bad_input(
            Diagnostic::error("several jobs are running")
                .with_help("name one: compass-master cancel JOB; `compass-master status` lists them"),
        ));
    }
    let (master, job) = choose(&mut known, job)?;
    let reason = reason.unwrap_or_else(|| "by a person".into());
    master.cancel(job.job.clone(), reason).await?;
    print_status(format!(
        "job {} is cancelled: nothing more is granted; what is recorded stays, and is scored ({})",
        job.job, job.run
    ));
    Ok(exit::SCORED)
}

/// Explains in words why nothing more is running.
///
/// # Errors
/// There is no such job, task or worker, or no master answers.
pub async fn explain(state_dir: &Path, about: About) -> Result<u8, Failure> {
    let mut known = masters(state_dir).await?;
    let (job, about) = match about {
        About::Job(job) => (job, None),
        About::Task { task, job } => (job, Some(v1::explain_request::About::Task(task))),
        About::Worker(worker) => {
            return explain_worker(&mut known, worker).await;
        }
    };
    // Where nothing runs, the last that did: why it does no more may be the question.
    let last = known.iter().flat_map(|known| &known.status.jobs).max_by(|a, b| a.submitted.cmp(&b.submitted));
    let last = last.filter(|_| known.iter().all(|known| known.status.jobs.iter().all(|job| job.exit_code.is_some())));
    let job = job.or_else(|| last.map(|job| job.job.clone()));
    let stands_by = known.iter().find_map(|known| known.status.stands_by.as_deref());
    if let (None, None, Some(for_whom)) = (&job, &about, stands_by)
        && known.iter().all(|known| known.status.jobs.is_empty())
    {
        return show(format!("this server stands by: {for_whom}\n{ASK_THE_LEADER}\n"));
    }
    let (master, job) = choose(&mut known, job.as_deref())?;
    let lines = master.explain(v1::ExplainRequest { job: job.job, about }).await?;
    show(lines.join("\n") + "\n")
}

/// A worker is with one of the masters; which one, is for them to say.
async fn explain_worker(known: &mut [Known], worker: String) -> Result<u8, Failure> {
    let mut last = Failure::bad_input(Diagnostic::error("no job is running"));
    for Known { master, .. } in known {
        let about = Some(v1::explain_request::About::Worker(worker.clone()));
        match master.explain(v1::ExplainRequest { job: String::new(), about }).await {
            Ok(lines) => return show(lines.join("\n") + "\n"),
            Err(failure) => last = failure,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::planning::announce_standby;

    #[tokio::test]
    async fn where_a_server_stands_by_the_one_that_leads_is_named() {
        let state = tempfile::tempdir().unwrap();
        let for_whom = "process 9 on vm serves; from here workers would dial 127.0.0.1:50172";
        let _announced = announce_standby(state.path(), for_whom.into());
        let mut known = Master::all(state.path()).await.known;
        let failure = choose(&mut known, None).unwrap_err();
        let expected = format!("no job runs here, where a server stands by: {for_whom}");
        assert_eq!(failure.diagnostics.message(), expected);
        assert_eq!(failure.diagnostics.help(), Some(ASK_THE_LEADER));
    }
}
