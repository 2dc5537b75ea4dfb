//! Configurations of OpenCompass from the command line to the table: as they are, written as TOML, and with parts that are not
//! served.

use compass_tests::{Job, echo_job};

const SCRIPT: &str = r#"from opencompass.datasets import MyDataset
from opencompass.models import OpenAI
from opencompass.openicl.icl_evaluator import EMEvaluator, OddEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate

reader_cfg = dict(input_columns=['q'], output_column='a')
infer_cfg = dict(prompt_template=dict(type=PromptTemplate, template='{q}'), inferencer=dict(type=GenInferencer, max_out_len=8))
served = dict(abbr='answer_gen', test=dict(path='rows.jsonl'), reader_cfg=reader_cfg, infer_cfg=infer_cfg,
              eval_cfg=dict(evaluator=dict(type=EMEvaluator)))
datasets = [served]
models = [dict(type='echo', abbr='echo', path='echo')]
work_dir = 'out'
"#;

const UNSERVED: &str = r"
datasets += [dict(served, abbr='odd', eval_cfg=dict(evaluator=dict(type=OddEvaluator))), dict(type=MyDataset, path='x/mine')]
models += [dict(type=OpenAI, abbr='gpt', path='gpt-4')]
";

fn job(script: &str) -> Job {
    let job = echo_job(0, "", "");
    job.write("eval.py", script);
    job
}

#[test]
fn a_script_and_the_toml_that_it_is_written_as_are_one_job() {
    let job = job(SCRIPT);
    job.command_line(&["eval.py"]).run().expect(0);
    let (results, plan) = (job.tree("results"), job.facts()["plan"].clone());
    let said = job.command_line(&["convert", "eval.py", "-o", "made.toml"]).run().expect(0).stderr;
    assert!(said.contains("made.toml is written"), "{said}");
    job.command_line(&["--config", "made.toml"]).run().expect(0);
    assert_eq!(job.runs().len(), 2);
    assert_eq!((job.tree("results"), job.facts()["plan"].clone()), (results, plan));
    let printed = job.command_line(&["convert", "eval.py"]).run().expect(0).stdout;
    assert_eq!(printed, std::fs::read_to_string(job.path("made.toml")).unwrap());
    let again = job.command_line(&["convert", "eval.py", "-o", "made.toml"]).run().expect(2).stderr;
    assert!(again.contains("`made.toml` is there already"), "{again}");
    let flags = job.command_line(&["convert", "eval.py", "--max-num-workers", "3"]).run().expect(2).stderr;
    assert!(flags.contains("flags over the configuration"), "{flags}");
}

#[test]
fn what_is_not_served_stops_the_job_or_is_left_out() {
    let job = job(&format!("{SCRIPT}{UNSERVED}"));
    let refused = job.command_line(&["eval.py"]).run().expect(2).stderr;
    for part in [
        "`opencompass.datasets.MyDataset` cannot be read here",
        "`opencompass.models.OpenAI`",
        "--skip-unsupported runs the rest",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert!(job.runs().is_empty());

    let listed = job.command_line(&["eval.py", "--skip-unsupported", "--dry-run"]).run().expect(0);
    let left = [
        "data set `odd` is left out: evaluator `OddEvaluator`",
        "data set `x_mine` is left out: ",
        "model `gpt` is left out: ",
    ];
    assert!(left.iter().all(|part| listed.stdout.contains(part) && listed.stderr.contains(part)), "{listed:?}");

    let run = job.command_line(&["eval.py", "--skip-unsupported"]).run().expect(1);
    let summary: Vec<(String, Vec<u8>)> = job.tree("summary").into_iter().collect();
    let shown = |ending: &str| {
        let (_, bytes) = summary.iter().find(|(name, _)| name.ends_with(ending)).unwrap();
        String::from_utf8_lossy(bytes).into_owned()
    };
    let facts = job.facts()["left_out"].to_string();
    for part in left {
        assert!(
            run.stdout.contains(part) && shown(".txt").contains(part) && shown(".md").contains(part),
            "{part}: {}",
            run.stdout
        );
    }
    for name in ["odd", "x_mine", "gpt"] {
        assert!(facts.contains(&format!("\"name\":\"{name}\"")), "{facts}");
    }
    assert!(
        job.tree("results").keys().all(|name| name.ends_with("answer_gen.json")),
        "{:?}",
        job.tree("results").keys()
    );
    // The same table is made again from what is recorded, with the same notes.
    job.command_line(&["eval.py", "--skip-unsupported", "-m", "viz", "-r"]).run().expect(1);
}
