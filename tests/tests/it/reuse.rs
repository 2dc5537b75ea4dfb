//! `-r` by content, and predictions that OpenCompass wrote: nothing that is known is run again, nothing is mixed up.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Job, configuration, echo_job};
use serde_json::{Map, Value};
use std::fs;
use std::path::PathBuf;

const LOCAL: &str = "[infer.runner]\ntype = \"local\"\nmax_num_workers = 1";

/// A job that has run once.
fn after_one_run() -> Job {
    let job = echo_job("", LOCAL);
    job.run(&[]).expect(0);
    job
}

/// The results, as a run from nothing gives them.
fn fresh(toml: &str) -> Job {
    let job = echo_job("", LOCAL);
    job.configure(toml);
    job.run(&[]).expect(0);
    job
}

#[test]
fn what_did_not_change_is_kept() {
    let job = after_one_run();
    let whole = configuration("", LOCAL);
    for (change, kept) in [
        // One prompt of two: the other data set is kept.
        (whole.replace("prompt_template = \"{q}\"", "prompt_template = \"Q: {q}\""), 120),
        // Another range: the same samples at other positions.
        (whole.replace("output_column = \"a\" }", "output_column = \"a\", test_range = \"[10:50]\" }"), 160),
        // Another evaluation: everything is kept.
        (whole.replace("evaluator = \"em\"", "evaluator = \"acc\""), 240),
    ] {
        assert_ne!(change, whole, "the change changes something");
        job.configure(&change);
        let first = job.runs()[0].file_name().unwrap().to_string_lossy().into_owned();
        let finished = job.run(&["-r", &first]).expect(0);
        let said = format!("{kept} of {} samples are the same and kept", if kept == 160 { 160 } else { 240 });
        assert!(finished.stderr.contains(&said), "{}", finished.stderr);
        let fresh = fresh(&change);
        assert_eq!(job.tree("results"), fresh.tree("results"));
        assert_eq!(job.tree("predictions"), fresh.tree("predictions"));
        let samples: u64 = if kept == 160 { 160 } else { 240 };
        assert_eq!(job.facts()["resumed_samples"], kept, "{}", job.facts());
        assert_eq!(job.facts()["recorded_samples"], samples, "{}", job.facts());
    }
}

/// Lays the latest run's predictions of `answer_gen` out as shards of `sizes` in a folder of another evaluator.
fn sharded(job: &Job, sizes: &[usize]) -> PathBuf {
    let records = job.predictions("echo", "answer_gen");
    let records: Vec<Value> = records.as_object().unwrap().values().cloned().collect();
    let folder = job.path("out/20200101_000000/predictions/echo");
    fs::create_dir_all(&folder).unwrap();
    let mut rest = records.as_slice();
    for (at, &size) in sizes.iter().enumerate() {
        let (shard, more) = rest.split_at(size);
        rest = more;
        let shard: Map<String, Value> =
            shard.iter().enumerate().map(|(at, one)| (at.to_string(), one.clone())).collect();
        fs::write(folder.join(format!("answer_gen_{at}.json")), Value::from(shard).to_string()).unwrap();
    }
    folder
}

const ADOPT: [&str; 6] = ["-m", "eval", "-r", "20200101_000000", "--datasets", "answer_gen"];

#[test]
#[ignore = "nightly"]
fn shards_of_opencompass_are_one_data_set() {
    let job = after_one_run();
    let whole = job.result("echo", "answer_gen");
    let folder = sharded(&job, &[50, 50, 20]);
    let finished = job.run(&ADOPT).expect(0);
    assert!(finished.stderr.contains("took over the predictions of 120 of 120 samples"), "{}", finished.stderr);
    let results = folder.join("../../results/echo/answer_gen.json");
    let results: Value = serde_json::from_slice(&fs::read(results).unwrap()).unwrap();
    assert_eq!(results, whole);
    assert!(!folder.join("answer_gen.json").exists(), "the other evaluator's files stay as they are");
}

