//! A job's life: it waits in its queue, its machine is prepared, its command runs, and it ends or is ended.

use super::faults::Faults;
use super::job::{Job, Status, timestamp};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(20);
/// Between the request to end and the end.
const GRACE: Duration = Duration::from_secs(5);

/// Starts the supervisor of a job.
pub(super) fn start(job: &Job) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["supervise", job.id()]).env("FAKE_DLC_STATE", job.state());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().map(drop).map_err(|error| error.to_string())
}

/// End of a job's command.
enum End {
    Exited(bool),
    NodeFailed,
    Preempted,
    Stopped,
    Forgotten,
}

/// Supervises a job to its end.
pub(super) fn run(job: &Job, faults: &Faults) {
    for status in [Status::Queuing, Status::EnvPreparing] {
        job.set(status, "");
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(chance()) || faults.number("queue").is_some_and(|many| many > 0) {
            if !job.is_there() {
                return;
            }
            if job.is_asked("stop") {
                return job.set(Status::Stopped, "JobStopped: stopped by user");
            }
            std::thread::sleep(TICK);
        }
    }
    if faults.strikes("fail") {
        return job.set(Status::Failed, "ImagePullFailed: the image cannot be pulled");
    }
    let command = if faults.strikes("silent") { "exec sleep 1000000".to_owned() } else { job.command() };
    let ended = loop {
        job.set(Status::Running, "");
        let Ok((mut child, readers)) = spawn(job, &command) else { break End::Exited(false) };
        let ended = watch(job, &mut child, faults.strikes("preempt"));
        if matches!(ended, End::NodeFailed) {
            job.set(Status::Restarting, "NodeFailure: the node of the job failed");
            job.answer("fail_node");
            std::thread::sleep(Duration::from_millis(chance()));
            continue;
        }
        // A job is not over before its log is whole.
        let begin = Instant::now();
        while begin.elapsed() < GRACE && !readers.iter().all(JoinHandle::is_finished) {
            std::thread::sleep(TICK);
        }
        break ended;
    };
    match ended {
        End::Exited(true) => job.set(Status::Succeeded, ""),
        End::Exited(false) => job.set(Status::Failed, "CommandFailed: the command did not exit with 0"),
        End::Preempted => job.set(Status::Stopped, "JobPreempted: preempted by a job of higher priority"),
        End::Stopped => job.set(Status::Stopped, "JobStopped: stopped by user"),
        // A job whose node failed was restarted.
        End::NodeFailed | End::Forgotten => {}
    }
}

/// Some milliseconds.
fn chance() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_micros() ^ std::process::id()) % 250
}

/// The command in a shell, as on a machine that has nothing of this one but its files.
fn spawn(job: &Job, command: &str) -> std::io::Result<(Child, Vec<JoinHandle<()>>)> {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).env_clear().current_dir("/");
    shell.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", job.state());
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = shell.spawn()?;
    let log = Arc::new(Mutex::new(File::options().create(true).append(true).open(job.log_path())?));
    let out = child.stdout.take().map(|out| keep(out, log.clone()));
    let err = child.stderr.take().map(|err| keep(err, log));
    Ok((child, out.into_iter().chain(err).collect()))
}

fn keep(stream: impl Read + Send + 'static, log: Arc<Mutex<File>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
            let line = format!("{}\t{}\n", timestamp(), String::from_utf8_lossy(&line));
            if let Ok(mut log) = log.lock() {
                let _ = log.write_all(line.as_bytes());
            }
        }
    })
}

fn watch(job: &Job, child: &mut Child, preempt: bool) -> End {
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return End::Exited(status.success());
        }
        let ended = if !job.is_there() {
            Some(End::Forgotten)
        } else if job.is_asked("stop") {
            Some(End::Stopped)
        } else if job.is_asked("fail_node") {
            Some(End::NodeFailed)
        } else if preempt || job.is_asked("preempt") {
            Some(End::Preempted)
        } else {
            None
        };
        if let Some(ended) = ended {
            if !matches!(ended, End::Forgotten | End::NodeFailed) {
                job.set(Status::Stopping, "");
            }
            // What ran on a node that failed is asked nothing.
            end(child, if matches!(ended, End::NodeFailed) { Duration::ZERO } else { GRACE });
            return ended;
        }
        std::thread::sleep(TICK);
    }
}

/// Asks the command's processes to end, and ends them after `grace`.
fn end(child: &mut Child, grace: Duration) {
    let group = child.id();
    let signal = |name: &str| {
        // The shell's own: a bare Debian has no kill program.
        let line = format!("kill -{name} -{group}");
        let _ = Command::new("/bin/sh").args(["-c", &line]).stderr(Stdio::null()).status();
    };
    if !grace.is_zero() {
        signal("TERM");
    }
    let begin = Instant::now();
    while begin.elapsed() < grace {
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            break;
        }
        std::thread::sleep(TICK);
    }
    signal("KILL");
    let _ = child.wait();
}
