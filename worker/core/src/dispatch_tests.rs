//! Tests of which slot runs which grant: two slots, a model behind an endpoint, samples that begin alike.

use super::super::input::{ConnectionEvent, Input};
use super::super::order::{BatchEnd, SlotEvent, SlotReport};
use super::super::session::AgentConfig;
use super::*;
use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::prompt::{PrefixRun, Prompt, ShotFormat};
use compass_plan::{
    Body, DatasetPlan, Endpoint, EndpointApi, EndpointBudget, EvalSpec, GenSpec, InferSpec, ModelPlan, PLAN_FORMAT,
    PartRef, Sample,
};
use compass_proto::PROTOCOL_VERSION;
use compass_proto::v1::{self, master_frame::Body as MasterBody, worker_frame::Body as WorkerBody};
use std::time::Duration;

const SAMPLES_OF_A_PART: u32 = 3;
const PARTS: u32 = 2;
const LEASE_MS: u64 = 30_000;

/// A model behind an endpoint.
fn endpoint() -> ModelPlan {
    let endpoint = Endpoint {
        url: "http://e".into(),
        model: "m".into(),
        api: EndpointApi::Chat,
        key: None,
        headers: Default::default(),
        body: Default::default(),
        scores: false,
        budget: EndpointBudget::default(),
    };
    ModelPlan { endpoint: Some(endpoint), ..ModelPlan::new("m".to_owned(), ModelKind::Endpoint, String::new()) }
}

/// Parts of `of_a_part` samples that begin alike, with `shared` characters.
fn plan_of(model: ModelPlan, shared: u64, of_a_part: u32) -> (Plan, Vec<Vec<u8>>) {
    let sample = |index| Sample {
        index,
        gold: serde_json::json!("a"),
        shots: Vec::new(),
        body: Body::Gen { prompt: Prompt::question(format!("question {index}")) },
    };
    let part = |at: u32| {
        let samples = (at * of_a_part..(at + 1) * of_a_part).map(sample).collect();
        serde_json::to_vec(&Part { shots: Vec::new(), samples }).unwrap()
    };
    let parts: Vec<_> = (0..PARTS).map(part).collect();
    let refs = parts.iter().zip(0..).map(|(bytes, at)| PartRef {
        digest: Digest::of(bytes),
        first: at * of_a_part,
        samples: of_a_part,
        bytes: bytes.len() as u64,
    });
    let samples = PARTS * of_a_part;
    let dataset = DatasetPlan {
        abbr: "d".into(),
        version: "000000".into(),
        infer: InferSpec::Gen(GenSpec::default()),
        shot_format: ShotFormat::default(),
        eval: EvalSpec::new(EvaluatorSpec::Em),
        samples,
        characters: 20 * u64::from(samples),
        prefix_runs: vec![PrefixRun { end: samples, characters: shared }],
        labels: None,
        own_questions: 0,
        entries: Vec::new(),
        parts: refs.collect(),
    };
    let plan = Plan {
        format: PLAN_FORMAT,
        config: Digest::of(b"a configuration"),
        models: vec![model],
        datasets: vec![dataset],
        duplicates: None,
        left_out: Default::default(),
    };
    (plan, parts)
}

/// A connected worker with two slots that knows its plan, and holds a grant of each part.
struct Worker {
    core: AgentCore,
    now: u64,
    /// Batches under way by slot: id and samples.
    running: [Option<(u64, Vec<u32>)>; 2],
    fetches: Vec<Digest>,
    failed: Vec<v1::Failed>,
    returned: Vec<v1::RevokeAck>,
    parts: Vec<Vec<u8>>,
}

impl Worker {
    fn new(shared: u64) -> Self {
        Self::of(endpoint(), shared, SAMPLES_OF_A_PART)
    }

