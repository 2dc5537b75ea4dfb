//! A slot: room for one engine child, a task of its own that runs one batch at a time.
//!
//! The slot keeps a child alive and its model loaded between batches. Samples whose child died are retried elsewhere;
//! the slot only reports whether the batch had started.

use super::child::EngineChild;
use super::gpus::Gpus;
use crate::engine_child::EngineOptions;
use compass_agent::{BatchEnd, BatchOrder, SlotEvent, SlotReport};
use compass_plan::engine::UnableKind;
use compass_proto::v1::from_engine::Body as FromEngine;
use std::ops::ControlFlow;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

/// Engine deaths in a row before a batch starts, after which the batch is returned.
const DEATHS_BEFORE_START: u32 = 3;

/// The agent's handle of a slot.
#[derive(Debug)]
pub struct Slot {
    orders: mpsc::Sender<BatchOrder>,
    task: JoinHandle<()>,
}

impl Slot {
    /// Starts the slot's task, which starts its child with the first batch. Events go to `reports`.
    pub fn start<T>(slot: usize, options: EngineOptions, gpus: Gpus, reports: mpsc::Sender<T>) -> Self
    where
        T: From<SlotReport> + Send + 'static,
    {
        let (orders, inbox) = mpsc::channel(1);
        let actor = Actor { slot, options, gpus, reports, child: None };
        Self { orders, task: tokio::spawn(actor.run(inbox)) }
    }

    /// Submits a batch; false when the slot is not idle.
    pub fn submit(&self, order: BatchOrder) -> bool {
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
    options: EngineOptions,
    gpus: Gpus,
    reports: mpsc::Sender<T>,
    child: Option<EngineChild>,
}

impl<T: From<SlotReport> + Send + 'static> Actor<T> {
    async fn run(mut self, mut orders: mpsc::Receiver<BatchOrder>) {
        while let Some(order) = orders.recv().await {
            let (first, samples) = (order.samples.first().copied(), order.samples.len());
            let span = tracing::info_span!("batch", slot = self.slot, first, samples);
            let end = self.run_batch(&order).instrument(span).await;
            if self.report(SlotEvent::Ended { batch: order.id, end }).await.is_break() {
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

    async fn run_batch(&mut self, order: &BatchOrder) -> BatchEnd {
        let (mut message, mut unable) = (String::new(), None);
        for _ in 0..DEATHS_BEFORE_START {
            let child = match self.ready_child(order).await {
                Ok(child) => child,
                Err(Unready::LoadFailed(UnableKind::Device, reason)) => {
                    // A new process is the best remedy for a device fault.
                    tracing::warn!(reason, "failed to load the model onto the device");
                    (message, unable) = (reason, Some(UnableKind::Device));
                    continue;
                }
                Err(Unready::LoadFailed(kind, message)) => return BatchEnd::LoadFailed { kind, message },
                Err(Unready::Died(status)) => {
                    unable = None;
                    message = format!("the engine died while loading the model: {status}");
                    tracing::warn!(status, "engine died while loading");
                    continue;
                }
            };
            match self.compute(child, order).await {
                Some(end) => return end,
                // For example killed while idle: a new child may start the batch.
                None => (message, unable) = ("the engine died before the batch started".into(), None),
            }
        }
        let message = format!("{message} ({DEATHS_BEFORE_START} times in a row)");
        match unable {
            Some(kind) => BatchEnd::LoadFailed { kind, message },
            None => BatchEnd::NeverStarted { message },
        }
    }

    /// Returns the resident child, or a new one with the model loaded.
    async fn ready_child(&mut self, order: &BatchOrder) -> Result<EngineChild, Unready> {
        match self.child.take() {
            Some(child) if child.model == *order.model => return Ok(child),
            Some(other) => other.kill().await,
            None => {}
        }
        let started =
            EngineChild::start(&order.model, &self.options, self.gpus.share(self.slot, order.model.num_gpus)).await;
        let mut child = started.map_err(|error| Unready::Died(error.to_string()))?;
        let answer = loop {
            match child.recv().await {
                Some(FromEngine::Waiting(waiting)) => {
                    let _ = self.report(SlotEvent::Waiting { reason: waiting.reason }).await;
                }
                answer => break answer,
            }
        };
        match answer {
            Some(FromEngine::Loaded(loaded)) => {
                tracing::info!(seconds = loaded.seconds, "model loaded");
                (child.facts, child.loaded_seconds) = (loaded.facts, Some(loaded.seconds));
                Ok(child)
            }
            Some(FromEngine::LoadFailed(failed)) => {
                child.kill().await;
                let kind = failed.kind().try_into().unwrap_or(UnableKind::Content);
                Err(Unready::LoadFailed(kind, failed.message))
            }
            _ => Err(Unready::Died(child.reap().await)),
        }
    }

    /// Runs the batch; `None` if the child died before it started.
    async fn compute(&mut self, mut child: EngineChild, order: &BatchOrder) -> Option<BatchEnd> {
        let loaded_seconds = child.loaded_seconds.take();
        let _ = self.report(SlotEvent::Ready { facts: child.facts.clone(), loaded_seconds }).await;
        if child.submit(order).await.is_err() {
            let status = child.reap().await;
            tracing::warn!(status, "engine died while idle");
            return None;
        }
        let mut started = false;
        loop {
            // Any message is a sign of progress; a computing engine sends one every second.
            let Ok(message) = tokio::time::timeout(order.timeout, child.recv()).await else {
                let message = format!("no progress for {} s, killed by the agent", order.timeout.as_secs());
                tracing::warn!(message, started, "engine hangs; restarting it");
                child.kill().await;
                return started.then_some(BatchEnd::EngineDied { message });
            };
            match message {
                Some(FromEngine::BatchStarted(_)) => started = true,
                Some(FromEngine::Progress(_) | FromEngine::Waiting(_)) => {}
                Some(FromEngine::Result(result)) => {
                    let _ = self.report(SlotEvent::Result(result)).await;
                }
                Some(FromEngine::BatchDone(done)) => {
                    self.child = Some(child);
                    let prefix_segments = done.prefix_segments.into_iter().map(Into::into).collect();
                    let tokens = done.tokens.unwrap_or_default().into();
                    return Some(BatchEnd::Done { tokens, notes: done.notes, prefix_segments });
                }
                Some(FromEngine::BatchFailed(failed)) => {
                    tracing::warn!(message = failed.message, "batch failed; restarting the engine");
                    child.kill().await;
                    let message = failed.message;
                    return Some(match failed.device_lost {
                        true => BatchEnd::DeviceLost { message },
                        false => BatchEnd::EngineDied { message },
                    });
                }
                Some(FromEngine::Loaded(_) | FromEngine::LoadFailed(_)) | None => {
                    let message = child.reap().await;
                    tracing::warn!(status = message, started, "engine died");
                    return started.then_some(BatchEnd::EngineDied { message });
                }
            }
        }
    }
}

enum Unready {
    LoadFailed(UnableKind, String),
    Died(String),
}
