//! Estimate of a job, as the command shows it, before and after a first run.

use compass_tests::{Etcd, EtcdOptions, Job, SAMPLES, copy_demo_model, echo_job};

#[test]
#[ignore = "nightly"]
fn a_second_job_is_estimated_by_the_first() {
    let job = echo_job("", "");
    let before = job.run(&["--estimate"]).expect(0).stdout;
    assert!(before.contains("no time is known of 2 data sets"), "{before}");
    assert!(job.runs().is_empty(), "an estimate makes no run");
    job.run(&["--max-num-workers", "1"]).expect(0);
    let facts = job.facts();
    let busy = facts["workers"].as_object().into_iter().flat_map(|workers| workers.values());
    let busy: f64 = busy.filter_map(|worker| worker["busy_seconds"].as_f64()).sum();
    let after = job.run(&["--estimate", "--max-num-workers", "1", "--deadline", "1h"]).expect(0).stdout;
    assert_eq!(after.matches("a run on echo").count(), 2, "{after}");
    assert!(after.contains(&format!("all: {} samples", 2 * SAMPLES)), "{after}");
    assert!(
        after.contains(&format!("time on 1 slot without GPUs, once weights are loaded: {busy:.0}s (")),
        "{busy}: {after}"
    );
    assert!(after.ends_with("deadline 1h 00m: --max-num-workers 1\n"), "{after}");
    // A part of it, of which nothing was run as it is.
    let part = job.run(&["--estimate", "--datasets", "choice_ppl"]).expect(0).stdout;
    assert!(part.contains(&format!("all: {SAMPLES} samples")) && !part.contains("answer_gen"), "{part}");
    // Workers of this model have no GPU, and what is asked for is said to have no use.
    let gpus = job.run(&["--estimate", "--gpus", "4"]).expect(0).stdout;
    assert!(gpus.contains("--gpus 4 is not used: no model of this job takes a GPU"), "{gpus}");
}

#[test]
#[ignore = "nightly"]
fn masters_of_one_store_share_what_their_runs_took() {
    let Some(etcd) = Etcd::start("masters_share_speeds", 1, EtcdOptions::default()) else { return };
    let job = echo_job(&format!("key_file = \"shared.key\"\nstore = \"etcd://{}/compass\"", etcd.endpoints()), "");
    let elsewhere = job.log("eval.toml").replace("/state\"", "/state2\"");
    assert_ne!(elsewhere, job.log("eval.toml"));
    job.write("second.toml", &elsewhere);
    let estimate = || job.command_line(&["--config", "second.toml", "--estimate"]).run().expect(0).stdout;
    let before = estimate();
    assert!(before.contains("no time is known of 2 data sets"), "{before}");
    job.run(&["--max-num-workers", "1"]).expect(0);
    let after = estimate();
    assert_eq!(after.matches("a run on echo").count(), 2, "{after}");
    // Both add to one record.
    job.command_line(&["--config", "second.toml", "--max-num-workers", "1"]).run().expect(0);
    let both = job.run(&["--estimate"]).expect(0).stdout;
    assert_eq!(both.matches("2 runs on echo").count(), 2, "{both}");
}

#[test]
fn a_first_job_is_estimated_by_the_tokenizer() {
    let job = Job::new(
        r#"
[[model]]
abbr = "demo"
path = "model"
[[dataset]]
abbr = "sums"
reader_cfg = { input_columns = ["q"], output_column = "a" }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = { type = "gen", max_out_len = 4 }, prompt_template = "{q}" }
eval_cfg = { evaluator = "em" }
"#,
    );
    copy_demo_model(&job.path("model")).unwrap();
    // The demo's tokenizer has a token for each digit, and one that begins every prompt.
    let rows: String = (1_000..1_400).map(|at| format!("{{\"q\": \"{at}{at}\", \"a\": \"1\"}}\n")).collect();
    job.write("rows.jsonl", &rows);
    let by_tokenizer = job.run(&["--estimate"]).expect(0).stdout;
    assert!(by_tokenizer.contains("tokenizer") && by_tokenizer.contains("roofline of a CPU core"), "{by_tokenizer}");
    assert!(by_tokenizer.contains("all: 400 samples, 3600 tokens submitted, 3200 distinct"), "{by_tokenizer}");
    let on_gpus = job.run(&["--estimate", "--device", "cuda", "--num-gpus", "2", "--gpus", "3"]).expect(0).stdout;
    assert!(on_gpus.contains("roofline of an A100"), "{on_gpus}");
    assert!(on_gpus.contains("time on 3 GPUs (1 replica of 2 GPUs, 1 GPU idle)"), "{on_gpus}");
    std::fs::remove_file(job.path("model").join("tokenizer.json")).unwrap();
    let by_characters = job.run(&["--estimate"]).expect(0).stdout;
    assert!(by_characters.contains("characters") && by_characters.contains(" 800 distinct"), "{by_characters}");
}

#[test]
#[ignore = "nightly"]
fn equal_requests_are_computed_once_and_estimated_once() {
    let job = echo_job("", "");
    // Every question of the second half is in the first one.
    let row = |at: u32| {
        format!("{{\"q\": \"What is {}?\", \"a\": \"one\", \"b\": \"two\", \"label\": {}}}\n", at % 20, at % 2)
    };
    job.write("rows.jsonl", &(0..200).map(row).collect::<String>());
    job.run(&["--max-num-workers", "1"]).expect(0);
    let facts = job.facts();
    assert_eq!(facts["duplicate_samples"], 360, "{facts}");
    let busy = facts["workers"].as_object().into_iter().flat_map(|workers| workers.values());
    let busy: f64 = busy.filter_map(|worker| worker["busy_seconds"].as_f64()).sum();
    let said = job.run(&["--estimate", "--max-num-workers", "1"]).expect(0).stdout;
    assert!(said.contains(&format!("once weights are loaded: {busy:.0}s (")), "{busy}: {said}");
}

#[test]
#[ignore = "nightly"]
fn of_a_run_that_is_resumed_the_rest_is_estimated() {
    let job = echo_job("", "");
    job.run(&["--max-num-workers", "1", "--datasets", "choice_ppl"]).expect(0);
    // The other data set is to be run beside what that run has.
    let rest = job.run(&["--estimate", "-r"]).expect(0).stdout;
    assert!(rest.contains(&format!("{SAMPLES} of {} samples kept", 2 * SAMPLES)), "{rest}");
    assert!(rest.contains(&format!("all: {SAMPLES} samples")), "{rest}");
    // The run itself has no more to do.
    let nothing = job.run(&["--estimate", "-r", "--datasets", "choice_ppl"]).expect(0).stdout;
    assert!(nothing.contains(&format!("{SAMPLES} of {SAMPLES} samples kept")), "{nothing}");
    assert!(nothing.contains("all: 0 samples, 0 tokens submitted"), "{nothing}");
    assert_eq!(job.runs().len(), 1, "an estimate makes no run");
}

#[test]
#[ignore = "nightly"]
fn an_estimate_is_alone() {
    let job = echo_job("", "");
    for (flags, said) in [
        (&["--estimate", "-r"][..], "no run to resume"),
        (&["--estimate", "--dry-run"], "cannot be used with"),
        (&["--gpus", "4"], "--estimate"),
        (&["--estimate", "--deadline", "soon"], "deadline"),
        (&["--estimate", "--gpus", "0"], "gpus"),
    ] {
        let refused = job.run(flags).expect(2);
        assert!(refused.stderr.contains(said), "{flags:?}: {}", refused.stderr);
    }
}
