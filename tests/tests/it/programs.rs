//! Answers that are programs, through the whole job with real processes: adopted or generated, run in the sandbox of a
//! worker, judged, and recorded exactly once.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Finished, Job, children_of, free_port, kill, program, shared_folder, wait_until};
use serde_json::{Map, Value, json};
use std::process::Command;

const CONFIG: &str = r#"
[[model]]
abbr = "m"
type = "echo"

[[dataset]]
abbr = "code"
reader_cfg = { input_columns = ["prompt"], output_column = "task_id" }
[dataset.test]
path = "code.jsonl"
[dataset.infer_cfg]
retriever = "zero"
inferencer = "gen"
prompt_template = "{prompt}"
[dataset.eval_cfg]
evaluator = "HumanEvalEvaluator"
"#;

/// Returns whether programs can be run here at all; reports it when not.
fn can_run() -> bool {
    let checked = Command::new(program("compass-worker")).args(["sandbox", "--check"]).output().unwrap();
    if !checked.status.success() {
        let why = String::from_utf8_lossy(&checked.stdout);
        compass_needs::skipped(compass_needs::Need::Sandbox, format_args!("no sandbox works here: {why}"));
    }
    checked.status.success()
}

/// A job with one task per answer: `def f():` must return 1. The predictions are where OpenCompass would leave them.
fn adopted(config: &str, answers: &[&str]) -> Job {
    let job = Job::new(config);
    let row = |at: usize| {
        let test = "def check(candidate):\n    assert candidate() == 1\n";
        json!({ "task_id": format!("Own/{at}"), "prompt": format!("# {at}\ndef f():\n"), "test": test, "entry_point": "f" })
    };
    let rows: Vec<String> = (0..answers.len()).map(|at| row(at).to_string()).collect();
    job.write("code.jsonl", &rows.join("\n"));
    let record = |(at, answer): (usize, &&str)| {
        (at.to_string(), json!({ "origin_prompt": "", "prediction": answer, "gold": format!("Own/{at}") }))
    };
    let predictions: Map<String, Value> = answers.iter().enumerate().map(record).collect();
    job.write("out/00000000_theirs/predictions/m/code.json", &Value::Object(predictions).to_string());
    job
}

fn details(job: &Job) -> Vec<Value> {
    let details = &job.result("m", "code")["details"];
    (0..).map_while(|at: usize| details.get(at.to_string())).cloned().collect()
}

fn results(job: &Job) -> Vec<String> {
    details(job).iter().map(|line| line["result"].as_str().unwrap().to_owned()).collect()
}

fn eval(job: &Job, flags: &[&str]) -> Finished {
    job.run(&[&["-m", "eval", "-r", "00000000_theirs"], flags].concat())
}

#[test]
fn hostile_answers_get_their_verdicts_and_the_worker_goes_on() {
    if !can_run() {
        return;
    }
    let answers = [
        "    return 1\n",
        "    return 2\n",
        "    while True: pass\n",
        "    import os\n    while True: os.fork()\n",
        "    import sys\n    sys.exit(0)\n",
        "    import os\n    os._exit(0)\n",
        "    x = [0] * (1 << 40)\n    return 1\n",
        "    return undefined\n",
        "not python at all(",
        "    import os, signal\n    os.kill(os.getppid(), signal.SIGKILL)\n    os.kill(os.getpid(), signal.SIGKILL)\n",
        "    while True: print('x' * 100000)\n",
        "    return open('/etc/passwd').read() and 1\n",
        "    return 1\n",
    ];
    let job = adopted(CONFIG, &answers);
    let finished = eval(&job, &[]).expect(0);
    let passed: Vec<bool> = details(&job).iter().map(|line| line["passed"].as_bool().unwrap()).collect();
    let expected: Vec<bool> = (0..answers.len()).map(|at| at == 0 || at == answers.len() - 1).collect();
    assert_eq!(passed, expected, "{:?}\n{}", results(&job), finished.stderr);
    let results = results(&job);
    assert_eq!((results[0].as_str(), results[2].as_str()), ("passed", "timed out"));
    assert_eq!(results[7], "failed: name 'undefined' is not defined");
    assert!(results[6].starts_with("failed: "), "{}", results[6]);
    let result = job.result("m", "code");
    let share = 100.0 * 2.0 / answers.len() as f64;
    assert!((result["humaneval_pass@1"].as_f64().unwrap() - share).abs() < 1e-9, "{result}");
    assert_eq!((&result["scored"], &result["failed"]), (&json!(answers.len()), &json!(0)));
    assert!(finished.stdout.contains("humaneval_pass@1"), "{}", finished.stdout);
    let first = &details(&job)[0];
    assert_eq!(first["task_id"], "Own/0");
    assert_eq!(first["completion"], answers[0]);
    assert_eq!(first["prompt"], "# 0\ndef f():\n");
}

