//! Pins alone, and in a leader whose workers report what they loaded.

use super::*;
use crate::leader::Leader;
use compass_ledger::{Content, Kind, Submission};
use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::prompt::ShotFormat;
use compass_plan::weights::{FileMark, WeightsDigest};
use compass_plan::{DatasetPlan, EvalSpec, GenerationDefaults, InferSpec, ModelKind, ModelPlan, PLAN_FORMAT};
use compass_proto::v1;
use compass_rpc::{JobKey, Output, RunParameters};
use compass_scheduler::{ConnectionId, Core, Limits, Recorded, Requires, Seq, TaskView, Watch};
use compass_store::Keys;
use compass_types::ids::{Attempt, Epoch, ModelId};
use compass_types::intervals::IntervalSet;
use v1::worker_frame::Body;

fn pin(content: &str) -> Pin {
    let mark = FileMark { bytes: content.len() as u64, digest: Digest::of(content.as_bytes()) };
    let weights = WeightsDigest::new(BTreeMap::from([("weights/model.safetensors".to_owned(), mark)]));
    Pin { weights, generation: GenerationDefaults::default() }
}

fn facts(pin: &Pin) -> Vec<u8> {
    serde_json::to_vec(&serde_json::json!({ "max_seq_len": 9, "pin": pin })).unwrap()
}

/// A plan of two models with weights, the first of which is pinned, and of one without; two data sets.
fn plan() -> Plan {
    let model = |abbr: &str, kind| ModelPlan::new(abbr, kind, "/models");
    let dataset = |abbr: &str| DatasetPlan {
        abbr: abbr.into(),
        version: "000000".into(),
        infer: InferSpec::Ppl,
        shot_format: ShotFormat::default(),
        eval: EvalSpec::new(EvaluatorSpec::Acc),
        samples: 0,
        characters: 0,
        prefix_runs: Vec::new(),
        labels: None,
        own_questions: 0,
        entries: Vec::new(),
        parts: Vec::new(),
    };
    let mut pinned = model("pinned", ModelKind::Hf);
    pinned.pin = Some(pin("planned"));
    Plan {
        format: PLAN_FORMAT,
        config: Digest::of(b""),
        models: vec![pinned, model("open", ModelKind::Hf), model("echo", ModelKind::Echo)],
        datasets: vec![dataset("a"), dataset("b")],
        duplicates: None,
        left_out: Default::default(),
    }
}

#[test]
fn what_the_plan_pins_holds_for_every_worker() {
    let mut pins = Pins::new(&plan(), BTreeMap::from([(ModelId(0), pin("of the ledger"))]));
    let (good, bad) = (WorkerId("good".into()), WorkerId("bad".into()));
    assert_eq!(pins.loaded(&good, ModelId(0), &facts(&pin("planned"))), Loaded::Fits);
    let Loaded::Differs(Refusal { text, .. }) = pins.loaded(&bad, ModelId(0), &facts(&pin("other"))) else {
        panic!("it fits")
    };
    for part in [pin("planned").weights.digest.short(), pin("other").weights.digest.short()] {
        assert!(text.contains(&part), "{text}");
    }
    assert!(text.contains("model.safetensors"), "{text}");
    assert!(
        pins.is_refused(&bad, ModelId(0)) && !pins.is_refused(&bad, ModelId(1)) && !pins.is_refused(&good, ModelId(0))
    );
    pins.begins_anew(&bad);
    assert!(!pins.is_refused(&bad, ModelId(0)));
}

#[test]
fn the_first_that_loads_pins_what_the_plan_does_not() {
    let mut pins = Pins::new(&plan(), BTreeMap::new());
    let (first, second) = (WorkerId("first".into()), WorkerId("second".into()));
    let digest = |pin: &Pin| pin.weights.digest.0;
    assert!(pins.admit(&second, UnitId(2), &digest(&pin("x")), "").is_err(), "before any pin nothing counts");
    pins.begins_anew(&second);
    assert_eq!(pins.loaded(&first, ModelId(1), &facts(&pin("x"))), Loaded::First(pin("x")));
    assert_eq!(pins.loaded(&first, ModelId(1), &facts(&pin("x"))), Loaded::Fits);
    assert!(matches!(pins.loaded(&second, ModelId(1), &facts(&pin("y"))), Loaded::Differs(_)));
    assert_eq!(pins.admit(&first, UnitId(3), &digest(&pin("x")), ""), Ok(()));
    let said = pins.admit(&second, UnitId(2), &digest(&pin("y")), "").unwrap_err().text;
    assert!(said.contains(&pin("y").weights.digest.short()), "{said}");
    assert!(pins.admit(&second, UnitId(2), b"", "").unwrap_err().text.contains("unknown"));
    // The generation's defaults are pinned as well.
    let mut other = pin("x");
    other.generation.temperature = Some(0.5);
    assert!(
        matches!(pins.loaded(&second, ModelId(1), &facts(&other)), Loaded::Differs(refusal) if refusal.text.contains("temperature"))
    );
}

