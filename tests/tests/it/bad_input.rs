//! Bad input: one clear error for every mistake, all of them at once, exit code 2, and nothing started.
//!
//! The echo engine, no libtorch. Models that are damaged are in `bad_models.rs`.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Finished, Job, assert_same, held_job, program, undisturbed, wait_until};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const EVAL: &str = r#"work_dir = "out"
[master]
state_dir = "state"
[[model]]
abbr = "echo"
type = "echo"
[[dataset]]
abbr = "d"
reader_cfg = { input_columns = ["q", "a"], output_column = "label" }
[dataset.test]
path = "rows.jsonl"
[dataset.train]
path = "train.jsonl"
[dataset.infer_cfg]
retriever = "zero"
inferencer = "ppl"
[dataset.infer_cfg.prompt_template]
0 = "{q} {a}"
1 = "{q} no {a}"
[dataset.eval_cfg]
evaluator = "acc"
"#;
const ROWS: &str = "{\"q\": \"x\", \"a\": \"y\", \"label\": 0}\n{\"q\": \"é\", \"a\": \"z\", \"label\": 1}\n";

/// A job in which nothing is wrong yet.
fn good() -> Job {
    let job = Job::new("");
    job.write("eval.toml", EVAL);
    job.write("rows.jsonl", ROWS);
    job.write("train.jsonl", ROWS);
    job
}

/// Runs the job, which must be refused with every one of `said`, in this many errors, with nothing left behind.
fn refused(job: &Job, arguments: &[&str], said: &[&str]) -> Finished {
    let finished = job.run(arguments).expect(2);
    for text in said {
        assert!(finished.stderr.contains(text), "`{text}` is not said:\n{}", finished.stderr);
    }
    assert!(finished.stdout.is_empty(), "{}", finished.stdout);
    for bad in ["panicked", "backtrace", "WARN"] {
        assert!(!finished.stderr.contains(bad), "{}", finished.stderr);
    }
    assert!(job.runs().is_empty(), "a run folder was made");
    finished
}

/// As [`refused`], for a configuration that differs from the good one.
fn refused_toml(from: &str, to: &str, said: &[&str]) {
    assert!(EVAL.contains(from), "{from}");
    let job = good();
    job.write("eval.toml", &EVAL.replace(from, to));
    refused(&job, &[], said);
    assert!(!job.path("state").exists(), "a store was made");
}

/// As [`refused`], for rows.
fn refused_rows(rows: &str, said: &[&str]) {
    let job = good();
    job.write("rows.jsonl", rows);
    refused(&job, &[], said);
}

#[test]
#[ignore = "nightly"]
fn a_good_job_is_good() {
    let finished = good().run(&["--max-num-workers", "1"]).expect(0);
    assert!(
        finished.stdout.lines().any(|line| line.starts_with("d ")) && !finished.stdout.contains("[1]"),
        "{}",
        finished.stdout
    );
}

#[test]
fn mistakes_of_several_files_come_at_once_with_their_places() {
    let job = good();
    job.write("eval.toml", &format!("include = [\"base.toml\"]\nwrok_dir = 1\n{EVAL}"));
    job.write("base.toml", "[infer.runner]\ntype = \"sulrm\"\nretry = \"2\"\n");
    let said = [
        "unknown key `wrok_dir`\n --> eval.toml:2:1",
        "did you mean `work_dir`?",
        "unknown runner `sulrm`\n --> base.toml:2:8",
        " --> base.toml:3:9",
        "write `retry = 2`, without quotes",
        "3 errors; nothing was started",
    ];
    refused(&job, &[], &said);
}

#[test]
#[ignore = "nightly"]
fn configurations_that_cannot_be_read() {
    let job = good();
    let run = |file: &str, said: &str| {
        let output = Command::new(program("compass-master"))
            .current_dir(job.path("."))
            .args(["--config", file])
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    };
    run("none.toml", "cannot read `none.toml`: no such file");
    run(".", "cannot read `.`: it is a directory");
    fs::write(job.path("latin.toml"), b"a = 1\n# caf\xe9\n").unwrap();
    run("latin.toml", "`latin.toml` is not UTF-8 text: byte 0xe9 at line 2, column 6");
    job.write("a.toml", "include = [\"b.toml\"]\n");
    job.write("b.toml", "include = [\"a.toml\"]\n");
    run("a.toml", "`a.toml` includes itself, directly or through others\n --> b.toml:1:12");
}

