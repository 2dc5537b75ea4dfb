//! One engine child: starts it, exchanges messages with it, and reaps it.

use super::cuda_environment;
use super::gpus::GpuShare;
use super::sent_parts::SentParts;
use crate::engine_child::EngineOptions;
use compass_agent::{BatchOrder, ModelOrder};
use compass_proto::v1::from_engine::Body as FromEngine;
use compass_proto::v1::to_engine::Body as ToEngine;
use compass_proto::{delimited, v1};
use rustix::process::Signal;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

/// Messages of a child that wait to be taken up.
const UNREAD_MESSAGES: usize = 16;

/// Reads messages until the child closes the link, breaks it, or its owner is gone.
fn read_in_a_task(mut link: OwnedReadHalf) -> mpsc::Receiver<FromEngine> {
    let (sender, messages) = mpsc::channel(UNREAD_MESSAGES);
    tokio::spawn(async move {
        while let Ok(Some(v1::FromEngine { body: Some(body) })) = delimited::read_async(&mut link).await {
            if sender.send(body).await.is_err() {
                return;
            }
        }
    });
    messages
}

/// Time for a child that has closed its end of the link to exit.
const DEATH_GRACE: Duration = Duration::from_secs(5);

/// Returns the path of this executable. If its file was replaced, the path leads to the running inode, so that agent
/// and engines always have the same version.
fn this_executable() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(if path.is_file() { path } else { "/proc/self/exe".into() })
}

/// Describes how a child ended; whether it left a core is a matter of the node, not a cause.
fn how(status: ExitStatus) -> String {
    let text = status.to_string().replace(" (core dumped)", "");
    match status.signal() {
        Some(signal) if signal == Signal::KILL.as_raw() => format!("{text}; probably killed by the kernel OOM killer"),
        _ => text,
    }
}

/// A running child. Dropping it kills it.
#[derive(Debug)]
pub(super) struct EngineChild {
    process: Child,
    link: OwnedWriteHalf,
    /// Messages that a separate task reads from the child, so that waiting for one can be cancelled.
    messages: mpsc::Receiver<FromEngine>,
    parts: SentParts,
    pub(super) model: ModelOrder,
    /// `ModelFacts` as JSON; empty until the model is loaded.
    pub(super) facts: Vec<u8>,
    /// Duration of loading the model, until it is reported.
    pub(super) loaded_seconds: Option<f64>,
}

impl EngineChild {
    /// Starts this same executable as an engine and asks it to load `model`.
    pub(super) async fn start(
        model: &ModelOrder,
        options: &EngineOptions,
        (share, colocated_engines): (Option<GpuShare>, u32),
    ) -> io::Result<Self> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let log = || io::stderr().as_fd().try_clone_to_owned().map(Stdio::from);
        let mut command = Command::new(this_executable()?);
        command.arg("engine").arg("--threads").arg(options.threads.to_string());
        command.envs(options.storage.variables());
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(log()?).stderr(log()?);
        command.envs(cuda_environment::to_add(model.deterministic, |name| std::env::var_os(name).is_some()));
        if let Some(share) = &share {
            command.env("CUDA_VISIBLE_DEVICES", &share.visible);
        }
        // A process group of its own: the agent alone handles a Ctrl-C at the terminal, and lets running batches
        // finish.
        command.process_group(0).kill_on_drop(true);
        let process = command.spawn()?;
        // `command` still owns the child's end of the pair; until it is dropped, the exit of the child does not close
        // the link.
        drop(command);
        ours.set_nonblocking(true)?;
        let (from_child, link) = UnixStream::from_std(ours)?.into_split();
        tracing::debug!(pid = process.id(), "engine started");
        let mut child = Self {
            process,
            link,
            messages: read_in_a_task(from_child),
            parts: SentParts::default(),
            model: model.clone(),
            facts: Vec::new(),
            loaded_seconds: None,
        };
        let load = v1::LoadModel { model: model.plan.clone(), device: model.device.clone(), colocated_engines };
        child.send(ToEngine::Load(load)).await?;
        Ok(child)
    }

    async fn send(&mut self, body: ToEngine) -> io::Result<()> {
        delimited::write_async(&mut self.link, &v1::ToEngine { body: Some(body) }).await
    }

    /// Receives the next message; `None` when the child is dead or dying.
    pub(super) async fn recv(&mut self) -> Option<FromEngine> {
        self.messages.recv().await
    }

    /// Sends a batch, and before it the part when the child does not have it.
    pub(super) async fn submit(&mut self, order: &BatchOrder) -> io::Result<()> {
        let digest = order.part.digest;
        if !self.parts.has(&digest) {
            let (name, data) = (digest.0.to_vec(), order.part.bytes.to_vec());
            self.send(ToEngine::Part(v1::LoadPart { digest: name, data })).await?;
            self.parts.sent(digest);
        }
        let batch = v1::Batch {
            id: order.id,
            spec: order.spec.to_vec(),
            part: digest.0.to_vec(),
            samples: order.samples.clone(),
            job: order.job.to_vec(),
            drawn: order.drawn.clone(),
        };
        self.send(ToEngine::Batch(batch)).await
    }

    /// Waits for a child that has closed the link, kills it if it does not exit, and returns how it ended.
    pub(super) async fn reap(mut self) -> String {
        let ended = match tokio::time::timeout(DEATH_GRACE, self.process.wait()).await {
            Ok(ended) => ended,
            Err(_) => match self.process.kill().await {
                Ok(()) => self.process.wait().await,
                Err(error) => Err(error),
            },
        };
        ended.map_or_else(|error| error.to_string(), how)
    }

    /// Kills a child that is no longer needed and waits until it has exited, so that its memory is free for the next
    /// one.
    pub(super) async fn kill(mut self) {
        if let Err(error) = self.process.kill().await {
            tracing::debug!(%error, "engine had already exited");
        }
    }
}