#[test]
fn a_new_leader_finds_the_pin_in_the_ledger() {
    let mut pins = Pins::new(&plan(), BTreeMap::from([(ModelId(1), pin("x"))]));
    let worker = WorkerId("w".into());
    assert_eq!(pins.admit(&worker, UnitId(2), &pin("x").weights.digest.0, ""), Ok(()));
    assert!(matches!(pins.loaded(&worker, ModelId(1), &facts(&pin("y"))), Loaded::Differs(_)));
}

#[test]
fn models_without_weights_are_not_asked_for_any() {
    let mut pins = Pins::new(&plan(), BTreeMap::new());
    let worker = WorkerId("w".into());
    assert_eq!(pins.loaded(&worker, ModelId(2), b"{}"), Loaded::Fits);
    assert_eq!(pins.admit(&worker, UnitId(5), b"", ""), Ok(()));
    assert_eq!(Pins::default().admit(&worker, UnitId(0), b"", ""), Ok(()));
    assert!(matches!(pins.loaded(&worker, ModelId(0), b"{}"), Loaded::Differs(_)));
}

#[test]
fn the_first_result_decides_between_the_cpu_and_gpus() {
    let on = |device: &str| {
        serde_json::to_vec(&serde_json::json!({ "max_seq_len": 9, "pin": pin("x"), "device": device })).unwrap()
    };
    let (cpu, gpu, other) = (WorkerId("cpu".into()), WorkerId("gpu".into()), WorkerId("other".into()));
    let (model, unit, weights) = (ModelId(1), UnitId(2), pin("x").weights.digest.0);
    let mut pins = Pins::new(&plan(), BTreeMap::from([(model, pin("x"))]));
    // Both have loaded it before anything was computed.
    assert_eq!(pins.loaded(&cpu, model, &on("cpu")), Loaded::Fits);
    assert_eq!(pins.loaded(&gpu, model, &on("NVIDIA H100 80GB HBM3")), Loaded::Fits);
    pins.computed(model, DeviceType::Unknown);
    pins.computed(model, DeviceType::Cuda);
    pins.computed(model, DeviceType::Cpu);
    assert_eq!(pins.admit(&gpu, unit, &weights, "NVIDIA H100 80GB HBM3"), Ok(()));
    let refusal = pins.admit(&cpu, unit, &weights, "cpu").unwrap_err();
    assert_eq!(refusal.kind, UnableKind::Device);
    assert_eq!(
        refusal.text,
        "the run's results of this model come from GPUs, and the worker computes on the CPU: the two agree only to a \
         tolerance; help: start the worker where it is given a GPU; `device = \"cuda\"` keeps workers without one away from \
         the model"
    );
    assert!(pins.is_refused(&cpu, model) && !pins.is_refused(&gpu, model));
    // One that comes later is told when it has loaded the model; another type of GPU is welcome.
    assert!(matches!(pins.loaded(&other, model, &on("cpu")), Loaded::Differs(_)));
    pins.begins_anew(&other);
    assert_eq!(pins.loaded(&other, model, &on("NVIDIA A100-SXM4-80GB")), Loaded::Fits);
    // The other models of the run are free.
    assert_eq!(pins.loaded(&cpu, ModelId(2), &on("cpu")), Loaded::Fits);
}

#[test]
fn results_of_the_cpu_keep_gpus_out() {
    let mut pins = Pins::new(&plan(), BTreeMap::from([(ModelId(1), pin("x"))]));
    pins.computed(ModelId(1), DeviceType::Cpu);
    let refusal = pins.admit(&WorkerId("g".into()), UnitId(2), &pin("x").weights.digest.0, "NVIDIA L4").unwrap_err();
    assert!(refusal.text.contains("computes on NVIDIA L4") && refusal.text.contains("--device cpu"), "{refusal:?}");
}

/// A leader of the plan with one task of the model that the plan does not pin, and a worker that was granted it.
struct Bench {
    leader: Leader,
    seq: u64,
}