#[test]
#[ignore = "nightly"]
fn byte_order_marks_and_crlf_are_no_mistakes() {
    let job = good();
    job.write("eval.toml", &format!("\u{feff}{}", EVAL.replace('\n', "\r\n")));
    let finished = job.run(&["--dry-run"]).expect(0);
    assert!(finished.stdout.contains("2 samples"), "{}", finished.stdout);
    assert!(!job.path("out").exists() && !job.path("state").exists(), "--dry-run leaves nothing");
}

#[test]
#[ignore = "nightly"]
fn names_folders_and_addresses() {
    for (from, to, said) in [
        ("abbr = \"d\"", "abbr = \"../d\"", "`abbr` begins with a dot"),
        ("abbr = \"d\"", "abbr = \"a/d\"", "`abbr` holds a slash"),
        ("abbr = \"d\"", "abbr = \"\"", "`abbr` is empty"),
        ("abbr = \"d\"", "abbr = \"a\\u001b[2Jd\"", "control character"),
        ("abbr = \"echo\"\n", "abbr = \"echo\"\ntype = \"echo\"\n[[model]]\nabbr = \"Echo\"\n", "differ by case alone"),
        ("work_dir = \"out\"", "work_dir = \"rows.jsonl/out\"", "`work_dir` cannot be a folder: `"),
        ("work_dir = \"out\"", "work_dir = \"out\"\nmodels = []", "`models` names no model"),
        ("work_dir = \"out\"", "work_dir = \"out\"\ndatasets = [\"e\"]", "nothing defines the data set `e`"),
        ("state_dir = \"state\"", "listen = \"head\"", "`listen` cannot be `head`"),
        ("state_dir = \"state\"", "store = \"etcd://h:port/x\"", "names no host and port: `h:port`"),
        ("state_dir = \"state\"", "state_dir = \"/proc/nowhere\"", "`state_dir` cannot be written: /proc/nowhere"),
        ("type = \"echo\"\n", "type = \"hf\"\npath = \"gone\"\n", "no directory `gone`\n --> eval.toml:7:8"),
        ("\"rows.jsonl\"", "\"gone.jsonl\"", "no file `gone.jsonl`"),
    ] {
        refused_toml(from, to, &[said]);
    }
}

#[test]
#[ignore = "nightly"]
fn command_lines_that_make_no_sense() {
    let job = good();
    for (arguments, said) in [
        (vec!["--models", "ecko"], "did you mean `echo`?"),
        (vec!["--max-num-workers", "0"], "write a whole number of at least 1"),
        (vec!["--retry", "x"], "write a whole number, such as 2"),
        (vec!["-m", "eval"], "name it with -r"),
        (vec!["-r"], "there is no run to resume in"),
        (vec!["--lark"], "`--lark` is not yet supported"),
        (vec!["-w", "rows.jsonl"], "`--work-dir` cannot be a folder"),
        (vec!["-w", "/proc/nowhere"], "`work_dir` cannot be written: /proc/nowhere"),
    ] {
        refused(&job, &arguments, &[said]);
    }
}

#[test]
fn rows_that_do_not_fit_are_named_by_line() {
    let cut = &ROWS[..ROWS.len() - 12];
    refused_rows(cut, &["rows.jsonl:2:", "not valid JSON", "names its rows at eval.toml:11:8"]);
    refused_rows("", &["rows.jsonl is empty: write one row at least"]);
    refused_rows(&ROWS.replace('\n', "\n\n"), &["rows.jsonl:2:1: a blank line between rows", "1 error"]);
    refused_rows(&format!("{ROWS}[1]\n2\n"), &["rows.jsonl:3:1: a list", "rows.jsonl:4:1: a number", "2 errors"]);
    refused_rows(&ROWS.replacen("\"a\"", "\"b\"", 1), &["rows.jsonl:1:1: has no column `a`"]);
    refused_rows(&ROWS.replace("\"a\"", "\"b\""), &["input_columns names `a`, but no row", "the columns are `q`, `b`"]);
    refused_rows(&ROWS.replace(": 1}", ": 7}"), &["rows.jsonl:2:1: the gold answer 7 is not among the labels 0, 1"]);
}