    fn of(model: ModelPlan, shared: u64, of_a_part: u32) -> Self {
        let boot = AgentConfig {
            name: "w".into(),
            session: "s".into(),
            pool: String::new(),
            host: "h".into(),
            masters: vec!["one:1".into()],
            master_lost_timeout: Duration::from_secs(60),
            slots: 2,
            device: "cpu".into(),
            device_kind: "cpu",
            has_engine: false,
            sandbox: None,
            runs_programs: false,
            seed: 7,
        };
        let (plan, parts) = plan_of(model, shared, of_a_part);
        let head = serde_json::to_vec(&plan).unwrap();
        let core = AgentCore::new(boot, Box::new(Vec::new()));
        let mut worker = Self {
            core,
            now: 0,
            running: [None, None],
            fetches: Vec::new(),
            failed: Vec::new(),
            returned: Vec::new(),
            parts,
        };
        worker.core.start(&mut Vec::new());
        worker.step(Input::Link { link: 1, news: ConnectionEvent::Opened { hello_sent_ms: 0 } });
        worker.hears(
            0,
            0,
            MasterBody::Welcome(v1::Welcome {
                epoch: 1,
                plan: Digest::of(&head).0.to_vec(),
                lease_ttl_ms: LEASE_MS as u32,
                heartbeat_ms: 2_000,
                protocol: PROTOCOL_VERSION,
                ..Default::default()
            }),
        );
        worker.step(Input::Fetched { digest: Digest::of(&head), content: Ok(head.clone()) });
        for task in 0..PARTS {
            let interval = v1::Interval { first: task * of_a_part, end: (task + 1) * of_a_part };
            worker.hears(
                u64::from(task) + 1,
                0,
                MasterBody::Grant(v1::Grant {
                    id: Some(GrantId::new(1, task, 1).into()),
                    samples: vec![interval],
                    plan: Digest::of(&head).0.to_vec(),
                    ..Default::default()
                }),
            );
        }
        worker
    }

    fn step(&mut self, input: Input) {
        let mut outputs = Vec::new();
        self.core.step(self.now, input, &mut outputs);
        for output in outputs {
            match output {
                Output::Start { slot, batch } => self.running[slot] = Some((batch.id, batch.samples)),
                Output::Extend { slot, batch } => {
                    self.running[slot].iter_mut().for_each(|(_, samples)| samples.extend(&batch.samples));
                }
                Output::Fetch { digest, .. } => self.fetches.push(digest),
                _ => {}
            }
        }
    }

    fn hears(&mut self, seq: u64, ack: u64, body: MasterBody) {
        let frame = Box::new(v1::MasterFrame { seq, ack, body: Some(body) });
        self.step(Input::Link { link: 1, news: ConnectionEvent::Frame(frame) });
    }

    /// The master takes all that is sent, and answers heartbeats.
    fn is_heard(&mut self) {
        while self.core.wants_to_send() {
            let mut outputs = Vec::new();
            let writable = Input::Link { link: 1, news: ConnectionEvent::Writable };
            self.core.step(self.now, writable, &mut outputs);
            for output in outputs {
                let Output::Send { frame } = output else { continue };
                match &frame.body {
                    Some(WorkerBody::Failed(failed)) => self.failed.push(failed.clone()),
                    Some(WorkerBody::RevokeAck(ack)) => self.returned.push(ack.clone()),
                    _ => {}
                }
                self.hears(0, frame.seq, MasterBody::HeartbeatAck(v1::HeartbeatAck { sent_ms: self.now }));
            }
        }
    }

    /// The parts of the plan arrive that were asked for.
    fn parts_arrive(&mut self) {
        for digest in std::mem::take(&mut self.fetches) {
            let Some(bytes) = self.parts.iter().find(|bytes| Digest::of(bytes) == digest).cloned() else { continue };
            self.step(Input::Fetched { digest, content: Ok(bytes) });
        }
    }

    /// The batch of a slot ends; every sample has its result.
    fn batch_ends(&mut self, slot: usize) -> Vec<u32> {
        let Some((batch, samples)) = self.running[slot].take() else { return Vec::new() };
        self.step(Input::Slot(SlotReport {
            slot,
            event: SlotEvent::Ready { facts: Vec::new(), loaded_seconds: None },
        }));
        samples.iter().for_each(|&index| self.has_result(slot, index));
        let end = BatchEnd::Done { tokens: Default::default(), notes: Vec::new(), prefix_segments: Vec::new() };
        self.step(Input::Slot(SlotReport { slot, event: SlotEvent::Ended { batch, orders: 1, end } }));
        samples
    }

    fn has_result(&mut self, slot: usize, index: u32) {
        let generation =
            v1::Generation { text: "a".into(), tokens: 1, finish: v1::Finish::Stop.into(), ..Default::default() };
        let outcome = Some(v1::sample_result::Outcome::Generation(generation));
        let result = v1::SampleResult { index, outcome, ..Default::default() };
        self.step(Input::Slot(SlotReport { slot, event: SlotEvent::Result(result) }));
    }