#[test]
#[ignore = "nightly"]
fn missing_short_and_foreign_shards_are_named() {
    let job = after_one_run();
    let folder = sharded(&job, &[50, 50, 20]);
    fs::rename(folder.join("answer_gen_1.json"), folder.join("kept")).unwrap();
    let finished = job.run(&ADOPT).expect(2);
    assert!(finished.stderr.contains("but not answer_gen_1.json"), "{}", finished.stderr);
    // A shard of other rows.
    fs::copy(folder.join("answer_gen_0.json"), folder.join("answer_gen_1.json")).unwrap();
    let finished = job.run(&ADOPT).expect(2);
    assert!(finished.stderr.contains("they are not of the same rows"), "{}", finished.stderr);
    fs::write(folder.join("answer_gen_1.json"), "{\"0\": {").unwrap();
    let finished = job.run(&ADOPT).expect(2);
    assert!(finished.stderr.contains("answer_gen_1.json: not a file of predictions"), "{}", finished.stderr);
    // The last one is missing: the rest is scored, and the coverage said.
    fs::rename(folder.join("kept"), folder.join("answer_gen_1.json")).unwrap();
    fs::remove_file(folder.join("answer_gen_2.json")).unwrap();
    let finished = job.run(&ADOPT).expect(1);
    assert!(finished.stderr.contains("took over the predictions of 100 of 120 samples"), "{}", finished.stderr);
    assert!(finished.stdout.contains("100/120") || finished.stdout.contains("20 missing"), "{}", finished.stdout);
}

#[test]
#[ignore = "nightly"]
fn rows_that_were_asked_several_times_over_are_answers_to_one_sample() {
    let several = configuration("", LOCAL).replace("abbr = \"answer_gen\"", "abbr = \"answer_gen\"\nn = 3");
    let job = fresh(&several);
    let records = job.predictions("echo", "answer_gen");
    let mut records: Vec<Value> = records.as_object().unwrap().values().cloned().collect();
    for (at, record) in records.iter_mut().enumerate() {
        let gold = record["gold"].clone();
        let answer = |run: usize| if (at + run).is_multiple_of(4) || run == 2 { gold.clone() } else { "no".into() };
        record["prediction"] = (0..3).map(answer).collect();
    }
    // As this program writes them, one record for a sample; and as OpenCompass does, one for an answer, all rows after all rows.
    let own = records.clone().into_iter();
    let theirs = (0..3_usize).flat_map(|run| {
        records.clone().into_iter().map(move |mut record| {
            record["prediction"] = record["prediction"][run].take();
            record
        })
    });
    let scored = |run: &str, records: Vec<Value>| {
        let folder = job.path(&format!("out/{run}/predictions/echo"));
        fs::create_dir_all(&folder).unwrap();
        let records: Map<String, Value> =
            records.into_iter().enumerate().map(|(at, record)| (at.to_string(), record)).collect();
        fs::write(folder.join("answer_gen.json"), Value::from(records).to_string()).unwrap();
        let finished = job.run(&ADOPT.map(|word| if word == "20200101_000000" { run } else { word })).expect(0);
        assert!(finished.stderr.contains("took over the predictions of 120 of 120 samples"), "{}", finished.stderr);
        let results = fs::read(folder.join("../../results/echo/answer_gen.json")).unwrap();
        serde_json::from_slice::<Value>(&results).unwrap()
    };
    let whole = scored("20200101_000000", own.collect());
    assert!(whole.to_string().contains("\"accuracy") || whole.to_string().contains("score"), "{whole}");
    assert_eq!(scored("20200101_000001", theirs.collect()), whole);
}

