//! A slot: room for one engine child, a task of its own that runs one batch at a time, to which samples may be added.
//!
//! The slot keeps a child alive and its model loaded between batches. Samples whose child died are retried elsewhere;
//! the slot only reports whether the batch had started.

use super::child::EngineChild;
use super::gpus::Gpus;
use crate::engine_child::EngineOptions;
use compass_agent::{BatchEnd, BatchOrder, ModelOrder, SlotEvent, SlotReport};
use compass_plan::ModelPlan;
use compass_plan::engine::{ENGINE_TIMEOUT, ModelFacts, PrefixSegment, TokenCounters, UnableKind};
use compass_proto::v1;
use compass_proto::v1::from_engine::Body as FromEngine;
use std::ops::ControlFlow;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::Instrument as _;
use tracing::field::display;

/// Engine deaths in a row before a batch starts, after which the batch is returned.
const DEATHS_BEFORE_START: u32 = 3;

const GIB: f64 = (1u64 << 30) as f64;

/// Orders that wait for the slot's task: it takes them up at once, unless it waits for the agent itself.
const WAITING_ORDERS: usize = 8;

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
        let (orders, inbox) = mpsc::channel(WAITING_ORDERS);
        let actor = Actor { slot, options, gpus, reports, child: None, failed: None };
        Self { orders, task: tokio::spawn(actor.run(inbox)) }
    }

    /// Submits a batch to an idle slot, or samples to add to its batch; false when it cannot take them.
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
    /// The last batch that ended with a failure: nothing more is added to it.
    failed: Option<u64>,
}

impl<T: From<SlotReport> + Send + 'static> Actor<T> {
    async fn run(mut self, mut orders: mpsc::Receiver<BatchOrder>) {
        while let Some(order) = orders.recv().await {
            // The agent has all samples of a failed batch back, this order's included.
            if order.extends && self.failed == Some(order.id) {
                continue;
            }
            let (batch, first, samples) = (order.id, order.samples.first().copied(), order.samples.len());
            let span = tracing::info_span!("batch", of = &*order.name, slot = self.slot, first, samples);
            let mut taken = vec![order];
            let end = self.run_batch(&mut taken, &mut orders).instrument(span).await;
            self.failed = (!matches!(end, BatchEnd::Done { .. })).then_some(batch);
            if self.report(SlotEvent::Ended { batch, orders: taken.len() as u32, end }).await.is_break() {
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

    /// Runs a batch, which begins with the order in `taken`, and the orders that are added to it meanwhile.
    async fn run_batch(&mut self, taken: &mut Vec<BatchOrder>, orders: &mut mpsc::Receiver<BatchOrder>) -> BatchEnd {
        let (mut message, mut unable) = (String::new(), None);
        let Some(model) = taken.first().map(|order| order.model.clone()) else {
            return BatchEnd::NeverStarted { message: "the batch has no samples".into() };
        };
        for _ in 0..DEATHS_BEFORE_START {
            let child = match self.ready_child(&model).await {
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
            match self.compute(child, taken, orders).await {
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
    async fn ready_child(&mut self, model: &ModelOrder) -> Result<EngineChild, Unready> {
        match self.child.take() {
            Some(child) if child.model == *model => return Ok(child),
            Some(other) => other.kill().await,
            None => {}
        }
        let share = self.gpus.share(self.slot, model.num_gpus);
        let colocated_engines = self.gpus.colocated_engines(share.as_ref());
        let started = EngineChild::start(model, &self.options, (share, colocated_engines)).await;
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
                log_loaded(model, &loaded);
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
    async fn compute(
        &mut self,
        mut child: EngineChild,
        taken: &mut Vec<BatchOrder>,
        orders: &mut mpsc::Receiver<BatchOrder>,
    ) -> Option<BatchEnd> {
        let loaded_seconds = child.loaded_seconds.take();
        let _ = self.report(SlotEvent::Ready { facts: child.facts.clone(), loaded_seconds }).await;
        for order in taken.iter() {
            if child.submit(order).await.is_err() {
                let status = child.reap().await;
                tracing::warn!(status, "engine died while idle");
                return None;
            }
        }
        let timeout = taken.first().map_or(ENGINE_TIMEOUT, |order| order.timeout);
        let (mut started, mut ended) = (false, 0);
        let (mut tokens, mut notes, mut prefix_segments) = (TokenCounters::default(), Vec::new(), Vec::new());
        let mut heard = Instant::now();
        loop {
            // Any message is a sign of progress; a computing engine sends one every second.
            let message = tokio::select! {
                message = tokio::time::timeout_at(heard + timeout, child.recv()) => message,
                Some(order) = orders.recv() => {
                    // A child that is dying says so by its next message, which is its last.
                    let _ = child.submit(&order).await;
                    taken.push(order);
                    continue;
                }
            };
            heard = Instant::now();
            let Ok(message) = message else {
                let message = format!("no progress for {} s, killed by the agent", timeout.as_secs());
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
                    tokens.add(&done.tokens.unwrap_or_default().into());
                    notes.extend(done.notes);
                    prefix_segments.extend(done.prefix_segments.into_iter().map(PrefixSegment::from));
                    ended += done.messages.max(1) as usize;
                    if ended >= taken.len() {
                        self.child = Some(child);
                        return Some(BatchEnd::Done { tokens, notes, prefix_segments });
                    }
                }
                Some(FromEngine::BatchFailed(failed)) => {
                    tracing::warn!(message = failed.message, "batch failed; restarting the engine");
                    child.kill().await;
                    let message = failed.message;
                    return Some(match (failed.refused, failed.device_lost) {
                        (true, _) => BatchEnd::Refused { message },
                        (false, true) => BatchEnd::DeviceLost { message },
                        (false, false) => BatchEnd::EngineDied { message },
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

/// Logs which model was loaded from where, on what, how fast, and what it takes.
fn log_loaded(order: &ModelOrder, loaded: &v1::Loaded) {
    let plan: ModelPlan = match serde_json::from_slice(&order.plan) {
        Ok(plan) => plan,
        Err(error) => return tracing::warn!(%error, "cannot read the plan of a model that was loaded"),
    };
    let facts: Option<ModelFacts> = serde_json::from_slice(&loaded.facts).ok();
    let device = facts.map(|facts| facts.device).unwrap_or_default();
    let memory = (loaded.memory_bytes > 0).then(|| display(format!("{:.1} GiB", loaded.memory_bytes as f64 / GIB)));
    let seconds = display(format!("{:.1}", loaded.seconds));
    tracing::info!(model = plan.abbr, path = plan.path, device, memory, seconds, "model loaded");
}

enum Unready {
    LoadFailed(UnableKind, String),
    Died(String),
}
