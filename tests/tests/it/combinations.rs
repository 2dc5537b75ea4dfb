//! Pairs of models and data sets: what is not asked for has no tasks, no results and a dash in the table; and the rows that a
//! configuration lists.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Job, children_of, is_alive, wait_until};

const MODELS: &str =
    "[[model]]\nabbr = \"m\"\ntype = \"echo\"\n[[model]]\nabbr = \"n\"\ntype = \"echo\"\nmax_seq_len = 512\n";
const PAIRS: &str = "[[combination]]\nmodels = [\"m\"]\ndatasets = [\"d\"]\n[[combination]]\nmodels = [\"n\"]\ndatasets = [\"d\", \"e\"]\n";
const ROWS: usize = 40;

fn dataset(abbr: &str) -> String {
    format!(
        "[[dataset]]\nabbr = \"{abbr}\"\nreader_cfg = {{ input_columns = [\"q\"], output_column = \"a\" }}\ntest = {{ path = \"{abbr}.jsonl\" }}
infer_cfg = {{ retriever = \"zero\", inferencer = \"ppl\", prompt_template = {{ yes = \"{{q}} yes\", no = \"{{q}} no\" }} }}
eval_cfg = {{ evaluator = \"acc\" }}\n"
    )
}

fn job(rest: &str) -> Job {
    let job = Job::new(&format!("\n{MODELS}{}{}{rest}", dataset("d"), dataset("e")));
    for name in ["d", "e"] {
        let rows = (0..ROWS).map(|at| format!("{{\"q\": \"{name} {at}?\", \"a\": \"yes\"}}\n"));
        job.write(&format!("{name}.jsonl"), &rows.collect::<String>());
    }
    job
}

/// The last written table, as CSV.
fn table(job: &Job) -> String {
    let tables = job.tree("summary");
    let last = tables.iter().rfind(|(name, _)| name.ends_with(".csv")).unwrap();
    String::from_utf8(last.1.clone()).unwrap()
}

#[test]
fn a_pair_that_is_not_asked_for_is_not_run() {
    let job = job(PAIRS);
    let listing = job.run(&["--dry-run"]).expect(0).stdout;
    assert!(listing.contains(&format!("{} samples", 3 * ROWS)) && !listing.contains("m/e["), "{listing}");
    let ran = job.run(&[]).expect(0);
    assert!(ran.stdout.lines().any(|line| line.starts_with('e') && line.contains(" -  ")), "{}", ran.stdout);
    let row = table(&job).lines().find(|line| line.starts_with("e,")).unwrap().to_owned();
    assert_eq!(row.split(',').nth(4), Some("-"), "{row}");
    let long = job.tree("summary").into_iter().find(|(name, _)| name.starts_with("long_")).unwrap().1;
    let long = String::from_utf8(long).unwrap();
    let has = |what: &str| long.lines().any(|line| line.starts_with("e,") && line.contains(what));
    assert!(has(",m,,0,0,0,-,,,") && has(",40,40,0,,"), "{long}");
    let results = job.tree("results");
    assert_eq!(results.keys().map(String::as_str).collect::<Vec<_>>(), ["m/d.json", "n/d.json", "n/e.json"]);
    // Resumed, all of it is there; with every pair asked for, only the missing one is run.
    job.run(&["-r"]).expect(0);
    assert_eq!(job.tree("results"), results);
    job.configure(&format!("\n{MODELS}{}{}", dataset("d"), dataset("e")));
    job.run(&["-r"]).expect(0);
    assert_eq!(job.facts()["resumed_samples"], 3 * ROWS);
    assert_eq!(job.tree("results").len(), 4);
    assert!(job.tree("results")["m/d.json"] == results["m/d.json"]);
}

#[test]
#[ignore = "nightly"]
fn a_run_with_combinations_goes_on_after_its_master_was_killed() {
    let mut job = job(PAIRS);
    job.hold_after(20);
    let master = job.start(&["--max-num-workers", "2"]);
    job.wait_until_durable();
    let workers = children_of(master.pid());
    master.signal("KILL");
    master.finish();
    let gone = || workers.iter().all(|pid| !is_alive(*pid)).then_some(());
    wait_until("the workers end with their master", gone);
    job.gate().open();
    job.run(&["-r"]).expect(0);
    assert_eq!(job.facts()["violations"], 0);
    assert_eq!(job.tree("results").len(), 3);
}

#[test]
#[ignore = "nightly"]
fn rows_are_shown_as_they_are_listed() {
    let job =
        job("[summarizer]\ndataset_abbrs = [\"--- all ---\", [\"both\", \"naive_average\"], \"\", \"e\", \"x\", \"d\"]
summary_groups = [{ name = \"both\", subsets = [\"d\", \"e\"] }, { name = \"no\", subsets = [\"d\", \"x\"] }]\n");
    job.run(&[]).expect(0);
    let heads =
        |text: &str| text.lines().skip(1).map(|line| line.split(',').next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(heads(&table(&job)), ["--- all ---", "both", "", "e", "x", "d"]);
    let dashes = "--- all ---,-,-,-,-,-";
    assert!(table(&job).lines().any(|line| line == dashes), "{}", table(&job));
}
