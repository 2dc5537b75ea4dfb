//! Checkpoints are evaluated as they appear: each content once, none that is half written, whatever is killed. Real processes.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::training::{Variant, play, watched_job};
use compass_tests::{Finished, Job, wait_until};
use std::fs;
use std::path::PathBuf;

fn job() -> Job {
    let job = watched_job(&[("tiny".into(), "${checkpoint}".into())]);
    fs::create_dir_all(job.path("run")).unwrap();
    job
}

fn checkpoint(job: &Job, name: &str, number: u64) {
    Variant { number, sharded: false }.write(&job.path("run").join(name)).unwrap();
}

/// One look that runs its jobs itself, at checkpoints that nothing changes any more.
fn look(job: &Job, more: &[&str]) -> Finished {
    let line = [&["watch", "run", "--config", "eval.toml", "--once", "--here", "--stable", "0s"], more].concat();
    job.command_line(&line).run()
}

fn runs(job: &Job) -> Vec<PathBuf> {
    job.runs().into_iter().filter(|run| run.join("plan/job.json").is_file()).collect()
}

fn curve(job: &Job) -> String {
    let places: Vec<PathBuf> =
        fs::read_dir(job.path("out/watch")).unwrap().map(|place| place.unwrap().path()).collect();
    assert_eq!(places.len(), 1, "{places:?}");
    fs::read_to_string(places[0].join("curve.csv")).unwrap()
}

/// The first words of every line of the table.
fn states(table: &str) -> Vec<(String, String)> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words[1].to_owned(), words[4..].join(" "))
    };
    table.lines().skip(1).map(line).collect()
}

#[test]
#[ignore = "nightly"]
fn a_trainer_that_does_its_worst_and_a_watch_that_is_killed_give_every_number_once() {
    let run = play(20, 11).unwrap_or_else(|error| unreachable!("{error}"));
    assert!(run.kills == 9 && run.comparison.whole > 10, "{run:?}");
    assert!(run.table.lines().next().unwrap().starts_with("step  checkpoint"), "{}", run.table);
}

#[test]
fn one_look_evaluates_what_is_whole_and_another_look_nothing_more() {
    let job = job();
    checkpoint(&job, "step_200", 2);
    checkpoint(&job, "step_100", 1);
    checkpoint(&job, "checkpoint-final", 2);
    checkpoint(&job, "step_300", 3);
    let cut = job.path("run/step_300/model.safetensors");
    fs::File::options().write(true).open(&cut).unwrap().set_len(100_000).unwrap();
    checkpoint(&job, "other", 4);
    let finished = look(&job, &[]).expect(1);
    let told = states(&finished.stdout);
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["step_100", "step_200", "step_300", "checkpoint-final"], "{}", finished.stdout);
    assert_eq!((told[0].1.as_str(), told[3].1.as_str()), ("scored", "scored"));
    assert!(told[2].1.contains("model.safetensors has 100000 of "), "{}", finished.stdout);
    assert!(finished.stderr.contains("has the content of"), "{}", finished.stderr);
    assert_eq!(runs(&job).len(), 2, "a content is evaluated once, whatever its names");
    // The job's own table is called after the checkpoint.
    let first = fs::read_dir(runs(&job)[0].join("results")).unwrap().next().unwrap().unwrap();
    assert_eq!(first.file_name().to_string_lossy(), "tiny-step_100");
    let csv = curve(&job);
    assert!(
        csv.contains("\n100,step_100,") && csv.contains(",tiny,choices,") && csv.contains("300,step_300,,unfinished,"),
        "{csv}"
    );
    let again = look(&job, &[]).expect(1);
    assert_eq!((again.stdout, runs(&job).len()), (finished.stdout, 2));
    assert!(again.stderr.contains("2 checkpoints were evaluated before"), "{}", again.stderr);
}