#[test]
#[ignore = "nightly"]
fn canonical_solutions_pass_all_of_humaneval() {
    let file = "data/humaneval/HumanEval.jsonl";
    let Some(data) = shared_folder(file).filter(|_| can_run()).map(|shared| shared.join(file)) else { return };
    let config = CONFIG.replace("code.jsonl", &data.display().to_string());
    let job = Job::new(&config);
    let rows = std::fs::read_to_string(&data).unwrap();
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let record = |(at, row): (usize, &Value)| {
        (at.to_string(), json!({ "prediction": row["canonical_solution"], "gold": row["task_id"] }))
    };
    let predictions: Map<String, Value> = rows.iter().enumerate().map(record).collect();
    job.write("out/00000000_theirs/predictions/m/code.json", &Value::Object(predictions).to_string());
    eval(&job, &["--max-num-workers", "2"]).expect(0);
    let result = job.result("m", "code");
    assert_eq!((&result["humaneval_pass@1"], &result["scored"]), (&json!(100.0), &json!(164)));
}

/// The process that runs programs: the agent that the master launched.
fn agent_of(master: u32) -> u32 {
    wait_until("the agent runs", || children_of(master).first().copied())
}

#[test]
#[ignore = "nightly"]
fn killed_anywhere_the_results_have_the_same_bytes() {
    if !can_run() {
        return;
    }
    // Long enough to be met in the middle: each takes a part of a second.
    let slow = "    import time\n    time.sleep(0.2)\n    return 1\n";
    let answers: Vec<&str> = (0..24).map(|at| if at % 3 == 0 { "    return 0\n" } else { slow }).collect();
    let undisturbed = adopted(CONFIG, &answers);
    eval(&undisturbed, &[]).expect(0);

    let executed = |job: &Job| {
        let ledgers =
            job.runs().pop().map(|run| run.join("execution")).into_iter().flat_map(std::fs::read_dir).flatten();
        let segments =
            ledgers.flatten().flat_map(|plan| std::fs::read_dir(plan.path().join("ledger"))).flatten().flatten();
        segments.filter_map(|segment| segment.metadata().ok()).map(|data| data.len()).sum::<u64>()
    };
    let worker_killed = adopted(CONFIG, &answers);
    let running = worker_killed.start(&["-m", "eval", "-r", "00000000_theirs"]);
    let agent = agent_of(running.pid());
    wait_until("a result is recorded", || (executed(&worker_killed) > 1000).then_some(()));
    kill(agent, "KILL");
    running.finish().expect(0);

    let master_killed = adopted(CONFIG, &answers);
    let running = master_killed.start(&["-m", "eval", "-r", "00000000_theirs"]);
    wait_until("a result is recorded", || (executed(&master_killed) > 1000).then_some(()));
    running.signal("KILL");
    running.finish();
    let finished = eval(&master_killed, &[]).expect(0);
    // Where the kill came late, none was left.
    let is_whole = finished.stderr.contains(&format!("the results of {} programs are kept", answers.len()));
    assert_eq!(finished.stderr.contains("running "), !is_whole, "what was left is run: {}", finished.stderr);

    assert_eq!(undisturbed.result("m", "code")["humaneval_pass@1"], json!(16.0 / 24.0 * 100.0));
    for disturbed in [&worker_killed, &master_killed] {
        assert_eq!(disturbed.tree("results"), undisturbed.tree("results"));
    }
}

