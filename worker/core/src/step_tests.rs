//! Tests of the core alone: no connection, no clock, no engine.

use super::connect_error::ConnectError;
use super::ending::ExitReason;
use super::input::{ConnectionEvent, Input};
use super::output::Output;
use super::session::{AgentConfig, AgentCore};
use super::slots::Busy;
use compass_proto::{OLDEST_PROTOCOL, PROTOCOL_VERSION, Protocols, v1};
use compass_types::ids::{Digest, GrantId, ModelId};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use v1::master_frame::Body as MasterBody;
use v1::worker_frame::Body as WorkerBody;

const LEASE_MS: u64 = 30_000;

/// A core with two masters and one slot, and all its outputs.
struct Played {
    core: AgentCore,
    now: u64,
    outputs: Vec<Output>,
}

impl Played {
    fn new() -> Self {
        let boot = AgentConfig {
            name: "w".into(),
            session: "s".into(),
            pool: String::new(),
            host: "h".into(),
            masters: vec!["one:1".into(), "two:2".into()],
            master_lost_timeout: Duration::from_secs(60),
            slots: 1,
            device: "cpu".into(),
            device_kind: "cpu",
            has_engine: false,
            sandbox: None,
            runs_programs: false,
            seed: 7,
        };
        let mut played = Self { core: AgentCore::new(boot, Box::new(Vec::new())), now: 0, outputs: Vec::new() };
        played.core.start(&mut played.outputs);
        played
    }

    /// Runs a step and returns its outputs.
    fn step(&mut self, input: Input) -> Vec<Output> {
        self.core.step(self.now, input, &mut self.outputs);
        std::mem::take(&mut self.outputs)
    }

    fn news(&mut self, link: u64, news: ConnectionEvent) -> Vec<Output> {
        self.step(Input::Link { link, news })
    }

    fn receive(&mut self, link: u64, seq: u64, ack: u64, body: MasterBody) -> Vec<Output> {
        self.news(link, ConnectionEvent::Frame(Box::new(v1::MasterFrame { seq, ack, body: Some(body) })))
    }

    /// Opens a connection and welcomes the worker on it.
    fn welcome(&mut self, link: u64, last_ack: u64) -> Vec<Output> {
        let mut outputs = self.news(link, ConnectionEvent::Opened { hello_sent_ms: self.now });
        outputs.extend(self.receive(link, 0, 0, MasterBody::Welcome(welcome(last_ack))));
        outputs
    }

    /// Sends all waiting frames and returns them.
    fn sent(&mut self, link: u64) -> Vec<v1::WorkerFrame> {
        let mut frames = Vec::new();
        while self.core.wants_to_send() {
            for output in self.news(link, ConnectionEvent::Writable) {
                if let Output::Send { frame } = output {
                    frames.push(*frame);
                }
            }
        }
        frames
    }
}

fn welcome(last_ack: u64) -> v1::Welcome {
    v1::Welcome {
        epoch: 1,
        plan: Digest::of(b"plan").0.to_vec(),
        lease_ttl_ms: LEASE_MS as u32,
        heartbeat_ms: 2_000,
        last_ack,
        protocol: PROTOCOL_VERSION,
        ..Default::default()
    }
}

/// Number, master and pause of the `Dial` outputs.
fn dials(outputs: &[Output]) -> Vec<(u64, usize, Duration)> {
    let dials = outputs.iter().filter_map(|output| match output {
        Output::Dial { link, master, pause, .. } => Some((*link, *master, *pause)),
        _ => None,
    });
    dials.collect()
}

/// A batch of one sample that runs.
fn busy(grant: GrantId) -> Busy {
    Busy {
        batch: 1,
        holds: None,
        grant,
        model: ModelId(0),
        samples: vec![0],
        left: 1,
        orders: 1,
        parts: Vec::new(),
        since_ms: 0,
        computed_since_ms: 0,
        stale: false,
    }
}

/// Numbers of the numbered frames, with whether each starts a drain.
fn numbered(frames: &[v1::WorkerFrame]) -> Vec<(u64, bool)> {
    let numbered = frames.iter().filter(|frame| frame.seq > 0);
    numbered.map(|frame| (frame.seq, matches!(frame.body, Some(WorkerBody::Draining(_))))).collect()
}

#[test]
fn core_dials_at_once_and_the_next_master_after_a_failure() {
    let mut played = Played::new();
    let first = std::mem::take(&mut played.outputs);
    assert_eq!(dials(&first), [(1, 0, Duration::ZERO)]);
    let again = played.news(1, ConnectionEvent::Closed { why: ConnectError::Unavailable("no route".into()) });
    let [(2, 1, pause)] = dials(&again)[..] else { panic!("{again:?}") };
    assert!(pause <= Duration::from_millis(200), "{pause:?}");
    // Events of a closed connection are ignored.
    assert!(played.news(1, ConnectionEvent::Closed { why: ConnectError::Unavailable("late".into()) }).is_empty());
    assert!(played.welcome(1, 0).is_empty() && !played.core.wants_to_send());
    let refused = played.news(2, ConnectionEvent::Closed { why: ConnectError::Refused("no".into()) });
    assert!(dials(&refused).is_empty());
    assert_eq!(played.core.take_ending(), Some(ExitReason::NotAdmitted { reason: "no".into() }));
}