#[test]
#[ignore = "nightly"]
fn templates_ranges_and_shots_that_do_not_fit() {
    let column = "output_column = \"label\"";
    for (from, to, said) in [
        (column, "output_column = \"label\", test_range = \"[2:]\"", "test_range takes none of the 2 rows of"),
        (column, "output_column = \"label\", test_range = \"[a]\"", "`test_range` cannot be `[a]`\n --> eval.toml:9:"),
        ("\"zero\"", "{ type = \"fix_k\", ids = [0, 9] }", "put `</E>` (the `ice_token`) there"),
        ("\"{q} {a}\"", "\"no\"", "the template of label `0` puts nothing of a row in"),
        ("[\"q\", \"a\"]", "[\"q\", \"zz\"]", "input_columns names `zz`, but no row of"),
    ] {
        refused_toml(from, to, &[said]);
    }
    let job = good();
    let shots = EVAL.replace("\"zero\"", "{ type = \"fix_k\", ids = [0, 9] }").replace("\"{q}", "\"</E>{q}");
    job.write("eval.toml", &shots);
    refused(&job, &[], &["train.jsonl: the retriever asks for training row 9, but the pool has 2 rows"]);
    job.write("train.jsonl", &ROWS.replace(": 0}", ": 7}"));
    job.write("eval.toml", &shots.replace("9]", "1]").replace("[dataset.eval_cfg]", TWO_ICE));
    refused(&job, &[], &["train.jsonl:1:1: the gold answer 7 is not among the labels"]);
}

const TWO_ICE: &str = "[dataset.infer_cfg.ice_template]\n0 = \"{q} {a}\"\n1 = \"{q} no {a}\"\n[dataset.eval_cfg]";

#[test]
#[ignore = "nightly"]
fn a_template_that_doubles_a_text_ends_the_master_before_the_memory_does() {
    let doubles = "{ jinja = \"{% set n = namespace(t=q) %}{% for i in range(45) %}{% set n.t = n.t ~ n.t %}{% endfor %}{{ n.t|length }}\" }";
    refused_toml(
        "\"{q} {a}\"",
        doubles,
        &["takes more than 1024 MiB of memory for one row", "{% set n = namespace(t=q)"],
    );
}

#[test]
#[ignore = "nightly"]
fn any_text_goes_through() {
    let job = good();
    let mut rows = String::new();
    for text in ["😀👩‍👩‍👧", "漢字", "עברית \u{200f}rtl", "nul \\u0000 \\u001b[31m", "\u{2028}", "{q} {a} {nope}", ""]
    {
        rows += &format!("{{\"q\": \"Q\", \"a\": \"{text}\", \"label\": 0}}\n");
    }
    rows += &format!("{{\"q\": \"{}\", \"a\": \"long\", \"label\": 1}}\n", "x".repeat(1 << 20));
    job.write("rows.jsonl", &rows);
    job.run(&["--max-num-workers", "1"]).expect(0);
    assert_eq!(job.result("echo", "d")["scored"], 8);
    assert_eq!(job.predictions("echo", "d")["3"]["label: 0"]["testing input"], "Q nul \u{0} \u{1b}[31m");
}

/// The one file of a folder of the latest run.
fn only_file(job: &Job, folder: &str) -> PathBuf {
    fs::read_dir(job.latest().join(folder)).unwrap().next().unwrap().unwrap().path()
}

/// Resumes a run whose files are damaged; nothing may be started.
fn not_resumed(job: &Job, arguments: &[&str], said: &str) {
    let segments = || fs::read_dir(job.latest().join("ledger")).unwrap().count();
    let before = segments();
    let finished = job.run(arguments).expect(2);
    assert!(finished.stderr.contains(said), "{}", finished.stderr);
    assert!(finished.stdout.is_empty(), "{}", finished.stdout);
    assert_eq!(segments(), before, "a leader began");
}

#[test]
fn damaged_runs_are_not_resumed() {
    let job = good();
    job.run(&["--max-num-workers", "1"]).expect(0);
    let name = job.latest().file_name().unwrap().to_string_lossy().into_owned();
    not_resumed(&job, &["-r", "20200101_000000"], &format!("it holds: {name}"));
    not_resumed(&job, &["-r", "../out"], "there is no run ../out");

    let with_changed = |path: PathBuf, change: &dyn Fn(&mut Vec<u8>), said: &str| {
        let whole = fs::read(&path).unwrap();
        let mut changed = whole.clone();
        change(&mut changed);
        fs::write(&path, &changed).unwrap();
        not_resumed(&job, &["-r"], said);
        not_resumed(&job, &["-r", "-m", "eval"], said);
        fs::write(&path, &whole).unwrap();
    };
    let head = job.latest().join("plan/job.json");
    with_changed(head.clone(), &|bytes| bytes.truncate(200), "plan/job.json: EOF while parsing");
    with_changed(head, &|bytes| bytes.push(b'\n'), "belongs to another plan than plan/job.json");
    let flip = |bytes: &mut Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    };
    with_changed(only_file(&job, "plan/parts"), &flip, "its content does not match its name; restore the file");
    with_changed(only_file(&job, "ledger"), &flip, "is corrupt at byte ");
    let part = only_file(&job, "plan/parts");
    let kept = part.with_extension("kept");
    fs::rename(&part, &kept).unwrap();
    not_resumed(&job, &["-r"], "No such file or directory");
    fs::rename(&kept, &part).unwrap();
    job.run(&["-r"]).expect(0);
}

