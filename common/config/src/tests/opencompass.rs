//! Configurations of OpenCompass: what they come to is what TOML comes to, and what is wrong has its place in the .py.

use super::fixture::Fixture;
use crate::{Config, Diagnostics, PythonWorld, load, preset_datasets};

const SCRIPT: &str = "from mmengine.config import read_base\n\nwith read_base():\n    from .datasets.siqa.siqa_gen import siqa_datasets\n\n\
                      datasets = [*siqa_datasets]\nmodels = [dict(type='echo', abbr='m', path='m')]\n";

fn data(fixture: &Fixture) -> std::path::PathBuf {
    fixture.write("data/siqa/dev.jsonl", "");
    fixture.write("data/siqa/dev-labels.lst", "");
    fixture.path("data")
}

fn read(fixture: &Fixture, script: &str) -> Result<Config, Diagnostics> {
    fixture.write("eval.py", script);
    let mut flags = fixture.flags.clone();
    flags.data_dir = Some(data(fixture));
    load(Some(&fixture.path("eval.py")), &flags).map(|loaded| loaded.config)
}

#[test]
fn a_preset_is_imported_without_a_tree() {
    let fixture = Fixture::new();
    let config = read(&fixture, SCRIPT).unwrap();
    let wanted = preset_datasets("siqa_gen", Some(&data(&fixture))).unwrap().unwrap();
    let text = |sets: &[crate::DatasetConfig]| serde_json::to_string_pretty(sets).unwrap();
    assert_eq!(text(&config.datasets), text(&wanted));
}

#[test]
fn what_a_script_changes_of_a_preset_holds() {
    let fixture = Fixture::new();
    let script = SCRIPT.to_owned()
        + "for d in datasets:\n    d['reader_cfg']['test_range'] = '[:8]'\n    d['abbr'] = d['abbr'] + '-8'\n";
    let config = read(&fixture, &script).unwrap();
    assert_eq!(config.datasets[0].abbr, "siqa-8");
    assert_ne!(config.datasets[0].test_range, compass_types::range::RangeSpec::All);
}

#[test]
fn a_class_of_a_tree_is_the_split_of_the_preset() {
    let fixture = Fixture::new();
    fixture.write("opencompass/configs/__init__.py", "");
    fixture.write(
        "opencompass/configs/datasets/siqa/siqa_gen_x.py",
        "from opencompass.openicl.icl_prompt_template import PromptTemplate\n\
         from opencompass.openicl.icl_retriever import ZeroRetriever\n\
         from opencompass.openicl.icl_inferencer import GenInferencer\n\
         from opencompass.openicl.icl_evaluator import AccEvaluator\n\
         from opencompass.datasets import SiqaDatasetV3\n\
         from opencompass.utils.text_postprocessors import first_option_postprocess\n\
         siqa_datasets = [dict(abbr='siqa', type=SiqaDatasetV3, path='opencompass/siqa',\n\
         \x20   reader_cfg=dict(input_columns=['context', 'question', 'A', 'B', 'C'], output_column='answer', test_split='validation'),\n\
         \x20   infer_cfg=dict(prompt_template=dict(type=PromptTemplate, template=dict(round=[dict(role='HUMAN', prompt='{question}')])),\n\
         \x20       retriever=dict(type=ZeroRetriever), inferencer=dict(type=GenInferencer)),\n\
         \x20   eval_cfg=dict(evaluator=dict(type=AccEvaluator), pred_role='BOT',\n\
         \x20       pred_postprocessor=dict(type=first_option_postprocess, options='ABC')))]\n",
    );
    let config = read(&fixture, &SCRIPT.replace("siqa.siqa_gen ", "siqa.siqa_gen_x ")).unwrap();
    let preset = preset_datasets("siqa_gen", Some(&data(&fixture))).unwrap().unwrap();
    assert_eq!(config.datasets[0].test.only, preset[0].test.only);
    assert_eq!(config.datasets[0].test.files, preset[0].test.files);
}

#[test]
fn what_cannot_be_read_is_said_at_its_place() {
    let fixture = Fixture::new();
    let said = |script: &str| read(&fixture, script).unwrap_err().to_string();
    let unknown = said(&SCRIPT.replace("siqa.siqa_gen ", "siqa.siqa_gne "));
    assert!(
        unknown.contains("No module named 'datasets.siqa.siqa_gne'") && unknown.contains("eval.py:4:11"),
        "{unknown}"
    );
    assert!(unknown.contains("did you mean `siqa_gen`?"), "{unknown}");
    let broken = said("datasets = [1 / 0]\n");
    assert!(broken.contains("ZeroDivisionError: division by zero") && broken.contains("eval.py:1:13"), "{broken}");
    let class = said(
        "from opencompass.datasets import MyDataset\ndatasets = [dict(abbr='a', type=MyDataset), dict(abbr='b', type=MyDataset)]\n\
         models = [dict(type='echo', abbr='m', path='m')]\n",
    );
    assert!(class.contains("`opencompass.datasets.MyDataset` cannot be read here (2 data sets)"), "{class}");
    assert!(class.contains("1 error"), "{class}");
    let model = said(&SCRIPT.replace("type='echo'", "type='opencompass.models.VLLMM'"));
    assert!(model.contains("did you mean `VLLM`?"), "{model}");
}

#[test]
fn classes_of_models_are_kinds_of_models() {
    let fixture = Fixture::new();
    let script = "from opencompass.models import HuggingFacewithChatTemplate, LLMv2\n".to_owned()
        + &SCRIPT.replace(
            "dict(type='echo', abbr='m', path='m')",
            "dict(type=LLMv2, abbr='m', path='m', run_cfg=dict(num_gpus=8, num_procs=4))",
        );
    let said = read(&fixture, &script).unwrap_err().to_string();
    assert!(said.contains("`num_procs = 4` and `num_gpus = 8` differ"), "{said}");
}

#[test]
fn a_python_file_is_not_included_by_toml() {
    let fixture = Fixture::new();
    fixture.write("base.py", "models = []\n");
    let said = fixture.bad("include = [\"base.py\"]\n");
    assert!(said.contains("which TOML cannot include") && said.contains("eval.toml:1:12"), "{said}");
}

#[test]
fn the_environment_is_what_was_given() {
    let fixture = Fixture::new();
    fixture.write(
        "eval.py",
        &("import os\n".to_owned() + SCRIPT + "models[0]['abbr'] = os.environ.get('NAME', 'none')\n"),
    );
    let mut flags = fixture.flags.clone();
    flags.data_dir = Some(data(&fixture));
    flags.python = PythonWorld { variables: vec![("NAME".into(), "given".into())], ..PythonWorld::default() };
    let config = load(Some(&fixture.path("eval.py")), &flags).unwrap().config;
    assert_eq!(config.models[0].abbr, "given");
}
