//! Mistakes in configurations of OpenCompass: each is found when the configuration is read, and told in terms of Python.

use super::fixture::{Fixture, MODEL, Messages};
use crate::{Diagnostics, load};
use compass_settings::Config;

const SCRIPT: &str = "from mmengine.config import read_base\n\nwith read_base():\n    from .datasets.siqa.siqa_gen import siqa_datasets\n\n\
                      datasets = [*siqa_datasets]\nmodels = [dict(type='echo', abbr='m', path='m')]\n";

fn read(fixture: &Fixture, script: &str) -> Result<Config, Diagnostics> {
    for file in ["data/siqa/dev.jsonl", "data/siqa/dev-labels.lst"] {
        fixture.write(file, "");
    }
    fixture.write("eval.py", script);
    let mut flags = fixture.flags.clone();
    flags.data_dir = Some(fixture.path("data"));
    load(Some(&fixture.path("eval.py")), &flags).map(|loaded| loaded.config)
}

fn refused(fixture: &Fixture, script: &str) -> String {
    fixture.strip(&read(fixture, script).unwrap_err().to_string())
}

#[test]
fn combinations_and_work_dir_of_another_kind_are_errors() {
    let fixture = Fixture::new();
    let mut messages = Messages::default();
    for more in [
        "model_dataset_combinations = dict(models=models, datasets=datasets)",
        "model_dataset_combinations = [models]",
        "model_dataset_combinations = [dict(models=models)]",
        "model_dataset_combinations = [dict(models=models[0], datasets=datasets)]",
        "work_dir = 3",
    ] {
        messages.add(more, &refused(&fixture, &format!("{SCRIPT}{more}\n")));
    }
    insta::assert_snapshot!(messages);
    read(&fixture, &format!("{SCRIPT}work_dir = None\nmodel_dataset_combinations = None\n")).unwrap();
}

#[test]
fn a_postprocessor_that_reads_files_is_refused_before_anything_runs() {
    let fixture = Fixture::new();
    let script = |function: &str| {
        format!(
            "from own_posts import {function}\n{SCRIPT}for d in datasets:\n    d['eval_cfg'] = \
             dict(evaluator=dict(type='AccEvaluator'), pred_postprocessor=dict(type={function}))\n"
        )
    };
    fixture.write(
        "own_posts.py",
        "def osy(text):\n    return open('/etc/hostname').read()\n\ndef num(text):\n    return len(text)\n\n\
         def words(text):\n    return text.split()\n",
    );
    let mut messages = Messages::default();
    for function in ["osy", "words"] {
        messages.add(function, &refused(&fixture, &script(function)));
    }
    insta::assert_snapshot!(messages);
    // As `AccEvaluator` takes it, a number is its text.
    let config = read(&fixture, &script("num")).unwrap_or_else(|errors| panic!("{errors}"));
    let [compass_postprocess::Postprocessor::Interpreted(function)] =
        config.datasets[0].eval.pred_postprocessors.as_slice()
    else {
        panic!("one function is named")
    };
    assert_eq!(function.extract("four").unwrap().as_deref(), Some("4"));
}

#[test]
fn lists_that_are_none_are_told_in_terms_of_python() {
    let fixture = Fixture::new();
    let mut messages = Messages::default();
    for more in [
        "datasets = []",
        "models = []",
        "datasets = (d for d in siqa_datasets)",
        "class Mine:\n    pass\n\ndatasets = [dict(abbr='own', type=Mine)]",
        "datasets = [dict(abbr='own', type=3)]",
        "open('out.txt', 'w').write('x')",
    ] {
        messages.add(more, &refused(&fixture, &format!("{SCRIPT}{more}\n")));
    }
    messages.add("a model alone, in TOML", &Fixture::new().bad(MODEL));
    insta::assert_snapshot!(messages);
}

#[test]
fn numbers_are_suggested_as_they_are_meant() {
    let fixture = Fixture::new();
    let mut messages = Messages::default();
    for more in [
        "datasets[0]['infer_cfg']['inferencer']['max_out_len'] = 12.0",
        "datasets[0]['infer_cfg']['inferencer']['max_out_len'] = 1.5",
        "datasets[0]['reader_cfg']['test_range'] = '[2:4]+index_list[7:8]'",
    ] {
        messages.add(more, &refused(&fixture, &format!("{SCRIPT}{more}\n")));
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn a_file_that_is_too_large_is_told_what_belongs_elsewhere() {
    let fixture = Fixture::new();
    let shown = read(&fixture, &format!("x = '{}'\n{SCRIPT}", "a".repeat(17 << 20))).unwrap_err().to_string();
    assert!(shown.contains("larger than 16 MiB") && shown.contains("put rows into files"), "{shown}");
}

#[test]
fn a_key_of_the_old_class_without_effect_is_noted() {
    let fixture = Fixture::new();
    let toml = format!(
        "{}type = \"HuggingFaceCausalLM\"\nextract_pred_after_decode = true\n{}",
        MODEL.replace("type = \"hf\"\n", ""),
        super::fixture::DATASET
    );
    fixture.write("eval.toml", &toml);
    let loaded = load(Some(&fixture.path("eval.toml")), &fixture.flags).unwrap_or_else(|errors| panic!("{errors}"));
    let said = "`extract_pred_after_decode` has no effect";
    assert!(loaded.notes.iter().any(|note| note.message == said), "{:?}", loaded.notes);
}

#[test]
fn groups_in_a_circle_are_noted() {
    let fixture = Fixture::new();
    fixture.write("data/siqa/dev.jsonl", "");
    fixture.write("data/siqa/dev-labels.lst", "");
    fixture.write(
        "eval.py",
        &format!(
            "{SCRIPT}summarizer = dict(summary_groups=[dict(name='a', subsets=['siqa', 'b']), dict(name='b', subsets=['a'])])\n"
        ),
    );
    let mut flags = fixture.flags.clone();
    flags.data_dir = Some(fixture.path("data"));
    let loaded = load(Some(&fixture.path("eval.py")), &flags).unwrap_or_else(|errors| panic!("{errors}"));
    let said = "summary groups in a circle have no number: `a` > `b` > `a`";
    assert!(loaded.notes.iter().any(|note| note.message == said), "{:?}", loaded.notes);
}

#[test]
fn a_class_of_ones_own_is_not_that_of_opencompass_of_the_same_name() {
    let fixture = Fixture::new();
    let script = |module: &str| {
        format!(
            "from {module} import WinograndeDataset\ndatasets = [dict(abbr='w', type=WinograndeDataset, path='opencompass/winogrande', \
             reader_cfg=dict(input_columns=['opt1'], output_column='answer'), \
             infer_cfg=dict(prompt_template='{{opt1}}', inferencer='gen'), eval_cfg=dict(evaluator='acc'))]\n\
             models = [dict(type='echo', abbr='m', path='m')]\n"
        )
    };
    fixture.write("data/winogrande/dev.jsonl", "");
    read(&fixture, &script("opencompass.datasets")).unwrap_or_else(|errors| panic!("{errors}"));
    let mut messages = Messages::default();
    for module in ["mydata", ".mydata"] {
        messages.add(module, &refused(&fixture, &script(module)));
    }
    insta::assert_snapshot!(messages);
}
