//! The block that users write for models of their training code, as they write it.

use crate::elsewhere::job::{SECRET, datasets, job, outcome, write_profile};
use compass_mirrors::ObjectServer;
use compass_tests::{Job, Worker, told_address, worker_command};
use std::path::{Path, PathBuf};

const BLOCK: &str = r#"
type = "LLMv2"
model_type = "converted"
tokenizer_type = "v4"
path = "model_weights:s3://model_weights/0331/1006_pr/5499/"
tokenizer_path = "tokenizers/llamav4.model"
max_out_len = 100
max_seq_len = 2048
batch_size = 8
run_cfg = { num_gpus = 8, num_procs = 8 }
"#;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn checkpoint() -> PathBuf {
    repository().join("tests/tests/elsewhere/internlm")
}

/// Puts the tokenizer where the block names it.
fn put_tokenizer(job: &Job) {
    std::fs::create_dir_all(job.path("tokenizers")).unwrap();
    let model = repository().join("worker/engine/tests/tokenizer/goldens/bpe.model");
    std::fs::copy(model, job.path("tokenizers/llamav4.model")).unwrap();
}

/// Runs a job whose workers are started by hand: a replica of eight GPUs is told to run on the CPU.
fn run(job: &Job, config: &str) {
    let log = format!("{config}.log");
    let master = job.command_line(&["--config", config]).spawn_logged(&job.path(&log));
    let address = told_address(job, &log);
    let mut command = worker_command(&address, &job.path("home"));
    command.args(["--name", "hand", "--pool", "one", "--no-sandbox"]);
    command.arg("--storage-cache").arg(job.path("cache"));
    let worker = Worker::start(command, job.path("worker.log"));
    let code = master.finish().code;
    assert_eq!(code, Some(0), "{}\n{}", job.log(&log), worker.said());
}

#[test]
#[ignore = "nightly"]
fn it_works_as_written_in_toml_and_in_python() {
    let server = ObjectServer::start("reader", SECRET).unwrap();
    server.put_folder("model_weights", "0331/1006_pr/5499", &checkpoint()).unwrap();
    // What training leaves beside it is not fetched.
    server.put("model_weights", "0331/1006_pr/5499/optimizer_tp0_pp0_zo0.pt", vec![0; 1_000_000]);
    let pool = "[[pool]]\nname = \"one\"\nlauncher = \"none\"\n";
    let here =
        job(&BLOCK.replace("model_weights:s3://model_weights/0331/1006_pr/5499/", "checkpoint"), "rows.jsonl", pool);
    let there = job(BLOCK, "rows.jsonl", pool);
    for job in [&here, &there] {
        let text = std::fs::read_to_string(job.path("eval.toml")).unwrap();
        job.write("eval.toml", &text.replacen("[master]\n", "[master]\nlisten = \"127.0.0.1:0\"\n", 1));
        put_tokenizer(job);
        write_profile(job, &server, SECRET);
    }
    std::fs::create_dir_all(here.path("checkpoint")).unwrap();
    for entry in std::fs::read_dir(checkpoint()).unwrap().flatten() {
        std::fs::copy(entry.path(), here.path("checkpoint").join(entry.file_name())).unwrap();
    }
    run(&here, "eval.toml");
    run(&there, "eval.toml");
    assert!(outcome(&there) == outcome(&here), "the numbers are those of a copy on this host");
    let requests = server.requests();
    assert!(requests.iter().any(|line| line.contains("model_tp1_pp1.pt bytes=")), "{requests:?}");
    assert!(!requests.iter().any(|line| line.contains("optimizer")), "{requests:?}");
    let python = "from opencompass.models.internal import LLMv2\n\
                  models = [dict(abbr='m', type=LLMv2, model_type='converted', tokenizer_type='v4',\n\
                  path='model_weights:s3://model_weights/0331/1006_pr/5499/', tokenizer_path='tokenizers/llamav4.model',\n\
                  max_out_len=100, max_seq_len=2048, batch_size=8, run_cfg=dict(num_gpus=8, num_procs=8))]\n";
    there.write("model.py", python);
    let state = there.path("state").display().to_string();
    let with_model = format!(
        "include = [\"model.py\"]\nwork_dir = \"out\"\n[master]\nlisten = \"127.0.0.1:0\"\nstate_dir = \"{state}\"\n{}{pool}",
        datasets("rows.jsonl")
    );
    there.write("python.toml", &with_model);
    run(&there, "python.toml");
    assert!(outcome(&there) == outcome(&here));
}
