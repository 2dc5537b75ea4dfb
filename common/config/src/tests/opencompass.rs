//! Configurations of OpenCompass: what they come to is what TOML comes to, and what is wrong has its place in the .py.

use super::fixture::{Fixture, Messages};
use crate::{Diagnostics, PythonWorld, load, preset_datasets};
use compass_settings::{
    Config, EvaluatedConfiguration, LoadedRows, Loader, LoaderCall, LoaderWorld, NoRows, RowLoader,
};

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

fn refused(fixture: &Fixture, script: &str) -> String {
    fixture.strip(&read(fixture, script).unwrap_err().to_string())
}

#[test]
fn a_preset_is_imported_without_a_tree() {
    let fixture = Fixture::new();
    let config = read(&fixture, SCRIPT).unwrap();
    let wanted = preset_datasets("siqa_gen", Some(&data(&fixture))).unwrap().unwrap();
    let text = |sets: &[compass_settings::DatasetConfig]| serde_json::to_string_pretty(sets).unwrap();
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

/// Names of LongBench's classes, and of their files where these have others.
const LONGBENCH: &str = "2wikimqa dureader gov_report hotpotqa lcc lsht multi_news multifieldqa_en multifieldqa_zh musique narrativeqa \
                         passage_count passage_retrieval_en passage_retrieval_zh qasper qmsum repobench=repobench-p samsum trec \
                         triviaqa vcsum";

#[test]
fn every_class_of_longbench_is_read_without_its_source() {
    let fixture = Fixture::new();
    let entry = |name: &str| {
        let (class, file) = name.split_once('=').unwrap_or((name, name));
        fixture.write(&format!("data/Longbench/data/{file}.jsonl"), "");
        format!(
            "dict(abbr='{file}', type='opencompass.datasets.LongBench{class}Dataset', path='opencompass/Longbench', name='{file}',\n\
             reader_cfg=dict(input_columns=['context', 'input'], output_column='answers', train_split='test', test_split='test'),\n\
             infer_cfg=dict(prompt_template='{{context}}', inferencer='gen'), eval_cfg=dict(evaluator='em')),\n"
        )
    };
    let entries: String = LONGBENCH.split_whitespace().map(entry).collect();
    let script = format!("datasets = [{entries}]\nmodels = [dict(type='echo', abbr='m', path='m')]\n");
    let config = read(&fixture, &script).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(config.datasets.len(), 21);
    for dataset in &config.datasets {
        let file = fixture.path(&format!("data/Longbench/data/{}.jsonl", dataset.abbr));
        assert_eq!(dataset.test.files[0].path, file);
        // What a class does not give is no input column.
        let given = &dataset.test.only;
        assert!(dataset.input_columns.iter().all(|column| given.contains(column)), "{}: {given:?}", dataset.abbr);
    }
}

#[test]
fn the_folder_of_a_tree_may_be_the_package_or_its_configurations() {
    let mut fixture = Fixture::new();
    let file = "own_datasets = [dict(abbr='own')]\n";
    fixture.write("src/opencompass-0.5.4/opencompass/configs/datasets/own/own_gen.py", file);
    let script = "from mmengine.config import read_base\nwith read_base():\n    from opencompass.configs.datasets.own.own_gen import own_datasets\n\
                  datasets = [*own_datasets]\nmodels = [dict(type='echo', abbr='m', path='m')]\n";
    let mut messages = Messages::default();
    for folder in ["", "/opencompass", "/opencompass/configs"] {
        fixture.flags.python.opencompass = Some(fixture.path(&format!("src/opencompass-0.5.4{folder}")));
        messages.add(&format!("src/opencompass-0.5.4{folder}"), &refused(&fixture, script));
    }
    fixture.write("src/empty/file", "");
    for folder in ["src", "src/empty", "src/nothing", "src/empty/file"] {
        fixture.flags.python.opencompass = Some(fixture.path(folder));
        messages.add(folder, &refused(&fixture, script));
    }
    fixture.flags.python.opencompass = None;
    let toml = format!("[import]\nopencompass = \"src\"\n{}{}", super::fixture::MODEL, super::fixture::DATASET);
    messages.add("src, named by TOML", &fixture.bad(&toml));
    insta::assert_snapshot!(messages);
}

#[test]
fn bytes_that_are_not_utf_8_have_cpythons_text_and_their_line() {
    let fixture = Fixture::new();
    let mut messages = Messages::default();
    for (case, bytes) in [
        ("no coding line", b"x = 1\nname = 'caf\xe9'\n".as_slice()),
        ("a coding line", b"# coding: latin-1\nname = 'caf\xe9'\n".as_slice()),
    ] {
        std::fs::write(fixture.path("eval.py"), bytes).unwrap();
        let refusal = load(Some(&fixture.path("eval.py")), &fixture.flags).unwrap_err().to_string();
        messages.add(case, &fixture.strip(&refusal));
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn one_name_is_one_data_set_and_one_model() {
    let fixture = Fixture::new();
    let mut messages = Messages::default();
    for more in [
        "d = dict(datasets[0], reader_cfg=dict(datasets[0]['reader_cfg'], test_range='[:8]'))\ndatasets = [*datasets, d]\n",
        "models += [dict(type='echo', abbr='m', path='other')]\n",
    ] {
        messages.add(more, &refused(&fixture, &format!("{SCRIPT}{more}")));
    }
    // The same one twice is one, and models of combinations repeat.
    let twice = "datasets = datasets + datasets\nmodels = models * 3\n\
                 model_dataset_combinations = [dict(models=models, datasets=datasets)]\n";
    fixture.write("eval.py", &format!("{SCRIPT}{twice}"));
    let mut flags = fixture.flags.clone();
    flags.data_dir = Some(data(&fixture));
    let loaded = load(Some(&fixture.path("eval.py")), &flags).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!((loaded.config.datasets.len(), loaded.config.models.len()), (1, 1));
    let notes: Vec<String> = loaded.notes.iter().map(|note| fixture.strip(&note.to_string())).collect();
    messages.add(twice, &notes.join("\n"));
    insta::assert_snapshot!(messages);
}

#[test]
fn parts_of_a_preset_are_edited_as_those_of_opencompass() {
    let fixture = Fixture::new();
    let edit = |more: &str| {
        let script =
            format!("{SCRIPT}from opencompass.openicl.icl_inferencer import GenInferencer\nd = datasets[0]\n{more}\n");
        read(&fixture, &script).unwrap_or_else(|errors| panic!("{more}: {errors}")).datasets.remove(0)
    };
    let kept = edit("d['abbr'] = 'siqa'");
    assert_eq!(kept.version.as_deref(), Some("18632c"));
    let shorter = edit("d['infer_cfg']['inferencer']['max_out_len'] = 7");
    assert_eq!(shorter.infer.generation().and_then(|spec| spec.max_out_len), Some(7));
    assert_eq!((shorter.version, shorter.prompt), (None, kept.prompt.clone()));
    let asked = edit("d['infer_cfg']['prompt_template']['template']['round'][0]['prompt'] = 'Q: {question}'");
    assert!(serde_json::to_string(&asked.prompt).unwrap().contains("Q: {question}"));
    let same = edit(
        "assert d['infer_cfg']['inferencer']['type'] is GenInferencer\nd['infer_cfg']['inferencer'] = dict(type=GenInferencer)",
    );
    assert_eq!((same.version, same.infer), (kept.version, kept.infer));
    let judged = edit("d['eval_cfg']['evaluator']['type'] = 'EMEvaluator'");
    assert_eq!(judged.eval.evaluator, compass_plan::evaluation::EvaluatorSpec::Em);
    let mut messages = Messages::default();
    for more in [
        "datasets[0]['path'] = 'data/' + datasets[0]['path']",
        "print(datasets[0]['type'])",
        "datasets[0]['reader_cfg']['train_split'] = datasets[0]['reader_cfg']['test_split']",
        "datasets[0]['path'] = 'data/siqa'",
    ] {
        messages.add(more, &refused(&fixture, &format!("{SCRIPT}{more}\n")));
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn what_is_scored_after_each_label_is_the_column_of_the_class() {
    let fixture = Fixture::new();
    fixture.write("data/winogrande/dev.jsonl", "");
    let script = "winogrande = dict(abbr='w', type='WinograndeDataset', path='opencompass/winogrande',\n\
                  reader_cfg=dict(input_columns=['opt1', 'opt2'], output_column='answer'),\n\
                  infer_cfg=dict(prompt_template=dict(type='PromptTemplate', template={1: '{opt1}', 2: '{opt2}'}),\n\
                  retriever=dict(type='ZeroRetriever'), inferencer=dict(type='LLInferencer')),\n\
                  eval_cfg=dict(evaluator=dict(type='AccEvaluator')))\n\
                  datasets = [winogrande]\nmodels = [dict(type='echo', abbr='m', path='m')]\n";
    let config = read(&fixture, script).unwrap_or_else(|errors| panic!("{errors}"));
    let prompt = &config.datasets[0].prompt;
    assert_eq!(config.datasets[0].infer, compass_plan::InferSpec::MeanLoglikelihood);
    assert_eq!(prompt.target, Some(compass_plan::prompt::TemplateText::Text("{cont}".into())));
    assert_eq!((prompt.target_within, prompt.target_delimiter.as_str()), (true, ""));
    assert!(config.datasets[0].eval.accuracy_alone, "`LLInferencer` has no acc_norm");
    assert_eq!(prompt.label_type, Some(compass_plan::prompt::LabelType::Integer));
    let dialogue = |option: &str| format!("dict(round=[dict(role='HUMAN', prompt='{option}')])");
    let in_rounds = script.replace("'{opt1}'", &dialogue("{opt1}")).replace("'{opt2}'", &dialogue("{opt2}"));
    insta::assert_snapshot!(refused(&fixture, &in_rounds));
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
         \x20       retriever=dict(type=ZeroRetriever), inferencer=dict(type=GenInferencer), max_out_len=50),\n\
         \x20   eval_cfg=dict(evaluator=dict(type=AccEvaluator), pred_role='BOT', ds_split='validation', ds_column='answer',\n\
         \x20       pred_postprocessor=dict(type=first_option_postprocess, options='ABC')))]\n",
    );
    let config = read(&fixture, &SCRIPT.replace("siqa.siqa_gen ", "siqa.siqa_gen_x ")).unwrap();
    let preset = preset_datasets("siqa_gen", Some(&data(&fixture))).unwrap().unwrap();
    assert_eq!(config.datasets[0].test.only, preset[0].test.only);
    assert_eq!(config.datasets[0].test.files, preset[0].test.files);
}

#[test]
fn columns_that_a_class_does_not_give_are_not_asked_for() {
    let fixture = Fixture::new();
    fixture.write("data/CLUE/C3/dev_0.json", "");
    let script = "from opencompass.datasets import C3Dataset_V2\ndatasets = [dict(abbr='C3', type=C3Dataset_V2, \
                  path='./data/CLUE/C3/dev_0.json', reader_cfg=dict(input_columns=['content', 'question', 'choices'], \
                  output_column='label'), infer_cfg=dict(prompt_template='{content}{question}', inferencer='gen'), \
                  eval_cfg=dict(evaluator='acc'))]\nmodels = [dict(type='echo', abbr='m', path='m')]\n";
    let config = read(&fixture, script).unwrap();
    assert_eq!(config.datasets[0].input_columns, ["content", "question"]);
    let preset = preset_datasets("CLUE_C3_gen", Some(&data(&fixture))).unwrap().unwrap();
    assert_eq!(config.datasets[0].test.columns.len(), preset[0].test.columns.len());
    assert_eq!(config.datasets[0].test.each, preset[0].test.each);
}

#[test]
fn what_cannot_be_read_is_said_at_its_place() {
    let fixture = Fixture::new();
    let mut messages = Messages::default();
    for (case, script) in [
        ("a module with a typing error", SCRIPT.replace("siqa.siqa_gen ", "siqa.siqa_gne ")),
        ("an expression that raises", "datasets = [1 / 0]\n".to_owned()),
        (
            "a class of data sets that nothing reads",
            "from opencompass.datasets import MyDataset\ndatasets = [dict(abbr='a', type=MyDataset), dict(abbr='b', type=MyDataset)]\n\
             models = [dict(type='echo', abbr='m', path='m')]\n"
                .to_owned(),
        ),
        ("a class of models with a typing error", SCRIPT.replace("type='echo'", "type='opencompass.models.VLLMM'")),
    ] {
        messages.add(case, &refused(&fixture, &script));
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn a_postprocessor_that_the_file_defines_is_one_error() {
    let fixture = Fixture::new();
    let script = SCRIPT.to_owned()
        + "def own(text):\n    return text\n\n\
           for d in datasets:\n    d['eval_cfg'] = dict(evaluator=dict(type='AccEvaluator'), pred_postprocessor=dict(type=own, lower=True))\n";
    insta::assert_snapshot!(refused(&fixture, &script));
}

#[test]
fn a_postprocessor_of_a_module_beside_the_file_is_evaluated() {
    let fixture = Fixture::new();
    let script = "from own_posts import first_capital_postprocess\n".to_owned()
        + SCRIPT
        + "for d in datasets:\n    d['eval_cfg'] = dict(evaluator=dict(type='AccEvaluator'), \
           pred_postprocessor=dict(type=first_capital_postprocess, end='!'))\n";
    fixture.write(
        "own_posts.py",
        "import re\n\ndef first_capital_postprocess(text, end=''):\n    return re.sub('a', 'b', text) + end\n",
    );
    let config = read(&fixture, &script).unwrap_or_else(|errors| panic!("{errors}"));
    let [compass_postprocess::Postprocessor::Interpreted(function)] =
        config.datasets[0].eval.pred_postprocessors.as_slice()
    else {
        panic!("the file's own function is meant, not the one of that name here")
    };
    assert_eq!(function.extract("banana").unwrap().as_deref(), Some("bbnbnb!"));
    fixture.write(
        "own_posts.py",
        "import torch\n\ndef first_capital_postprocess(text, end=''):\n    return torch.tensor(text)\n",
    );
    insta::assert_snapshot!(refused(&fixture, &script));
}

#[test]
fn files_that_cannot_be_imported_say_why() {
    let fixture = Fixture::new();
    let script = "with read_base():\n    from .part import models\n";
    let mut messages = Messages::default();
    std::fs::write(fixture.path("part.py"), b"models = []\nname = 'caf\xe9'\n").unwrap();
    messages.add("a file that is not UTF-8", &refused(&fixture, script));
    std::fs::remove_file(fixture.path("part.py")).unwrap();
    std::fs::create_dir(fixture.path("part.py")).unwrap();
    messages.add("a folder", &refused(&fixture, script));
    std::fs::write(fixture.path("other.py"), "models = [\n").unwrap();
    let other = "with read_base():\n    from .other import models\n";
    messages.add("a file that is no Python", &refused(&fixture, other));
    messages.add("a script with a null byte", &refused(&fixture, "models = ['a\0']\n"));
    insta::assert_snapshot!(messages);
}

#[test]
fn classes_of_models_are_kinds_of_models() {
    let fixture = Fixture::new();
    let script = "from opencompass.models import HuggingFacewithChatTemplate, LLMv2\n".to_owned()
        + &SCRIPT.replace(
            "dict(type='echo', abbr='m', path='m')",
            "dict(type=LLMv2, abbr='m', path='m', run_cfg=dict(num_gpus=8, num_procs=4))",
        );
    insta::assert_snapshot!(refused(&fixture, &script));
}

#[test]
fn a_python_file_is_included_by_toml_as_any_other() {
    let mut fixture = Fixture::new();
    fixture.flags.data_dir = Some(data(&fixture));
    fixture.write("base.py", SCRIPT);
    let config = fixture.good("include = [\"base.py\"]\n[[model]]\nabbr = \"m\"\nmax_out_len = 7\n");
    assert_eq!((config.datasets[0].abbr.as_str(), config.models[0].max_out_len), ("siqa", 7));
    fixture.write("base.py", "models = [1 / 0]\n");
    insta::assert_snapshot!(fixture.bad("include = [\"base.py\"]\n"));
}

/// Gives every class the same rows, or the configuration of one model; tells with which interpreter.
#[derive(Debug)]
struct Canned(std::path::PathBuf);

impl RowLoader for Canned {
    fn load(&self, world: &LoaderWorld, calls: &[LoaderCall]) -> Vec<Result<LoadedRows, NoRows>> {
        let of_call = |call: &LoaderCall| match &world.interpreter {
            Some(interpreter) if call.class.ends_with("Good") => Ok(LoadedRows {
                splits: call.splits.iter().map(|split| (split.clone(), self.0.clone())).collect(),
                said: format!("{interpreter:?} read them"),
            }),
            Some(_) => Err(NoRows { reason: "it raised".into(), help: None }),
            None => Err(NoRows::default()),
        };
        calls.iter().map(of_call).collect()
    }

    fn configuration(&self, world: &LoaderWorld) -> Option<Result<EvaluatedConfiguration, NoRows>> {
        world.interpreter.as_ref()?;
        let names = serde_json::json!({"dict": [["models", {"list": [{"dict": [["type", "echo"], ["abbr", "m"], ["path", "m"]]}]}],
            ["datasets", {"list": []}]]});
        Some(Ok(EvaluatedConfiguration { names, said: "mmengine evaluated it".into() }))
    }
}

const CLASSES: &str = "from x import Good, Bad, Worse\nmodels = [dict(type='echo', abbr='m', path='m')]\n\
    reader = dict(input_columns=['q'], output_column='a')\n\
    asks = dict(prompt_template='{q}', inferencer='gen')\n\
    entry = lambda abbr, kind: dict(abbr=abbr, type=kind, path='p', reader_cfg=reader, infer_cfg=asks, eval_cfg=dict(evaluator='em'))\n";

#[test]
fn the_interpreter_that_is_named_reads_what_nothing_else_reads() {
    let mut fixture = Fixture::new();
    fixture.write("rows.jsonl", "{\"q\": 1, \"a\": 2}\n");
    fixture.flags.python.loader = Some(Loader(std::sync::Arc::new(Canned(fixture.path("rows.jsonl")))));
    let script = |datasets: &str| format!("{CLASSES}datasets = [{datasets}]\ndel entry\n");
    let toml = "include = [\"eval.py\"]\n[import]\npython = \"env/bin/python\"\npython_network = true\n";
    fixture.write("eval.py", &script("entry('a', Good), entry('b', Good)"));
    let loaded = fixture.load(toml).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(loaded.config.datasets[1].test.files[0].path, fixture.path("rows.jsonl"));
    let notes: Vec<&str> = loaded.notes.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("env/bin/python") && notes[0].contains("network: true"), "{notes:?}");
    assert!(fixture.bad("include = [\"eval.py\"]\n").contains("--python ENV/bin/python"));
    fixture.write("eval.py", &script("entry('a', Bad), entry('b', Worse), entry('c', Bad)"));
    let said = fixture.bad(toml);
    assert!(said.contains("`x.Bad` and `x.Worse` cannot be read here (3 data sets): it raised"), "{said}");
    assert!(said.contains("1 error"), "{said}");
}

#[test]
fn a_configuration_beyond_us_is_evaluated_by_the_interpreter() {
    let mut fixture = Fixture::new();
    fixture.flags.python.loader = Some(Loader(std::sync::Arc::new(Canned(fixture.path("rows.jsonl")))));
    fixture.write("eval.py", "import threading\nmodels = threading.main()\n");
    let toml = format!("include = [\"eval.py\"]\n{}", super::fixture::DATASET);
    let with = format!("{toml}[import]\npython = \"python3\"\n");
    let loaded = fixture.load(&with).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(loaded.config.models[0].abbr, "m");
    assert!(loaded.notes[0].message.contains("mmengine evaluated it"), "{:?}", loaded.notes);
    assert!(fixture.bad(&toml).contains("eval.py:2"));
}

#[test]
fn the_environment_is_what_was_given() {
    let fixture = Fixture::new();
    fixture.write(
        "eval.py",
        &("import os\n".to_owned()
            + SCRIPT
            + "models[0]['abbr'] = os.getenv('NAME', 'none') + os.environ.get('NAME') + os.getenv('OTHER', '')\n"),
    );
    let mut flags = fixture.flags.clone();
    flags.data_dir = Some(data(&fixture));
    flags.python = PythonWorld { variables: vec![("NAME".into(), "given".into())], ..PythonWorld::default() };
    let config = load(Some(&fixture.path("eval.py")), &flags).unwrap().config;
    assert_eq!(config.models[0].abbr, "givengiven");
}

#[test]
fn the_version_is_opencompasss_own() {
    let fixture = Fixture::new();
    // `get_prompt_hash` of OpenCompass 0.5.4 over the same entries.
    let script = |prompt: &str, ids: &str, more: &str| {
        siqa("abbr='siqa',", "['question', 'A']")
            .replace("template='{question}'", &format!("template={prompt}"))
            .replace("type='ZeroRetriever'", &format!("type='FixKRetriever', fix_id_list={ids}"))
            .replace("test_split=", "train_split='validation', test_split=")
            .replace("type='GenInferencer'", &format!("type='GenInferencer'{more}"))
            .replace("'PromptTemplate'", "'opencompass.openicl.icl_prompt_template.PromptTemplate', ice_token='</E>'")
    };
    let path = fixture.path("models/tiny").display().to_string();
    let version = |text: &str| {
        let config = read(&fixture, &text.replace("meta-llama/Llama-2-7b", &path));
        config.unwrap_or_else(|errors| panic!("{errors}")).datasets[0].version.clone()
    };
    assert_eq!(version(&siqa("abbr='siqa',", "['question', 'A']")).as_deref(), Some("aaf191"));
    let text = "'</E>{question}\\u6cb3\\U0001f600\\t\\'\"'";
    assert_eq!(version(&script(text, "[0]", ", max_out_len=7")).as_deref(), Some("8def62"));
    // Which shots are fixed is part of it, how many rows are asked is not.
    assert_eq!(version(&script(text, "[1]", ", max_out_len=7")).as_deref(), Some("9fa60d"));
    let fewer = script(text, "[1]", ", max_out_len=7") + "datasets[0]['reader_cfg']['test_range'] = '[:8]'\n";
    assert_eq!(version(&fewer).as_deref(), Some("9fa60d"));
}

/// A data set of SIQA's class, with further keys of the entry and of its parts.
fn siqa(entry: &str, columns: &str) -> String {
    format!(
        "from opencompass.datasets import SiqaDatasetV3\n\
         datasets = [dict(type=SiqaDatasetV3, path='opencompass/siqa', {entry}\n\
         \x20   reader_cfg=dict(input_columns={columns}, output_column='answer', test_split='validation'),\n\
         \x20   infer_cfg=dict(prompt_template=dict(type='PromptTemplate', template='{{question}}'),\n\
         \x20       retriever=dict(type='ZeroRetriever'), inferencer=dict(type='GenInferencer', labels=['A', 'B'])),\n\
         \x20   eval_cfg=dict(evaluator=dict(type='AccEvaluator')))]\n\
         models = [dict(type='opencompass.models.HuggingFaceBaseModel', path='meta-llama/Llama-2-7b', run_cfg=dict(num_gpus=1))]\n"
    )
}

#[test]
fn what_has_no_abbr_is_called_as_opencompass_calls_it() {
    let fixture = Fixture::new();
    let path = fixture.path("models/tiny").display().to_string();
    let script = siqa("", "['question']").replace("meta-llama/Llama-2-7b", &path);
    let config = read(&fixture, &script).unwrap();
    assert_eq!(config.datasets[0].abbr, "opencompass_siqa");
    assert_eq!(config.models[0].abbr, "opencompass.models.HuggingFaceBaseModel_models_tiny");
}

#[test]
fn what_opencompass_never_looks_at_is_no_error() {
    let fixture = Fixture::new();
    let script = siqa("n=1, k=1,", "['query', 'question', 'A']").replace(
        "type='opencompass.models.HuggingFaceBaseModel', path='meta-llama/Llama-2-7b'",
        "type='echo', abbr='m', path='m'",
    );
    let config = read(&fixture, &script).unwrap();
    assert_eq!(config.datasets[0].input_columns, ["question", "A"]);
    // OpenCompass reads these inside `eval` and inside evaluators; at the top of a script they are its own names.
    let own = "\njudge_cfg = dict(abbr='j')\njudge_models = [judge_cfg]\nbase_models = []\n";
    assert_eq!(read(&fixture, &format!("{script}{own}")).unwrap().datasets, config.datasets);
    let judged = "eval = dict(partitioner=dict(type='SubjectiveNaivePartitioner', judge_models=judge_models), \
                  runner=dict(type='LocalRunner', task=dict(type='SubjectiveEvalTask')))\n";
    insta::assert_snapshot!(refused(&fixture, &format!("{script}{own}{judged}")));
}

#[test]
fn keys_that_are_not_needed_are_one_note() {
    let fixture = Fixture::new();
    let script = "datasets = [dict(abbr='d', test=dict(path='data/test.jsonl'), reader_cfg=dict(input_columns=['q'],\n\
                  output_column='a'), infer_cfg=dict(prompt_template=dict(type='PromptTemplate', template='{q}'),\n\
                  inferencer=dict(type='GenInferencer')), eval_cfg=dict(evaluator=dict(type='AccEvaluator'), pred_role='BOT'))]\n\
                  models = [dict(type='echo', abbr='m', path='m', batch_size=8)]\n\
                  infer = dict(runner=dict(type='LocalRunner', task=dict(type='OpenICLInferTask')))\n";
    fixture.write("eval.py", script);
    let loaded = load(Some(&fixture.path("eval.py")), &fixture.flags).unwrap();
    let notes: Vec<String> = loaded.notes.iter().map(|note| fixture.strip(&note.to_string())).collect();
    insta::assert_snapshot!(notes.join("\n"));
}

#[test]
fn an_import_that_is_not_there_says_why_and_where_it_was_looked_for() {
    let fixture = Fixture::new();
    let mut messages = Messages::default();
    for module in [".datasets.aime2024.aime2024_llmjudge_gen", ".zzz_environment_zzz"] {
        messages.add(module, &refused(&fixture, &SCRIPT.replace(".datasets.siqa.siqa_gen", module)));
    }
    insta::assert_snapshot!(messages);
}