/// A folder in which nothing that isolates or runs programs can be found.
fn without_python(job: &mut Job) {
    job.write("empty/nothing", "");
    let empty = job.path("empty").display().to_string();
    job.set_env("PATH", &empty);
}

#[test]
#[ignore = "nightly"]
fn where_nothing_contains_programs_the_reason_stands_on_the_screen_and_in_the_table() {
    // Without bwrap on the PATH; with a kernel whose Landlock serves instead there is nothing to refuse.
    let mut job = adopted(CONFIG, &["    return 1\n"]);
    without_python(&mut job);
    let mut check = Command::new(program("compass-worker"));
    let check = check.args(["sandbox", "--check"]).env("PATH", job.path("empty")).output();
    if check.unwrap().status.success() {
        eprintln!("skipped: Landlock contains programs here without bubblewrap");
        return;
    }
    let finished = eval(&job, &[]).expect(1);
    for said in [&finished.stderr, &finished.stdout] {
        assert!(said.contains("refused: "), "{said}");
    }
    assert!(finished.stderr.contains("--unsafe-local-exec"), "{}", finished.stderr);
    let result = job.result("m", "code");
    assert!(result.get("humaneval_pass@1").is_none(), "a number was made up: {result}");
    assert!(result["failed_samples"]["0"].as_str().unwrap().contains("refused: "), "{result}");
    assert_eq!(job.predictions("m", "code")["0"]["prediction"], "    return 1\n");

    eval(&job, &["--unsafe-local-exec"]).expect(0);
    assert_eq!(job.result("m", "code")["humaneval_pass@1"], json!(100.0));
}

