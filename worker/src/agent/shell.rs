//! Carries out the core's outputs: connections, transfers, engines, programs, and the clock.

use super::bulk::Bulk;
use super::clock::Clock;
use super::event::{Event, LinkEvent};
use super::link::{Dial, LinkTask};
use super::options::AgentOptions;
use super::programs::{ProgramRun, Programs};
use crate::dial::MasterEndpoint;
use crate::engine_link::{Gpus, Slot, count_gpus};
use compass_agent::{AgentCore, BatchEnd, ConnectionEvent, ExitReason, Input, Output, SlotEvent, SlotReport};
use compass_proto::v1;
use std::collections::VecDeque;
use tokio::sync::mpsc;
use tokio::sync::mpsc::OwnedPermit;

/// The current connection.
#[derive(Debug)]
struct Link {
    number: u64,
    frames: mpsc::Sender<v1::WorkerFrame>,
    bulk: Bulk,
}

/// The agent's side effects.
#[derive(Debug)]
pub(super) struct Shell {
    core: AgentCore,
    clock: Clock,
    endpoints: Vec<MasterEndpoint>,
    events: mpsc::Sender<Event>,
    /// Number of the last connection.
    dialled: u64,
    link: Option<Link>,
    /// Dropping it closes the connection.
    _task: Option<LinkTask>,
    slots: Vec<Slot>,
    programs: Programs,
    /// Running programs, by slot.
    running: Vec<Option<ProgramRun>>,
    outputs: Vec<Output>,
    /// Inputs that outputs caused directly, handled before any other event.
    at_once: VecDeque<Input>,
}

impl Shell {
    /// Creates a shell whose slots wait for their first batch.
    pub(super) fn new(
        core: AgentCore,
        options: &AgentOptions,
        endpoints: Vec<MasterEndpoint>,
        programs: Programs,
        events: mpsc::Sender<Event>,
    ) -> Self {
        let visible = std::env::var("CUDA_VISIBLE_DEVICES").ok();
        let count = options.slots as usize;
        let gpus = Gpus::new(&options.device, visible.as_deref(), count_gpus(), count);
        let slots =
            (0..count).map(|slot| Slot::start(slot, options.engine.clone(), gpus.clone(), events.clone())).collect();
        Self {
            core,
            clock: Clock::start(),
            endpoints,
            events,
            dialled: 0,
            link: None,
            _task: None,
            slots,
            programs,
            running: (0..count).map(|_| None).collect(),
            outputs: Vec::new(),
            at_once: VecDeque::new(),
        }
    }

