//! `--skip-unsupported`: what is not served is named and left out, and a mistake stays an error.

use super::fixture::{Fixture, Messages};
use crate::{Diagnostics, load};
use compass_settings::{Config, LeftOutKind};

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

fn refused(fixture: &Fixture, script: &str, skip_unsupported: bool) -> String {
    fixture.strip(&read(fixture, script, skip_unsupported).unwrap_err().to_string())
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
    let mut messages = Messages::default();
    messages.add("all that is not served", &refused(&fixture, &script(), false));
    let one =
        format!("from opencompass.openicl import OddEvaluator\ndatasets = [{}]\n{MODELS}", entry("d", "OddEvaluator"));
    messages.add("an evaluator", &refused(&fixture, &one, false));
    insta::assert_snapshot!(messages);
}

#[test]
fn mistakes_are_errors_with_the_flag_too() {
    let fixture = Fixture::new();
    let mut messages = Messages::default();
    let wrong = entry("d", "'AccEvaluator'").replace("data/test.jsonl", "data/none.jsonl");
    messages.add("a file that is missing", &refused(&fixture, &format!("datasets = [{wrong}]\n{MODELS}"), true));
    let both = entry("d", "'OddEvaluator'").replace("input_columns=['q']", "input_columns=[]");
    let both = refused(&fixture, &format!("datasets = [{both}]\n{MODELS}"), true);
    messages.add("a mistake beside what is not served", &both);
    let toml = super::fixture::MODEL.to_owned() + &super::fixture::DATASET.replace("\"em\"", "\"emm\"");
    insta::assert_snapshot!(messages);
    assert!(fixture.bad(&toml).contains("did you mean `em`?"));
}

#[test]
fn where_nothing_is_left_nothing_is_started() {
    let fixture = Fixture::new();
    let mut messages = Messages::default();
    for (case, script) in [
        (
            "two data sets of a class",
            format!("datasets = [dict(abbr='a', type='MyDataset'), dict(abbr='b', type='MyDataset')]\n{MODELS}"),
        ),
        ("an evaluator", format!("datasets = [{}]\n{MODELS}", entry("a", "'OddEvaluator'"))),
        (
            "a class of models",
            format!(
                "datasets = [{}]\nmodels = [dict(type='Claude', abbr='gpt', path='x')]\n",
                entry("a", "'AccEvaluator'")
            ),
        ),
    ] {
        messages.add(case, &refused(&fixture, &script, true));
    }
    insta::assert_snapshot!(messages);
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
    fixture.flags.datasets = names(&["own_gen", "aime2024_llmjudge_gen", "d"]);
    let config = fixture.good(&text);
    assert_eq!(config.datasets.len(), 1);
    let left: Vec<&str> = config.left_out.iter().map(|left| left.name.as_str()).collect();
    assert_eq!(left, ["own-1", "own-2", "aime2024_llmjudge_gen"]);
    let mut messages = Messages::default();
    messages.add("notes, one for each reason", &fixture.notes(&text).join("\n"));
    fixture.flags.datasets = names(&["own_gen"]);
    messages.add("nothing of what was asked for is left", &fixture.bad(&text));
    fixture.flags.skip_unsupported = false;
    fixture.flags.datasets = names(&["aime2024_llmjudge_gen"]);
    messages.add("without the flag", &fixture.bad(&text));
    insta::assert_snapshot!(messages);
}

#[test]
fn what_hinders_a_data_set_is_said_at_once() {
    let fixture = Fixture::new();
    let entry = entry("a", "'OddEvaluator'").replace("test=dict(path='data/test.jsonl')", "type='MyDataset', path='x'");
    let script = format!("datasets = [{entry}]\n{MODELS}");
    let mut messages = Messages::default();
    messages.add("without the flag", &refused(&fixture, &script, false));
    messages.add("with --skip-unsupported", &refused(&fixture, &script, true));
    insta::assert_snapshot!(messages);
}

#[test]
fn missing_data_of_a_preset_stops_the_job_and_says_so() {
    let mut fixture = Fixture::new();
    fixture.flags.skip_unsupported = true;
    fixture.flags.datasets = Some(vec!["siqa_gen".to_owned()]);
    insta::assert_snapshot!(fixture.bad(super::fixture::MODEL));
}
