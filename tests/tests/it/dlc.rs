//! Workers as jobs of DLC: the same bytes whatever the fake `dlc` does wrong, nothing left running, and errors in a sentence.

use compass_tests::{FakeDlc, Job, assert_same, echo_job, free_port, held_job, kill, undisturbed, wait_until};

const HERE: &str = "listen = \"127.0.0.1:0\"";
const DLC: [&str; 4] = ["--dlc", "--aliyun-cfg", "aliyun.toml", "--max-num-workers"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    DLC.iter().chain(more).copied().collect()
}

/// Runs a job under a fault to its end, and judges what it left.
fn runs_under(faults: &str, settings: &str, workers: &str) -> (Job, FakeDlc, String) {
    let expected = undisturbed();
    let mut job = echo_job(HERE, "");
    let dlc = FakeDlc::install(&mut job, settings);
    dlc.faults(faults);
    let finished = job.run(&with(&[workers])).expect(0);
    assert_same(&job, &expected);
    dlc.assert_all_over();
    (job, dlc, finished.stderr)
}

fn submissions(dlc: &FakeDlc) -> usize {
    dlc.calls().iter().filter(|call| matches!(call[0].as_str(), "submit" | "create")).count()
}

#[test]
fn the_seeds_command_gives_the_same_bytes_and_leaves_nothing() {
    let (job, dlc, _) = runs_under("", "", "2");
    let calls = dlc.calls();
    let submit = calls.iter().find(|call| call[0] == "submit").unwrap();
    assert_eq!(submit[..2], ["submit", "pytorchjob"]);
    let ran = job.facts()["workers"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert!(ran.iter().all(|worker| worker.starts_with("compass-")), "{ran:?}");
    let logs: Vec<String> = job.tree("logs/infer").into_keys().filter(|name| name.starts_with("dlc")).collect();
    assert!(logs.iter().any(|name| name.ends_with(".log")), "the jobs' logs are kept: {logs:?}");
}

#[test]
#[ignore = "nightly"]
fn the_other_form_of_submitting_does_as_well() {
    let settings = "dlc_job_cmd = \"create\"\npython_env_path = \"/opt/it's python\"\npre_cmd = \"cd / ; true\"";
    let (_job, dlc, _) = runs_under("", settings, "1");
    assert!(dlc.calls().iter().any(|call| call[..4] == ["create", "job", "--kind", "PyTorchJob"]));
}

#[test]
#[ignore = "nightly"]
fn a_submission_without_a_table_is_tried_again() {
    let (_job, dlc, _) = runs_under("no_table=3\n", "", "1");
    assert_eq!(submissions(&dlc), 4);
}

#[test]
#[ignore = "nightly"]
fn a_job_whose_table_was_lost_works_with_the_others_and_ends_with_them() {
    let (_job, dlc, _) = runs_under("lost_table=1\n", "", "1");
    assert_eq!((submissions(&dlc), dlc.jobs().len()), (2, 2));
}

#[test]
#[ignore = "nightly"]
fn a_submission_that_is_refused_once_is_repeated_after_a_pause() {
    let (_job, dlc, screen) = runs_under("submit_400=1\n", "", "1");
    assert!(submissions(&dlc) >= 2, "{screen}");
    assert!(screen.contains("DLC refuses the job: code: 400, Resource quota is not enough"), "{screen}");
}

#[test]
#[ignore = "nightly"]
fn whatever_stands_before_the_json_is_skipped() {
    runs_under("garbage=100000\nbash_warning=100000\n", "", "1");
}

#[test]
#[ignore = "nightly"]
fn states_that_cannot_be_read_for_a_while_and_slow_answers_do_no_harm() {
    runs_under("get_fails=6\nslow_ms=400\n", "", "2");
}

#[test]
#[ignore = "nightly"]
fn a_job_that_dlc_restarts_is_waited_for() {
    let expected = undisturbed();
    let mut job = held_job(20, HERE, "");
    let dlc = FakeDlc::install(&mut job, "");
    let master = job.start(&with(&["1"]));
    job.wait_until_durable();
    dlc.fail_node(&dlc.running());
    job.gate().open();
    let finished = master.finish().expect(0);
    assert_same(&job, &expected);
    dlc.assert_all_over();
    assert_eq!(submissions(&dlc), 1, "{}", finished.stderr);
}

#[test]
#[ignore = "nightly"]
fn a_job_that_cannot_start_is_replaced() {
    let (_job, dlc, screen) = runs_under("fail=1\n", "", "1");
    assert_eq!(submissions(&dlc), 2, "{screen}");
    assert!(screen.contains("ImagePullFailed: the image cannot be pulled"), "{screen}");
}

#[test]
#[ignore = "nightly"]
fn preemption_is_no_failure() {
    let expected = undisturbed();
    let mut job = held_job(20, HERE, "");
    let dlc = FakeDlc::install(&mut job, "");
    // More often than failures would be forgiven.
    dlc.faults("preempt=6\n");
    let master = job.start(&with(&["1"]));
    job.wait_until_durable();
    let running = dlc.running();
    dlc.preempt(&running);
    job.trickle_until("it is preempted", || dlc.state(&running) == "Stopped");
    job.gate().open();
    master.finish().expect(0);
    assert_same(&job, &expected);
    dlc.assert_all_over();
    assert_eq!(submissions(&dlc), 8);
}

#[test]
#[ignore = "nightly"]
fn a_job_stopped_by_hand_is_replaced_and_no_death() {
    let expected = undisturbed();
    let mut job = held_job(20, HERE, "");
    let dlc = FakeDlc::install(&mut job, "");
    let master = job.start(&with(&["1"]));
    job.wait_until_durable();
    let running = dlc.running();
    let stop = std::process::Command::new(job.path("bin/dlc"))
        .env("FAKE_DLC_STATE", job.path("dlc_state"))
        .args(["stop", "job", &running, "--force"])
        .output()
        .unwrap();
    assert!(stop.status.success(), "{stop:?}");
    job.trickle_until("it is stopped", || dlc.state(&running) == "Stopped");
    job.gate().open();
    master.finish().expect(0);
    assert_same(&job, &expected);
    dlc.assert_all_over();
    assert_eq!(submissions(&dlc), 2);
}

#[test]
#[ignore = "nightly"]
fn ctrl_c_stops_every_job_and_a_resumed_run_ends() {
    let expected = undisturbed();
    let mut job = held_job(20, HERE, "");
    let dlc = FakeDlc::install(&mut job, "");
    let mut master = job.start(&with(&["2"]));
    job.wait_until_durable();
    master.signal("INT");
    job.trickle_until("the master ends", || master.has_ended());
    let stopped = master.finish().expect(130);
    assert!(!stopped.stderr.contains("left behind"), "{}", stopped.stderr);
    assert!(dlc.jobs().iter().all(|(_, state)| matches!(state.as_str(), "Stopped" | "Succeeded")), "{:?}", dlc.jobs());
    job.gate().open();
    job.run(&with(&["2", "-r"])).expect(0);
    assert_same(&job, &expected);
    dlc.assert_all_over();
}

#[test]
#[ignore = "nightly"]
fn jobs_of_a_master_that_was_killed_go_on_under_the_next() {
    let expected = undisturbed();
    let port = free_port();
    let mut job = held_job(20, &format!("listen = \"127.0.0.1:{port}\""), "");
    let dlc = FakeDlc::install(&mut job, "");
    let master = job.start(&with(&["1"]));
    job.wait_until_durable();
    kill(master.pid(), "KILL");
    master.finish();
    assert_eq!(dlc.jobs().len(), 1);
    job.gate().open();
    job.run(&with(&["1", "-r"])).expect(0);
    assert_same(&job, &expected);
    dlc.assert_all_over();
    assert_eq!(submissions(&dlc), 1, "its job was taken over");
}

#[test]
#[ignore = "nightly"]
fn jobs_that_would_look_for_another_address_are_stopped_by_the_next_master() {
    let expected = undisturbed();
    let mut job = held_job(20, HERE, "");
    let dlc = FakeDlc::install(&mut job, "");
    let master = job.start(&with(&["1"]));
    job.wait_until_durable();
    kill(master.pid(), "KILL");
    master.finish();
    job.gate().open();
    let old = dlc.jobs().remove(0).0;
    let master = job.start(&with(&["1", "-r"]));
    wait_until("the old job is stopped", || (dlc.state(&old) == "Stopped").then_some(()));
    master.finish().expect(0);
    assert_same(&job, &expected);
    dlc.assert_all_over();
}

#[test]
#[ignore = "nightly"]
fn without_dlc_it_is_said_what_to_install() {
    let mut job = echo_job(HERE, "");
    FakeDlc::install(&mut job, "").uninstall();
    let finished = job.run(&with(&["1"]));
    assert!(matches!(finished.code, Some(1..=3)), "{finished:?}");
    assert!(finished.stderr.contains("there is no `dlc` on this host: install Alibaba's DLC"), "{}", finished.stderr);
}

#[test]
#[ignore = "nightly"]
fn refusals_without_end_are_given_up_with_their_reason() {
    let mut job = echo_job(HERE, "");
    let dlc = FakeDlc::install(&mut job, "");
    dlc.faults("submit_400=1000\n");
    let finished = job.run(&with(&["1"]));
    assert!(matches!(finished.code, Some(1..=3)), "{finished:?}");
    let reason = "it failed 5 times in a row, last with: DLC refuses the job: code: 400, Resource quota is not enough";
    assert!(finished.stderr.contains(reason), "{}", finished.stderr);
    assert!(!finished.stderr.contains("request id"), "{}", finished.stderr);
}

#[test]
#[ignore = "nightly"]
fn workers_that_never_come_are_explained_and_stopped() {
    let mut job = echo_job(HERE, "");
    let dlc = FakeDlc::install(&mut job, "");
    dlc.faults("silent=1000\n");
    let master = job.start_logged(&with(&["1"]), "screen");
    wait_until("it is explained", || {
        job.log("screen").contains("but its worker has not reached this master").then_some(())
    });
    master.signal("TERM");
    master.finish().expect(143);
    assert!(dlc.jobs().iter().all(|(_, state)| state == "Stopped"), "{:?}", dlc.jobs());
}

#[test]
#[ignore = "nightly"]
fn jobs_that_wait_say_for_what_and_leave_the_queue_with_the_master() {
    let mut job = echo_job(HERE, "");
    let dlc = FakeDlc::install(&mut job, "");
    dlc.faults("queue=1\n");
    let master = job.start_logged(&with(&["2"]), "screen");
    wait_until("it is explained", || job.log("screen").contains("2 jobs pending for").then_some(()));
    assert!(job.log("screen").contains("Queuing"), "{}", job.log("screen"));
    master.signal("TERM");
    master.finish().expect(143);
    assert!(dlc.jobs().iter().all(|(_, state)| state == "Stopped"), "{:?}", dlc.jobs());
}

#[test]
#[ignore = "nightly"]
fn a_dry_run_prints_what_would_be_submitted_and_submits_nothing() {
    let mut job = echo_job(HERE, "");
    let dlc = FakeDlc::install(&mut job, "hf_endpoint = \"https://it's.here\"");
    let printed = job.run(&with(&["2", "--dry-run"])).expect(0).stdout;
    let lines: Vec<&str> = printed.lines().filter(|line| line.contains("dlc submit pytorchjob --command ")).collect();
    assert_eq!(lines.len(), 2, "{printed}");
    assert!(lines[0].contains("--worker_cpu 12 --worker_gpu 0 --worker_memory 192Gi"), "{printed}");
    assert_eq!(dlc.calls(), Vec::<Vec<String>>::new());
}

#[test]
#[ignore = "nightly"]
fn wrong_settings_start_nothing() {
    let mut job = echo_job(HERE, "");
    let dlc = FakeDlc::install(&mut job, "priority = 77\nworker_imag = \"x\"\nhttp_proxy = \"http://me:hunter2@p:1\"");
    let refused = job.run(&with(&["1"])).expect(2);
    for part in ["`priority` is out of range: 77", "did you mean `worker_image`", "aliyun.toml", "nothing was started"]
    {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    assert!(!refused.stderr.contains("hunter2"), "{}", refused.stderr);
    let missing = job.run(&["--dlc", "--aliyun-cfg", "nowhere.toml"]).expect(2);
    assert!(missing.stderr.contains("cannot read the DLC settings `nowhere.toml`"), "{}", missing.stderr);
    let both = job.run(&["--dlc", "--slurm"]).expect(2);
    assert!(both.stderr.contains("cannot be used with"), "{}", both.stderr);
    assert!(dlc.calls().is_empty() && job.runs().is_empty());
}