#[test]
fn frames_are_sent_on_every_connection_until_acknowledged() {
    let mut played = Played::new();
    let welcomed = played.welcome(1, 0);
    assert!(matches!(welcomed[..], [Output::Dial { .. }, Output::Fetch { .. }]), "{welcomed:?}");
    played.sent(1);
    let drain = played.step(Input::Signal(15));
    assert!(matches!(drain[..], [Output::ExitRequested]), "{drain:?}");
    assert_eq!(numbered(&played.sent(1)), [(1, true)]);
    assert!(numbered(&played.sent(1)).is_empty(), "once on each connection");
    played.news(1, ConnectionEvent::Closed { why: ConnectError::Unavailable("cut".into()) });
    played.welcome(2, 0);
    assert_eq!(numbered(&played.sent(2)), [(1, true)], "again on the next");
    assert_eq!(played.core.take_ending(), None, "the master may not have it yet");
    played.receive(2, 0, 1, MasterBody::HeartbeatAck(v1::HeartbeatAck { sent_ms: 0 }));
    assert_eq!(played.core.take_ending(), Some(ExitReason::Signal(15)));
}

#[test]
fn a_second_signal_ends_the_worker_unless_it_is_one_with_the_first() {
    let mut played = Played::new();
    played.welcome(1, 0);
    played.sent(1);
    played.now = 1_000;
    played.step(Input::Signal(15));
    played.now = 1_001;
    played.step(Input::Signal(15));
    assert_eq!(played.core.take_ending(), None, "`timeout` signals its child and then the group");
    played.now = 1_500;
    played.step(Input::Signal(2));
    assert_eq!(played.core.take_ending(), Some(ExitReason::Signal(2)));
}

#[test]
fn frames_acknowledged_by_a_welcome_are_not_sent_again() {
    let mut played = Played::new();
    played.welcome(1, 0);
    played.sent(1);
    played.step(Input::Signal(15));
    assert_eq!(numbered(&played.sent(1)), [(1, true)]);
    played.news(1, ConnectionEvent::Closed { why: ConnectError::Unavailable("cut".into()) });
    played.welcome(2, 1);
    assert!(numbered(&played.sent(2)).is_empty());
    assert_eq!(played.core.take_ending(), Some(ExitReason::Signal(15)));
}

#[test]
fn a_draining_worker_that_still_runs_samples_tells_so_to_every_master() {
    let mut played = Played::new();
    played.welcome(1, 0);
    played.sent(1);
    played.core.slots[0].busy = Some(busy(GrantId::new(1, 3, 1)));
    played.step(Input::Signal(15));
    assert_eq!(numbered(&played.sent(1)), [(1, true)]);
    // The master has received it, takes the worker for gone and closes the connection.
    played.receive(1, 0, 1, MasterBody::HeartbeatAck(v1::HeartbeatAck { sent_ms: 0 }));
    played.news(1, ConnectionEvent::Closed { why: ConnectError::Closed });
    played.welcome(2, 1);
    assert_eq!(numbered(&played.sent(2)), [(2, true)]);
    assert_eq!(played.core.take_ending(), None, "its sample runs");
}

#[test]
fn silent_master_is_left_after_half_a_lease() {
    let mut played = Played::new();
    played.welcome(1, 0);
    played.sent(1);
    let mut left = None;
    while left.is_none() && played.now < 2 * LEASE_MS {
        played.now = played.core.wake_at_ms();
        let outputs = played.step(Input::Tick);
        left = dials(&outputs).first().map(|(link, ..)| (*link, played.now));
        played.sent(1);
    }
    let (link, at) = left.unwrap();
    assert_eq!(link, 2);
    assert!((LEASE_MS / 2..LEASE_MS / 2 + 500).contains(&at), "{at}");
}

#[test]
fn heartbeats_are_sent_in_time_without_other_inputs() {
    let mut played = Played::new();
    played.welcome(1, 0);
    played.sent(1);
    let mut beats = Vec::new();
    while played.now < 10_000 {
        played.now = played.core.wake_at_ms();
        played.step(Input::Tick);
        for frame in played.sent(1) {
            if let Some(WorkerBody::Heartbeat(beat)) = frame.body {
                beats.push(beat.sent_ms);
                played.receive(1, 0, 0, MasterBody::HeartbeatAck(v1::HeartbeatAck { sent_ms: beat.sent_ms }));
            }
        }
    }
    assert_eq!(beats, [2_000, 4_000, 6_000, 8_000, 10_000]);
}

#[test]
fn worker_exits_for_a_master_of_another_version() {
    let mut played = Played::new();
    played.news(1, ConnectionEvent::Opened { hello_sent_ms: 0 });
    let other = v1::Welcome { protocol: OLDEST_PROTOCOL - 1, ..welcome(0) };
    played.receive(1, 0, 0, MasterBody::Welcome(other));
    let Some(ExitReason::Refused { reason }) = played.core.take_ending() else { panic!("the worker continues") };
    assert!(reason.contains(&format!("this worker speaks {}", Protocols::OURS)), "{reason}");
}

