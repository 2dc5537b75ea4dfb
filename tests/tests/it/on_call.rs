//! Tools of the person on call: a run that can be planned again from its own folder, a file that shows its state,
//! its screen in a log, its table in parts, and the words with which a set-up is tried out.

use compass_tests::{Job, SAMPLES, copy_demo_model, echo_job, held_job, wait_until};
use serde_json::Value;
use std::fs;

/// The job of a run, as its first line names it.
fn job_id(stderr: &str) -> &str {
    let line = stderr.lines().find(|line| line.starts_with("run ") && line.contains(", job ")).unwrap_or_default();
    line.rsplit_once(", job ").map_or("", |(_, id)| id)
}

#[test]
#[ignore = "nightly"]
fn a_run_is_planned_again_from_what_its_folder_keeps() {
    let job = echo_job("", "");
    let first = job.run(&["--limit", "5", "--max-num-workers", "1", "--dataset-num-runs", "2"]).expect(0);
    let configs = job.latest().join("configs");
    let original = fs::read_to_string(configs.join("original/eval.toml")).unwrap();
    assert_eq!(original, fs::read_to_string(job.path("eval.toml")).unwrap());
    let command = fs::read_to_string(configs.join("command.txt")).unwrap();
    assert!(command.contains("--config eval.toml --limit 5 --max-num-workers 1"), "{command}");
    assert!(!first.stderr.contains("resolved.toml"), "{}", first.stderr);

    let resolved = configs.join("resolved.toml");
    // It is complete: neither the file nor the current folder is needed.
    fs::remove_file(job.path("eval.toml")).unwrap();
    let again = job.command_line(&["--config", resolved.to_str().unwrap()]).run().expect(0);
    assert!(!job_id(&first.stderr).is_empty());
    assert_eq!(job_id(&again.stderr), job_id(&first.stderr));
    assert_eq!(again.stdout, first.stdout);
    assert_eq!(job.runs().len(), 2, "in the work_dir of the first");
}

fn status(job: &Job) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(job.path("status.json")).ok()?).ok()
}

#[test]
fn a_file_says_how_the_run_stands_and_how_it_ended() {
    let job = held_job(20, "", "");
    let running = job.start(&["--status-file", "status.json", "--max-num-workers", "1"]);
    let begun = wait_until("the file is there", || status(&job));
    assert_eq!((&begun["ended"], &begun["exit_code"]), (&Value::Bool(false), &Value::Null), "{begun}");
    assert_eq!((&begun["master"]["kind"], &begun["master"]["process"]), (&"run".into(), &running.pid().into()));
    job.gate().open();
    running.finish().expect(0);
    let ended = status(&job).unwrap();
    assert_eq!((&ended["ended"], &ended["exit_code"]), (&Value::Bool(true), &0.into()), "{ended}");
    let of_job = &ended["master"]["jobs"][0];
    assert_eq!((&of_job["recorded_samples"], &of_job["state"]), (&of_job["expected_samples"], &"ended".into()));
    assert!(of_job["expected_samples"].as_u64().unwrap() >= u64::from(SAMPLES), "{ended}");

    job.configure("\n[[model]]\nabbr = \"x\"\ntype = \"echo\"\n");
    // That of the night before would pass for this one's.
    job.run(&["--status-file", "status.json"]).expect(2);
    let refused = status(&job).unwrap();
    assert_eq!((&refused["ended"], &refused["exit_code"]), (&Value::Bool(true), &2.into()), "{refused}");
    assert!(refused["reason"].as_str().unwrap().contains("data set"), "{refused}");
    assert_eq!(refused["master"]["jobs"], Value::Array(Vec::new()), "nothing was started");
    let nowhere = job.run(&["--status-file", "nowhere/status.json"]).expect(2).stderr;
    assert!(nowhere.contains("cannot write the status file nowhere/status.json: "), "{nowhere}");
    let served = job.command_line(&["serve", "--config", "absent.toml", "--status-file", "status.json"]);
    served.run().expect(2);
    let refused = status(&job).unwrap();
    assert_eq!((&refused["master"]["kind"], &refused["exit_code"]), (&"serve".into(), &2.into()), "{refused}");
    // What only looks leaves it.
    job.run(&["--status-file", "status.json", "--dry-run"]).expect(2);
    assert_eq!(status(&job).unwrap(), refused);
}