    /// Handles one event at a time until the agent ends.
    pub(super) async fn run(&mut self, mut inbox: mpsc::Receiver<Event>) -> ExitReason {
        self.core.start(&mut self.outputs);
        self.carry_out(None);
        self.step(Input::Tick, None);
        loop {
            if let Some(ending) = self.core.take_ending() {
                return ending;
            }
            let wake = self.clock.instant(self.core.wake_at_ms());
            let link = self.link.as_ref().filter(|_| self.core.wants_to_send());
            let can_send = link.is_some();
            let room = async {
                match link {
                    Some(link) => (link.number, link.frames.clone().reserve_owned().await.ok()),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(event) = inbox.recv() => {
                    let input = self.input(event);
                    self.step(input, None);
                }
                (link, permit) = room, if can_send => {
                    let news = if permit.is_some() { ConnectionEvent::Writable } else { ConnectionEvent::Stuck };
                    self.step(Input::Link { link, news }, permit);
                }
                () = tokio::time::sleep_until(wake) => self.step(Input::Tick, None),
            }
        }
    }

    /// Stops what runs in the slots.
    pub(super) async fn stop(self) {
        for (slot, running) in self.slots.into_iter().zip(self.running) {
            if let Some(programs) = running {
                programs.stop().await;
            }
            slot.stop().await;
        }
    }

    /// Converts an event to an input of the core; keeps the ends of a new connection.
    fn input(&mut self, event: Event) -> Input {
        match event {
            Event::Link { link, event } => {
                let news = match event {
                    LinkEvent::Up { frames, bulk, hello_sent_ms } => {
                        if link == self.dialled {
                            self.link = Some(Link { number: link, frames, bulk: *bulk });
                        }
                        ConnectionEvent::Opened { hello_sent_ms }
                    }
                    LinkEvent::Frame(frame) => ConnectionEvent::Frame(frame),
                    LinkEvent::Fetching => ConnectionEvent::Fetching,
                    LinkEvent::Down { why } => ConnectionEvent::Closed { why },
                };
                Input::Link { link, news }
            }
            Event::Slot(report) => Input::Slot(report),
            Event::Fetched { digest, content } => Input::Fetched { digest, content },
            Event::Uploaded { link, seq, done } => Input::Uploaded { link, seq, done },
            Event::Signal(number) => Input::Signal(number),
            Event::TimeIsUp => Input::TimeIsUp,
            Event::ParentGone => Input::ParentGone,
        }
    }

    fn step(&mut self, input: Input, permit: Option<OwnedPermit<v1::WorkerFrame>>) {
        self.core.step(self.clock.now_ms(), input, &mut self.outputs);
        self.carry_out(permit);
        while let Some(input) = self.at_once.pop_front() {
            self.core.step(self.clock.now_ms(), input, &mut self.outputs);
            self.carry_out(None);
        }
    }

    fn carry_out(&mut self, mut permit: Option<OwnedPermit<v1::WorkerFrame>>) {
        let mut outputs = std::mem::take(&mut self.outputs);
        for output in outputs.drain(..) {
            match output {
                Output::Dial { link, master, pause, hello } => {
                    (self.dialled, self.link) = (link, None);
                    let Some(endpoint) = self.endpoints.get(master).cloned() else { continue };
                    let dial = Dial { number: link, endpoint, pause, hello: *hello, clock: self.clock };
                    self._task = Some(dial.start(self.events.clone()));
                }
                Output::Send { frame } => {
                    if let Some(permit) = permit.take() {
                        permit.send(*frame);
                    }
                }
                Output::Upload { link, seq, digest, bytes, pause } => {
                    let Some(bulk) = self.link.as_ref().map(|link| link.bulk.clone()) else { continue };
                    let events = self.events.clone();
                    tokio::spawn(async move {
                        let done = bulk.upload(digest, bytes).await;
                        if done.is_err() {
                            tokio::time::sleep(pause).await;
                        }
                        let _ = events.send(Event::Uploaded { link, seq, done }).await;
                    });
                }
                Output::Fetch { digest, pause } => {
                    let Some(bulk) = self.link.as_ref().map(|link| link.bulk.clone()) else { continue };
                    let events = self.events.clone();
                    tokio::spawn(async move {
                        let content = Box::pin(bulk.fetch(digest)).await;
                        if content.is_err() {
                            tokio::time::sleep(pause).await;
                        }
                        let _ = events.send(Event::Fetched { digest, content }).await;
                    });
                }
                Output::Start { slot, batch } => {
                    let id = batch.id;
                    if !self.slots.get(slot).is_some_and(|engine| engine.submit(batch)) {
                        self.never_started(slot, id, format!("slot {slot} is not idle"));
                    }
                }
                Output::Extend { slot, batch } => {
                    let (id, samples) = (batch.id, batch.samples.clone());
                    if !self.slots.get(slot).is_some_and(|engine| engine.submit(batch)) {
                        let event = SlotEvent::NotTaken { batch: id, samples };
                        self.at_once.push_back(Input::Slot(SlotReport { slot, event }));
                    }
                }
                Output::RunPrograms { slot, batch, part, index } => {
                    let started = self.programs.start(slot, batch, &part, index, self.events.clone());
                    if started.is_none() {
                        self.never_started(slot, batch, "this worker cannot run model-written programs".into());
                    }
                    if let Some(running) = self.running.get_mut(slot) {
                        *running = started;
                    }
                }
                Output::ExitRequested => self.programs.request_exit(),
            }
        }
        self.outputs = outputs;
    }

    fn never_started(&mut self, slot: usize, batch: u64, message: String) {
        let event = SlotEvent::Ended { batch, orders: 1, end: BatchEnd::NeverStarted { message } };
        self.at_once.push_back(Input::Slot(SlotReport { slot, event }));
    }
}