#[test]
#[ignore = "nightly"]
fn labels_that_were_all_asked_without_shots_are_taken_over() {
    let job = after_one_run();
    let whole = job.result("echo", "choice_ppl");
    let mut records = job.predictions("echo", "choice_ppl");
    // To fit the length of a model, OpenCompass leaves shots out with the first label, and they stay out with the others.
    for record in records.as_object_mut().unwrap().values_mut() {
        for label in ["label: 0", "label: 1"] {
            let prompt = record[label]["prompt"].as_str().unwrap();
            let question = prompt.rfind("What is").unwrap();
            assert!(prompt.starts_with("Header\nWhat is 0?") && question > 20, "{prompt}");
            record[label]["prompt"] = format!("Header\n\n{}", &prompt[question..]).into();
        }
    }
    let folder = job.path("out/20200101_000000/predictions/echo");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("choice_ppl.json"), records.to_string()).unwrap();
    let finished = job.run(&["-m", "eval", "-r", "20200101_000000", "--datasets", "choice_ppl"]).expect(0);
    assert!(finished.stderr.contains("took over the predictions of 120 of 120 samples"), "{}", finished.stderr);
    let results = fs::read(folder.join("../../results/echo/choice_ppl.json")).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    assert_eq!(results["accuracy"], whole["accuracy"]);
}

/// Resumes the other evaluator's folder, and runs what it lacks.
const FILL: [&str; 4] = ["-r", "20200101_000000", "--datasets", "answer_gen"];

#[test]
#[ignore = "nightly"]
fn what_lacks_of_shards_is_run_and_nothing_else() {
    // A gap in the middle, the end, and the beginning with a record that has no answer.
    for (missing, taken) in [("answer_gen_1.json", 80), ("answer_gen_2.json", 80), ("answer_gen_0.json", 80)] {
        let job = after_one_run();
        let (results, predictions) = (job.result("echo", "answer_gen"), job.predictions("echo", "answer_gen"));
        let folder = sharded(&job, &[40, 40, 40]);
        fs::remove_file(folder.join(missing)).unwrap();
        let finished = job.run(&FILL).expect(0);
        let said = format!("took over the predictions of {taken} of 120 samples in");
        assert!(finished.stderr.contains(&said), "{missing}: {}", finished.stderr);
        assert_eq!(job.facts()["resumed_samples"], taken, "{missing}: {}", job.facts());
        assert_eq!(job.result("echo", "answer_gen"), results, "{missing}");
        assert_eq!(job.predictions("echo", "answer_gen"), predictions, "{missing}");
        assert!(!folder.join("../../plan").exists(), "the other evaluator's folder stays as it is");
    }
}

#[test]
#[ignore = "nightly"]
fn an_answer_that_is_missing_in_a_file_is_run() {
    let job = after_one_run();
    let predictions = job.predictions("echo", "answer_gen");
    let folder = sharded(&job, &[120]);
    let path = folder.join("answer_gen_0.json");
    let mut records: Map<String, Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    records.remove("5");
    records["9"]["prediction"] = Value::Null;
    fs::write(&path, Value::from(records).to_string()).unwrap();
    let finished = job.run(&ADOPT).expect(2);
    assert!(finished.stderr.contains("none is called \"5\""), "{}", finished.stderr);
    let finished = job.run(&FILL).expect(0);
    assert!(finished.stderr.contains("took over the predictions of 118 of 120 samples"), "{}", finished.stderr);
    assert_eq!(job.predictions("echo", "answer_gen"), predictions);
}

#[test]
#[ignore = "nightly"]
fn what_was_scored_with_samples_missing_is_filled_as_well() {
    let job = after_one_run();
    let (results, predictions) = (job.result("echo", "answer_gen"), job.predictions("echo", "answer_gen"));
    let folder = sharded(&job, &[50, 50, 20]);
    fs::remove_file(folder.join("answer_gen_2.json")).unwrap();
    job.run(&ADOPT).expect(1);
    let finished = job.run(&FILL).expect(0);
    assert!(finished.stderr.contains("100 of 120 samples are the same and kept"), "{}", finished.stderr);
    assert_eq!(job.result("echo", "answer_gen"), results);
    assert_eq!(job.predictions("echo", "answer_gen"), predictions);
    assert!(!folder.join("answer_gen.json").exists(), "the other evaluator's files stay as they are");
}

