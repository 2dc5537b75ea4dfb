//! A real engine that is killed at any moment, or that lacks memory: the same bytes, or a reason for each sample that has none.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::bench::RandomLlama;
use compass_tests::{Job, Running, Tree, children_of, program, wait_until};
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Samples of each data set.
const SAMPLES: usize = 160;

/// Wide inside, so that what passes through takes memory, and answers of mixed length.
const MODEL: RandomLlama = RandomLlama {
    vocabulary: 512,
    hidden: 256,
    inner: 4096,
    layers: 3,
    heads: 4,
    kv_heads: 4,
    positions: 4096,
    eos_every: 41,
};

/// Two data sets, one scored and one continued, on a random model.
fn job() -> Job {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/demo/model").canonicalize().unwrap();
    let job = Job::new(&format!(
        r#"
[[model]]
abbr = "random"
path = "model"
tokenizer_path = "{}"
max_seq_len = 4096

[[dataset]]
abbr = "scored"
reader_cfg = {{ input_columns = ["text", "a", "b"], output_column = "label" }}
test = {{ path = "rows.jsonl" }}
infer_cfg = {{ inferencer = "ppl", prompt_template = {{ 0 = "{{text}} {{a}}", 1 = "{{text}} {{b}}" }} }}
eval_cfg = {{ evaluator = "acc" }}

[[dataset]]
abbr = "continued"
reader_cfg = {{ input_columns = ["text"], output_column = "a" }}
test = {{ path = "rows.jsonl" }}
infer_cfg = {{ inferencer = {{ type = "gen", max_out_len = 48 }}, prompt_template = "{{text}}" }}
eval_cfg = {{ evaluator = "em" }}
"#,
        demo.display()
    ));
    job.write("rows.jsonl", &rows(SAMPLES, |_| 12));
    std::fs::create_dir_all(job.path("model")).unwrap();
    MODEL.write(&job.path("model"), 5).unwrap();
    job
}

/// Rows whose text has so many words.
fn rows(count: usize, words: impl Fn(usize) -> usize) -> String {
    (0..count).fold(String::new(), |mut rows, row| {
        let text: Vec<String> = (0..words(row)).map(|word| format!("{}", (row * 37 + word * 11) % 97)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            rows,
            r#"{{"text": "In {row} {}", "a": "less of {row}", "b": "more", "label": {}}}"#,
            text.join(" "),
            row % 2
        );
        rows
    })
}

fn outcome(job: &Job) -> (Tree, Tree) {
    (job.tree("results"), job.tree("predictions"))
}

/// Kills one of a master's engines; `false` when there was none to kill.
fn kill_an_engine(master: &Running, which: usize) -> bool {
    let engines: Vec<u32> = children_of(master.pid()).into_iter().flat_map(children_of).collect();
    let Some(engine) = engines.get(which % engines.len().max(1)) else { return false };
    let kill = Command::new("bash").arg("-c").arg(format!("kill -KILL {engine} 2> /dev/null")).status();
    kill.unwrap().success()
}

/// Kills engines `kills` times in the course of a run, where a generator of numbers says.
fn disturbed(job: &Job, dataset: &str, whole: u64, kills: u64, seed: u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 16
    };
    let mut master = job.start(&["--max-num-workers", "2", "--datasets", dataset]);
    let mut killed = 0;
    for kill in 0..kills {
        // Somewhere in its part of what the run makes durable.
        let at = (kill * 1000 + random() % 1000) * whole / (kills * 1000);
        let which = random() as usize;
        wait_until("the run has come so far", || (job.ledger_bytes() >= at || master.has_ended()).then_some(()));
        let done = wait_until("an engine is there", || {
            let ended = master.has_ended();
            (ended || kill_an_engine(&master, which)).then_some(!ended)
        });
        killed += u64::from(done);
    }
    master.finish().expect(0);
    killed
}

