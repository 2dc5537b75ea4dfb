//! Few-shot data sets on several workers: what their prompts begin with is computed once, by one of them, as long as there is
//! enough to do for all.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_common::words::grouped;
use compass_tests::bench::RandomLlama;
use compass_tests::{Job, demo_model, program, shared_folder, wait_until};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const QUESTIONS: usize = 100;
const SUBJECTS: usize = 4;

/// Rows of a subject; no two are the same.
fn rows(subject: usize, count: usize, from: usize) -> String {
    (from..from + count).fold(String::new(), |mut rows, row| {
        let words = (0..6).map(|word| ((row * 31 + word * 17 + subject * 7) % 89).to_string());
        let words = words.collect::<Vec<_>>().join(" ");
        // Writing to a string cannot fail.
        let _ = writeln!(rows, r#"{{"q": "{row} of {subject}: {words}", "label": "{}"}}"#, ["A", "B"][row % 2]);
        rows
    })
}

/// Five-shot subjects, each a data set, and one with a constant instruction alone; workers come on their own.
fn job() -> Job {
    let demo = demo_model();
    let mut config = format!(
        "\n[infer.runner]\ntype = \"none\"\n[[model]]\nabbr = \"random\"\npath = \"model\"\ntokenizer_path = \"{}\"\n",
        demo.display()
    );
    for subject in 0..SUBJECTS {
        let _ = write!(
            config,
            r#"
[[dataset]]
abbr = "subject{subject}"
reader_cfg = {{ input_columns = ["q"], output_column = "label" }}
test = {{ path = "test{subject}.jsonl" }}
train = {{ path = "train{subject}.jsonl" }}
[dataset.infer_cfg]
retriever = {{ type = "fix_k", ids = [0, 1, 2, 3, 4] }}
inferencer = "ppl"
ice_template = {{ A = "{{q}}\nAnswer: A\n", B = "{{q}}\nAnswer: B\n" }}
prompt_template = {{ A = "About {subject}.\n</E>{{q}}\nAnswer: A", B = "About {subject}.\n</E>{{q}}\nAnswer: B" }}
[dataset.eval_cfg]
evaluator = "acc"
"#
        );
    }
    config += r#"
[[dataset]]
abbr = "instructed"
reader_cfg = { input_columns = ["q"], output_column = "label" }
test = { path = "test0.jsonl" }
infer_cfg = { inferencer = "ppl", prompt_template = { A = "Choose what fits best of all that there is: {q} A", B = "Choose what fits best of all that there is: {q} B" } }
eval_cfg = { evaluator = "acc" }
"#;
    let job = Job::new(&config);
    for subject in 0..SUBJECTS {
        job.write(&format!("test{subject}.jsonl"), &rows(subject, QUESTIONS, 100));
        job.write(&format!("train{subject}.jsonl"), &rows(subject, 5, 0));
    }
    std::fs::create_dir_all(job.path("model")).unwrap();
    RandomLlama::SMALL.write(&job.path("model"), 3).unwrap();
    job
}

/// A job of everything few-shot that the reference data offer, by perplexity and by log-likelihoods of answers.
fn job_of_benchmarks(shared: &Path) -> Job {
    let mut config = format!(
        "\n[infer.runner]\ntype = \"none\"\n[[model]]\nabbr = \"random\"\npath = \"model\"\ntokenizer_path = \"{}\"\n",
        shared.join("tokenizers/gpt_neox_20b").display()
    );
    let data = shared.join("data");
    for subject in ["college_chemistry", "high_school_geography", "professional_law"] {
        let option = |letter: &str| format!("{{q}}\\nA. {{A}}\\nB. {{B}}\\nC. {{C}}\\nD. {{D}}\\nAnswer: {letter}");
        let of = |text: &dyn Fn(&str) -> String| {
            ["A", "B", "C", "D"].map(|letter| format!("{letter} = \"{}\"", text(letter))).join(", ")
        };
        let _ = write!(
            config,
            r#"
[[dataset]]
abbr = "mmlu_{subject}"
reader_cfg = {{ input_columns = ["q", "A", "B", "C", "D"], output_column = "target", test_range = "[:60]" }}
test = {{ path = "{data}/mmlu/test/{subject}_test.csv", header = false, names = ["q", "A", "B", "C", "D", "target"] }}
train = {{ path = "{data}/mmlu/dev/{subject}_dev.csv", header = false, names = ["q", "A", "B", "C", "D", "target"] }}
[dataset.infer_cfg]
retriever = {{ type = "fix_k", ids = [0, 1, 2, 3, 4] }}
inferencer = "ppl"
ice_template = {{ {} }}
prompt_template = {{ {} }}
[dataset.eval_cfg]
evaluator = "acc"
"#,
            of(&|letter| format!("{}\\n", option(letter))),
            of(&|letter| format!("About {subject}.\\n</E>{}", option(letter))),
            data = data.display(),
        );
    }
    // Answers after a question, with shots before it: lm-eval's way.
    let answers = [
        ("arc_easy", "arc_easy/test.jsonl", 5, "query", "choices", "gold"),
        ("hellaswag", "hellaswag/olmo_sample1000.jsonl", 10, "query", "choices", "gold"),
    ];
    for (abbr, file, shots, question, options, gold) in answers {
        let _ = write!(
            config,
            r#"
[[dataset]]
abbr = "{abbr}"
reader_cfg = {{ input_columns = ["{question}", "{options}"], output_column = "{gold}", test_range = "[:120]" }}
test = {{ path = "{file}" }}
train = {{ path = "{file}" }}
[dataset.infer_cfg]
retriever = {{ type = "fix_k", ids = {:?} }}
inferencer = "loglikelihood"
ice_template = "{{{question}}} {{{options}}}: {{{gold}}}\n\n"
prompt_template = "</E>{{{question}}}"
options = "{{{options}}}"
[dataset.eval_cfg]
evaluator = {{ type = "multiple_choice", metrics = ["acc"] }}
"#,
            // Shots are rows that are not asked.
            (200..200 + shots).collect::<Vec<_>>(),
            file = data.join(file).display(),
        );
    }
    let _ = write!(
        config,
        r#"
[[dataset]]
abbr = "piqa"
reader_cfg = {{ input_columns = ["goal", "sol1", "sol2"], output_column = "label", test_range = "[:120]" }}
test = {{ path = "{data}/piqa/valid.jsonl", columns = {{ label = {{ lines_of = "{data}/piqa/valid-labels.lst", as = "int" }} }} }}
train = {{ path = "{data}/piqa/valid.jsonl", columns = {{ label = {{ lines_of = "{data}/piqa/valid-labels.lst", as = "int" }} }} }}
[dataset.infer_cfg]
retriever = {{ type = "fix_k", ids = [200, 201, 202] }}
inferencer = "ppl"
ice_template = {{ 0 = "Q: {{goal}}\nA: {{sol1}}\n", 1 = "Q: {{goal}}\nA: {{sol2}}\n" }}
prompt_template = {{ 0 = "</E>Q: {{goal}}\nA: {{sol1}}\n", 1 = "</E>Q: {{goal}}\nA: {{sol2}}\n" }}
[dataset.eval_cfg]
evaluator = "acc"
"#,
        data = data.display(),
    );
    let job = Job::new(&config);
    std::fs::create_dir_all(job.path("model")).unwrap();
    RandomLlama { vocabulary: RandomLlama::MILLIONS_17.vocabulary, ..RandomLlama::SMALL }
        .write(&job.path("model"), 3)
        .unwrap();
    job
}

/// Runs a job on two workers that come on their own; what its run says of itself.
fn on_two_workers(job: &Job) -> serde_json::Value {
    let err = std::fs::File::create(job.path("err")).unwrap();
    let master = job.command(&[]).stderr(Stdio::from(err)).spawn().unwrap();
    let address = wait_until("the master says where it listens", || {
        let text = std::fs::read_to_string(job.path("err")).unwrap_or_default();
        Some(text.lines().find_map(|line| line.split_once("compass-worker --master "))?.1.trim().to_owned())
    });
    let worker = |slots: &str| {
        let mut worker = Command::new(program("compass-worker"));
        worker.env("HOME", job.path("home"));
        worker.args(["--master", &address, "--device", "cpu", "--slots", slots]).stderr(Stdio::null());
        worker.spawn().unwrap()
    };
    let workers = [worker("1"), worker("2")];
    assert_eq!(master.wait_with_output().unwrap().status.code(), Some(0), "{}", job.log("err"));
    for mut worker in workers {
        assert_eq!(worker.wait().unwrap().code(), Some(0));
    }
    job.facts()
}

/// Two data sets, one scored and one continued, whose rows ask one of `prompts` questions, in an order that no task keeps
/// together; gold answers are the rows' own.
fn job_that_repeats(count: usize, prompts: usize) -> Job {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/demo/model").canonicalize().unwrap();
    let job = Job::new(&format!(
        r#"
[infer.runner]
type = "none"
[[model]]
abbr = "random"
path = "model"
tokenizer_path = "{}"

[[dataset]]
abbr = "scored"
reader_cfg = {{ input_columns = ["q"], output_column = "label" }}
test = {{ path = "rows.jsonl" }}
infer_cfg = {{ inferencer = "ppl", prompt_template = {{ A = "{{q}} A", B = "{{q}} B" }} }}
eval_cfg = {{ evaluator = "acc" }}

[[dataset]]
abbr = "continued"
reader_cfg = {{ input_columns = ["q"], output_column = "label" }}
test = {{ path = "rows.jsonl" }}
infer_cfg = {{ inferencer = {{ type = "gen", max_out_len = 6 }}, prompt_template = "{{q}}" }}
eval_cfg = {{ evaluator = "em" }}
"#,
        demo.display()
    ));
    let distinct: Vec<serde_json::Value> =
        rows(0, prompts, 0).lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let rows = (0..count).fold(String::new(), |mut rows, row| {
        let (q, label) = (&distinct[row * 7 % prompts]["q"], ["A", "B"][row / 3 % 2]);
        // Writing to a string cannot fail.
        let _ = writeln!(rows, r#"{{"q": {q}, "label": "{label}"}}"#);
        rows
    });
    job.write("rows.jsonl", &rows);
    std::fs::create_dir_all(job.path("model")).unwrap();
    RandomLlama::SMALL.write(&job.path("model"), 3).unwrap();
    job
}

#[test]
#[ignore = "nightly"]
fn rows_that_repeat_a_few_prompts_cost_no_more_than_these() {
    const ROWS: usize = 2000;
    const PROMPTS: usize = 60;
    let (repeating, distinct) = (job_that_repeats(ROWS, PROMPTS), job_that_repeats(PROMPTS, PROMPTS));
    let (facts, of_distinct) = (on_two_workers(&repeating), on_two_workers(&distinct));
    let ratio = facts["computed_per_distinct"].as_f64().unwrap();
    assert!((1.0..=1.02).contains(&ratio), "{facts}");
    assert_eq!(facts["duplicate_samples"], 2 * (ROWS - PROMPTS), "{facts}");
    assert_eq!(facts["tokens"]["submitted"], of_distinct["tokens"]["submitted"], "{facts}");
    let (duplicates, all) = (grouped(2 * (ROWS - PROMPTS) as u64), grouped(2 * ROWS as u64));
    let said = format!("equal requests: {duplicates} of {all} samples repeat the request of another");
    assert!(repeating.log("err").contains(&said), "{}", repeating.log("err"));
    for dataset in ["scored", "continued"] {
        let (found, expected) = (repeating.predictions("random", dataset), distinct.predictions("random", dataset));
        for row in 0..ROWS {
            let answered = |record: &serde_json::Value| {
                let mut record = record.as_object().unwrap().clone();
                for own in ["gold", "correct"] {
                    record.shift_remove(own);
                }
                record
            };
            let (found, expected) = (&found[row.to_string()], &expected[(row % PROMPTS).to_string()]);
            assert_eq!(answered(found), answered(expected), "{dataset} {row}");
        }
    }
}

#[test]
fn what_prompts_begin_with_is_computed_once_for_the_whole_job() {
    let facts = on_two_workers(&job());
    let ratio = facts["computed_per_distinct"].as_f64().unwrap();
    assert!((1.0..=1.02).contains(&ratio), "{facts}");
    assert!(facts["computed_per_submitted"].as_f64().unwrap() < 0.2, "{facts}");
}

#[test]
#[ignore = "nightly"]
fn so_are_the_shots_of_mmlu_arc_hellaswag_and_piqa() {
    let Some(shared) = shared_folder("data/hellaswag/olmo_sample1000.jsonl") else {
        return;
    };
    let facts = on_two_workers(&job_of_benchmarks(&shared));
    let ratio = facts["computed_per_distinct"].as_f64().unwrap();
    assert!((1.0..=1.02).contains(&ratio), "{facts}");
    assert!(facts["computed_per_submitted"].as_f64().unwrap() < 0.2, "{facts}");
    eprintln!("computed / distinct {ratio}, computed / submitted {}", facts["computed_per_submitted"]);
}
