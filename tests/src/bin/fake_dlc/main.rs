//! A stand-in for Alibaba's `dlc` command line: submits, gets, logs and stops jobs as the real one does, with the same forms
//! of arguments and answers, and runs each job's command as processes of this machine.
//!
//! `FAKE_DLC_STATE` names the folder with all that it knows; `faults` in it tells what goes wrong (see `faults`). A job is
//! supervised by a process of its own, which ends with its job, and when the folder is gone.

mod arguments;
mod faults;
mod job;
mod supervise;

use arguments::Arguments;
use faults::Faults;
use job::Job;
use std::io::{BufRead as _, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The options of `submit pytorchjob` and of `create job`; those with a value that is a number are checked.
const SUBMIT: &[&str] = &[
    "--command",
    "--name",
    "--config",
    "--workspace_id",
    "--resource_id",
    "--priority",
    "--worker_cpu",
    "--worker_gpu",
    "--worker_memory",
    "--worker_image",
    "--data_sources",
    "--enable_priority_preemption",
];
const LOGS: &[&str] = &["--config", "--start_time", "--end_time", "--max_events_num"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(state) = std::env::var_os("FAKE_DLC_STATE").map(PathBuf::from) else {
        return failed("FAKE_DLC_STATE names no folder");
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["supervise", id] = words.as_slice() {
        supervise::run(&Job::new(&state, id), &Faults::new(&state));
        return ExitCode::SUCCESS;
    }
    let faults = Faults::new(&state);
    if let Some(slow) = faults.number("slow_ms") {
        std::thread::sleep(Duration::from_millis(slow));
    }
    faults.note_call(&words);
    let done = match words.as_slice() {
        ["submit", "pytorchjob", rest @ ..] => submit(&state, &faults, rest, "--workers"),
        ["create", "job", rest @ ..] => create(&state, &faults, rest),
        ["get", "job", id, rest @ ..] => get(&Job::new(&state, id), &faults, rest),
        ["logs", id, pod, rest @ ..] => logs(&Job::new(&state, id), pod, rest),
        ["stop", "job", id, rest @ ..] => stop(&Job::new(&state, id), rest),
        _ => Err(format!("unknown command \"{}\" for \"dlc\"", words.join(" "))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => failed(&reason),
    }
}

/// As `dlc` says that something went wrong: on standard output.
fn failed(reason: &str) -> ExitCode {
    say(&format!("[FAILED] {reason}\n"));
    ExitCode::FAILURE
}

fn say(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn request_id() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{:08X}-0000-5000-8000-{:012X}", std::process::id(), now.as_nanos() & 0xffff_ffff_ffff)
}

fn create(state: &std::path::Path, faults: &Faults, rest: &[&str]) -> Result<(), String> {
    match rest {
        ["--kind", "PyTorchJob", rest @ ..] => submit(state, faults, rest, "--worker_count"),
        _ => Err("code: 400, job kind is required: --kind PyTorchJob".into()),
    }
}

fn submit(state: &std::path::Path, faults: &Faults, rest: &[&str], workers: &str) -> Result<(), String> {
    let known: Vec<&str> = SUBMIT.iter().copied().chain([workers]).collect();
    let arguments = Arguments::parse(rest, &known)?;
    if let Some(config) = arguments.get("--config").filter(|path| !std::path::Path::new(path).is_file()) {
        return Err(format!("open {config}: no such file or directory"));
    }
    check(&arguments, workers)?;
    if faults.strikes("submit_400") {
        return Err(format!("code: 400, Resource quota is not enough request id: {}", request_id()));
    }
    if faults.strikes("no_table") {
        say("Post \"https://pai-dlc.cn-wulanchabu.aliyuncs.com/api/v1/jobs\": EOF\n");
        return Ok(());
    }
    let job = Job::create(state, arguments.get("--name").unwrap_or(""), arguments.get("--command").unwrap_or(""))?;
    supervise::start(&job)?;
    if faults.strikes("lost_table") {
        say("net/http: TLS handshake timeout\n");
        return Ok(());
    }
    let (id, request) = (job.id(), request_id());
    let line = format!("+-{}-+-{}-+\n", "-".repeat(id.len()), "-".repeat(request.len()));
    let head = format!("| {:^1$} | {2:^3$} |\n", "JOBID", id.len(), "REQUESTID", request.len());
    say(&format!("{line}{head}{line}| {id} | {request} |\n{line}"));
    Ok(())
}

/// Refuses what the service answers with code 400.
fn check(arguments: &Arguments<'_>, workers: &str) -> Result<(), String> {
    let bad = |what: &str| Err(format!("code: 400, {what} request id: {}", request_id()));
    for required in ["--command", "--name", "--workspace_id", "--worker_image", workers] {
        if arguments.get(required).is_none_or(str::is_empty) {
            return bad(&format!("{required} is required"));
        }
    }
    for (number, bounds) in
        [("--priority", 1..=9), ("--worker_cpu", 1..=1024), ("--worker_gpu", 0..=64), (workers, 1..=1)]
    {
        if arguments.get(number).is_some_and(|text| !text.parse().is_ok_and(|number: u32| bounds.contains(&number))) {
            return bad(&format!("{number} is invalid"));
        }
    }
    let memory = arguments.get("--worker_memory").and_then(|text| text.strip_suffix("Gi"));
    if memory.is_none_or(|text| text.parse::<u32>().is_err()) {
        return bad("--worker_memory is invalid");
    }
    if arguments.get("--name").is_some_and(|name| name.chars().count() > 512) {
        return bad("--name is too long");
    }
    if !matches!(arguments.get("--enable_priority_preemption"), None | Some("True" | "False" | "true" | "false")) {
        return bad("--enable_priority_preemption is invalid");
    }
    Ok(())
}

fn get(job: &Job, faults: &Faults, rest: &[&str]) -> Result<(), String> {
    Arguments::parse(rest, &["--config"])?;
    if faults.strikes("get_fails") {
        return Err(format!("code: 503, Service unavailable request id: {}", request_id()));
    }
    let Some(document) = job.document() else {
        return Err(format!("code: 404, Job [{}] not found request id: {}", job.id(), request_id()));
    };
    if faults.strikes("garbage") {
        say("[OK] Get job successfully\n");
    }
    if faults.strikes("bash_warning") {
        say("/bin/bash: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8)\n");
    }
    say(&format!("{document:#}\n"));
    Ok(())
}

fn logs(job: &Job, pod: &str, rest: &[&str]) -> Result<(), String> {
    let arguments = Arguments::parse(rest, LOGS)?;
    if pod != format!("{}-master-0", job.id()) {
        return Err(format!("code: 404, pod [{pod}] not found"));
    }
    let bound = |key, otherwise: &str| arguments.get(key).unwrap_or(otherwise).to_owned();
    let (from, to) = (bound("--start_time", ""), bound("--end_time", "9999"));
    let lines: Vec<String> =
        job.log_lines().into_iter().filter(|(at, _)| *at >= from && *at <= to).map(|(_, line)| line).collect();
    match lines.is_empty() {
        true => say("[WARN] No logs found for the pod\n"),
        false => say(&(lines.join("\n") + "\n")),
    }
    Ok(())
}

fn stop(job: &Job, rest: &[&str]) -> Result<(), String> {
    let forced = match rest {
        [] => false,
        ["--force"] | ["--force", "--config", _] | ["--config", _, "--force"] => true,
        ["--config", _] => false,
        _ => return Err(format!("unknown flag: {}", rest.join(" "))),
    };
    if !forced {
        say(&format!("Are you sure to stop job [{}]? (y/n) ", job.id()));
        let mut answer = String::new();
        let _ = std::io::stdin().lock().read_line(&mut answer);
        if !answer.trim().eq_ignore_ascii_case("y") {
            return Err("canceled".into());
        }
    }
    let status = job.status().ok_or_else(|| format!("code: 404, Job [{}] not found", job.id()))?;
    if status.is_over() {
        let id = request_id();
        return Err(format!("code: 400, Job can't be stopped, because it is {} request id: {id}", status.name()));
    }
    job.ask("stop");
    while job.status().is_some_and(|status| !status.is_over()) {
        std::thread::sleep(Duration::from_millis(20));
    }
    say(&format!("[OK] Job [{}] was stopped successfully\n", job.id()));
    Ok(())
}
