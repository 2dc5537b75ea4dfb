//! A real engine that is killed at any moment, or that lacks memory: the same bytes, or a reason for each sample that has none.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::bench::RandomLlama;
use compass_tests::{Job, Running, Tree, children_of, demo_model, is_alive, kill, program, wait_until};
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

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
    let demo = demo_model();
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

/// Rows whose text has `words` words, by the number of the row.
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

/// Kills of a run that nothing holds.
const KILLS: u64 = 3;
/// Samples that have begun when an engine of a held run is killed.
const HELD_KILLS: [u64; 2] = [30, 100];

/// The engines of a master, oldest first.
fn engines_of(master: &Running) -> Vec<u32> {
    let mut engines: Vec<u32> = children_of(master.pid()).into_iter().flat_map(children_of).collect();
    engines.sort_unstable();
    engines
}

/// Kills one of a master's engines; `false` when there was none to kill.
fn kill_an_engine(master: &Running, which: usize) -> bool {
    let engines = engines_of(master);
    let Some(engine) = engines.get(which % engines.len().max(1)) else { return false };
    let kill = Command::new("bash").arg("-c").arg(format!("kill -KILL {engine} 2> /dev/null")).status();
    kill.unwrap().success()
}

/// Kills engines in the course of a run, in the middle of their batches, where a generator of numbers says. A kill that comes too
/// late finds none.
fn disturbed(job: &Job, dataset: &str, whole: u64, seed: u64) {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 16
    };
    let mut master = job.start(&["--max-num-workers", "2", "--datasets", dataset]);
    for kill in 0..KILLS {
        // Somewhere in its part of what the run makes durable.
        let at = (kill * 1000 + random() % 1000) * whole / (KILLS * 1000);
        let which = random() as usize;
        wait_until("the run has come so far", || (job.ledger_bytes() >= at || master.has_ended()).then_some(()));
        wait_until("an engine is there", || (master.has_ended() || kill_an_engine(&master, which)).then_some(()));
    }
    master.finish().expect(0);
}

/// Kills each of two engines once, with a sample that it was about to compute.
fn disturbed_while_held(job: &mut Job, dataset: &str) {
    job.hold_after(HELD_KILLS[0]);
    let master = job.start(&["--max-num-workers", "2", "--datasets", dataset]);
    for samples in HELD_KILLS {
        job.gate().admit(samples);
        job.gate().wait_until_reached();
        let engines = wait_until("two engines run", || Some(engines_of(&master)).filter(|engines| engines.len() == 2));
        kill(engines[0], "KILL");
        wait_until("the engine is gone", || (!is_alive(engines[0])).then_some(()));
    }
    job.gate().open();
    master.finish().expect(0);
}

#[test]
#[ignore = "nightly"]
fn engines_killed_at_any_moment_change_no_byte() {
    for dataset in ["scored", "continued"] {
        let job = job();
        job.run(&["--max-num-workers", "2", "--datasets", dataset]).expect(0);
        let expected = outcome(&job);
        let whole = job.ledger_bytes();
        let again = self::job();
        disturbed(&again, dataset, whole, 1);
        assert!(outcome(&again) == expected, "{dataset}");
        let mut held = self::job();
        disturbed_while_held(&mut held, dataset);
        assert!(outcome(&held) == expected, "{dataset}, held");
    }
}

/// Lets the job's workers, and all that they start, take this many bytes of address space.
fn limit(job: &mut Job, bytes: u64) {
    begin_workers_with(job, &format!("ulimit -v {} || exit 9", bytes / 1024));
}