#[test]
#[ignore = "nightly"]
fn what_is_overwritten_or_removed_stays_in_the_curve() {
    let job = job();
    checkpoint(&job, "step_1", 1);
    checkpoint(&job, "step_2", 2);
    look(&job, &[]).expect(0);
    let before = curve(&job);
    checkpoint(&job, "step_1", 3);
    fs::remove_dir_all(job.path("run/step_2")).unwrap();
    let finished = look(&job, &[]).expect(0);
    assert!(
        finished.stderr.contains("step_1 was overwritten with another content: it is evaluated again"),
        "{}",
        finished.stderr
    );
    let told = states(&finished.stdout);
    assert_eq!(told.len(), 3, "{}", finished.stdout);
    assert_eq!(told[0].1, "scored (as of the old content: it was overwritten since)");
    assert_eq!((told[1].0.as_str(), told[1].1.as_str()), ("step_1", "scored"));
    assert_eq!((told[2].0.as_str(), told[2].1.as_str()), ("step_2", "scored"));
    let after = curve(&job);
    for line in before.lines().skip(1) {
        let kept = line.replace(",scored,false,", ",scored,true,");
        assert!(after.contains(line) || after.contains(&kept), "{line} is not in\n{after}");
    }
    // Another configuration is another curve.
    let text = fs::read_to_string(job.path("eval.toml")).unwrap().replace("\"choices\"", "\"options\"");
    job.write("eval.toml", &text);
    look(&job, &[]).expect(0);
    assert_eq!(runs(&job).len(), 4, "what lies there now is evaluated again");
}

#[test]
#[ignore = "nightly"]
fn a_watch_waits_for_a_server_and_says_so() {
    let job = job();
    checkpoint(&job, "step_5", 5);
    let line = ["watch", "run", "--config", "eval.toml", "--once", "--stable", "0s"];
    let mut watch = job.command_line(&line).spawn_logged(&job.path("watch.log"));
    wait_until("it waits", || job.log("watch.log").contains("waiting for a server: no server works in").then_some(()));
    assert!(!watch.has_ended() && runs(&job).is_empty(), "nothing is planned before a server answers");
    let server = job.command_line(&["serve", "--config", "eval.toml"]).spawn_logged(&job.path("serve.log"));
    assert_eq!(watch.finish().code, Some(0), "{}", job.log("watch.log"));
    assert!(job.log("watch.log").contains("the server answers"), "{}", job.log("watch.log"));
    assert_eq!(runs(&job).len(), 1);
    server.signal("TERM");
    server.finish().expect(143);
}

#[test]
#[ignore = "nightly"]
fn bad_input_is_told_at_once() {
    let job = job();
    let config = fs::read_to_string(job.path("eval.toml")).unwrap();
    let told = |config: &str, line: &[&str]| {
        job.write("eval.toml", config);
        let finished =
            job.command_line(&[&["watch"], line, &["--config", "eval.toml", "--once"]].concat()).run().expect(2);
        assert_eq!(finished.stdout, "", "{}", finished.stderr);
        assert!(!job.path("out").exists(), "nothing was started");
        finished.stderr
    };
    let says = told(&config, &["nothere"]);
    assert!(says.starts_with("error: cannot watch nothere: No such file or directory"), "{says}");
    let says = told(&config, &["eval.toml"]);
    assert!(says.starts_with("error: eval.toml is not a folder\n  = help: name the folder in which"), "{says}");
    let says = told(&config, &["run", "--pattern", "step_[0-9"]);
    assert!(says.starts_with("error: `[` is not closed in the pattern `step_[0-9` (character 6)"), "{says}");
    let says = told(&config, &["run", "-r"]);
    assert!(says.starts_with("error: `-r` is not for `watch`"), "{says}");
    let model = "[[model]]\nabbr = \"tiny\"\npath = \"${checkpoint}\"\n";
    assert!(config.contains(model), "{config}");
    let says = told(&config.replace(model, ""), &["run"]);
    assert!(says.starts_with("error: no model is defined\n --> eval.toml:1:1"), "{says}");
    let two = config.replace(model, &format!("{model}[[model]]\nabbr = \"base\"\npath = \"elsewhere\"\n"));
    let says = told(&two, &["run"]);
    assert!(
        says.contains("the model `base` has no place for the checkpoint")
            && says.contains("write `path = \"${checkpoint}\"`"),
        "{says}"
    );
    let says = told(&config.replace("path = \"${checkpoint}\"", "type = \"echo\""), &["run"]);
    assert!(says.starts_with("error: the model `tiny` has no weights: there are no checkpoints of it"), "{says}");
}
