//! A slot: room for one engine child, a task of its own that runs one pack at a time.
//!
//! The slot keeps a child alive and its model resident between packs. What becomes of samples whose child died is
//! decided elsewhere; here a death is only told apart by whether the pack had begun.

use super::child::EngineChild;
use super::gpus::Gpus;
use compass_agent::{PackEnd, PackOrder, SlotEvent, SlotReport};
use compass_plan::engine::UnableKind;
use compass_proto::v1::from_engine::Body as Heard;
use std::ops::ControlFlow;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Deaths in a row before a pack begins after which it is given back.
const DEATHS_BEFORE_START: u32 = 3;

/// The agent's handle of a slot.
#[derive(Debug)]
pub struct Slot {
    orders: mpsc::Sender<PackOrder>,
    task: JoinHandle<()>,
}

impl Slot {
    /// Starts the slot's task; its child is started with the first pack. Events go to `reports`.
    pub fn start<T>(slot: usize, threads: u32, gpus: Gpus, reports: mpsc::Sender<T>) -> Self
    where
        T: From<SlotReport> + Send + 'static,
    {
        let (orders, inbox) = mpsc::channel(1);
        let actor = Actor { slot, threads, gpus, reports, child: None };
        Self { orders, task: tokio::spawn(actor.run(inbox)) }
    }

    /// Hands over a pack; false when the slot is not idle.
    pub fn submit(&self, order: PackOrder) -> bool {
        self.orders.try_send(order).is_ok()
    }

    /// Kills the child and ends the task.
    pub async fn stop(self) {
        self.task.abort();
        // An aborted task has dropped its child, and with it killed it.
        let _ = self.task.await;
    }
}

struct Actor<T> {
    slot: usize,
    threads: u32,
    gpus: Gpus,
    reports: mpsc::Sender<T>,
    child: Option<EngineChild>,
}

impl<T: From<SlotReport> + Send + 'static> Actor<T> {
    async fn run(mut self, mut orders: mpsc::Receiver<PackOrder>) {
        while let Some(order) = orders.recv().await {
            let end = self.run_pack(&order).await;
            if self.report(SlotEvent::Ended { pack: order.id, end }).await.is_break() {
                return;
            }
        }
    }

    async fn report(&self, event: SlotEvent) -> ControlFlow<()> {
        match self.reports.send(SlotReport { slot: self.slot, event }.into()).await {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    async fn run_pack(&mut self, order: &PackOrder) -> PackEnd {
        let (mut message, mut unable) = (String::new(), None);
        for _ in 0..DEATHS_BEFORE_START {
            let child = match self.ready_child(order).await {
                Ok(child) => child,
                Err(Unready::LoadFailed(UnableKind::Device, reason)) => {
                    // A fresh process is the best that can be tried against a device's fault.
                    tracing::warn!(slot = self.slot, reason, "failed to load the model onto the device");
                    (message, unable) = (reason, Some(UnableKind::Device));
                    continue;
                }
                Err(Unready::LoadFailed(kind, message)) => return PackEnd::LoadFailed { kind, message },
                Err(Unready::Died(status)) => {
                    unable = None;
                    message = format!("the engine died while loading the model: {status}");
                    tracing::warn!(slot = self.slot, status, "engine died while loading");
                    continue;
                }
            };
            match self.compute(child, order).await {
                Some(end) => return end,
                // Killed while idle, say: a fresh one may begin.
                None => (message, unable) = ("the engine died before it began".into(), None),
            }
        }
        let message = format!("{message} ({DEATHS_BEFORE_START} times in a row)");
        match unable {
            Some(kind) => PackEnd::LoadFailed { kind, message },
            None => PackEnd::NeverStarted { message },
        }
    }

    /// The resident child, or a fresh one with the model loaded.
    async fn ready_child(&mut self, order: &PackOrder) -> Result<EngineChild, Unready> {
        match self.child.take() {
            Some(child) if child.model == *order.model => return Ok(child),
            Some(other) => other.kill().await,
            None => {}
        }
        let started =
            EngineChild::start(&order.model, self.threads, self.gpus.share(self.slot, order.model.num_gpus)).await;
        let mut child = started.map_err(|error| Unready::Died(error.to_string()))?;
        match child.hear().await {
            Some(Heard::Loaded(loaded)) => {
                tracing::info!(slot = self.slot, seconds = loaded.seconds, "model loaded");
                (child.facts, child.loaded_seconds) = (loaded.facts, Some(loaded.seconds));
                Ok(child)
            }
            Some(Heard::LoadFailed(failed)) => {
                child.kill().await;
                let kind = failed.kind().try_into().unwrap_or(UnableKind::Content);
                Err(Unready::LoadFailed(kind, failed.message))
            }
            _ => Err(Unready::Died(child.reap().await)),
        }
    }

    /// Runs the pack; `None` when the child died before it began.
    async fn compute(&mut self, mut child: EngineChild, order: &PackOrder) -> Option<PackEnd> {
        let loaded_seconds = child.loaded_seconds.take();
        let _ = self.report(SlotEvent::Ready { facts: child.facts.clone(), loaded_seconds }).await;
        if child.submit(order).await.is_err() {
            let status = child.reap().await;
            tracing::warn!(slot = self.slot, status, "engine died while idle");
            return None;
        }
        let mut started = false;
        loop {
            // Whatever it says shows that it goes on; while it computes, it says so every second.
            let Ok(heard) = tokio::time::timeout(order.timeout, child.hear()).await else {
                let message = format!("it computed nothing for {} s and was ended", order.timeout.as_secs());
                tracing::warn!(slot = self.slot, message, started, "engine hangs; restarting it");
                child.kill().await;
                return started.then_some(PackEnd::Broken { message });
            };
            match heard {
                Some(Heard::PackStarted(_)) => started = true,
                Some(Heard::Progress(_)) => {}
                Some(Heard::Result(result)) => {
                    let _ = self.report(SlotEvent::Result(result)).await;
                }
                Some(Heard::PackDone(done)) => {
                    self.child = Some(child);
                    let prefix_segments = done.stretches.into_iter().map(Into::into).collect();
                    let tokens = done.tokens.unwrap_or_default().into();
                    return Some(PackEnd::Done { tokens, notes: done.notes, prefix_segments });
                }
                Some(Heard::PackFailed(failed)) => {
                    tracing::warn!(slot = self.slot, message = failed.message, "pack failed; restarting the engine");
                    child.kill().await;
                    return Some(PackEnd::Broken { message: failed.message });
                }
                Some(Heard::Loaded(_) | Heard::LoadFailed(_)) | None => {
                    let message = child.reap().await;
                    tracing::warn!(slot = self.slot, status = message, started, "engine died");
                    return started.then_some(PackEnd::Broken { message });
                }
            }
        }
    }
}

enum Unready {
    LoadFailed(UnableKind, String),
    Died(String),
}
