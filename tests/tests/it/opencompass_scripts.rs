//! Configurations of OpenCompass from the command line to the table: as they are, written as TOML, and with parts that are not
//! served.

use compass_tests::{Job, echo_job};

const SCRIPT: &str = r#"from opencompass.datasets import MyDataset
from opencompass.models import Claude
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
models += [dict(type=Claude, abbr='gpt', path='gpt-4')]
";

fn job(script: &str) -> Job {
    let job = echo_job("", "");
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
#[ignore = "nightly"]
fn what_is_not_served_stops_the_job_or_is_left_out() {
    let job = job(&format!("{SCRIPT}{UNSERVED}"));
    let refused = job.command_line(&["eval.py"]).run().expect(2).stderr;
    for part in [
        "`opencompass.datasets.MyDataset` cannot be read here",
        "`opencompass.models.Claude`",
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

/// A function of a team's own, in its own copy of OpenCompass, with all that it needs.
const OWN: &str = r"import re

import torch
from opencompass.registry import TEXT_POSTPROCESSORS
from opencompass.utils.words import NAMES


def unused(x):
    return torch.tensor(x)


@TEXT_POSTPROCESSORS.register_module('parity')
def parity_postprocess(text: str, none: str = 'even') -> str:
    digits = re.findall(r'\d', text)
    return NAMES[int(digits[0]) % 2] if digits else none
";

const PARITY: &str = r"
from opencompass.datasets.own import parity_postprocess
from opencompass.openicl.icl_evaluator import AccEvaluator
served['eval_cfg'] = dict(evaluator=dict(type=AccEvaluator), pred_postprocessor=dict(type=parity_postprocess, none='odd'),
                          dataset_postprocessor=dict(type=parity_postprocess))
";

#[test]
#[ignore = "nightly"]
fn a_postprocessor_of_the_tree_judges_without_python() {
    let job = job(&format!("{SCRIPT}{PARITY}"));
    job.write("opencompass/configs/none.py", "");
    job.write("opencompass/datasets/__init__.py", "from .own import *\n");
    job.write("opencompass/datasets/own.py", OWN);
    job.write("opencompass/utils/words.py", "NAMES = ['even', 'odd']\n");
    job.command_line(&["eval.py"]).run().expect(0);

    let parity = |text: &str, none: usize| {
        let digit = text.chars().find_map(|c| c.to_digit(10));
        digit.map_or(none, |digit| digit as usize % 2)
    };
    let predictions: serde_json::Value =
        serde_json::from_slice(&job.tree("predictions")["echo/answer_gen.json"]).unwrap();
    let asked = predictions.as_object().unwrap();
    let right = asked.values().filter(|sample| {
        parity(sample["prediction"].as_str().unwrap(), 1) == parity(sample["gold"].as_str().unwrap(), 0)
    });
    let (right, all) = (right.count(), asked.len());
    assert!(right > 0 && right < all, "{right} of {all}");
    let results: serde_json::Value = serde_json::from_slice(&job.tree("results")["echo/answer_gen.json"]).unwrap();
    let accuracy = results["accuracy"].as_f64().unwrap();
    assert!((accuracy - 100.0 * right as f64 / all as f64).abs() < 1e-9, "{accuracy} of {right} in {all}");

    // A clone of before version 0.3: its configurations are beside the package.
    let plan = job.facts()["plan"].clone();
    let rows = std::fs::read_to_string(job.path("rows.jsonl")).unwrap();
    job.write("clone/configs/rows.jsonl", &rows);
    let registered = PARITY.replace("type=parity_postprocess", "type='parity'");
    for (file, parity) in [("clone/configs/eval.py", PARITY), ("clone/configs/named.py", registered.as_str())] {
        job.write(file, &format!("{SCRIPT}{parity}"));
        job.write("clone/opencompass/__init__.py", "");
        job.write("clone/opencompass/datasets/__init__.py", "from .own import *\n");
        job.write("clone/opencompass/datasets/own.py", OWN);
        job.write("clone/opencompass/utils/words.py", "NAMES = ['even', 'odd']\n");
        job.command_line(&[file]).run().expect(0);
        let again: serde_json::Value = serde_json::from_slice(&job.tree("results")["echo/answer_gen.json"]).unwrap();
        assert_eq!(again["accuracy"], results["accuracy"], "{file}");
    }

    // Another function is another evaluation of the same answers.
    job.write("opencompass/utils/words.py", "NAMES = ['odd', 'even']\n");
    job.command_line(&["eval.py"]).run().expect(0);
    assert_ne!(job.facts()["plan"], plan);

    // From TOML, by its module or as it is registered.
    job.command_line(&["convert", "eval.py", "-o", "made.toml"]).run().expect(0);
    let results = job.tree("results");
    job.command_line(&["--config", "made.toml"]).run().expect(0);
    assert_eq!(job.tree("results"), results);
    let made = std::fs::read_to_string(job.path("made.toml")).unwrap();
    job.write("named.toml", &made.replace("opencompass.datasets.own.parity_postprocess", "parity"));
    job.command_line(&["--config", "named.toml"]).run().expect(0);
    assert_eq!(job.tree("results"), results);

    job.write("opencompass/datasets/own.py", &OWN.replace("int(digits[0])", "int(torch.tensor(int(digits[0])))"));
    let refused = job.command_line(&["eval.py"]).run().expect(2).stderr;
    let reason = "postprocessor `parity_postprocess` cannot be evaluated here: it needs `torch` (own.py): `torch` is a package that has to be run";
    assert!(refused.contains(reason), "{refused}");
}