#[test]
fn equal_inputs_give_equal_outputs() {
    let play = || {
        let mut played = Played::new();
        let mut outputs = vec![format!("{:?}", std::mem::take(&mut played.outputs))];
        for link in 1..20 {
            played.now += 700 * link;
            if link % 3 == 0 {
                outputs.push(format!("{:?}", played.welcome(link, 0)));
                outputs.push(format!("{:?}", played.sent(link)));
            }
            outputs.push(format!(
                "{:?}",
                played.news(link, ConnectionEvent::Closed { why: ConnectError::Unavailable("cut".into()) })
            ));
        }
        outputs
    };
    assert_eq!(play(), play());
}

#[test]
fn a_master_of_another_plan_gets_every_number_that_the_hello_told() {
    let mut played = Played::new();
    played.welcome(1, 0);
    played.sent(1);
    played.step(Input::Signal(15));
    assert_eq!(numbered(&played.sent(1)), [(1, true)]);
    // The first master is gone before it has acknowledged anything.
    let cut = played.news(1, ConnectionEvent::Closed { why: ConnectError::Unavailable("cut".into()) });
    let told = cut.iter().find_map(|output| match output {
        Output::Dial { hello, .. } => Some(hello.first_seq),
        _ => None,
    });
    assert_eq!(told, Some(1));
    played.news(2, ConnectionEvent::Opened { hello_sent_ms: played.now });
    let other = v1::Welcome { plan: Digest::of(b"another plan").0.to_vec(), ..welcome(0) };
    played.receive(2, 0, 0, MasterBody::Welcome(other));
    assert_eq!(numbered(&played.sent(2)), [(1, false)], "a gap would cut the connection off");
}

#[test]
fn another_run_of_the_same_plan_begins_to_count_again() {
    let mut played = Played::new();
    let grant = || {
        let id = Some(v1::GrantId { epoch: 1, task: 3, attempt: 1 });
        let (plan, samples) = (Digest::of(b"plan").0.to_vec(), vec![v1::Interval { first: 0, end: 9 }]);
        MasterBody::Grant(v1::Grant { id, plan, samples, ..Default::default() })
    };
    let mut play = |link: u64, epoch: u64, run: &[u8]| {
        played.news(link, ConnectionEvent::Opened { hello_sent_ms: played.now });
        let welcome = v1::Welcome { run: run.to_vec(), epoch, ..welcome(0) };
        played.receive(link, 0, 0, MasterBody::Welcome(welcome));
        played.receive(link, 1, 0, grant());
        let cut = played.news(link, ConnectionEvent::Closed { why: ConnectError::Unavailable("cut".into()) });
        let hello = cut.into_iter().find_map(|output| match output {
            Output::Dial { hello, .. } => Some(hello),
            _ => None,
        });
        hello.unwrap().held.into_iter().map(|held| held.id.unwrap()).collect::<Vec<_>>()
    };
    let held = vec![v1::GrantId { epoch: 1, task: 3, attempt: 1 }];
    assert_eq!(play(1, 1, b"one"), held);
    // The welcome keeps nothing of it: what comes again was seen.
    assert_eq!(play(2, 2, b"one"), []);
    // Its first leader has an earlier term than the last of the other run, and its grants the same names.
    assert_eq!(play(3, 1, b"two"), held);
}

/// Collects the warnings of a thread.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    fn said(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Visit for Warnings {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0.lock().unwrap().push(format!("{value:?}"));
        }
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Returns the warnings of a connection that ends so, and of the welcome to another job that follows.
fn warnings_of(why: ConnectError, is_computing: bool) -> Vec<String> {
    let warnings = Warnings::default();
    tracing::subscriber::with_default(warnings.clone(), || {
        let mut played = Played::new();
        played.welcome(1, 0);
        let held = GrantId::new(1, 3, 1);
        let samples = vec![v1::Interval { first: 0, end: 9 }];
        let grant = v1::Grant { id: Some(held.into()), plan: welcome(0).plan, samples, ..Default::default() };
        played.receive(1, 1, 0, MasterBody::Grant(grant));
        played.core.slots[0].busy = is_computing.then(|| busy(held));
        assert_eq!(dials(&played.news(1, ConnectionEvent::Closed { why })).len(), 1, "it dials again");
        played.news(2, ConnectionEvent::Opened { hello_sent_ms: played.now });
        let other = v1::Welcome { plan: Digest::of(b"another plan").0.to_vec(), ..welcome(0) };
        played.receive(2, 0, 0, MasterBody::Welcome(other));
    });
    warnings.said()
}

#[test]
fn the_end_of_a_job_is_no_warning_and_a_broken_stream_is_one() {
    assert_eq!(warnings_of(ConnectError::Closed, false), [""; 0]);
    for (why, is_computing) in
        [(ConnectError::Closed, true), (ConnectError::Unavailable("connection reset".into()), false)]
    {
        assert_eq!(warnings_of(why.clone(), is_computing), ["no session; dialling again"], "{why:?}");
    }
}
