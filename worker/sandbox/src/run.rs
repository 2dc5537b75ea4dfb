//! One program from its start to its outcome, and the end of everything that it started.

use crate::groups::Group;
use crate::launch::{Ground, Launched, launch};
use crate::outcome::ProgramOutcome;
use crate::policy::Isolation;
use crate::program::Program;
use crate::report::{Channel, token};
use crate::room::Room;
use crate::{classify, memory, processes};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;
use tokio::time::{sleep, timeout};

/// For the interpreter to start, on a machine that may be busy with other things.
const START: Duration = Duration::from_secs(60);
/// For the kernel to take down what was killed.
const END: Duration = Duration::from_secs(20);

pub(crate) async fn run(ground: &Ground, program: &Program) -> ProgramOutcome {
    attempt(ground, program).await.unwrap_or_else(|error| ProgramOutcome::SandboxError { detail: error.to_string() })
}

async fn attempt(ground: &Ground, program: &Program) -> io::Result<ProgramOutcome> {
    let order = program.order(processes::limit(ground.isolation, program.limits.processes));
    let Launched { mut child, channel, output, info, group } = launch(ground, &program.limits)?;
    let mut channel = Channel::new(channel, token()?)?;
    let mut output = Output { pipe: Receiver::from_owned_fd(output.into())?, seen: 0, tail: Vec::new() };
    // The room is found before the program runs: a short one could be gone by then.
    let begun = timeout(START, async {
        let room = match info {
            Some(info) => Some(Room::read(info).await?),
            None => None,
        };
        if channel.begin(&order).await { Ok(room) } else { Err(io::Error::other("the harness went away")) }
    });
    let room = match begun.await {
        Ok(Ok(room)) => room,
        Ok(Err(error)) => return not_started(child, output, &error.to_string()).await,
        Err(_) => return not_started(child, output, "it takes too long").await,
    };
    let root = match &room {
        Some(room) => room.first,
        None => child.id().and_then(|id| Pid::from_raw(id.cast_signed())).ok_or(io::ErrorKind::NotFound)?,
    };
    let held = ProgramOutcome::MemoryHeld { limit: program.limits.memory };
    let outcome = tokio::select! {
        biased;
        Some(outcome) = channel.outcome() => outcome,
        () = output.flood(program.limits.output) => ProgramOutcome::OutputFlood,
        () = memory::exceeds(root, room.is_some(), program.limits.memory) => held,
        status = child.wait() => match timeout(END, channel.outcome()).await {
            Ok(Some(outcome)) => outcome,
            _ if group.as_ref().is_some_and(Group::ran_out) => held,
            _ => classify::ended(ground.isolation, status?),
        },
        () = sleep(program.limits.wall) => ProgramOutcome::Timeout,
    };
    end(ground.isolation, child, root, room).await?;
    Ok(outcome)
}

/// What `bwrap` or the interpreter said stands in the outcome.
async fn not_started(mut child: Child, mut output: Output, reason: &str) -> io::Result<ProgramOutcome> {
    let _ = child.start_kill();
    let status = child.wait().await?;
    let _ = timeout(Duration::from_secs(1), output.flood(u64::MAX)).await;
    let said = String::from_utf8_lossy(&output.tail).trim().to_owned();
    Ok(ProgramOutcome::SandboxError { detail: format!("the interpreter did not start: {reason}, {status}: {said}") })
}

/// Kills what is left and waits until it is gone.
async fn end(isolation: Isolation, mut child: Child, root: Pid, room: Option<Room>) -> io::Result<()> {
    if let Some(room) = &room {
        // `bwrap` outside the room ends when its child does; the other way round the room would outlive it a little.
        room.kill();
    } else {
        let _ = child.start_kill();
    }
    if isolation == Isolation::Unsafe {
        let _ = kill_process_group(root, Signal::KILL);
    }
    if timeout(END, child.wait()).await.is_err() {
        child.start_kill()?;
        child.wait().await?;
    }
    if let Some(room) = room {
        timeout(END, room.gone()).await.map_err(|_| io::Error::other("a killed program does not end"))??;
    }
    Ok(())
}

/// What the program prints: counted, and but for the last of it thrown away.
struct Output {
    pipe: Receiver,
    seen: u64,
    tail: Vec<u8>,
}

impl Output {
    const TAIL: usize = 2048;

    /// Returns once more than `limit` bytes have come; never when the output ends before.
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
