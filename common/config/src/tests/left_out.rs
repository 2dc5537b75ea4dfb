//! `--skip-unsupported`: what is not served is named and left out, and a mistake stays an error.

use super::fixture::Fixture;
use crate::{Config, Diagnostics, LeftOutKind, load};

const ENTRY: &str = "dict(abbr='NAME', test=dict(path='data/test.jsonl'), reader_cfg=dict(input_columns=['q'], output_column='a'),\n\
    \x20   infer_cfg=dict(prompt_template=dict(type='PromptTemplate', template='{q}'), inferencer=dict(type='GenInferencer')),\n\
    \x20   eval_cfg=dict(evaluator=dict(type=EVALUATOR)))";
const MODELS: &str = "models = [dict(type='echo', abbr='m', path='m')]\n";

fn entry(name: &str, evaluator: &str) -> String {
    ENTRY.replace("NAME", name).replace("EVALUATOR", evaluator)
}

fn read(fixture: &Fixture, script: &str, skip_unsupported: bool) -> Result<Config, Diagnostics> {
    fixture.write("eval.py", script);
    let flags = crate::Overrides { skip_unsupported, ..fixture.flags.clone() };
    load(Some(&fixture.path("eval.py")), &flags).map(|loaded| loaded.config)
}

fn script() -> String {
    format!(
        "from opencompass.datasets import MyDataset\nfrom opencompass.openicl import OddEvaluator, TopkRetriever\n\
         from opencompass.models import Claude\nfrom opencompass.utils import odd\ndatasets = [{}, {}, {}, {},\n\
         \x20   dict(type=MyDataset, path='opencompass/mine', name='x')]\n\
         models = [dict(type='echo', abbr='m', path='m'), dict(type=Claude, abbr='gpt', path='gpt-4')]\n",
        entry("good", "'AccEvaluator'"),
        entry("judged", "OddEvaluator"),
        entry("shots", "'AccEvaluator'")
            .replace("inferencer=", "retriever=dict(type=TopkRetriever, ice_num=2), inferencer="),
        entry("post", "'AccEvaluator'), pred_postprocessor=dict(type=odd"),
    )
}

#[test]
fn what_is_not_served_is_left_out_and_named() {
    let fixture = Fixture::new();
    let config = read(&fixture, &script(), true).unwrap_or_else(|errors| panic!("{errors}"));
    let abbrs: Vec<&str> = config.datasets.iter().map(|dataset| dataset.abbr.as_str()).collect();
    assert_eq!((abbrs, config.models.len()), (vec!["good"], 1));
    let left: Vec<(LeftOutKind, &str)> = config.left_out.iter().map(|left| (left.kind, left.name.as_str())).collect();
    for name in ["judged", "shots", "post", "opencompass_mine_x"] {
        assert!(left.contains(&(LeftOutKind::Dataset, name)), "{name}: {left:?}");
    }
    assert!(left.contains(&(LeftOutKind::Model, "gpt")) && left.len() == 5, "{left:?}");
    let mine = config.left_out.iter().find(|left| left.name == "opencompass_mine_x").unwrap().to_string();
    assert!(mine.contains("`opencompass.datasets.MyDataset` cannot be read here"), "{mine}");
}

#[test]
fn a_refusal_names_the_flag() {
    let fixture = Fixture::new();
    let said = read(&fixture, &script(), false).unwrap_err().to_string();
    assert!(said.contains("--skip-unsupported runs the rest"), "{said}");
    let one =
        format!("from opencompass.openicl import OddEvaluator\ndatasets = [{}]\n{MODELS}", entry("d", "OddEvaluator"));
    let said = read(&fixture, &one, false).unwrap_err().to_string();
    assert!(said.contains("`OddEvaluator` is not yet supported") && said.contains("--skip-unsupported"), "{said}");
}

#[test]
fn mistakes_are_errors_with_the_flag_too() {
    let fixture = Fixture::new();
    let wrong = entry("d", "'AccEvaluator'").replace("data/test.jsonl", "data/none.jsonl");
    let said = read(&fixture, &format!("datasets = [{wrong}]\n{MODELS}"), true).unwrap_err().to_string();
    assert!(said.contains("no file `data/none.jsonl`"), "{said}");
    // One of each: the mistake is said, and what is not served stays beside it.
    let both = entry("d", "'OddEvaluator'").replace("input_columns=['q']", "input_columns=[]");
    let said = read(&fixture, &format!("datasets = [{both}]\n{MODELS}"), true).unwrap_err().to_string();
    assert!(said.contains("names no column") && said.contains("OddEvaluator"), "{said}");
    let toml = super::fixture::MODEL.to_owned() + &super::fixture::DATASET.replace("\"em\"", "\"emm\"");
    assert!(fixture.bad(&toml).contains("did you mean `em`?"));
}

