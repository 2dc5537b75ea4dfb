//! The main thread of the child: loads the model, runs batches in order, sends every result as soon as it is known.

use super::fetch::{FetchedModel, fetch};
use super::inbox::read_on_a_thread;
use super::load::{Decorate, LoadedEngine, load};
use super::parts::Parts;
use crate::parent::{end_before_parent, end_with_parent, leave_signals_to_agent};
use compass_plan::engine::{BatchSpec, Engine, EngineFault, Request, progress};
use compass_plan::{ModelKind, ModelPlan, Part};
use compass_proto::v1::from_engine::Body as FromEngine;
use compass_proto::v1::to_engine::Body as ToEngine;
use compass_proto::{delimited, digest_from_wire, drawn_from_wire, v1};
use compass_storage::StorageArguments;
use compass_types::intervals::IntervalSet;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of prefix segments reported for each message of a batch; samples with more share little.
const MAX_PREFIX_SEGMENTS: usize = 1024;

/// Interval at which progress of the computation is checked.
const PROGRESS_PERIOD: Duration = Duration::from_secs(1);

/// Options of an engine child.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Threads per operation.
    pub threads: u32,
    /// Stores from which models are fetched, and the cache that holds them.
    pub storage: StorageArguments,
}

/// Serves the agent at the other end of stdin until either end exits, with engines as `decorate` leaves them.
pub fn run(options: EngineOptions, decorate: Decorate) -> ExitCode {
    match serve(options, decorate) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "compass-worker engine: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Link to the agent, for the thread that computes and the one that reports progress.
#[derive(Clone)]
struct Agent(Arc<Mutex<UnixStream>>);

impl Agent {
    fn send(&self, body: FromEngine) -> io::Result<()> {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        delimited::write(&mut *stream, &v1::FromEngine { body: Some(body) })
    }
}

struct Child {
    options: EngineOptions,
    decorate: Decorate,
    agent: Agent,
    /// Set if a batch is running.
    busy: Arc<AtomicBool>,
    engine: Option<Box<dyn Engine>>,
    /// The job of the last batch.
    job: Vec<u8>,
    /// The files that the engine reads, if they were fetched.
    fetched: Option<FetchedModel>,
    parts: Parts,
    inbox: Inbox,
}

/// Messages of the agent in order.
struct Inbox {
    messages: Receiver<v1::ToEngine>,
    /// Messages that a running batch has seen and did not take up.
    put_back: VecDeque<ToEngine>,
}

impl Inbox {
    /// Waits for the next message; `None` when there will be none.
    fn next(&mut self) -> io::Result<Option<ToEngine>> {
        if let Some(message) = self.put_back.pop_front() {
            return Ok(Some(message));
        }
        let Ok(message) = self.messages.recv() else { return Ok(None) };
        let empty = || io::Error::new(io::ErrorKind::InvalidData, "an empty message from the agent");
        message.body.ok_or_else(empty).map(Some)
    }

    /// Hands over the messages that have arrived until `takes` refuses one, which is then the next.
    fn take_while(&mut self, mut takes: impl FnMut(ToEngine) -> Option<ToEngine>) {
        while self.put_back.is_empty() {
            // An empty message is an error when its turn comes.
            let Some(body) = self.messages.try_recv().ok().and_then(|message| message.body) else { return };
            self.put_back.extend(takes(body));
        }
    }
}

fn serve(options: EngineOptions, decorate: Decorate) -> io::Result<()> {
    // A thread notices the end of the link, but a stopped process runs no threads.
    end_with_parent();
    end_before_parent();
    leave_signals_to_agent()?;
    let agent = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let inbox = Inbox { messages: read_on_a_thread(agent.try_clone()?)?, put_back: VecDeque::new() };
    let (agent, busy) = (Agent(Arc::new(Mutex::new(agent))), Arc::new(AtomicBool::new(false)));
    report_progress(agent.clone(), busy.clone())?;
    let mut child = Child {
        options,
        decorate,
        agent,
        busy,
        engine: None,
        job: Vec::new(),
        fetched: None,
        parts: Parts::default(),
        inbox,
    };
    while let Some(message) = child.inbox.next()? {
        match message {
            ToEngine::Load(load) => child.load(&load)?,
            ToEngine::Part(part) => child.parts.keep_message(&part)?,
            ToEngine::Batch(batch) => child.run_batch(&batch)?,
        }
    }
    Ok(())
}

/// Reports every second that the running batch makes progress, from a separate thread.
fn report_progress(agent: Agent, busy: Arc<AtomicBool>) -> io::Result<()> {
    let mut before = progress();
    std::thread::Builder::new().name("progress".into()).spawn(move || {
        loop {
            std::thread::sleep(PROGRESS_PERIOD);
            let now = progress();
            if now != before
                && busy.load(Ordering::Relaxed)
                && agent.send(FromEngine::Progress(v1::Progress {})).is_err()
            {
                // The thread that computes gets the same error.
                return;
            }
            before = now;
        }
    })?;
    Ok(())
}

impl Child {
    fn send(&self, body: FromEngine) -> io::Result<()> {
        self.agent.send(body)
    }

    fn load(&mut self, request: &v1::LoadModel) -> io::Result<()> {
        let start = Instant::now();
        let plan = serde_json::from_slice::<ModelPlan>(&request.model);
        let loaded = match &plan {
            Ok(plan) => self.load_fetched(plan, request),
            Err(error) => Err(EngineFault::Model(format!("cannot read the plan of the model: {error}"))),
        };
        match loaded {
            Ok((engine, memory_bytes)) => {
                let facts = serde_json::to_vec(engine.facts())?;
                self.engine = Some(engine);
                let seconds = start.elapsed().as_secs_f64();
                self.send(FromEngine::Loaded(v1::Loaded { facts, seconds, memory_bytes }))
            }
            Err(fault) => {
                let kind = v1::UnableKind::from(fault.kind()).into();
                self.send(FromEngine::LoadFailed(v1::LoadFailed { message: fault.to_string(), kind }))
            }
        }
    }

    fn load_fetched(&mut self, plan: &ModelPlan, request: &v1::LoadModel) -> Result<LoadedEngine, EngineFault> {
        let agent = &self.agent;
        let waits = |reason| {
            // A link that is broken is noticed by the thread that reads it.
            let _ = agent.send(FromEngine::Waiting(v1::Waiting { reason }));
        };
        if plan.kind == ModelKind::Endpoint {
            return Ok((compass_endpoint::load(plan, &waits)?, 0));
        }
        let fetched = fetch(plan, &self.options.storage, &waits)?;
        let loading = || load(&fetched.plan, &request.device, self.options.threads, request.colocated_engines);
        let loaded = (self.decorate)(&fetched.plan, &loading).map_err(|fault| fetched.named(fault));
        // The files must stay as long as they are mapped.
        self.fetched = Some(fetched);
        loaded
    }

    fn run_batch(&mut self, batch: &v1::Batch) -> io::Result<()> {
        self.send(FromEngine::BatchStarted(v1::BatchStarted { id: batch.id }))?;
        self.busy.store(true, Ordering::Relaxed);
        let computed = self.compute(batch);
        self.busy.store(false, Ordering::Relaxed);
        match computed? {
            Ok(done) => self.send(FromEngine::BatchDone(v1::BatchDone { id: batch.id, ..done })),
            Err(fault) => {
                let device_lost = matches!(fault, EngineFault::Lost(_));
                let refused = matches!(fault, EngineFault::Refused(_));
                let failed = v1::BatchFailed { id: batch.id, message: fault.to_string(), device_lost, refused };
                self.send(FromEngine::BatchFailed(failed))
            }
        }
    }

    /// Runs a batch. The inner error is the batch's, the outer one the link's.
    fn compute(&mut self, batch: &v1::Batch) -> io::Result<Result<v1::BatchDone, EngineFault>> {
        let wrong = |what: String| Ok(Err(EngineFault::Device(what)));
        let Some(engine) = &mut self.engine else { return wrong("no model is loaded".into()) };
        if self.job != batch.job {
            self.job.clone_from(&batch.job);
            engine.begin_job();
        }
        let spec: BatchSpec = match serde_json::from_slice(&batch.spec) {
            Ok(spec) => spec,
            Err(error) => return wrong(format!("cannot parse the batch's specification: {error}")),
        };
        let part = match part_of(&self.parts, batch) {
            Ok(part) => part,
            Err(why) => return wrong(why),
        };
        let requests: Vec<Request<'_>> = requests_of(batch, &part).collect();
        let (agent, parts, inbox) = (&self.agent, &mut self.parts, &mut self.inbox);
        let (mut broken, mut messages) = (None, 1);
        let mut added = |each: &mut dyn FnMut(&Request<'_>)| {
            inbox.take_while(|message| match message {
                ToEngine::Part(part) if parts.keep_message(&part).is_ok() => None,
                ToEngine::Batch(more) if more.id == batch.id && more.spec == batch.spec => {
                    match part_of(parts, &more) {
                        Ok(part) => {
                            messages += 1;
                            requests_of(&more, &part).for_each(|request| each(&request));
                            None
                        }
                        Err(_) => Some(ToEngine::Batch(more)),
                    }
                }
                other => Some(other),
            });
        };
        let run = engine.run_open(&spec, &requests, &mut added, &mut |result| {
            if broken.is_none() {
                broken = agent.send(FromEngine::Result(v1::SampleResult::from(&result))).err();
            }
        });
        match (broken, run) {
            (Some(error), _) => Err(error),
            (None, Ok(tokens)) => {
                let segments = engine.take_prefix_segments().into_iter().take(MAX_PREFIX_SEGMENTS * messages as usize);
                Ok(Ok(v1::BatchDone {
                    id: batch.id,
                    tokens: Some(tokens.into()),
                    notes: engine.take_notes(),
                    prefix_segments: segments.map(v1::PrefixSegment::from).collect(),
                    messages,
                }))
            }
            // Other weights have replaced this engine's: a new engine finds out what is there.
            (None, Err(EngineFault::Missing(why))) => Err(io::Error::other(why)),
            (None, Err(fault)) => Ok(Err(fault)),
        }
    }
}

/// Returns the part that holds all samples of a batch.
fn part_of(parts: &Parts, batch: &v1::Batch) -> Result<Arc<Part>, String> {
    let digest = digest_from_wire(&batch.part).map_err(|error| error.to_string())?;
    let part = parts.get(&digest).ok_or_else(|| format!("part {} is missing", digest.short()))?;
    match batch.samples.iter().find(|index| part.sample(**index).is_none()) {
        Some(index) => Err(format!("part {} has no sample {index}", digest.short())),
        None => Ok(part),
    }
}

/// Returns the requests for the samples of a batch that the part has.
fn requests_of<'p>(batch: &'p v1::Batch, part: &'p Part) -> impl Iterator<Item = Request<'p>> {
    let drawn = drawn_from_wire(&batch.drawn, &IntervalSet::from_indices(batch.samples.iter().copied()));
    let samples = batch.samples.iter().filter_map(|index| part.sample(*index));
    samples.map(move |sample| {
        let drawn = drawn.get(&sample.index).copied().unwrap_or(0);
        Request { drawn, ..Request::new(sample, part.shots_of(sample)) }
    })
}
