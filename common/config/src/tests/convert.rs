//! A configuration in Python, written as TOML: what that comes to is what the Python comes to.

use super::fixture::Fixture;
use crate::convert::document::convert;
use crate::load;
use compass_settings::{Config, digest};

fn data(fixture: &Fixture) {
    for file in ["siqa/dev.jsonl", "siqa/dev-labels.lst", "piqa/dev.jsonl", "piqa/dev-labels.lst", "own.jsonl"] {
        fixture.write(&format!("data/{file}"), "");
    }
}

/// The configuration of `script`, and that of the TOML that it is converted to, which stands in another folder.
fn both(fixture: &Fixture, script: &str, name: &str) -> (Config, Config, String) {
    data(fixture);
    fixture.write("configs/eval.py", script);
    let mut flags = fixture.flags.clone();
    flags.data_dir = Some(fixture.path("data"));
    let read = load(Some(&fixture.path("configs/eval.py")), &flags).unwrap_or_else(|errors| panic!("{errors}"));
    let folder = fixture.path(name).parent().unwrap().to_path_buf();
    let converted = convert(&fixture.path("configs/eval.py"), Some(&folder), &flags);
    let text = converted.unwrap_or_else(|errors| panic!("{errors}")).text;
    fixture.write(name, &text);
    let again = load(Some(&fixture.path(name)), &fixture.flags).unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    (read.config, again.config, text)
}

fn same(read: &Config, again: &Config) {
    assert_eq!(digest(read), digest(again));
    assert_eq!((&read.infer, &read.eval), (&again.infer, &again.eval));
    assert_eq!(read.summary_groups, again.summary_groups);
    assert_eq!(read.work_dir, again.work_dir);
}

const SCRIPT: &str = "from mmengine.config import read_base\nfrom opencompass.models import HuggingFacewithChatTemplate\n\
from opencompass.partitioners import SizePartitioner\nfrom opencompass.runners import LocalRunner\n\
from opencompass.tasks import OpenICLInferTask\nwith read_base():\n    from .datasets.siqa.siqa_gen import siqa_datasets\n\n\
datasets = [*siqa_datasets]\ndatasets[0]['reader_cfg']['test_range'] = '[:8]'\nmodels = [\n    dict(type='echo', abbr='m', path='m'),\n\
\x20   dict(type=HuggingFacewithChatTemplate, abbr='tiny \"q\"', path=TINY, batch_padding=True, max_out_len=7,\n\
\x20        generation_kwargs=dict(temperature=0.5, do_sample=True), stop_words=['\\n', '\\x7f', 'é'], run_cfg=dict(num_gpus=0)),\n]\n\
infer = dict(partitioner=dict(type=SizePartitioner, max_task_size=500), runner=dict(type=LocalRunner, max_num_workers=3, task=dict(type=OpenICLInferTask)))\n\
summarizer = dict(summary_groups=[dict(name='g', subsets=['siqa', ['siqa', 'accuracy']])])\nwork_dir = 'out'\n";

fn script(fixture: &Fixture) -> String {
    SCRIPT.replace("TINY", &format!("'{}'", fixture.path("models/tiny").display()))
}