impl Bench {
    fn new() -> Self {
        let (samples, attempt) = (IntervalSet::range(0, 4), Attempt(0));
        let task = TaskView {
            unit: UnitId(2),
            model: ModelId(1),
            requires: Requires::Engine,
            samples,
            attempt,
            sample_cost: 1,
            shared_cost: 0,
        };
        let digest = Digest::of(b"plan");
        let core = Core::new(Epoch(1), Limits::default(), vec![task], Recorded::default());
        let (key, pools, units) = (JobKey::new([9; 32]), BTreeMap::new(), BTreeMap::new());
        let terms = RunParameters {
            plan: digest,
            epoch: Epoch(1),
            lease_ttl_ms: 30_000,
            heartbeat_ms: 2_000,
            engine_timeout_ms: 0,
            pools,
            key,
            units,
        };
        let leader = Leader::new(core, terms, Keys::new(&digest), Watch::default());
        let mut bench = Self { leader: leader.with_pins(Pins::new(&plan(), BTreeMap::new())), seq: 0 };
        let hello = v1::Hello {
            worker: "w".into(),
            session: "s".into(),
            slots: 1,
            has_engine: true,
            first_seq: 1,
            dial: 1,
            ..Default::default()
        };
        let mut out = Vec::new();
        assert!(bench.leader.hello(0, ConnectionId(1), hello, &mut out));
        bench.print_status(0, Body::Credit(v1::Credit { grants: 1 }));
        // Results count from here on: the grant is durable, and was sent.
        let attempt = bench.leader.core().last_seq();
        bench.leader.durable(attempt);
        bench
    }

    /// Hands in a frame; returns what is to be made durable for it.
    fn print_status(&mut self, seq: u64, body: Body) -> Vec<Submission> {
        let (mut out, frame) = (Vec::new(), v1::WorkerFrame { seq, ack: 0, body: Some(body) });
        self.leader.frame(1, WorkerId("w".into()), ConnectionId(1), frame, &mut out);
        out
    }

    fn next(&mut self, body: Body) -> Vec<Submission> {
        self.seq += 1;
        self.print_status(self.seq, body)
    }

    /// The highest acknowledgement that has left.
    fn acknowledged(&mut self) -> u64 {
        let acknowledged = self.leader.outputs().map(|output| match output {
            Output::Frame { frame, .. } => frame.ack,
            Output::Close { .. } => 0,
        });
        acknowledged.max().unwrap_or(0)
    }
}

fn kinds(out: &[Submission]) -> Vec<Kind> {
    let kind = |submission: &Submission| match &submission.content {
        Content::Entry(entry) => Some(entry.kind()),
        _ => None,
    };
    out.iter().filter_map(kind).collect()
}

fn results(weights: &Pin, index: u32) -> Body {
    let outcome = Some(v1::sample_result::Outcome::Failed("poison".into()));
    Body::Results(v1::Results {
        grant: Some(v1::GrantId { epoch: 1, task: 0, attempt: 1 }),
        unit: 2,
        plan: Digest::of(b"plan").0.to_vec(),
        samples: vec![v1::SampleResult { index, outcome, ..Default::default() }],
        weights: weights.weights.digest.0.to_vec(),
        device: "cpu".into(),
    })
}

fn told(pin: &Pin) -> Body {
    Body::Facts(v1::Facts { model: 1, facts: facts(pin), load: None })
}

#[test]
fn a_pin_is_durable_before_it_is_acknowledged_and_before_a_result() {
    let mut bench = Bench::new();
    bench.acknowledged();
    let pinned = bench.next(told(&pin("x")));
    assert_eq!(kinds(&pinned), [Kind::Pin]);
    let recorded = bench.next(results(&pin("x"), 0));
    assert_eq!(kinds(&recorded), [Kind::Sample]);
    let seq = |out: &[Submission]| out.iter().map(|submission| submission.seq).max().unwrap();
    assert!(seq(&pinned) < seq(&recorded));
    bench.leader.durable(Seq(seq(&pinned).0 - 1));
    assert_eq!(bench.acknowledged(), 0, "nothing is acknowledged before the pin is durable");
    bench.leader.durable(seq(&pinned));
    assert_eq!(bench.acknowledged(), 1);
    bench.leader.durable(seq(&recorded));
    assert_eq!(bench.acknowledged(), 2);
}

#[test]
fn what_was_computed_with_other_weights_leaves_no_record() {
    let mut bench = Bench::new();
    assert_eq!(kinds(&bench.next(results(&pin("x"), 0))), [], "nothing is pinned yet");
    let mut bench = Bench::new();
    bench.next(told(&pin("x")));
    assert_eq!(kinds(&bench.next(told(&pin("y")))), []);
    assert_eq!(kinds(&bench.next(results(&pin("y"), 1))), []);
    let report =
        v1::ShardReport { grant: Some(v1::GrantId { epoch: 1, ..Default::default() }), unit: 2, ..Default::default() };
    assert_eq!(kinds(&bench.next(Body::Report(report))), [], "a report would tell of results that do not count");
}
