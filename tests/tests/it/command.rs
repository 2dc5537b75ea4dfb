//! Workers that a line of shell of the user's starts.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Job, assert_same, children_of, echo_job, is_alive, kill, undisturbed, wait_until};

fn runner(template: &str, more: &str) -> String {
    format!("[infer.runner]\ntype = \"command\"\ntemplate = '{template}'\nmax_num_workers = 2\n{more}\n")
}

fn command_job(template: &str, more: &str) -> Job {
    echo_job("listen = \"127.0.0.1:0\"", &runner(template, more))
}

/// A job that is held once 20 samples have begun.
fn held(template: &str, more: &str) -> Job {
    let mut job = command_job(template, more);
    job.hold_after(20);
    job
}

/// A program of this name, first on PATH.
fn install(job: &mut Job, name: &str, script: &str) {
    job.write(&format!("bin/{name}"), script);
    let path = job.path("bin").join(name);
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let found = std::env::var("PATH").unwrap_or_default();
    job.set_env("PATH", &format!("{}:{found}", job.path("bin").display()));
}

fn descendants(process: u32) -> Vec<u32> {
    let mut found = children_of(process);
    let mut at = 0;
    while let Some(&next) = found.get(at) {
        found.extend(children_of(next));
        at += 1;
    }
    found
}

#[test]
#[ignore = "nightly"]
fn the_seeds_templates_give_the_same_bytes() {
    let expected = undisturbed();
    // As ssh does it: the words are joined, and a second shell reads them.
    let ssh = "#!/bin/sh\necho \"$1\" >> hosts\nshift\nexec sh -c \"$*\"\n";
    let srun = "#!/bin/sh\nexec \"$@\"\n";
    for template in [
        "{task_cmd}",
        "srun {task_cmd}",
        "ssh node7 {task_cmd}",
        "ssh node7 {task_word}",
        "A=${{HOME}} sh -c {task_word}; exit $?",
    ] {
        let mut job = command_job(template, "");
        install(&mut job, "ssh", ssh);
        install(&mut job, "srun", srun);
        job.run(&[]).expect(0);
        assert_same(&job, &expected);
        let workers = job.facts()["workers"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert!(workers.iter().all(|worker| worker.starts_with("command-")), "{workers:?}");
        assert_eq!(job.log("hosts").contains("node7"), template.starts_with("ssh"), "{template}");
    }
}

#[test]
#[ignore = "nightly"]
fn workers_end_with_a_master_that_is_killed() {
    let job = held("sh -c {task_word}; true", "");
    let master = job.start(&[]);
    job.wait_until_durable();
    let family = descendants(master.pid());
    assert!(family.len() >= 3, "shells, agents and engines: {family:?}");
    kill(master.pid(), "KILL");
    master.finish();
    wait_until("the whole family is gone", || family.iter().all(|&process| !is_alive(process)).then_some(()));
}

#[test]
#[ignore = "nightly"]
fn a_line_that_passes_no_input_on_is_asked_to_end() {
    let expected = undisturbed();
    let job = held("{task_cmd} < /dev/null", "pipe = false\n");
    let mut master = job.start(&[]);
    job.wait_until_durable();
    let family = descendants(master.pid());
    master.signal("TERM");
    job.trickle_until("the master ends", || master.has_ended());
    master.finish().expect(143);
    wait_until("the whole family is gone", || family.iter().all(|&process| !is_alive(process)).then_some(()));
    job.gate().open();
    job.run(&["-r"]).expect(0);
    assert_same(&job, &expected);
}

#[test]
fn a_worker_that_dies_is_replaced() {
    let expected = undisturbed();
    let job = held("{task_cmd}", "");
    let master = job.start(&["--max-num-workers", "1"]);
    job.wait_until_durable();
    for process in descendants(master.pid()) {
        if is_alive(process) {
            kill(process, "KILL");
        }
    }
    job.gate().open();
    master.finish().expect(0);
    assert_same(&job, &expected);
}

#[test]
#[ignore = "nightly"]
fn a_line_that_cannot_start_is_explained_with_its_last_output() {
    let job = command_job("no-such-launcher {task_cmd}", "");
    let finished = job.run(&[]);
    assert!(matches!(finished.code, Some(1..=3)), "{finished:?}");
    let screen = &finished.stderr;
    assert!(screen.contains("the command ended with exit code 127; its last line is:"), "{screen}");
    assert!(screen.contains("no-such-launcher: not found"), "{screen}");
}

#[test]
#[ignore = "nightly"]
fn a_template_is_checked_before_anything_starts() {
    for (template, part) in [
        ("srun worker", "starts no worker: it has no `{task_cmd}`"),
        ("srun {cmd}", "unknown placeholder `{cmd}`"),
        ("A=${HOME} {task_cmd}", "written twice"),
    ] {
        let job = command_job(template, "");
        let refused = job.run(&[]).expect(2);
        assert!(refused.stderr.contains(part) && refused.stderr.contains("eval.toml:"), "{}", refused.stderr);
        assert!(job.runs().is_empty());
    }
}

#[test]
#[ignore = "nightly"]
fn a_dry_run_prints_the_lines() {
    let job = command_job("ssh node7 -g{num_gpus} {name} {task_word}", "");
    let printed = job.run(&["--dry-run"]).expect(0).stdout;
    let lines: Vec<&str> = printed.lines().filter(|line| line.contains("ssh node7 -g0 command-")).collect();
    assert_eq!(lines.len(), 2, "{printed}");
}
