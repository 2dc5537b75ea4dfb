//! Whatever frames a worker sends, the leader goes on: it neither panics nor breaks a rule of the scheduler. Frames are
//! mutants of a plausible worker's frames, from seeds; `COMPASS_FULL=1` plays 50 times as many.

use super::leader::{FrameContent, Leader};
use super::wire_mutator::mutant;
use compass_eval::evaluator::{Accumulator, EVAL_VERSION};
use compass_ledger::Submission;
use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::prompt::ShotFormat;
use compass_plan::{DatasetPlan, EvalSpec, InferSpec, ModelKind, ModelPlan, PLAN_FORMAT, Plan};
use compass_progress::{ProgressBoard, RunFacts};
use compass_proto::v1;
use compass_rpc::{JobKey, RunParameters};
use compass_scheduler::{ConnectionId, Core, Limits, Recorded, Requires, TaskView, Watch, invariants};
use compass_store::Keys;
use compass_types::ids::{Attempt, Digest, Epoch, ModelId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use compass_types::seeded::Rng;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use v1::worker_frame::Body;

/// Frames of the suite: the length of a history.
const FRAMES: u64 = 20_000;
const FULL_FRAMES: u64 = 1_000_000;
const HISTORY: u64 = 40;
/// Samples of each of two units.
const SAMPLES: u32 = 12;

struct Attacked {
    leader: Leader,
    facts: RunFacts,
    board: ProgressBoard,
    rng: Rng,
    now: u64,
    out: Vec<Submission>,
    /// Each worker's connection and the number of its next frame.
    workers: BTreeMap<u64, (ConnectionId, u64)>,
    connections: u64,
}

fn plan_digest() -> Digest {
    Digest::of(b"plan")
}

fn plan() -> Plan {
    let dataset = |abbr: &str| DatasetPlan {
        abbr: abbr.into(),
        version: "000000".into(),
        infer: InferSpec::Ppl,
        shot_format: ShotFormat::default(),
        eval: EvalSpec::new(EvaluatorSpec::Acc),
        samples: SAMPLES,
        characters: 12,
        prefix_runs: Vec::new(),
        labels: Some(2),
        own_questions: 0,
        entries: vec![(SAMPLES, 2)],
        parts: Vec::new(),
    };
    let models = vec![ModelPlan::new("m", ModelKind::Echo, "")];
    let datasets = vec![dataset("a"), dataset("b")];
    Plan {
        format: PLAN_FORMAT,
        config: Digest::of(b"config"),
        models,
        datasets,
        duplicates: None,
        left_out: Default::default(),
    }
}

impl Attacked {
    fn new(seed: u64) -> Self {
        let task = |unit, first| TaskView {
            unit: UnitId(unit),
            model: ModelId(0),
            requires: Requires::Echo,
            samples: IntervalSet::range(first, first + SAMPLES / 2),
            attempt: Attempt(0),
            sample_cost: 1,
            shared_cost: 0,
        };
        let tasks = vec![task(0, 0), task(0, SAMPLES / 2), task(1, 0), task(1, SAMPLES / 2)];
        let plan = plan_digest();
        let core = Core::new(Epoch(1), Limits::default(), tasks, Recorded::default());
        let (key, pools, units) = (JobKey::new([9; 32]), BTreeMap::new(), RunParameters::units_of(&self::plan()));
        let terms = RunParameters {
            plan,
            epoch: Epoch(1),
            lease_ttl_ms: 30_000,
            heartbeat_ms: 2_000,
            engine_timeout_ms: 0,
            pools,
            key,
            units,
        };
        Self {
            leader: Leader::new(core, terms, Keys::new(&plan), Watch::default()),
            facts: RunFacts::default(),
            board: ProgressBoard::new(Arc::new(self::plan())),
            rng: Rng::new(seed),
            now: 0,
            out: Vec::new(),
            workers: BTreeMap::new(),
            connections: 0,
        }
    }

    /// The message, or a mutant of it that still is one.
    fn perhaps_mutated<M: prost::Message + Default + Clone>(&mut self, message: M) -> M {
        if self.rng.chance(300) {
            return message;
        }
        M::decode(mutant(&message.encode_to_vec(), &mut self.rng).as_slice()).unwrap_or(message)
    }

    fn dial(&mut self, at: u64) {
        self.connections += 1;
        let (epoch, samples) = (self.rng.below(2), self.intervals());
        let held =
            v1::HeldGrant { id: Some(v1::GrantId { epoch, task: 1, attempt: 1 }), samples, ..Default::default() };
        let hello = v1::Hello {
            worker: format!("w{at}"),
            session: format!("s{at}"),
            slots: self.rng.between(1, 3) as u32,
            first_seq: 1,
            dial: self.connections,
            held: if self.rng.chance(500) { vec![held] } else { Vec::new() },
            ..Default::default()
        };
        let hello = self.perhaps_mutated(hello);
        let (first, worker) = (hello.first_seq, hello.worker.clone());
        let connection = ConnectionId(self.connections);
        if self.leader.hello(self.now, connection, hello, &mut self.out) && worker == format!("w{at}") {
            self.workers.insert(at, (connection, first));
        }
    }

    fn intervals(&mut self) -> Vec<v1::Interval> {
        let first = self.rng.below(u64::from(SAMPLES)) as u32;
        vec![v1::Interval { first, end: first + self.rng.between(1, 6) as u32 }]
    }

    fn body(&mut self) -> Body {
        let (epoch, task) = (self.rng.below(2), self.rng.below(5) as u32);
        let (attempt, unit) = (self.rng.below(3) as u32, self.rng.below(2) as u32);
        let grant = Some(v1::GrantId { epoch: 1, task, attempt });
        match self.rng.below(9) {
            0 => Body::Credit(v1::Credit { grants: self.rng.between(1, 4) as u32 }),
            1 => Body::Heartbeat(v1::Heartbeat { sent_ms: self.now, ..Default::default() }),
            2 => Body::Failed(v1::Failed {
                grant,
                class: self.rng.between(1, 4) as i32,
                message: "no".into(),
                kind: self.rng.between(0, 3) as i32,
            }),
            3 => {
                let grant = Some(v1::GrantId { epoch, task, attempt });
                Body::RevokeAck(v1::RevokeAck { grant, returned: self.intervals(), held: true, unbegun: false })
            }
            4 => Body::Facts(v1::Facts { model: 0, facts: b"{\"notes\": [\"one\"], \"max\": 3}".to_vec(), load: None }),
            5 | 6 => Body::Report(self.report(unit, grant)),
            _ => {
                let samples = (0..self.rng.between(1, 4)).map(|_| self.result()).collect();
                let plan = plan_digest().0.to_vec();
                Body::Results(v1::Results { grant, unit, plan, samples, ..Default::default() })
            }
        }
    }

    fn result(&mut self) -> v1::SampleResult {
        let scores = v1::PplScores { nll_sum: vec![1.0, 2.0], tokens: vec![3, 4], ..Default::default() };
        let outcome = match self.rng.below(3) {
            0 => v1::sample_result::Outcome::Failed("cannot".into()),
            _ => v1::sample_result::Outcome::Ppl(scores),
        };
        let index = self.rng.below(u64::from(SAMPLES)) as u32;
        v1::SampleResult { index, tokens: 7, outcome: Some(outcome), ..Default::default() }
    }

    fn report(&mut self, unit: u32, grant: Option<v1::GrantId>) -> v1::ShardReport {
        let claim = Accumulator::new(&EvalSpec::new(EvaluatorSpec::Acc));
        v1::ShardReport {
            unit,
            grant,
            samples: self.intervals(),
            eval_version: EVAL_VERSION,
            state: claim.digest().0.to_vec(),
            seconds: 0.5,
            tokens: Some(v1::TokenCounters { submitted: 9, computed: 5, distinct: 4, padded: 1, generated: 1 }),
            prefix_segments: vec![v1::PrefixSegment { path: 3, tokens: 2 }],
            ..Default::default()
        }
    }

    /// One frame of one worker, or a turn of fate.
    fn step(&mut self) {
        let at = self.rng.below(3);
        self.leader.outputs().for_each(drop);
        let Some((connection, next)) = self.workers.get_mut(&at) else { return self.dial(at) };
        let (connection, seq) = (*connection, *next);
        *next = next.wrapping_add(1);
        let worker = WorkerId(format!("w{at}"));
        self.now += self.rng.below(400);
        if self.rng.chance(40) {
            return self.dial(at);
        }
        let body = Some(self.body());
        let frame = self.perhaps_mutated(v1::WorkerFrame { seq, ack: 0, body });
        match self.leader.frame(self.now, worker.clone(), connection, frame, &mut self.out) {
            FrameContent::Results { count } => self.facts.results(&worker, count),
            FrameContent::Report { report } => {
                self.board.report(&report);
                self.facts.report(&worker, *report);
            }
            FrameContent::Facts { model, facts } => drop(self.facts.model(&worker, model, &facts)),
            _ => {}
        }
        if self.rng.chance(100) {
            self.leader.apply(self.now, compass_scheduler::Event::Tick, &mut self.out);
        }
        if let Some(last) = self.out.drain(..).next_back() {
            self.leader.durable(last.seq);
        }
        if !self.leader.is_connected(&worker) {
            self.workers.remove(&at);
        }
    }
}

#[test]
fn no_frame_makes_the_leader_panic_or_break_a_rule() {
    let full = std::env::var("COMPASS_FULL").is_ok_and(|value| value == "1");
    let histories = if full { FULL_FRAMES } else { FRAMES } / HISTORY;
    for seed in 0..histories {
        let mut attacked = Attacked::new(seed);
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            (0..HISTORY).for_each(|_| attacked.step());
            let progress = attacked.leader.core().progress();
            attacked.facts.count(&progress, attacked.leader.violations(), Duration::from_secs(1));
            let _ = attacked.facts.view(|_| true);
            let _ = (attacked.board.live(std::iter::empty(), &BTreeMap::new()), attacked.facts.tokens_line());
            assert!(serde_json::to_vec(&attacked.facts).is_ok());
        }));
        assert!(played.is_ok(), "history {seed} panicked");
        let broken = invariants::check(attacked.leader.core());
        assert!(broken.is_empty() && attacked.leader.violations() == 0, "history {seed}: {broken:?}");
    }
}
