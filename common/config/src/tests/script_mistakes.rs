//! Mistakes in configurations of OpenCompass: each is found when the configuration is read, and told in terms of Python.

use super::fixture::{Fixture, MODEL};
use crate::{Config, Diagnostics, load};

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

#[test]
fn combinations_and_work_dir_of_another_kind_are_errors() {
    let fixture = Fixture::new();
    let said = |more: &str| read(&fixture, &format!("{SCRIPT}{more}\n")).unwrap_err().to_string();
    for (more, what) in [
        (
            "model_dataset_combinations = dict(models=models, datasets=datasets)",
            "`model_dataset_combinations` is not a list",
        ),
        ("model_dataset_combinations = [models]", "an entry of `model_dataset_combinations` is not a dict"),
        (
            "model_dataset_combinations = [dict(models=models)]",
            "an entry of `model_dataset_combinations` without `datasets`",
        ),
        (
            "model_dataset_combinations = [dict(models=models[0], datasets=datasets)]",
            "`models` of `model_dataset_combinations` is not a list",
        ),
        ("work_dir = 3", "`work_dir` is not a text"),
    ] {
        let shown = said(more);
        assert!(shown.contains(what) && shown.contains("eval.py:8") && shown.contains("1 error"), "{shown}");
    }
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
    let said = read(&fixture, &script("osy")).unwrap_err().to_string();
    assert!(said.contains("`osy`") && said.contains("reads no files"), "{said}");
    let said = read(&fixture, &script("words")).unwrap_err().to_string();
    assert!(said.contains("it gives a list, and answers are texts"), "{said}");
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
    for (more, what, help) in [
        ("datasets = []", "`datasets` is empty", "write `datasets = [dict(type=..., ...)]`"),
        ("models = []", "`models` is empty", "write `models = [dict(type=..., ...)]`"),
        ("datasets = (d for d in siqa_datasets)", "`datasets` is not a list", "a generator"),
        (
            "class Mine:\n    pass\n\ndatasets = [dict(abbr='own', type=Mine)]",
            "`type` is a class that the configuration defines itself",
            "from mydata import MyDataset",
        ),
        ("datasets = [dict(abbr='own', type=3)]", "`type` is not a class", "a class of OpenCompass"),
        ("open('out.txt', 'w').write('x')", "nothing is written", "a configuration is read, and writes no files"),
    ] {
        let shown = read(&fixture, &format!("{SCRIPT}{more}\n")).unwrap_err().to_string();
        assert!(shown.contains(what) && shown.contains(help) && shown.contains("eval.py:"), "{more}: {shown}");
        assert!(shown.contains("1 error"), "{more}: {shown}");
    }
    let shown = Fixture::new().bad(MODEL);
    assert!(shown.contains("no data set is defined") && shown.contains("add a [[dataset]] table"), "{shown}");
}

#[test]
fn numbers_are_suggested_as_they_are_meant() {
    let fixture = Fixture::new();
    let edited = |more: &str| read(&fixture, &format!("{SCRIPT}{more}\n")).unwrap_err().to_string();
    let shown = edited("datasets[0]['infer_cfg']['inferencer']['max_out_len'] = 12.0");
    assert!(shown.contains("write `max_out_len = 12`"), "{shown}");
    let shown = edited("datasets[0]['infer_cfg']['inferencer']['max_out_len'] = 1.5");
    assert!(shown.contains("write `max_out_len = 1`"), "{shown}");
    let shown = edited("datasets[0]['reader_cfg']['test_range'] = '[2:4]+index_list[7:8]'");
    assert!(shown.contains("`test_range` cannot be `[2:4]+index_list[7:8]`"), "{shown}");
    assert!(shown.contains("`\"[100:][::2]\"`") && shown.contains("a sum of slices, is not taken"), "{shown}");
}

#[test]
fn a_file_that_is_too_large_is_told_what_belongs_elsewhere() {
    let fixture = Fixture::new();
    let shown = read(&fixture, &format!("x = '{}'\n{SCRIPT}", "a".repeat(17 << 20))).unwrap_err().to_string();
    assert!(shown.contains("larger than 16384 KiB") && shown.contains("put rows into files"), "{shown}");
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
    for module in ["mydata", ".mydata"] {
        let shown = read(&fixture, &script(module)).unwrap_err().to_string();
        assert!(shown.contains("mydata.WinograndeDataset` cannot be read here"), "{shown}");
    }
}
