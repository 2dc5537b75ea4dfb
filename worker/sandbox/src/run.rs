//! Runs one program from its start to its outcome, and ends everything that it started.

use crate::groups::Group;
use crate::launch::{Launched, Setup, launch};
use crate::namespaces::Namespaces;
use crate::outcome::ProgramOutcome;
use crate::policy::Isolation;
use crate::program::Program;
use crate::report::{Channel, token};
use crate::{classify, memory, processes};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;
use tokio::time::{sleep, timeout};

/// Time for the interpreter to start, also on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Time for the kernel to end killed processes.
const EXIT_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) async fn run(setup: &Setup, program: &Program) -> ProgramOutcome {
    attempt(setup, program).await.unwrap_or_else(|error| ProgramOutcome::SandboxError { detail: error.to_string() })
}

async fn attempt(setup: &Setup, program: &Program) -> io::Result<ProgramOutcome> {
    let request = program.request(processes::limit(setup.isolation, program.limits.processes));
    let Launched { mut child, channel, output, info, group } = launch(setup, &program.limits)?;
    let mut channel = Channel::new(channel, token()?)?;
    let mut output = CapturedOutput { pipe: Receiver::from_owned_fd(output.into())?, seen: 0, tail: Vec::new() };
    // Read before the program runs: afterwards a short one may have ended already.
    let begun = timeout(START_TIMEOUT, async {
        let namespaces = match info {
            Some(info) => Some(Namespaces::read(info).await?),
            None => None,
        };
        if channel.begin(&request).await { Ok(namespaces) } else { Err(io::Error::other("the harness has ended")) }
    });
    let namespaces = match begun.await {
        Ok(Ok(namespaces)) => namespaces,
        Ok(Err(error)) => return not_started(child, output, &error.to_string()).await,
        Err(_) => return not_started(child, output, "no answer in time").await,
    };
    let root = match &namespaces {
        Some(namespaces) => namespaces.first,
        None => child.id().and_then(|id| Pid::from_raw(id.cast_signed())).ok_or(io::ErrorKind::NotFound)?,
    };
    let held = ProgramOutcome::TotalMemory { limit: program.limits.memory };
    let outcome = tokio::select! {
        biased;
        Some(outcome) = channel.outcome() => outcome,
        () = output.flood(program.limits.output) => ProgramOutcome::OutputFlood,
        () = memory::exceeds(root, namespaces.is_some(), program.limits.memory) => held,
        status = child.wait() => match timeout(EXIT_TIMEOUT, channel.outcome()).await {
            Ok(Some(outcome)) => outcome,
            _ if group.as_ref().is_some_and(Group::oom_killed) => held,
            _ => classify::ended(setup.isolation, status?),
        },
        () = sleep(program.limits.wall) => ProgramOutcome::Timeout,
    };
    end(setup.isolation, child, root, namespaces).await?;
    Ok(outcome)
}

/// Reports the output of `bwrap` or of the interpreter.
async fn not_started(mut child: Child, mut output: CapturedOutput, reason: &str) -> io::Result<ProgramOutcome> {
    let _ = child.start_kill();
    let status = child.wait().await?;
    let _ = timeout(Duration::from_secs(1), output.flood(u64::MAX)).await;
    let text = String::from_utf8_lossy(&output.tail).trim().to_owned();
    Ok(ProgramOutcome::SandboxError { detail: format!("the interpreter did not start: {reason}, {status}: {text}") })
}

/// Kills the remaining processes and waits until they have ended.
async fn end(isolation: Isolation, mut child: Child, root: Pid, namespaces: Option<Namespaces>) -> io::Result<()> {
    if let Some(namespaces) = &namespaces {
        // `bwrap` outside the namespaces ends when its child does; otherwise the namespaces would outlive it for a
        // moment.
        namespaces.kill();
    } else {
        let _ = child.start_kill();
    }
    if isolation == Isolation::Unsafe {
        let _ = kill_process_group(root, Signal::KILL);
    }
    if timeout(EXIT_TIMEOUT, child.wait()).await.is_err() {
        child.start_kill()?;
        child.wait().await?;
    }
    if let Some(namespaces) = namespaces {
        timeout(EXIT_TIMEOUT, namespaces.gone())
            .await
            .map_err(|_| io::Error::other("a killed program has not ended"))??;
    }
    Ok(())
}

/// Output of the program: counted, and discarded except for its end.
struct CapturedOutput {
    pipe: Receiver,
    seen: u64,
    tail: Vec<u8>,
}

impl CapturedOutput {
    const TAIL: usize = 2048;

    /// Returns once more than `limit` bytes were received; never if the output ends before.
    async fn flood(&mut self, limit: u64) {
        let mut part = vec![0; 64 * 1024];
        while self.seen <= limit {
            match self.pipe.read(&mut part).await {
                Ok(0) | Err(_) => return std::future::pending().await,
                Ok(count) => {
                    self.seen += count as u64;
                    self.tail.extend_from_slice(&part[..count]);
                    self.tail.drain(..self.tail.len().saturating_sub(Self::TAIL));
                }
            }
        }
    }
}
