//! The process of a section, in its own group. The group ends as a whole when the section's time is over, when the section
//! has ended, and when this program is asked to end; workers, which have their own groups, end with the master that they serve.

use compass_engine::gpu_check::Finding;
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// Number of attempts to remove a folder in which a process that is just ending may still write.
const REMOVALS: u32 = 20;
const REMOVAL_PAUSE: Duration = Duration::from_millis(50);

/// End of a section's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With this code, or by a signal.
    Exited(Option<i32>),
    OutOfTime,
}

/// The process group of the section that runs, if one does.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningGroup(Arc<Mutex<Option<Pid>>>);

impl RunningGroup {
    /// Runs a section's command until it ends or `limit` is over; returns its rows.
    ///
    /// # Errors
    /// The process cannot be started, or waited for.
    pub(super) fn run(&self, mut command: Command, limit: Duration) -> io::Result<(Vec<Finding>, Ended)> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
        let mut process = self.start(&mut command)?;
        let (sender, rows) = channel();
        if let Some(stdout) = process.stdout.take() {
            std::thread::spawn(move || {
                let lines = BufReader::new(stdout).lines().map_while(Result::ok);
                for finding in lines.filter_map(|line| serde_json::from_str::<Finding>(&line).ok()) {
                    if sender.send(finding).is_err() {
                        return;
                    }
                }
            });
        }
        let (deadline, mut findings) = (Instant::now() + limit, Vec::new());
        loop {
            match rows.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(finding) => findings.push(finding),
                Err(RecvTimeoutError::Disconnected) => {
                    // Until it is reaped below, its number is that of its group and of no other.
                    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                    let _ = retry_on_intr(|| waitid(WaitId::Pid(Pid::from_child(&process)), options));
                    end(&mut self.group());
                    return Ok((findings, Ended::Exited(process.wait()?.code())));
                }
                Err(RecvTimeoutError::Timeout) => {
                    end(&mut self.group());
                    process.wait()?;
                    return Ok((findings, Ended::OutOfTime));
                }
            }
        }
    }

    /// Ends the section that runs, removes `folder` and exits, when this process is asked to end: a Ctrl-C at the terminal
    /// reaches no section.
    ///
    /// # Errors
    /// A handler cannot be installed.
    pub(super) fn end_on_signals(&self, folder: PathBuf) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let inside = runtime.enter();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        drop(inside);
        let running = self.clone();
        std::thread::spawn(move || {
            let number = runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => 2,
                    _ = terminate.recv() => 15,
                }
            });
            // Held until this process exits, so that no other section begins.
            let mut group = running.group();
            end(&mut group);
            remove(&folder);
            std::process::exit(128 + number);
        });
        Ok(())
    }

    fn start(&self, command: &mut Command) -> io::Result<Child> {
        let mut group = self.group();
        let process = command.spawn()?;
        *group = Some(Pid::from_child(&process));
        Ok(process)
    }

    fn group(&self) -> MutexGuard<'_, Option<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Kills the group, whose first process is not reaped yet.
fn end(group: &mut Option<Pid>) {
    if let Some(first) = group.take() {
        let _ = kill_process_group(first, Signal::KILL);
    }
}

/// Removes a folder, if it is there.
pub(super) fn remove(folder: &Path) {
    for _ in 0..REMOVALS {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => std::thread::sleep(REMOVAL_PAUSE),
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    /// Returns whether the process has ended; a zombie has, where its new parent does not reap it.
    fn is_gone(number: &str) -> bool {
        !fs::read_to_string(format!("/proc/{number}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
    }

    #[test]
    fn section_that_ends_leaves_no_process_behind() {
        let script = "sleep 600 > /dev/null & \
                      printf '{\"section\": \"job\", \"name\": \"sleeper\", \"value\": \"%s\", \"status\": \"measured\"}\\n' $!; \
                      exit 7";
        let (rows, ended) = RunningGroup::default().run(shell(script), Duration::from_secs(600)).unwrap();
        assert_eq!(ended, Ended::Exited(Some(7)));
        let sleeper = rows[0].value.as_str().unwrap();
        let is_seen_gone = (0..6000).any(|_| {
            #[expect(clippy::disallowed_methods, reason = "polls /proc; what it waits for is a process")]
            std::thread::sleep(Duration::from_millis(10));
            is_gone(sleeper)
        });
        assert!(is_seen_gone, "process {sleeper} is still there");
    }

    #[test]
    fn section_that_does_not_end_is_cut_off_with_what_it_started() {
        // The pipe of the rows stays open for as long as one process of the group lives.
        let command = shell("sleep 600 & sleep 600");
        let (rows, ended) = RunningGroup::default().run(command, Duration::from_millis(200)).unwrap();
        assert_eq!((rows, ended), (Vec::new(), Ended::OutOfTime));
    }
}