/// Has a line of shell run in each worker before it becomes one.
fn begin_workers_with(job: &mut Job, line: &str) {
    let script = format!("#!/bin/sh\n{line}\nexec {} \"$@\"\n", program("compass-worker").display());
    job.write("worker.sh", &script);
    let path = job.path("worker.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    job.set_env("COMPASS_WORKER", &path.display().to_string());
}

/// A control group of its own, in which memory can be limited; gone with this value.
struct Group {
    folder: PathBuf,
    limit: &'static str,
    /// Lines of its `memory.stat` that count what its processes have in memory.
    resident: [&'static str; 2],
}

impl Group {
    /// `None`, loudly, where none can be made.
    fn new(test: &str) -> Option<Self> {
        let name = format!("compass-test-{}", std::process::id());
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = own.lines().find_map(|line| line.split_once(":memory:")).map_or("", |(_, path)| path);
        let first = Path::new("/sys/fs/cgroup/memory").join(own.trim_start_matches('/')).join(&name);
        let versions = [
            Self { folder: first, limit: "memory.limit_in_bytes", resident: ["total_rss", "total_mapped_file"] },
            Self {
                folder: Path::new("/sys/fs/cgroup").join(&name),
                limit: "memory.max",
                resident: ["anon", "file_mapped"],
            },
        ];
        let made =
            versions.into_iter().find(|group| std::fs::create_dir(&group.folder).is_ok() && group.allow(8 << 30));
        if made.is_none() {
            let what = "a control group that limits memory (root, and a writable /sys/fs/cgroup)";
            compass_needs::skipped(compass_needs::Need::Cgroup, format_args!("{test} needs {what}"));
        }
        made
    }

    fn allow(&self, bytes: u64) -> bool {
        std::fs::write(self.folder.join(self.limit), bytes.to_string()).is_ok()
    }

    fn resident(&self) -> u64 {
        let stat = std::fs::read_to_string(self.folder.join("memory.stat")).unwrap_or_default();
        let lines = stat.lines().filter_map(|line| line.split_once(' '));
        lines.filter(|(name, _)| self.resident.contains(name)).filter_map(|(_, bytes)| bytes.parse::<u64>().ok()).sum()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Processes leave it a moment after they have ended.
        for _ in 0..50 {
            if std::fs::remove_dir(&self.folder).is_ok() || !self.folder.exists() {
                return;
            }
            #[expect(clippy::disallowed_methods, reason = "polls the kernel, which lets the processes leave")]
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Runs that are looked at: one look may miss the pass that takes most, and the kernel may tell an arena and what lies beside
/// it as one area.
const MEASURED_RUNS: u32 = 2;

/// The most that a run takes of something, observed while it runs, of [`MEASURED_RUNS`] runs.
fn peak_of(job: &Job, dataset: &str, taken: impl Fn(&Running) -> u64) -> u64 {
    let mut peak = 0;
    for _ in 0..MEASURED_RUNS {
        let mut master = job.start(&["--max-num-workers", "1", "--datasets", dataset]);
        wait_until("the run ends", || {
            peak = peak.max(taken(&master));
            master.has_ended().then_some(())
        });
        master.finish().expect(0);
    }
    assert!(peak > 0);
    println!("peak {} MiB", peak >> 20);
    peak
}

/// Larger than anything that a pass of short texts makes, smaller than a tensor of an arena for which there is room.
const OF_AN_ARENA: u64 = 48 << 20;

/// The most address space that any of a master's engines took so far, as the kernel noted it, without the arena for keys and
/// values: that one is as large as the memory that is free when it is made, and stays.
fn address_space(master: &Running) -> u64 {
    let of = |engine: u32| {
        // Before the map: an arena that comes between the two must not count.
        let status = std::fs::read_to_string(format!("/proc/{engine}/status")).unwrap_or_default();
        let peak =
            status.lines().find_map(|line| line.strip_prefix("VmPeak:")?.split_whitespace().next()?.parse().ok());
        let peak: u64 = 1024 * peak.unwrap_or(0);
        let maps = std::fs::read_to_string(format!("/proc/{engine}/maps")).unwrap_or_default();
        let sizes = maps.lines().map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (first, end) = fields.first().and_then(|range| range.split_once('-')).unwrap_or(("0", "0"));
            let number = |hex: &str| u64::from_str_radix(hex, 16).unwrap_or(0);
            let bytes = number(end).saturating_sub(number(first));
            let is_own = fields.get(1) == Some(&"rw-p") && fields.get(4) == Some(&"0");
            if is_own && bytes > OF_AN_ARENA { bytes } else { 0 }
        });
        // One that ends has no areas any more.
        if maps.is_empty() { 0 } else { peak.saturating_sub(sizes.sum()) }
    };
    children_of(master.pid()).into_iter().flat_map(children_of).map(of).max().unwrap_or(0)
}

/// Texts of these rows are as long as the model can read.
const LONG: [usize; 2] = [7, 100];

/// Runs a job whose two long texts do not fit into the memory that its workers have: these fail, each with its reason, and
/// every other sample has the very result that it has where memory is plenty.
/// Returns the reasons.
fn only_long_texts_fail(job: &mut Job, limit: impl FnOnce(&mut Job)) -> Vec<String> {
    job.write("rows.jsonl", &rows(SAMPLES, |row| if LONG.contains(&row) { 1100 } else { 12 }));
    job.run(&["--max-num-workers", "1", "--datasets", "scored"]).expect(0);
    let expected = job.predictions("random", "scored");
    let tokens = |row: usize| expected[row.to_string()]["label: 0"]["prompt"].as_str().unwrap().len();
    assert!(tokens(LONG[0]) > 2000 && tokens(0) < 200);
    limit(job);
    job.run(&["--max-num-workers", "1", "--datasets", "scored"]).expect(1);
    let result = job.result("random", "scored");
    let failed = result["failed_samples"].as_object().unwrap();
    assert_eq!(failed.keys().map(|row| row.parse().unwrap()).collect::<Vec<usize>>(), LONG, "{result}");
    let limited = job.predictions("random", "scored");
    for row in (0..SAMPLES).filter(|row| !LONG.contains(row)).map(|row| row.to_string()) {
        assert_eq!(limited[&row], expected[&row], "{row}");
    }
    failed.values().map(ToString::to_string).collect()
}

#[test]
#[ignore = "nightly"]
fn a_limit_of_memory_costs_only_the_samples_that_do_not_fit() {
    let mut job = job();
    let peak = peak_of(&job, "scored", address_space);
    // The keys and values of two long texts take 39 MB; a pass over one takes 150 MB more than a pass of short texts. The
    // limit lies between them, far from both.
    for reason in only_long_texts_fail(&mut job, |job| limit(job, peak + (100 << 20))) {
        assert!(reason.contains("memory") || reason.contains("engine died"), "{reason}");
    }
}

#[test]
#[ignore = "nightly"]
fn so_does_the_limit_of_a_control_group() {
    let Some(group) = Group::new("so_does_the_limit_of_a_control_group") else { return };
    let mut job = job();
    begin_workers_with(&mut job, &format!("echo $$ > {}/cgroup.procs || exit 9", group.folder.display()));
    let peak = peak_of(&job, "scored", |_| group.resident());
    for reason in only_long_texts_fail(&mut job, |_| assert!(group.allow(peak + (24 << 20)))) {
        assert!(reason.contains("memory") || reason.contains("OOM killer"), "{reason}");
    }
}

#[test]
#[ignore = "nightly"]
fn a_limit_of_memory_makes_generation_slower_and_changes_no_byte() {
    let mut job = job();
    let peak = peak_of(&job, "continued", address_space);
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