#[test]
#[ignore = "nightly"]
fn a_worker_that_may_run_no_programs_refuses_them_clearly() {
    let mut job = adopted(CONFIG, &["    return 1\n", "    return 2\n"]);
    let worker = job.path("worker.sh");
    job.write("worker.sh", &format!("#!/bin/sh\nexec {} \"$@\" --no-sandbox\n", program("compass-worker").display()));
    std::fs::set_permissions(&worker, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    job.set_env("COMPASS_WORKER", &worker.display().to_string());
    let finished = eval(&job, &[]).expect(1);
    let reason = "refused: it was told not to look for a sandbox (--no-sandbox)";
    assert!(finished.stdout.contains(reason), "{}", finished.stdout);
    assert!(finished.stderr.contains(reason), "{}", finished.stderr);
    let result = job.result("m", "code");
    assert!(result.get("humaneval_pass@1").is_none(), "a number was made up: {result}");
    assert_eq!(result["failed_samples"]["1"], reason);
    assert_eq!(job.predictions("m", "code")["0"]["prediction"], "    return 1\n");
    if !can_run() {
        return;
    }
    // What was refused has no result: a worker that can takes it up.
    job.set_env("COMPASS_WORKER", &program("compass-worker").display().to_string());
    eval(&job, &[]).expect(0);
    assert_eq!(job.result("m", "code")["humaneval_pass@1"], json!(50.0));
}

#[test]
#[ignore = "nightly"]
fn generated_answers_are_run_after_they_are_there() {
    if !can_run() {
        return;
    }
    // The echo engine answers with a hash: no program. `-m infer`, then `-m eval`; and both at once.
    let job = adopted(CONFIG, &["", "", ""]);
    job.run(&["-m", "infer"]).expect(0);
    let name = job.latest().file_name().unwrap().to_str().unwrap().to_owned();
    assert_ne!(name, "00000000_theirs");
    job.run(&["-m", "eval", "-r", &name]).expect(0);
    let apart = job.result("m", "code");
    assert_eq!((&apart["humaneval_pass@1"], &apart["scored"]), (&json!(0.0), &json!(3)));
    assert!(results(&job).iter().all(|result| result.starts_with("failed: ")), "{:?}", results(&job));
    assert!(job.predictions("m", "code")["0"].get("error").is_none());

    let again = adopted(CONFIG, &["", "", ""]);
    again.run(&[]).expect(0);
    assert_eq!(again.result("m", "code"), apart);
}

#[test]
#[ignore = "nightly"]
fn programs_that_were_run_are_not_run_again() {
    if !can_run() {
        return;
    }
    let job = adopted(CONFIG, &["", "", ""]);
    job.run(&[]).expect(0);
    // Another metric of the same programs: nothing is generated and nothing is run.
    job.configure(&CONFIG.replace("\"HumanEvalEvaluator\"", "{ type = \"human_eval\", k = [1] }"));
    let finished = job.run(&["-r"]).expect(0);
    assert!(finished.stderr.contains("the results of 3 programs are kept"), "{}", finished.stderr);
    assert!(!finished.stderr.contains("running "), "{}", finished.stderr);
    assert_eq!(job.runs().len(), 3, "theirs, the first, the second");
}

#[test]
#[ignore = "nightly"]
fn a_dry_run_names_the_programs_tasks() {
    let job = adopted(CONFIG, &["", "", ""]);
    let finished = job.run(&["--dry-run"]).expect(0);
    assert!(finished.stdout.contains("execute task 0: 3 samples: m/code[0..3]"), "{}", finished.stdout);
    assert!(finished.stdout.contains("--no-sandbox"), "{}", finished.stdout);
}

/// Workers that were not launched stay from the first stage to the second.
#[test]
#[ignore = "nightly"]
fn workers_that_came_by_themselves_serve_both_stages() {
    if !can_run() {
        return;
    }
    let address = free_address();
    let none = "[infer.runner]\ntype = \"none\"\n[eval.runner]\ntype = \"none\"\n";
    let job = adopted(&format!("\n[master]\nlisten = \"{address}\"\n{}{none}", &CONFIG[1..]), &["", "", ""]);
    let running = job.start(&[]);
    let mut worker = start_worker(&job, &address);
    running.finish().expect(0);
    assert!(worker.wait().unwrap().success(), "the worker is sent home");
    assert_eq!(job.result("m", "code")["scored"], json!(3));
}

fn free_address() -> String {
    format!("127.0.0.1:{}", free_port())
}

fn start_worker(job: &Job, address: &str) -> std::process::Child {
    let log = std::fs::File::create(job.path("worker.log")).unwrap();
    let mut command = Command::new(program("compass-worker"));
    command.args(["--master", address, "--device", "cpu", "--slots", "2", "--name", "by-hand"]);
    command.env("HOME", job.path("home"));
    command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
}

/// Results of OpenCompass's own evaluators; made by `goldens/make_programs.py`.
fn golden(name: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../goldens/programs.json")).unwrap();
    all[name].clone()
}

/// A job that adopts `answers` to `rows`, judged by `eval_cfg`.
fn judged(rows: &[Value], output: &str, eval_cfg: &str, answers: &Value) -> Job {
    let config = CONFIG
        .replace("evaluator = \"HumanEvalEvaluator\"", eval_cfg)
        .replace("output_column = \"task_id\"", &format!("output_column = \"{output}\""));
    let job = Job::new(&config);
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    job.write("code.jsonl", &lines.join("\n"));
    let answers = answers.as_array().unwrap().iter().enumerate();
    let predictions: Map<String, Value> =
        answers.map(|(at, answer)| (at.to_string(), json!({ "prediction": answer }))).collect();
    job.write("out/00000000_theirs/predictions/m/code.json", &Value::Object(predictions).to_string());
    eval(&job, &[]).expect(0);
    job
}

/// Every number of the peer's results is ours, to the last digit.
fn assert_numbers(job: &Job, theirs: &Value) {
    let result = job.result("m", "code");
    for (name, value) in theirs.as_object().unwrap().iter().filter(|(_, value)| value.is_number()) {
        assert_eq!(result[name].as_f64(), value.as_f64(), "{name} in {result}");
    }
}

#[test]
#[ignore = "nightly"]
fn human_evals_verdicts_are_opencompasss() {
    if !can_run() {
        return;
    }
    let golden = golden("human_eval");
    let eval_cfg = "evaluator = { type = \"human_eval\", k = [1, 3, 5, 10] }\npred_postprocessor = \"humaneval_v2\"";
    let job = judged(golden["problems"].as_array().unwrap(), "task_id", eval_cfg, &golden["answers"]);
    assert_numbers(&job, &golden["results"]);
    let ours: Vec<Value> = details(&job).iter().flat_map(|line| line["result"].as_array().unwrap().clone()).collect();
    let theirs: Vec<Value> =
        golden["results"]["details"].as_object().unwrap().values().map(|line| line["result"].clone()).collect();
    assert_eq!(ours, theirs);
}

#[test]
#[ignore = "nightly"]
fn mbpps_verdicts_are_opencompasss() {
    if !can_run() {
        return;
    }
    let golden = golden("mbpp");
    let tests = golden["tests"].as_array().unwrap();
    let rows: Vec<Value> =
        tests.iter().enumerate().map(|(at, tests)| json!({ "prompt": at, "tests": tests })).collect();
    let job = judged(&rows, "tests", "evaluator = \"MBPPEvaluator\"", &golden["answers"]);
    assert_numbers(&job, &golden["results"]);
    for (at, ours) in details(&job).iter().enumerate() {
        let theirs = &golden["results"]["details"][at.to_string()];
        for key in ["origin", "result", "is_correct"] {
            assert_eq!(ours[key], theirs[key], "{at} {key}: {ours}");
        }
        assert_eq!(ours["programs"][0], theirs["programs"][0], "{at}");
    }
}

#[test]
#[ignore = "nightly"]
fn mbpps_pass_at_k_is_opencompasss() {
    if !can_run() {
        return;
    }
    let golden = golden("mbpp_pass_k");
    let tests = golden["tests"].as_array().unwrap();
    let column = |(at, tests): (usize, &Value)| json!({ "test_list_2": tests, "task_id": at });
    let columns = tests.iter().enumerate().map(column);
    let rows: Vec<Value> =
        columns.enumerate().map(|(at, column)| json!({ "prompt": at, "test_column": column })).collect();
    let eval_cfg = "evaluator = { type = \"MBPPPassKEvaluator\", k = [1, 2, 5, 10] }";
    let job = judged(&rows, "test_column", eval_cfg, &golden["answers"]);
    assert_numbers(&job, &golden["results"]);
}

#[test]
#[ignore = "nightly"]
fn mbpp_asks_for_code_that_passes_its_tests() {
    let row = |at: usize| {
        let text = format!("Write a function to return {at}.");
        json!({ "text": text, "test_list": [format!("assert f() == {at}"), "assert f() < 99"], "task_id": at + 1 })
    };
    let rows: Vec<String> = (0..12).map(|at| row(at).to_string()).collect();
    let job = Job::new("\ndatasets = [\"mbpp_gen\"]\n[[model]]\nabbr = \"m\"\ntype = \"echo\"\n");
    job.write("data/mbpp/mbpp.jsonl", &rows.join("\n"));
    job.run(&["--data-dir", "data", "-m", "infer"]).expect(0);
    let name = job.latest().file_name().unwrap().to_str().unwrap().to_owned();
    job.run(&["--data-dir", "data", "-m", "viz", "-r", &name]).expect(1);
    if !can_run() {
        return;
    }
    job.run(&["--data-dir", "data", "-m", "eval", "-r", &name]).expect(0);
    let predictions = job.predictions("m", "mbpp");
    assert_eq!(predictions.as_object().unwrap().len(), 2, "the first ten rows are shots'");
    let prompt = predictions["1"]["origin_prompt"].as_str().unwrap();
    let asked = "here is your task: Write a function to return 11. Your code should pass these tests:\n\n \
                 assert f() == 11\nassert f() < 99  \n\n[BEGIN]\n";
    assert!(prompt.ends_with(asked), "{prompt}");
    assert_eq!(predictions["1"]["gold"], "assert f() == 11\nassert f() < 99");
    let result = job.result("m", "mbpp");
    assert_eq!((&result["score"], &result["failed"], &result["unscored"]), (&json!(0.0), &json!(2.0), &json!(0)));
}
