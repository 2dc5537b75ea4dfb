//! Weights are known by their content: what was overwritten is not resumed, and a worker with other files under the same path
//! computes nothing that counts.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Job, Running, Tree, Worker, copy_demo_model, sums, told_address, wait_until, worker_command};
use serde_json::Value;
use std::fs;
use std::path::Path;

const ROWS: usize = 150;

const LOCAL: &str = "[infer.partitioner]\ntype = \"size\"\nmax_task_size = 40\ngen_task_coef = 1\n\
                     [infer.runner]\ntype = \"local\"\nmax_num_workers = 1\n";

/// A job over the model at `path`.
fn job(path: &str, infer: &str) -> Job {
    job_with("", path, infer)
}

/// As [`job`], with a section of the master before it.
fn job_with(master: &str, path: &str, infer: &str) -> Job {
    let datasets = sums::choices("rows.jsonl") + &sums::answers("rows.jsonl", 16);
    let job = Job::new(&format!("{master}[[model]]\nabbr = \"m\"\npath = \"{path}\"\n{datasets}\n{infer}\n"));
    job.write("rows.jsonl", &sums::rows(ROWS));
    job
}

/// Puts another checkpoint in the place of a model's, as a trainer does: same shapes, same size, one tensor turned round.
fn overwrite(model: &Path) {
    let path = model.join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let tensors: Value = serde_json::from_slice(&bytes[8..header]).unwrap();
    let (_, tensor) =
        tensors.as_object().unwrap().iter().find(|(name, _)| name.ends_with("mlp.down_proj.weight")).unwrap();
    let at = |place: usize| header + tensor["data_offsets"][place].as_u64().unwrap() as usize;
    let width = if tensor["dtype"] == "F32" { 4 } else { 2 };
    bytes[at(0)..at(1)].chunks_exact_mut(width).for_each(|number| number[width - 1] ^= 0x80);
    let new = model.join("new");
    fs::write(&new, bytes).unwrap();
    fs::rename(new, path).unwrap();
}

fn outcome(job: &Job) -> (Tree, Tree) {
    (job.tree("results"), job.tree("predictions"))
}

/// Returns the outcome of a run from nothing with a model that `change` made of the demo's.
fn expected(change: impl FnOnce(&Path)) -> (Tree, Tree) {
    let job = job("model", LOCAL);
    copy_demo_model(&job.path("model")).unwrap();
    change(&job.path("model"));
    job.run(&[]).expect(0);
    outcome(&job)
}