#[test]
fn where_nothing_is_left_nothing_is_started() {
    let fixture = Fixture::new();
    for script in [
        format!("datasets = [dict(abbr='a', type='MyDataset'), dict(abbr='b', type='MyDataset')]\n{MODELS}"),
        format!("datasets = [{}]\n{MODELS}", entry("a", "'OddEvaluator'")),
    ] {
        let said = read(&fixture, &script, true).unwrap_err().to_string();
        assert!(said.contains("no data set is left to run") && said.contains("1 error"), "{said}");
    }
    let script = format!(
        "datasets = [{}]\nmodels = [dict(type='Claude', abbr='gpt', path='x')]\n",
        entry("a", "'AccEvaluator'")
    );
    let said = read(&fixture, &script, true).unwrap_err().to_string();
    assert!(said.contains("no model is left to run"), "{said}");
}

#[test]
fn a_name_of_which_nothing_is_left_leaves_the_others() {
    let mut fixture = Fixture::new();
    fixture.write(
        "tree/opencompass/configs/datasets/own/own_gen.py",
        "from opencompass.datasets import MyDataset\n\
         own_datasets = [dict(abbr='own-1', type=MyDataset, path='x'), dict(abbr='own-2', type=MyDataset, path='x')]\n",
    );
    fixture.flags.python.opencompass = Some(fixture.path("tree"));
    fixture.flags.skip_unsupported = true;
    let text = super::fixture::MODEL.to_owned() + super::fixture::DATASET;
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    fixture.flags.datasets = names(&["own_gen", "aime2024_gen", "d"]);
    let config = fixture.good(&text);
    assert_eq!(config.datasets.len(), 1);
    let left: Vec<&str> = config.left_out.iter().map(|left| left.name.as_str()).collect();
    assert_eq!(left, ["own-1", "own-2", "aime2024_gen"]);
    let notes = fixture.notes(&text);
    assert_eq!(notes.len(), 2, "one note for each reason: {notes:#?}");
    let said = |part: &str| notes.iter().any(|note| note.contains(part));
    assert!(said("data sets `own-1`, `own-2` are left out: `opencompass.datasets.MyDataset` cannot be"), "{notes:#?}");
    assert!(said("data set `aime2024_gen` is left out: it is not yet supported: math_verify"), "{notes:#?}");
    fixture.flags.datasets = names(&["own_gen"]);
    let said = fixture.bad(&text);
    assert!(said.contains("no data set is left to run") && said.contains("1 error"), "{said}");
    fixture.flags.skip_unsupported = false;
    fixture.flags.datasets = names(&["aime2024_gen"]);
    let said = fixture.bad(&text);
    assert!(said.contains("is not yet supported") && said.contains("--skip-unsupported runs the rest"), "{said}");
}

#[test]
fn what_hinders_a_data_set_is_said_at_once() {
    let fixture = Fixture::new();
    let entry = entry("a", "'OddEvaluator'").replace("test=dict(path='data/test.jsonl')", "type='MyDataset', path='x'");
    let script = format!("datasets = [{entry}]\n{MODELS}");
    let said = read(&fixture, &script, false).unwrap_err().to_string();
    assert!(said.contains("`MyDataset` cannot be read here"), "{said}");
    assert!(said.contains("evaluator `OddEvaluator` is not yet supported") && said.contains("2 errors"), "{said}");
    let said = read(&fixture, &script, true).unwrap_err().to_string();
    assert!(said.contains("would have to run; evaluator `OddEvaluator` is not yet supported"), "{said}");
}

#[test]
fn missing_data_of_a_preset_stops_the_job_and_says_so() {
    let mut fixture = Fixture::new();
    fixture.flags.skip_unsupported = true;
    fixture.flags.datasets = Some(vec!["siqa_gen".to_owned()]);
    let said = fixture.bad(super::fixture::MODEL);
    assert!(said.contains("leaves out what is not served, and this is"), "{said}");
}