#[test]
#[ignore = "nightly"]
fn the_screen_stands_in_the_log_and_the_table_can_be_shown_in_parts() {
    let job = echo_job("", "");
    let run = job.run(&[]).expect(0);
    let log = fs::read_to_string(job.latest().join("logs/master.log")).unwrap();
    let is_stamped = |line: &str| {
        line.split_at_checked(21).is_some_and(|(stamp, _)| stamp.ends_with("  ") && stamp.starts_with("20"))
    };
    for line in run.stdout.lines().chain(run.stderr.lines()) {
        // There every line has a time of one form.
        let line = if is_stamped(line) { &line[21..] } else { line };
        assert!(log.contains(line), "{line:?} is not in\n{log}");
    }
    assert!(
        !log.lines().any(|line| line
            .split_whitespace()
            .nth(1)
            .is_some_and(|word| word.starts_with("20") && word.contains('-'))),
        "{log}"
    );
    let shown = job.command_line(&["viz", "-w", "out"]).run().expect(0).stdout;
    // Below the table there are notes.
    let row = run.stdout.lines().take_while(|line| !line.is_empty()).last().unwrap();
    let name = row.split_whitespace().next().unwrap();
    assert!(shown.lines().any(|line| line.starts_with(name)), "{shown}");
    let part = job.command_line(&["viz", "-w", "out", "--datasets", name, "--csv"]).run().expect(0).stdout;
    assert!(part.starts_with("dataset,version,metric,mode,model,value,") && part.lines().count() >= 2, "{part}");
    assert!(part.lines().skip(1).all(|line| line.starts_with(name)), "{part}");
    // A file that leaves the state_dir to its default, which lies below HOME.
    let whole = fs::read_to_string(job.path("eval.toml")).unwrap();
    let lines: Vec<&str> = whole.lines().filter(|line| !line.starts_with("state_dir")).collect();
    job.write("plain.toml", &lines.join("\n"));
    assert_eq!(job.command_line(&["viz", "--config", "plain.toml"]).run().expect(0).stdout, shown);
    let unknown = job.command_line(&["viz", "-w", "out", "--sort", "bleu"]).run().expect(2).stderr;
    assert!(unknown.contains("nothing called `bleu` to sort by"), "{unknown}");
    let none = job.command_line(&["viz", "-w", "elsewhere"]).run().expect(2).stderr;
    assert!(none.contains("there is no folder elsewhere"), "{none}");
}

#[test]
#[ignore = "nightly"]
fn retry_bounds_launches() {
    let runner = "[infer.runner]\ntype = \"command\"\ntemplate = \"exit 7; {task_cmd}\"\nretry = 1\n";
    let job = echo_job("listen = \"127.0.0.1:0\"", runner);
    let run = job.run(&[]).expect(3);
    assert!(run.stderr.contains("it failed 2 times in a row, last with: "), "{}", run.stderr);
    let once = job.run(&["--retry", "0"]).expect(3);
    assert!(once.stderr.contains("it failed once, last with: "), "{}", once.stderr);
}

const STARTING: &str = "Starting inference process";

#[test]
#[ignore = "nightly"]
fn a_tried_out_set_up_says_that_samples_run_and_keeps_them() {
    let job = held_job(20, "", "");
    let mut tried = job.start_logged(&["--debug"], "debug.err");
    wait_until("samples run", || job.log("debug.err").contains(STARTING).then_some(()));
    job.wait_until_durable();
    tried.signal("INT");
    job.trickle_until("the master ends", || tried.has_ended());
    tried.finish().expect(130);
    job.gate().open();
    job.run(&["-r"]).expect(0);
    assert!(job.facts()["resumed_samples"].as_u64().unwrap() > 0, "{}", job.facts());

    let one = job.run(&["--dry-run", "--debug"]).expect(0).stdout;
    let launched: Vec<&str> = one.lines().filter(|line| line.contains("would launch")).collect();
    assert!(launched.len() == 1 && launched[0].contains("--slots 1 "), "{one}");
}

#[test]
#[ignore = "nightly"]
fn a_set_up_with_broken_weights_does_not_say_that_samples_run() {
    let model = "[[model]]\nabbr = \"cut\"\ntype = \"hf\"\npath = \"model\"\n";
    let dataset = "[[dataset]]\nabbr = \"d\"\nreader_cfg = { input_columns = [\"q\"], output_column = \"a\" }\n\
                   test = { path = \"rows.jsonl\" }\ninfer_cfg = { inferencer = \"gen\", prompt_template = \"{q}\" }\n\
                   eval_cfg = { evaluator = \"em\" }\n";
    let job = Job::new(&format!("\n{model}{dataset}"));
    job.write("rows.jsonl", "{\"q\": \"1 + 1 =\", \"a\": \"2\"}\n");
    copy_demo_model(&job.path("model")).unwrap();
    let weights = fs::File::options().write(true).open(job.path("model/model.safetensors")).unwrap();
    weights.set_len(weights.metadata().unwrap().len() / 2).unwrap();
    let run = job.run(&["--debug"]).expect(1);
    assert!(
        run.stderr.contains("damaged or incomplete safetensors file") && !run.stderr.contains(STARTING),
        "{}",
        run.stderr
    );
}