fn name(run: &Path) -> String {
    run.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn a_resumed_run_keeps_nothing_of_weights_that_were_overwritten() {
    let mut job = job("model", LOCAL);
    let model = job.path("model");
    copy_demo_model(&model).unwrap();
    job.hold_after(20);
    let mut master = job.start(&[]);
    job.wait_until_durable();
    master.signal("INT");
    job.trickle_until("the master ends", || master.has_ended());
    master.finish();
    job.gate().open();
    let first = name(&job.latest());
    overwrite(&model);
    let finished = job.run(&["-r"]).expect(0);
    let said = &finished.stderr;
    assert!(said.contains(&format!("model `m`: nothing of {first} is kept: weights digest ")), "{said}");
    assert!(said.contains("model.safetensors has other content"), "{said}");
    assert!(said.contains(&format!("the weights are not those of {first}: 0 of {} samples", 2 * ROWS)), "{said}");
    assert_eq!((job.runs().len(), &job.facts()["resumed_samples"]), (2, &0.into()));
    let other = expected(overwrite);
    assert!(outcome(&job) == other, "the results are those of the new weights alone");
    // With its own weights the first run continues where it was.
    copy_demo_model(&model).unwrap();
    job.run(&["-r", &first]).expect(0);
    assert_eq!(job.runs().len(), 2);
    let whole = expected(|_| {});
    let tree = |folder: &str| compass_tests::tree_of(&job.runs()[0].join(folder));
    assert!((tree("results"), tree("predictions")) == whole);
    assert!(whole != other, "the checkpoints differ in what they answer");
    // What was computed can be scored again whatever lies there now, and a copy elsewhere is the same model.
    overwrite(&model);
    job.run(&["-r", &first, "-m", "eval"]).expect(0);
    assert_eq!(job.runs().len(), 2);
    copy_demo_model(&job.path("copy")).unwrap();
    let text = fs::read_to_string(job.path("eval.toml")).unwrap().replace("path = \"model\"", "path = \"copy\"");
    job.write("eval.toml", &text);
    let finished = job.run(&["-r", &first]).expect(0);
    let kept = format!("{0} of {0} samples are the same and kept", 2 * ROWS);
    assert!(finished.stderr.contains(&kept), "{}", finished.stderr);
    assert!(outcome(&job) == whole);
}

#[test]
#[ignore = "nightly"]
fn a_run_is_scored_again_when_its_weights_and_its_data_are_gone() {
    let job = job("model", LOCAL);
    copy_demo_model(&job.path("model")).unwrap();
    job.run(&[]).expect(0);
    let (first, whole) = (job.latest(), outcome(&job));
    fs::remove_dir_all(job.path("model")).unwrap();
    fs::remove_file(job.path("rows.jsonl")).unwrap();
    fs::remove_dir_all(first.join("results")).unwrap();
    job.run(&["-r", "-m", "eval"]).expect(0);
    assert_eq!(job.runs().len(), 1, "it is scored where it is");
    assert!(outcome(&job) == whole);
    job.run(&["-r", "-m", "viz"]).expect(0);
    // Another evaluation needs neither.
    let text = fs::read_to_string(job.path("eval.toml")).unwrap();
    job.write("eval.toml", &text.replace("evaluator = \"em\"", "evaluator = \"acc\""));
    let finished = job.run(&["-r", &name(&first), "-m", "eval"]).expect(0);
    assert_eq!(job.runs().len(), 2);
    let said = format!("{0} of {0} samples are the same and kept", 2 * ROWS);
    assert!(finished.stderr.contains(&said), "{}", finished.stderr);
    assert!(finished.stderr.contains("is scored by the rows of"), "{}", finished.stderr);
    assert!(job.tree("predictions") == whole.1, "the answers are those of the run");
    // Another prompt does.
    job.write("eval.toml", &text.replace("max_out_len = 16", "max_out_len = 3"));
    let refused = job.run(&["-r", &name(&first), "-m", "eval"]).expect(2);
    assert!(refused.stderr.contains("asked other prompts"), "{}", refused.stderr);
}

/// A job whose model only pools can read, under one path each; `change` makes the second one's of the first's.
struct Elsewhere {
    job: Job,
    master: Running,
    address: String,
}

impl Elsewhere {
    fn start(change: impl FnOnce(&Path)) -> Self {
        let pool = |name: &str| {
            format!(
                "[[pool]]\nname = \"{name}\"\nlauncher = \"none\"\npaths = {{ \"/nowhere/model\" = \"HERE/{name}\" }}\n"
            )
        };
        let infer = pool("one") + &pool("two") + LOCAL.split("[infer.runner]").next().unwrap();
        let mut job = job_with("\n[master]\nlisten = \"127.0.0.1:0\"\n", "/nowhere/model", &infer);
        let text = fs::read_to_string(job.path("eval.toml")).unwrap();
        job.write("eval.toml", &text.replace("HERE", job.path("").display().to_string().trim_end_matches('/')));
        for name in ["one", "two"] {
            copy_demo_model(&job.path(name)).unwrap();
        }
        change(&job.path("two"));
        job.hold_after(20);
        let master = job.start_logged(&[], "master.log");
        let address = told_address(&job, "master.log");
        Self { job, master, address }
    }

    fn worker(&self, pool: &str) -> Worker {
        let mut command = worker_command(&self.address, &self.job.path("home"));
        command.args(["--name", pool, "--pool", pool, "--slots", "1", "--no-sandbox"]);
        command.envs(self.job.environment());
        Worker::start(command, self.job.path(&format!("{pool}.log")))
    }

    /// Waits until the second worker is recognised as different, while the first, which began, is held; then the first does it all.
    fn second_is_barred(self, names: &str) {
        let one = self.worker("one");
        self.job.wait_until_durable();
        let two = self.worker("two");
        wait_until("the second worker's files are told apart", || {
            let log = self.job.log("master.log");
            (log.contains("weights digest") && log.contains(names)).then_some(())
        });
        self.job.gate().open();
        let Self { job, master, .. } = self;
        assert_eq!(master.finish().code, Some(0), "{}", job.log("master.log"));
        let (code, said) = one.finish();
        assert_eq!(code, Some(0), "{said}");
        drop(two);
        assert!(outcome(&job) == expected(|_| {}), "{}", job.log("master.log"));
        let facts = job.facts();
        assert!(facts["samples"]["one"].is_object() && facts["samples"]["two"].is_null(), "{facts}");
    }
}

#[test]
#[ignore = "nightly"]
fn a_worker_with_another_checkpoint_under_the_same_path_is_barred() {
    Elsewhere::start(overwrite).second_is_barred("model.safetensors has other content");
}

#[test]
#[ignore = "nightly"]
fn a_worker_with_another_generation_config_is_barred() {
    let change = |model: &Path| {
        let path = model.join("generation_config.json");
        let mut json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        json["repetition_penalty"] = 1.5.into();
        fs::write(path, json.to_string()).unwrap();
    };
    Elsewhere::start(change).second_is_barred("generation_config.json has ");
}

#[test]
#[ignore = "nightly"]
fn what_the_first_worker_pinned_holds_for_the_next_master() {
    let Elsewhere { job, master, address } = Elsewhere::start(overwrite);
    let begun = Elsewhere { job, master, address };
    let one = begun.worker("one");
    begun.job.wait_until_durable();
    begun.master.signal("KILL");
    drop(one);
    let Elsewhere { job, master, .. } = begun;
    master.finish();
    let master = job.start_logged(&["-r"], "master.log");
    let address = told_address(&job, "master.log");
    let again = Elsewhere { job, master, address };
    assert_eq!(again.job.runs().len(), 1);
    again.second_is_barred("model.safetensors has other content");
}