#[test]
#[ignore = "nightly"]
fn predictions_of_other_prompts_are_refused() {
    let job = after_one_run();
    let folder = sharded(&job, &[120]);
    let path = folder.join("answer_gen_0.json");
    let records: Map<String, Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    // The rows turned by seven, with answers that do not tell.
    let turned = (0..120).map(|at| {
        let mut record = records[&((at + 7) % 120).to_string()].clone();
        record.as_object_mut().unwrap().remove("gold");
        (at.to_string(), record)
    });
    fs::write(&path, Value::Object(turned.collect()).to_string()).unwrap();
    let finished = job.run(&ADOPT).expect(2);
    let said = "record \"0\" was not asked as sample 0 of answer_gen is: from character ";
    assert!(finished.stderr.contains(said), "{}", finished.stderr);
    // Another template.
    let mut records = records;
    let asked = records["3"]["origin_prompt"].as_str().unwrap().to_owned();
    records["3"]["origin_prompt"] = format!("{asked}\nAnswer:").into();
    fs::write(&path, Value::from(records.clone()).to_string()).unwrap();
    let finished = job.run(&ADOPT).expect(2);
    let said = "its prompt has \"\\nAnswer:\", where the plan has its end";
    assert!(finished.stderr.contains("record \"3\" ") && finished.stderr.contains(said), "{}", finished.stderr);
    // What the user of a chat says is the same prompt.
    for record in records.values_mut() {
        record["origin_prompt"] = serde_json::json!([{ "role": "HUMAN", "prompt": record["origin_prompt"] }]);
    }
    records["3"]["origin_prompt"][0]["prompt"] = asked.into();
    fs::write(&path, Value::from(records).to_string()).unwrap();
    let finished = job.run(&ADOPT).expect(0);
    assert!(finished.stderr.contains("took over the predictions of 120 of 120 samples"), "{}", finished.stderr);
}

#[test]
#[ignore = "nightly"]
fn a_shard_that_opencompass_was_writing_is_taken_over() {
    let job = after_one_run();
    let (results, predictions) = (job.result("echo", "answer_gen"), job.predictions("echo", "answer_gen"));
    let folder = sharded(&job, &[50, 50, 20]);
    fs::rename(folder.join("answer_gen_2.json"), folder.join("tmp_answer_gen_2.json")).unwrap();
    let finished = job.run(&ADOPT).expect(0);
    assert!(finished.stderr.contains("took over the predictions of 120 of 120 samples"), "{}", finished.stderr);
    // As 0.5 writes it, in the middle, and not to its end.
    let job = after_one_run();
    let folder = sharded(&job, &[50, 50, 20]);
    let records: Map<String, Value> =
        serde_json::from_slice(&fs::read(folder.join("answer_gen_1.json")).unwrap()).unwrap();
    let line = |at: usize| {
        let mut record = records[&at.to_string()].clone();
        record["idx"] = Value::from(at.to_string());
        record.to_string() + "\n"
    };
    fs::write(folder.join("tmp_answer_gen_1.jsonl"), (0..30).map(line).collect::<String>()).unwrap();
    fs::remove_file(folder.join("answer_gen_1.json")).unwrap();
    let finished = job.run(&ADOPT).expect(2);
    assert!(finished.stderr.contains("but not answer_gen_1.json"), "{}", finished.stderr);
    let finished = job.run(&FILL).expect(0);
    assert!(finished.stderr.contains("took over the predictions of 100 of 120 samples"), "{}", finished.stderr);
    assert_eq!((job.result("echo", "answer_gen"), job.predictions("echo", "answer_gen")), (results, predictions));
}
