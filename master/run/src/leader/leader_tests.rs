//! A leader with workers whose connections come in another order than they opened them, that claim what is not theirs, hand in
//! what is no result, or say or hear what cannot be taken.

use super::leader::{FrameContent, Leader};
use compass_ledger::{Content, Kind, Submission};
use compass_plan::{Decoding, GenSpec, InferSpec, ResultShape};
use compass_plans::planned;
use compass_progress::Refusals;
use compass_proto::v1;
use compass_rpc::{JobKey, Output, RunParameters, UnitTerms};
use compass_scheduler::{ConnectionId, Core, Event, Limits, Recorded, Requires, TaskView, Watch};
use compass_store::Keys;
use compass_types::ids::{Attempt, Digest, Epoch, ModelId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use compass_types::result::{Finish, Generation, Outcome, PromptFit, SampleResult};
use std::collections::BTreeMap;
use v1::master_frame::Body as Told;
use v1::worker_frame::Body as Say;

fn hello(dial: u64) -> v1::Hello {
    v1::Hello { worker: "w".into(), session: "s".into(), slots: 1, first_seq: 1, dial, ..Default::default() }
}

fn terms(plan: Digest) -> RunParameters {
    let (key, pools, units) = (JobKey::new([9; 32]), BTreeMap::new(), BTreeMap::new());
    RunParameters {
        plan,
        epoch: Epoch(1),
        lease_ttl_ms: 30_000,
        heartbeat_ms: 2_000,
        engine_timeout_ms: 0,
        pools,
        key,
        units,
    }
}

/// A leader of one task of four samples.
fn leader() -> Leader {
    let plan = Digest::of(b"plan");
    let (samples, attempt) = (IntervalSet::range(0, 4), Attempt(0));
    let task = TaskView {
        unit: UnitId(0),
        model: ModelId(0),
        requires: Requires::Echo,
        samples,
        attempt,
        sample_cost: 1,
        shared_cost: 0,
    };
    let core = Core::new(Epoch(1), Limits::default(), vec![task], Recorded::default());
    Leader::new(core, terms(plan), Keys::new(&plan), Watch::default())
}

/// The worker's `dial`th connection.
fn connect(leader: &mut Leader, dial: u64) {
    // This worker acknowledges nothing: on its later connections all that it rejected comes again, empty.
    assert!(leader.hello(dial, ConnectionId(dial), hello(dial), &mut Vec::new()));
}

/// The worker says something on its `dial`th connection; everything is durable at once.
fn said(leader: &mut Leader, dial: u64, seq: u64, body: Say) {
    let frame = v1::WorkerFrame { seq, ack: 0, body: Some(body) };
    leader.frame(dial, WorkerId("w".into()), ConnectionId(dial), frame, &mut Vec::new());
    leader.durable(leader.core().last_seq());
}

/// All that a connection heard since anybody asked, with its numbers.
fn told(leader: &mut Leader, dial: u64) -> Vec<(u64, Option<Told>)> {
    let frames = leader.outputs().filter_map(|output| match output {
        Output::Frame { connection, frame } if connection == ConnectionId(dial) => Some((frame.seq, frame.body)),
        _ => None,
    });
    frames.collect()
}

#[test]
fn a_worker_is_told_which_frame_cannot_be_taken_and_to_end_if_that_does_not_help() {
    let mut leader = leader();
    for dial in 1..=7 {
        connect(&mut leader, dial);
        // The fourth frame of this process; it is a failure of no class.
        if dial == 1 {
            (1..=3).for_each(|seq| said(&mut leader, dial, seq, Say::Draining(v1::Draining::default())));
        }
        match dial {
            // Read or not, it is the same frame.
            2 => {
                let reason = "a frame of more than 256 KiB".to_owned();
                leader.unreadable(dial, WorkerId("w".into()), ConnectionId(dial), reason, &mut Vec::new());
            }
            _ => said(&mut leader, dial, 4, Say::Failed(v1::Failed::default())),
        }
        assert!(!leader.is_connected(&WorkerId("w".into())));
        let last = told(&mut leader, dial).pop();
        match (dial, &last) {
            (1..=6, Some((0, Some(Told::Rejected(rejected))))) => assert_eq!(rejected.seq, 4),
            (7, Some((0, Some(Told::Refused(refused))))) => {
                assert!(refused.reason.starts_with("its frame 4 cannot be taken: "), "{}", refused.reason);
            }
            _ => panic!("connection {dial}: {last:?}"),
        }
    }
}

#[test]
fn a_worker_that_wants_more_or_gives_a_grant_back_has_room() {
    let mut leader = leader();
    connect(&mut leader, 1);
    let mut has_room = |seq: u64, body: Say| {
        let frame = v1::WorkerFrame { seq, ack: 0, body: Some(body) };
        let content = leader.frame(1, WorkerId("w".into()), ConnectionId(1), frame, &mut Vec::new());
        matches!(content, FrameContent::Asks)
    };
    assert!(has_room(0, Say::Credit(v1::Credit { grants: 1 })));
    assert!(!has_room(0, Say::Credit(v1::Credit { grants: 0 })));
    let returned = |held| {
        let grant = Some(v1::GrantId { epoch: 1, task: 0, attempt: 0 });
        Say::RevokeAck(v1::RevokeAck { grant, held, ..Default::default() })
    };
    assert!(!has_room(1, returned(true)), "the rest of it still runs");
    assert!(has_room(2, returned(false)));
}

#[test]
fn a_grant_that_the_worker_rejects_is_granted_under_another_attempt_and_not_sent_again() {
    let mut leader = leader();
    connect(&mut leader, 1);
    said(&mut leader, 1, 0, Say::Credit(v1::Credit { grants: 1 }));
    let granted = |told: &[(u64, Option<Told>)]| {
        let grants = told.iter().filter_map(|(seq, body)| match body {
            Some(Told::Grant(grant)) => Some((*seq, grant.id.unwrap().attempt)),
            _ => None,
        });
        grants.collect::<Vec<_>>()
    };
    let first = granted(&told(&mut leader, 1));
    assert_eq!(first.len(), 1);
    let (seq, attempt) = first[0];
    said(&mut leader, 1, 0, Say::Rejected(v1::Rejected { seq, reason: "no".into() }));
    assert!(!leader.is_connected(&WorkerId("w".into())));
    connect(&mut leader, 2);
    leader.durable(leader.core().last_seq());
    said(&mut leader, 2, 0, Say::Credit(v1::Credit { grants: 1 }));
    let told = told(&mut leader, 2);
    assert!(told.contains(&(seq, None)), "an empty frame keeps its number: {told:?}");
    let regranted = granted(&told);
    assert_eq!(regranted.len(), 1, "{told:?}");
    assert!(regranted[0].0 > seq && regranted[0].1 > attempt, "{told:?}");
}

#[test]
fn a_worker_that_rejects_whatever_it_is_granted_ends_the_task_with_the_reason() {
    let mut leader = leader();
    for dial in 1..100 {
        connect(&mut leader, dial);
        said(&mut leader, dial, 0, Say::Credit(v1::Credit { grants: 1 }));
        let grant = told(&mut leader, dial).into_iter().find(|(_, body)| matches!(body, Some(Told::Grant(_))));
        let Some((seq, _)) = grant else { break };
        said(&mut leader, dial, 0, Say::Rejected(v1::Rejected { seq, reason: "too many runs".into() }));
    }
    let failures = leader.core().failures();
    assert_eq!(failures.len(), 1);
    assert!(failures[0].2.contains("worker w cannot take the grant: too many runs"), "{failures:?}");
}

#[test]
fn a_hello_that_a_later_connection_has_overtaken_is_void() {
    let mut leader = leader();
    let mut out = Vec::new();
    assert!(leader.hello(0, ConnectionId(1), hello(2), &mut out));
    assert!(!leader.hello(1, ConnectionId(2), hello(1), &mut out), "what it lists is no longer so");
    let outputs: Vec<_> = leader.outputs().collect();
    let [Output::Frame { connection: ConnectionId(1), frame }, closed] = outputs.as_slice() else {
        panic!("{outputs:?}")
    };
    assert!(matches!(frame.body, Some(Told::Welcome(_))), "{frame:?}");
    assert_eq!(*closed, Output::Close { connection: ConnectionId(2) });
    leader.closed(2, WorkerId("w".into()), ConnectionId(2), &mut out);
    assert!(leader.is_connected(&WorkerId("w".into())));
    assert!(leader.hello(3, ConnectionId(3), hello(3), &mut out));
}

/// A leader of epoch `epoch` over four samples of one option each, and what it submits.
struct Led {
    leader: Leader,
    out: Vec<Submission>,
    /// The latest connection of each.
    dialled: BTreeMap<&'static str, ConnectionId>,
    /// Frames that were sent and were not asked for.
    frames: Vec<(ConnectionId, v1::MasterFrame)>,
    connections: u64,
}

const KEY: JobKey = JobKey::new([9; 32]);

impl Led {
    fn new(epoch: u64, key: JobKey) -> Self {
        let plan = Digest::of(b"plan");
        let task = |first| TaskView {
            unit: UnitId(0),
            model: ModelId(0),
            requires: Requires::Echo,
            samples: IntervalSet::range(first, first + 2),
            attempt: Attempt(0),
            sample_cost: 1,
            shared_cost: 0,
        };
        let core = Core::new(Epoch(epoch), Limits::default(), vec![task(0), task(2)], Recorded::default());
        let unit = UnitTerms {
            name: "m/d".into(),
            shape: ResultShape::ppl(4, 1),
            suspects: IntervalSet::new(),
            drawn: BTreeMap::new(),
            asks_each: false,
        };
        let terms = RunParameters { epoch: Epoch(epoch), key, units: [(UnitId(0), unit)].into(), ..terms(plan) };
        let leader = Leader::new(core, terms, Keys::new(&plan), Watch::default());
        Self { leader, out: Vec::new(), dialled: BTreeMap::new(), frames: Vec::new(), connections: 0 }
    }

    fn hello(&mut self, worker: &'static str, held: Vec<v1::HeldGrant>) {
        self.connections += 1;
        let hello = v1::Hello {
            worker: worker.into(),
            session: format!("{worker}-1"),
            slots: 1,
            device: "cpu".into(),
            first_seq: 1,
            dial: self.connections,
            held,
            ..Default::default()
        };
        self.dialled.insert(worker, ConnectionId(self.connections));
        assert!(self.leader.hello(0, ConnectionId(self.connections), hello, &mut self.out));
        self.durable();
    }

    fn durable(&mut self) {
        let last = self.leader.core().last_seq();
        self.leader.durable(last);
    }

    /// A frame on the worker's latest connection.
    fn print_status(&mut self, worker: &'static str, connection: u64, seq: u64, body: Say) {
        let frame = v1::WorkerFrame { seq, ack: 0, body: Some(body) };
        let (worker, connection) = (WorkerId(worker.into()), ConnectionId(connection));
        self.leader.frame(0, worker, connection, frame, &mut self.out);
        self.durable();
    }

    fn told(&mut self, worker: &'static str) -> Vec<v1::MasterFrame> {
        self.frames.extend(self.leader.outputs().filter_map(|output| match output {
            Output::Frame { connection, frame } => Some((connection, frame)),
            Output::Close { .. } => None,
        }));
        let Some(dialled) = self.dialled.get(worker) else { return Vec::new() };
        self.frames.extract_if(.., |(connection, _)| connection == dialled).map(|(_, frame)| frame).collect()
    }

    /// The grants and what was kept, as the worker holds them from now on.
    fn granted(&mut self, worker: &'static str) -> Vec<v1::HeldGrant> {
        let held = |frame: v1::MasterFrame| match frame.body {
            Some(Told::Grant(v1::Grant { id, unit, samples, proof, .. })) => {
                vec![v1::HeldGrant { id, unit, samples, proof, granted: Vec::new() }]
            }
            Some(Told::Welcome(welcome)) => welcome.kept.into_iter().filter_map(|kept| kept.now).collect(),
            _ => Vec::new(),
        };
        self.told(worker).into_iter().flat_map(held).collect()
    }

    /// Indices of the samples recorded, with the workers that they came from.
    fn recorded(&self) -> Vec<(u32, String)> {
        let entries = self.out.iter().filter_map(|submission| match &submission.content {
            Content::Entry(entry) if entry.kind() == Kind::Sample => {
                Some((entry.mark().unwrap().index, entry.worker.clone()))
            }
            _ => None,
        });
        entries.collect()
    }

    fn refusals(&self, worker: &str) -> Refusals {
        let mut all = self.leader.refusals();
        all.find(|(id, _)| id.0 == worker).map(|(_, refusals)| refusals.clone()).unwrap_or_default()
    }
}

fn ppl(nll_sum: Vec<f64>) -> v1::sample_result::Outcome {
    let tokens = vec![1; nll_sum.len()];
    v1::sample_result::Outcome::Ppl(v1::PplScores { nll_sum, tokens, ..Default::default() })
}

fn results(grant: &v1::HeldGrant, samples: &[(u32, v1::sample_result::Outcome)]) -> Say {
    let result = |(index, outcome): &(u32, v1::sample_result::Outcome)| v1::SampleResult {
        index: *index,
        outcome: Some(outcome.clone()),
        ..Default::default()
    };
    Say::Results(v1::Results {
        grant: grant.id,
        unit: grant.unit,
        plan: Digest::of(b"plan").0.to_vec(),
        samples: samples.iter().map(result).collect(),
        ..Default::default()
    })
}

/// Highest frame of the worker's that was acknowledged.
fn acknowledged(frames: &[v1::MasterFrame]) -> u64 {
    frames.iter().map(|frame| frame.ack).max().unwrap_or_default()
}

#[test]
fn only_the_worker_to_which_a_sample_was_granted_makes_a_record_of_it() {
    let mut led = Led::new(1, KEY);
    led.hello("honest", Vec::new());
    led.hello("liar", Vec::new());
    led.print_status("honest", 1, 0, Say::Credit(v1::Credit { grants: 1 }));
    led.print_status("liar", 2, 0, Say::Credit(v1::Credit { grants: 1 }));
    let (honest, own) = (led.granted("honest").remove(0), led.granted("liar").remove(0));
    // The other's samples, under the other's grant and under its own, and an unknown one.
    led.print_status("liar", 2, 1, results(&honest, &[(0, ppl(vec![1.0])), (1, ppl(vec![1.0]))]));
    led.print_status("liar", 2, 2, results(&own, &[(0, ppl(vec![1.0])), (99, ppl(vec![1.0]))]));
    led.print_status("liar", 2, 3, results(&own, &[(2, ppl(vec![1.0]))]));
    assert_eq!(acknowledged(&led.told("liar")), 3, "refused, and not replayed");
    assert_eq!(led.recorded(), [(2, "liar".into())]);
    assert_eq!(led.refusals("liar"), Refusals { not_granted: 4, times: 2, ..Refusals::default() });
    // A report of what it was never granted.
    let report = v1::ShardReport { grant: honest.id, samples: honest.samples.clone(), ..Default::default() };
    led.print_status("liar", 2, 4, Say::Report(report));
    assert_eq!(led.refusals("liar").void_reports, 1);
    led.print_status("honest", 1, 1, results(&honest, &[(0, ppl(vec![2.0])), (1, ppl(vec![2.0]))]));
    assert_eq!(led.recorded().len(), 3);
    assert_eq!(led.refusals("honest"), Refusals::default());
}

#[test]
fn what_was_granted_counts_after_its_lease_is_over_and_another_has_it() {
    let mut led = Led::new(1, KEY);
    led.hello("slow", Vec::new());
    led.print_status("slow", 1, 0, Say::Credit(v1::Credit { grants: 2 }));
    let grants = led.granted("slow");
    led.leader.apply(40_000, Event::Tick, &mut led.out);
    led.hello("other", Vec::new());
    led.print_status("other", 2, 0, Say::Credit(v1::Credit { grants: 2 }));
    assert_eq!(led.granted("other").len(), 2);
    // On a connection of its own again, with its proofs.
    led.hello("slow", grants.clone());
    assert!(led.granted("slow").is_empty(), "another has them by now");
    led.print_status("slow", 3, 1, results(&grants[0], &[(0, ppl(vec![1.0]))]));
    assert_eq!(led.recorded(), [(0, "slow".into())]);
}

#[test]
fn a_claim_counts_by_its_proof_under_every_later_leader() {
    let mut first = Led::new(1, KEY);
    first.hello("w", Vec::new());
    first.print_status("w", 1, 0, Say::Credit(v1::Credit { grants: 1 }));
    let original = first.granted("w").remove(0);
    // It sent one sample, which was not acknowledged, and holds the other.
    let held = v1::HeldGrant { granted: original.samples.clone(), ..original.clone() };
    let mut second = Led::new(2, KEY);
    second.hello("w", vec![held.clone()]);
    let renamed = second.granted("w").remove(0);
    assert_eq!((renamed.id.unwrap().epoch, &renamed.samples), (2, &original.samples));
    assert_ne!(renamed.proof, original.proof);
    second.print_status("w", 1, 5, Say::Draining(v1::Draining::default()));
    // A third one, far later: what is left is presented under both of its names.
    let mut third = Led::new(3, KEY);
    let of_first = v1::HeldGrant { samples: vec![v1::Interval { first: 0, end: 1 }], ..held };
    let of_second = v1::HeldGrant {
        samples: vec![v1::Interval { first: 1, end: 2 }],
        granted: renamed.samples.clone(),
        ..renamed.clone()
    };
    third.hello("w", vec![of_first, of_second]);
    assert_eq!(third.granted("w").len(), 2, "each under a new name");
    third.print_status("w", 1, 1, results(&original, &[(0, ppl(vec![1.0]))]));
    third.print_status("w", 1, 2, results(&renamed, &[(1, ppl(vec![1.0]))]));
    assert_eq!(third.recorded(), [(0, "w".into()), (1, "w".into())]);
    assert_eq!(third.refusals("w"), Refusals::default());
}

#[test]
fn a_claim_without_a_proof_or_with_a_wrong_one_is_void() {
    let mut first = Led::new(1, KEY);
    first.hello("w", Vec::new());
    first.print_status("w", 1, 0, Say::Credit(v1::Credit { grants: 1 }));
    let proved = first.granted("w").remove(0);
    let unproved = v1::HeldGrant { proof: Vec::new(), ..proved.clone() };
    let more = v1::HeldGrant { samples: vec![v1::Interval { first: 0, end: 4 }], ..proved.clone() };
    let more_than_granted = v1::HeldGrant { granted: proved.samples.clone(), ..more.clone() };
    let cases = [("w", KEY, unproved), ("w", KEY, more), ("w", KEY, more_than_granted)];
    // Of another worker, and of a job whose key was lost.
    let lost = JobKey::new([1; 32]);
    let cases = cases.into_iter().chain([("thief", KEY, proved.clone()), ("w", lost, proved.clone())]);
    for (worker, key, claim) in cases {
        let mut second = Led::new(2, key);
        second.hello(worker, vec![claim.clone()]);
        assert!(second.granted(worker).is_empty(), "{worker}: {claim:?}");
        second.print_status(worker, 1, 1, results(&claim, &[(0, ppl(vec![1.0]))]));
        assert!(second.recorded().is_empty());
        let refused = Refusals { not_granted: 1, void_claims: 1, times: 1, ..Refusals::default() };
        assert_eq!(second.refusals(worker), refused, "{worker}: {claim:?}");
    }
    let mut second = Led::new(2, KEY);
    second.hello("w", vec![proved]);
    assert_eq!(second.granted("w").len(), 1, "with its proof it is kept");
}

#[test]
fn a_result_that_does_not_fit_is_refused_and_tried_elsewhere() {
    let mut led = Led::new(1, KEY);
    led.hello("broken", Vec::new());
    led.print_status("broken", 1, 0, Say::Credit(v1::Credit { grants: 1 }));
    let grant = led.granted("broken").remove(0);
    led.hello("sound", Vec::new());
    led.print_status("sound", 2, 0, Say::Credit(v1::Credit { grants: 8 }));
    led.granted("sound");
    let rolling = v1::sample_result::Outcome::Rolling(v1::RollingScore { sum: -1.0, tokens: 1 });
    led.print_status("broken", 1, 1, results(&grant, &[(0, rolling)]));
    let again = led.granted("sound");
    assert_eq!(again[0].samples, [v1::Interval { first: 0, end: 1 }]);
    // Two options where there is one, and lists of different length.
    let uneven = v1::PplScores { nll_sum: vec![1.0], ..Default::default() };
    led.print_status("broken", 1, 2, results(&grant, &[(1, ppl(vec![1.0, 2.0]))]));
    assert_eq!(led.leader.core().barred_from_job().count(), 0);
    led.print_status("broken", 1, 3, results(&grant, &[(1, v1::sample_result::Outcome::Ppl(uneven))]));
    assert_eq!(acknowledged(&led.told("broken")), 2, "the third bars it: the connection is over");
    assert_eq!(led.leader.core().barred_from_job().count(), 1);
    assert!(led.recorded().is_empty());
    assert_eq!(led.refusals("broken").misfits, 3);
}

#[test]
fn a_worker_whose_results_are_refused_again_and_again_is_barred() {
    let mut led = Led::new(1, KEY);
    led.hello("honest", Vec::new());
    led.hello("liar", Vec::new());
    led.print_status("honest", 1, 0, Say::Credit(v1::Credit { grants: 1 }));
    led.print_status("liar", 2, 0, Say::Credit(v1::Credit { grants: 1 }));
    let (foreign, own) = (led.granted("honest").remove(0), led.granted("liar").remove(0));
    for frame in 1..256 {
        let said = match frame % 2 {
            0 => Say::Report(v1::ShardReport {
                grant: foreign.id,
                samples: foreign.samples.clone(),
                ..Default::default()
            }),
            _ => results(&foreign, &[(0, ppl(vec![1.0]))]),
        };
        led.print_status("liar", 2, frame, said);
    }
    assert_eq!((led.leader.core().barred_from_job().count(), led.refusals("liar").times), (0, 255));
    led.print_status("liar", 2, 256, results(&foreign, &[(0, ppl(vec![1.0]))]));
    let barred: Vec<_> = led.leader.core().barred_from_job().map(|(worker, why)| format!("{worker}: {why}")).collect();
    assert_eq!(barred, ["liar: it sent results that it was never granted 256 times"]);
    assert!(own.samples != foreign.samples && led.recorded().is_empty());
}

fn generated(index: u32, texts: &[&str]) -> SampleResult {
    let answers = texts.iter().map(|text| Generation::new(*text, 2, Finish::Eos)).collect();
    SampleResult { index, fit: PromptFit::default(), outcome: Outcome::Generated(answers) }
}

/// A leader whose samples ask for three answers, of which an earlier run drew two to sample 1.
fn drawing(epoch: u64) -> Led {
    let mut plan = planned().plan;
    let decoding = Decoding { do_sample: Some(true), num_return_sequences: Some(3), ..Decoding::default() };
    plan.datasets[0].infer = InferSpec::Gen(GenSpec { decoding, ..GenSpec::default() });
    plan.datasets[0].samples = 4;
    let unit = UnitTerms::new(&plan.unit(UnitId(0)).unwrap());
    let drawn = BTreeMap::from([(1, generated(1, &["a", "b"]))]);
    let mut led = Led::new(epoch, KEY);
    led.leader.terms.units = [(UnitId(0), UnitTerms { drawn, ..unit })].into();
    led
}

fn answered(grant: &v1::HeldGrant, results: &[SampleResult]) -> Say {
    Say::Results(v1::Results {
        grant: grant.id,
        unit: grant.unit,
        plan: Digest::of(b"plan").0.to_vec(),
        samples: results.iter().map(v1::SampleResult::from).collect(),
        ..Default::default()
    })
}

/// Results that were recorded, and those that differ from them.
fn results_of(led: &Led) -> (Vec<SampleResult>, usize) {
    let entries = led.out.iter().filter_map(|submission| match &submission.content {
        Content::Entry(entry) => Some(entry),
        _ => None,
    });
    let (first, later): (Vec<_>, Vec<_>) = entries.partition(|entry| entry.kind() == Kind::Sample);
    let differ = later.iter().filter(|entry| entry.kind() == Kind::Divergence).count();
    (first.iter().filter_map(|entry| entry.result()).collect(), differ)
}

#[test]
fn what_is_recorded_has_the_answers_that_were_drawn_before() {
    let mut first = drawing(1);
    first.hello("w", Vec::new());
    first.print_status("w", 1, 0, Say::Credit(v1::Credit { grants: 1 }));
    let granted = first.told("w").into_iter().find_map(|frame| match frame.body {
        Some(Told::Grant(grant)) => Some(grant),
        _ => None,
    });
    let v1::Grant { id, unit, samples, proof, drawn, .. } = granted.unwrap();
    assert_eq!(drawn, [v1::Drawn { answers: 2, samples: vec![v1::Interval { first: 1, end: 2 }] }]);
    let held = v1::HeldGrant { id, unit, samples, proof, granted: Vec::new() };
    let (whole, other) = (generated(1, &["a", "b", "c"]), generated(0, &["d", "e", "f"]));
    // Too few of a sample of which nothing is there, and too many.
    for (at, wrong) in [generated(0, &["f"]), generated(1, &["b", "c"])].into_iter().enumerate() {
        let mut led = drawing(1);
        led.hello("w", vec![held.clone()]);
        led.print_status("w", 1, 1, answered(&held, &[wrong]));
        assert_eq!((results_of(&led).0.len(), led.refusals("w").misfits), (0, 1), "{at}");
    }
    first.print_status("w", 1, 1, answered(&held, &[generated(1, &["c"])]));
    assert_eq!(results_of(&first), (vec![whole.clone()], 0));
    // The leader is killed before that is durable: the worker says it again to the next one. A worker of an earlier release draws all.
    for again in [generated(1, &["c"]), whole.clone()] {
        let mut second = drawing(2);
        second.hello("w", vec![held.clone()]);
        second.print_status("w", 1, 1, answered(&held, &[again]));
        second.print_status("w", 1, 2, answered(&held, &[generated(1, &["c"]), whole.clone(), other.clone()]));
        assert_eq!(results_of(&second), (vec![whole.clone(), other.clone()], 0));
        assert_eq!(second.refusals("w"), Refusals::default());
        second.print_status("w", 1, 3, answered(&held, &[generated(1, &["x"])]));
        assert_eq!(results_of(&second), (vec![whole.clone(), other.clone()], 1), "the first result counts");
    }
}
