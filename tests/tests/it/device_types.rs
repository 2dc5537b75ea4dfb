//! Results of one model come from the CPU or from GPUs, never from both: the two agree only to a tolerance. A real master, a real
//! worker whose engine computes the demo's model on the CPU, and a peer made of frames that says it has a GPU.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::played::{Peer, hello, with_peers};
use compass_plan::engine::ModelFacts;
use compass_plan::weights::{Pin, read};
use compass_plan::{GenerationDefaults, ModelKind};
use compass_proto::v1;
use compass_proto::v1::sample_result::Outcome;
use compass_proto::v1::worker_frame::Body as Say;
use compass_tests::{Job, Running, Worker, copy_demo_model, sums, told_address, wait_until, worker_command};
use std::path::Path;

const GPU: &str = "NVIDIA H200";

/// A job over the demo's model, held once this many samples have begun, its master, and the address at which that listens.
fn master(hold_after: Option<u64>) -> (Job, Running, String) {
    let mut job = Job::new(&format!(
        "\n[master]\nlisten = \"127.0.0.1:0\"\n[[model]]\nabbr = \"m\"\npath = \"model\"\n{}\n[infer.partitioner]\ntype = \"size\"\n\
         max_task_size = 20\n[infer.runner]\ntype = \"none\"\n",
        sums::choices("rows.jsonl")
    ));
    job.write("rows.jsonl", &sums::rows(100));
    copy_demo_model(&job.path("model")).unwrap();
    hold_after.into_iter().for_each(|samples| job.hold_after(samples));
    let running = job.start_logged(&[], "master.log");
    let address = told_address(&job, "master.log");
    (job, running, address)
}

fn cpu_worker(job: &Job, address: &str) -> Worker {
    let mut command = worker_command(address, &job.path("home"));
    command.args(["--name", "cpu", "--slots", "1", "--no-sandbox"]).envs(job.environment());
    Worker::start(command, job.path("cpu.log"))
}

/// Returns the pin of the model in `directory`.
fn pin(directory: &Path) -> Pin {
    let generation = std::fs::read(directory.join("generation_config.json")).unwrap_or_else(|_| b"{}".to_vec());
    let generation = GenerationDefaults::of(&serde_json::from_slice(&generation).unwrap());
    Pin { weights: read(directory, directory, None, ModelKind::Hf).unwrap(), generation }
}

/// A peer that has loaded the model onto a GPU and holds a grant of it.
struct OnGpu {
    peer: Peer,
    grant: v1::Grant,
    pin: Pin,
}

impl OnGpu {
    async fn holding(job: &Job, address: &str) -> Self {
        let greeting = v1::Hello { device: "cuda".into(), has_engine: true, ..hello("gpu") };
        let mut peer = Peer::call(job, address, greeting).await;
        peer.welcome().await;
        peer.say(0, Say::Credit(v1::Credit { grants: 1 })).await;
        let grant = peer.grant().await;
        Self { peer, grant, pin: pin(&job.path("model")) }
    }

    async fn loads(&mut self) {
        let facts = ModelFacts {
            max_seq_len: 256,
            characters_per_token: 1.0,
            bos_token: None,
            eos_token: None,
            device: GPU.into(),
            sequences: 512,
            notes: Vec::new(),
            remarks: Vec::new(),
            pin: Some(self.pin.clone()),
        };
        let facts = serde_json::to_vec(&facts).unwrap();
        self.peer.say(1, Say::Facts(v1::Facts { model: 0, facts, load: None })).await;
        self.peer.until_acknowledged(1).await;
    }

    /// Hands in a result that no CPU would have.
    async fn answers_first_sample(&mut self) {
        let scores = v1::PplScores { nll_sum: vec![0.25, 99.0], tokens: vec![9, 9], ..Default::default() };
        let sample = v1::SampleResult {
            index: self.grant.samples[0].first,
            tokens: 9,
            outcome: Some(Outcome::Ppl(scores)),
            ..Default::default()
        };
        let results = v1::Results {
            grant: self.grant.id,
            unit: self.grant.unit,
            plan: self.grant.plan.clone(),
            samples: vec![sample],
            weights: self.pin.weights.digest.0.to_vec(),
            device: GPU.into(),
        };
        self.peer.say(2, Say::Results(results)).await;
        self.peer.until_acknowledged(2).await;
    }

    /// Gives the grant back, as a barred worker is asked to: no lease of it has to end first.
    async fn hands_back(&mut self) {
        self.peer.say(3, Say::RevokeAck(v1::RevokeAck { grant: self.grant.id, ..Default::default() })).await;
        self.peer.until_acknowledged(3).await;
    }
}

/// The reason for which `worker` was barred for its device, once the master has said so.
fn barred(job: &Job, says: &str) {
    wait_until("the worker is barred for its device", || job.log("master.log").contains(says).then_some(()));
}

#[test]
fn after_results_of_the_cpu_a_gpu_computes_nothing_that_counts() {
    let expected = {
        let (job, running, address) = master(None);
        let worker = cpu_worker(&job, &address);
        assert_eq!(running.finish().code, Some(0), "{}", job.log("master.log"));
        drop(worker);
        (job.tree("results"), job.tree("predictions"))
    };
    let (job, running, address) = master(Some(20));
    let cpu = cpu_worker(&job, &address);
    job.wait_until_durable();
    with_peers(async {
        let mut gpu = OnGpu::holding(&job, &address).await;
        gpu.loads().await;
        barred(&job, &format!("come from the CPU, and the worker computes on {GPU}"));
        gpu.answers_first_sample().await;
        gpu.hands_back().await;
    });
    job.gate().open();
    assert_eq!(running.finish().code, Some(0), "{}", job.log("master.log"));
    drop(cpu);
    assert!((job.tree("results"), job.tree("predictions")) == expected, "{}", job.log("master.log"));
    let facts = job.facts();
    assert_eq!(
        (&facts["barred"][0]["worker"], &facts["barred"][0]["kind"]),
        (&"gpu".into(), &"device".into()),
        "{facts}"
    );
    assert!(facts["samples"]["cpu"].is_object() && facts["samples"]["gpu"].is_null(), "{facts}");
}

#[test]
#[ignore = "nightly"]
fn after_a_result_of_a_gpu_the_cpu_is_not_asked() {
    let (job, running, address) = master(None);
    let gpu = with_peers(async {
        let mut gpu = OnGpu::holding(&job, &address).await;
        gpu.loads().await;
        gpu.answers_first_sample().await;
        gpu
    });
    let cpu = cpu_worker(&job, &address);
    barred(&job, "come from GPUs, and the worker computes on the CPU");
    running.signal("TERM");
    let finished = running.finish();
    assert_ne!(finished.code, Some(0), "{}", job.log("master.log"));
    drop((gpu, cpu));
    let facts = job.facts();
    assert_eq!(
        (&facts["barred"][0]["worker"], &facts["barred"][0]["kind"]),
        (&"cpu".into(), &"device".into()),
        "{facts}"
    );
    assert!(facts["samples"]["gpu"].is_object() && facts["samples"]["cpu"].is_null(), "{facts}");
}