#[test]
fn engines_killed_at_any_moment_change_no_byte() {
    for dataset in ["scored", "continued"] {
        let job = job();
        job.run(&["--max-num-workers", "2", "--datasets", dataset]).expect(0);
        let expected = outcome(&job);
        let whole = job.ledger_bytes();
        for seed in 1..3 {
            let again = self::job();
            let killed = disturbed(&again, dataset, whole, 3, seed);
            assert!(killed >= 2, "{dataset}, seed {seed}: only {killed} engines were killed in mid-run");
            assert!(outcome(&again) == expected, "{dataset}, seed {seed}");
        }
    }
}

/// Lets the job's workers, and all that they start, take so many bytes of address space.
fn limit(job: &mut Job, bytes: u64) {
    let script = format!(
        "#!/bin/sh\nulimit -v {} || exit 9\nexec {} \"$@\"\n",
        bytes / 1024,
        program("compass-worker").display()
    );
    job.write("worker.sh", &script);
    let path = job.path("worker.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    job.set_env("COMPASS_WORKER", &path.display().to_string());
}

/// The most address space that an engine of the job takes while it runs.
fn peak_of(job: &Job, dataset: &str) -> u64 {
    let mut master = job.start(&["--max-num-workers", "1", "--datasets", dataset]);
    let mut peak = 0;
    wait_until("the run ends", || {
        for engine in children_of(master.pid()).into_iter().flat_map(children_of) {
            let status = std::fs::read_to_string(format!("/proc/{engine}/status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:")).unwrap_or_default();
            let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().unwrap_or(0);
            peak = peak.max(kib * 1024);
        }
        master.has_ended().then_some(())
    });
    master.finish().expect(0);
    assert!(peak > 0);
    peak
}

/// Texts of these rows are as long as the model can read.
const LONG: [usize; 2] = [7, 100];

#[test]
fn a_limit_of_memory_costs_only_the_samples_that_do_not_fit() {
    let mut job = job();
    let peak = peak_of(&job, "scored");
    job.write("rows.jsonl", &rows(SAMPLES, |row| if LONG.contains(&row) { 1100 } else { 12 }));
    job.run(&["--max-num-workers", "1", "--datasets", "scored"]).expect(0);
    let expected = job.predictions("random", "scored");
    let tokens = |row: usize| expected[row.to_string()]["label: 0"]["prompt"].as_str().unwrap().len();
    assert!(tokens(LONG[0]) > 2000 && tokens(0) < 200);
    // A pass of the long texts takes more than this at once; one of many short ones is made smaller.
    limit(&mut job, peak + (24 << 20));
    job.run(&["--max-num-workers", "1", "--datasets", "scored"]).expect(1);
    let result = job.result("random", "scored");
    let failed = result["failed_samples"].as_object().unwrap();
    assert_eq!(failed.keys().map(|row| row.parse().unwrap()).collect::<Vec<usize>>(), LONG, "{result}");
    for reason in failed.values() {
        let reason = reason.to_string();
        assert!(reason.contains("memory") || reason.contains("engine died"), "{reason}");
    }
    let limited = job.predictions("random", "scored");
    for row in (0..SAMPLES).filter(|row| !LONG.contains(row)).map(|row| row.to_string()) {
        assert_eq!(limited[&row], expected[&row], "{row}");
    }
}

#[test]
fn a_limit_of_memory_makes_generation_slower_and_changes_no_byte() {
    let mut job = job();
    let peak = peak_of(&job, "continued");
    job.write("rows.jsonl", &rows(16, |_| 12));
    // Room for a long answer is reserved for each sequence: 32 of them would take sixty megabytes.
    let config = std::fs::read_to_string(job.path("eval.toml")).unwrap();
    job.write("eval.toml", &config.replace("max_out_len = 48", "max_out_len = 300"));
    job.run(&["--max-num-workers", "1", "--datasets", "continued"]).expect(0);
    let expected = outcome(&job);
    limit(&mut job, peak + (48 << 20));
    job.run(&["--max-num-workers", "1", "--datasets", "continued"]).expect(0);
    assert!(outcome(&job) == expected);
}