    /// Time passes, with a live connection.
    fn wait(&mut self, ms: u64) {
        let until = self.now + ms;
        while self.now < until {
            self.now = (self.now + 500).min(until);
            self.step(Input::Tick);
            self.is_heard();
        }
    }
}

#[test]
fn a_grant_of_a_slot_that_may_not_ask_the_endpoint_is_run_by_the_one_that_asks() {
    for shared in [0, 1_000_000] {
        let mut worker = Worker::new(shared);
        assert!(worker.running.iter().all(Option::is_none), "each slot has a grant, and waits for its part");
        worker.parts_arrive();
        let mut done = Vec::new();
        for _ in 0..PARTS {
            assert_eq!(worker.running.iter().flatten().count(), 1, "one slot asks at a time");
            done.extend(worker.batch_ends(0));
            done.extend(worker.batch_ends(1));
            worker.is_heard();
        }
        done.sort_unstable();
        assert_eq!(done, (0..PARTS * SAMPLES_OF_A_PART).collect::<Vec<_>>(), "{shared} shared characters");
        assert_eq!(worker.core.grants.iter().count(), 0);
    }
}

#[test]
fn idle_slots_that_both_asked_an_endpoint_do_not_wait_for_each_other() {
    let mut worker = Worker::new(1_000_000);
    worker.core.slots.iter_mut().for_each(|slot| slot.resident = Some(ModelId(0)));
    worker.parts_arrive();
    assert_eq!(worker.running.iter().flatten().count(), 1);
}

#[test]
fn grants_that_no_slot_begins_go_back_after_a_bounded_time() {
    let mut worker = Worker::new(0);
    worker.is_heard();
    worker.wait(299_000);
    assert_eq!(worker.failed, [], "parts may take long");
    worker.wait(2_000);
    let classes: Vec<_> = worker.failed.iter().map(v1::Failed::class).collect();
    assert_eq!(classes, [v1::FailureClass::Infrastructure; PARTS as usize], "{:?}", worker.failed);
    assert!(worker.failed[0].message.contains("did not arrive within 300 s"), "{}", worker.failed[0].message);
    assert_eq!(worker.core.grants.iter().count(), 0);
}

#[test]
fn grants_that_no_slot_begins_for_an_unknown_reason_go_back_sooner() {
    let mut worker = Worker::new(0);
    worker.core.terms.iter_mut().for_each(|terms| terms.active_slots = 0);
    worker.parts_arrive();
    worker.is_heard();
    worker.wait(29_000);
    assert_eq!((worker.returned.len(), worker.core.grants.iter().count()), (0, 2));
    worker.wait(2_000);
    let whole: Vec<_> = worker.returned.iter().map(|ack| (ack.returned[0].first, ack.held, ack.unbegun)).collect();
    assert_eq!(whole, [(0, false, true), (SAMPLES_OF_A_PART, false, true)]);
    assert_eq!((worker.failed.len(), worker.core.grants.iter().count()), (0, 0));
}

#[test]
fn a_grant_behind_a_running_batch_does_not_go_back() {
    let mut worker = Worker::new(1_000_000);
    worker.parts_arrive();
    worker.wait(600_000);
    assert_eq!((worker.failed.len(), worker.core.grants.iter().count()), (0, 2));
}

#[test]
fn a_slow_slot_holds_no_more_than_it_does_in_a_second() {
    let echo = || ModelPlan::new("m".to_owned(), ModelKind::Echo, String::new());
    for (ms_of_a_sample, expected) in [(200, 8), (50, 16), (1, 64)] {
        let mut worker = Worker::of(echo(), 0, 100);
        worker.parts_arrive();
        let left = |worker: &Worker| worker.core.slots[0].busy.as_ref().map(|busy| busy.left);
        assert_eq!(left(&worker), Some(8), "nothing is known of its speed");
        // A load is no part of it.
        worker.wait(60_000);
        let event = SlotEvent::Ready { facts: Vec::new(), loaded_seconds: Some(60.0) };
        worker.step(Input::Slot(SlotReport { slot: 0, event }));
        worker.wait(8 * ms_of_a_sample);
        (0..8).for_each(|index| worker.has_result(0, index));
        assert_eq!(left(&worker), Some(expected), "{ms_of_a_sample} ms");
    }
}