#[test]
fn the_toml_is_the_same_job() {
    let fixture = Fixture::new();
    let text = script(&fixture).replace("['siqa', ['siqa', 'accuracy']]", "['siqa']");
    let (read, again, text) = both(&fixture, &text, "elsewhere/eval.toml");
    same(&read, &again);
    assert_eq!(read.models.len(), 2);
    for part in [
        "batch_padding = true",
        "eval.py:12\n[[model]]",
        "siqa_gen, which comes with the program\n[[dataset]]",
        "path = \"siqa/dev.jsonl\"",
        "data_dir = \"",
        "max_task_size = 500",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    // What has no effect is said of the TOML as it is of the Python.
    let notes = load(Some(&fixture.path("elsewhere/eval.toml")), &fixture.flags).unwrap().notes;
    assert!(notes.iter().any(|note| note.message.contains("`batch_padding` has no effect")), "{notes:?}");
}

#[test]
fn the_rows_are_the_same_where_other_files_stand_beside() {
    let fixture = Fixture::new();
    // The new file would find these first.
    fixture.write("elsewhere/siqa/dev.jsonl", "");
    let text = script(&fixture).replace("['siqa', ['siqa', 'accuracy']]", "['siqa']");
    let (read, again, _) = both(&fixture, &text, "elsewhere/eval.toml");
    same(&read, &again);
}

#[test]
fn what_a_script_writes_itself_keeps_its_files_and_its_order() {
    let fixture = Fixture::new();
    fixture.write("configs/mine.jsonl", "");
    let script = "datasets = [dict(abbr='own', test=dict(path='mine.jsonl', columns=dict(b=dict(text_of='mine.jsonl'))), reader_cfg=dict(input_columns=['q'], output_column='a'),\n\
        infer_cfg=dict(prompt_template=dict(type='PromptTemplate', template={'B': 'one {q}', 'A': 'two\\n\\n{q} and something long, so that this template has a section of its own, which is the case from a hundred on', 'C': '\"\\t\\\\'}),\n\
        inferencer=dict(type='PPLInferencer')), eval_cfg=dict(evaluator=dict(type='AccEvaluator')))]\n\
        models = [dict(type='echo', abbr='m', path='m')]\n";
    let (read, again, text) = both(&fixture, script, "elsewhere/deep/eval.toml");
    same(&read, &again);
    assert!(text.find("B = ").unwrap() < text.find("A = ").unwrap(), "{text}");
}

#[test]
fn presets_of_every_form_are_written_and_read_back() {
    let fixture = Fixture::new();
    for preset in crate::presets::data_sets::presets() {
        let script = format!(
            "with read_base():\n    from .datasets.{0} import all_datasets\ndatasets = all_datasets\nmodels = [dict(type='echo', abbr='m', path='m')]\n",
            preset.name
        );
        fixture.write("eval.py", &script);
        // The text is compared with what was read before it is given away.
        let converted = convert(&fixture.path("eval.py"), None, &fixture.flags);
        let text = converted.unwrap_or_else(|errors| panic!("{}: {errors}", preset.name)).text;
        assert!(text.contains("[[dataset]]"), "{}", preset.name);
    }
}

#[test]
fn toml_and_what_cannot_be_read_are_refused() {
    let fixture = Fixture::new();
    fixture.write("eval.toml", "");
    let said = |name: &str| convert(&fixture.path(name), None, &fixture.flags).unwrap_err().to_string();
    assert!(said("eval.toml").contains("is TOML already"));
    fixture.write("bad.py", "datasets = [1 / 0]\n");
    assert!(said("bad.py").contains("ZeroDivisionError"));
    assert!(said("none.py").contains("no such file"));
}

#[test]
fn no_file_is_written_that_holds_a_key() {
    let mut fixture = Fixture::new();
    fixture.flags.python.variables = vec![("OC_JUDGE_API_KEY".into(), "sk-secret-123".into())];
    let models = |model: &str| {
        format!(
            "import os\nfrom opencompass.models import OpenAISDK\nkey = os.environ['OC_JUDGE_API_KEY']\n\
             with read_base():\n    from .datasets.siqa.siqa_gen import siqa_datasets\ndatasets = siqa_datasets\n\
             models = [{model}]\n"
        )
    };
    let said = |model: &str| {
        fixture.write("eval.py", &models(model));
        convert(&fixture.path("eval.py"), None, &fixture.flags).map(|converted| converted.text)
    };
    let class = |more: &str| format!("dict(type=OpenAISDK, abbr='m', path='gpt', {more})");
    for (model, what) in [
        (class("key=key"), "`key` holds the key itself"),
        (class("key=['sk-1', key]"), "`key` holds the key itself"),
        ("dict(type='Qwen', abbr='m', path='q', key=key)".to_owned(), "`key` holds the key itself"),
        (class("key='ENV', openai_api_base='http://h/v1?k=' + key"), "variable OC_JUDGE_API_KEY"),
        (
            "dict(type='openai', abbr='m', endpoint=dict(url='http://h', headers=dict(auth='Bearer ' + key)))"
                .to_owned(),
            "`auth` holds the value of the environment variable OC_JUDGE_API_KEY",
        ),
    ] {
        let refused = said(&model).unwrap_err().to_string();
        assert!(refused.contains(what) && refused.contains("eval.py:") && refused.contains("key_env"), "{refused}");
        assert!(!refused.contains("sk-secret-123"), "{refused}");
    }
    let named = said(&class("key='ENV'")).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(named.contains("key = \"ENV\""), "{named}");
}