#[test]
#[ignore = "nightly"]
fn a_port_in_use_is_infrastructure() {
    let holder = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = holder.local_addr().unwrap();
    let job = good();
    job.write("eval.toml", &EVAL.replace("[master]\n", &format!("[master]\nlisten = \"{address}\"\n")));
    let finished = job.run(&[]).expect(3);
    assert!(finished.stderr.contains(&format!("cannot listen on {address}; another master may use it")));
}

#[test]
#[ignore = "nightly"]
fn only_the_table_is_on_standard_output_and_readers_may_leave() {
    let job = good();
    let finished = job.run(&["--max-num-workers", "1"]).expect(0);
    let lines: Vec<&str> = finished.stdout.trim_end().lines().collect();
    assert_eq!(lines.len(), 3, "{}", finished.stdout);
    assert!(lines[0].starts_with("dataset") && lines[1].starts_with("---") && lines[2].starts_with("d "));
    assert!(
        !finished.stdout.contains('\u{1b}') && !finished.stderr.contains('\u{1b}'),
        "no colours without a terminal"
    );

    for closed in ["1", "2"] {
        // `true` ends at once, so that every write to the pipe fails.
        let (master, out) = (program("compass-master").display().to_string(), if closed == "1" { "" } else { "2>&1" });
        let script = format!("{master} --config eval.toml {out} | true; echo ${{PIPESTATUS[0]}}");
        let mut shell = Command::new("bash");
        shell.arg("-c").arg(script).current_dir(job.path(".")).env("COMPASS_WORKER", program("compass-worker"));
        let output = shell.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0", "{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = job.command(&["-m", "viz", "-r"]);
    let output = command.stdout(Stdio::from(full)).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("cannot write to standard output: No space left on device"), "{stderr}");
}

#[test]
#[ignore = "nightly"]
fn a_second_worker_of_the_same_name_is_sent_away_and_nothing_is_lost() {
    let job = held_job(20, "listen = \"127.0.0.1:0\"", "[infer.runner]\ntype = \"none\"");
    let master = job.command(&[]).stderr(Stdio::from(fs::File::create(job.path("err")).unwrap())).spawn().unwrap();
    let address = wait_until("the master says where it listens", || {
        let text = fs::read_to_string(job.path("err")).unwrap_or_default();
        Some(text.lines().find_map(|line| line.split_once("compass-worker --master "))?.1.trim().to_owned())
    });
    let worker = || {
        let mut worker = Command::new(program("worker-with-faults"));
        worker.envs(job.environment()).env("HOME", job.path("home"));
        worker.args(["--master", &address, "--name", "twin", "--no-sandbox"]);
        worker.stdin(Stdio::null()).stdout(Stdio::null());
        worker
    };
    let mut first = worker().stderr(Stdio::null()).spawn().unwrap();
    job.wait_until_durable();
    let second = worker().output().unwrap();
    let stderr = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("a worker named twin is connected already; give this one another --name"), "{stderr}");
    job.gate().open();
    assert_eq!(first.wait().unwrap().code(), Some(0));
    assert_eq!(master.wait_with_output().unwrap().status.code(), Some(0));
    assert_same(&job, &undisturbed());
}

#[test]
#[ignore = "nightly"]
fn workers_that_cannot_work_say_so() {
    for (arguments, code, said) in [
        (vec!["--master", "127.0.0.1:1", "--master-lost-timeout", "1s"], 3, "no master answered for 1 s"),
        (vec!["--master", "head"], 2, "write host:port"),
        (vec!["--master", "a b:1"], 2, "cannot contain spaces"),
        (vec!["--master", "head:1", "--slots", "0"], 2, "0 is not in 1..=1024"),
        (vec!["--master", "head:1", "--device", "gpu"], 2, "write auto, cpu or cuda:N"),
        (vec!["--master", "head:1", "--name", ""], 2, "visible characters"),
    ] {
        let output = Command::new(program("compass-worker")).args(&arguments).stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
    }
}

#[test]
#[ignore = "nightly"]
fn a_hundred_thousand_bad_rows_end_in_a_short_list() {
    let job = good();
    let mut file = fs::File::create(job.path("rows.jsonl")).unwrap();
    file.write_all("{\"q\": 7}\n".repeat(100_000).as_bytes()).unwrap();
    job.write("eval.toml", &EVAL.replace("[\"q\", \"a\"]", "[\"q\"]").replace("label\" }", "q\" }"));
    let finished = refused(&job, &[], &["99980 more rows are wrong"]);
    assert!(finished.stderr.lines().count() < 30, "{}", finished.stderr);
}
