//! The example of the contract, whole, with files that exist.

use super::fixture::Fixture;
use crate::load;
use compass_plan::InferSpec;
use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::partition::PartitionerKind;
use compass_plan::prompt::Template;
use compass_settings::{Cast, Expression, RunnerKind};
use compass_types::range::RangeSpec;

const EXAMPLE: &str = r#"
include = ["base.toml"]            # a team's base; this file overrides
work_dir = "outputs/demo"
data_dir = "data"
models   = ["stories260K"]
datasets = ["piqa_ppl", "facts_gen"]

[master]
listen = "127.0.0.1:0"
advertise = ""
http = "off"
store = "embedded"
state_dir = "~/.local/state/compass"

[[model]]
abbr = "stories260K"
inherit = ""
type = "hf"
path = "models/stories260K"
tokenizer_path = ""
max_seq_len = 512
max_out_len = 64
batch_size = "auto"
dtype = "auto"
device = "auto"
add_bos_token = "auto"
profile = "canonical"
run_cfg = { num_gpus = 0, num_procs = 1 }
model_kwargs = {}
tokenizer_kwargs = {}
generation_kwargs = {}
stop_words = []

[[dataset]]
abbr = "piqa_ppl"
reader_cfg = { input_columns = ["goal", "sol1", "sol2"], output_column = "label", test_range = "[:100]", train_range = "" }
[dataset.test]
path = "piqa/valid.jsonl"
columns = { label = { lines_of = "piqa/valid-labels.lst", as = "int" } }
[dataset.train]
path = "piqa/train.jsonl"
[dataset.infer_cfg]
retriever  = { type = "zero" }
inferencer = { type = "ppl" }
[dataset.infer_cfg.prompt_template]
0 = "The following makes sense: \nQ: {goal}\nA: {sol1}\n"
1 = "The following makes sense: \nQ: {goal}\nA: {sol2}\n"
[dataset.eval_cfg]
evaluator = { type = "acc" }

[infer.partitioner]
type = "balanced"
[infer.runner]
type = "local"
max_num_workers = 32
max_workers_per_gpu = 1
max_gpus = 0
retry = 2
[eval.partitioner]
type = "naive"
[eval.runner]
type = "local"
max_num_workers = 32
"#;

const BASE: &str = r#"
[[dataset]]
abbr = "facts_gen"
reader_cfg = { input_columns = "question", output_column = "answer" }
test = { path = "facts.jsonl" }
infer_cfg = { retriever = "zero", inferencer = { type = "gen", max_out_len = 8 }, prompt_template = "{question}" }
eval_cfg = { evaluator = "em", pred_postprocessor = "general" }
"#;

/// A folder with everything that the example names.
fn with_files() -> Fixture {
    let fixture = Fixture::new();
    for file in [
        "models/stories260K/config.json",
        "models/stories260K/model.safetensors",
        "models/stories260K/tokenizer.json",
        "data/piqa/valid.jsonl",
        "data/piqa/train.jsonl",
        "data/piqa/valid-labels.lst",
        "facts.jsonl",
    ] {
        fixture.write(file, "");
    }
    fixture.write("base.toml", BASE);
    fixture
}

#[test]
fn the_example_of_the_contract_is_read() {
    let fixture = with_files();
    fixture.write("eval.toml", EXAMPLE);
    let loaded = load(Some(&fixture.path("eval.toml")), &fixture.flags).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(loaded.notes, []);
    let config = loaded.config;
    assert_eq!(config.work_dir, fixture.path("outputs/demo"));
    assert_eq!(config.state_dir, fixture.path("home/.local/state/compass"));
    assert_eq!(config.models[0].path, fixture.path("models/stories260K"));

    let [piqa, facts] = config.datasets.as_slice() else { panic!("{} data sets", config.datasets.len()) };
    assert_eq!((piqa.abbr.as_str(), facts.abbr.as_str()), ("piqa_ppl", "facts_gen"));
    assert_eq!(piqa.test.files[0].path, fixture.path("data/piqa/valid.jsonl"));
    let labels = Expression::LinesOf { file: fixture.path("data/piqa/valid-labels.lst") };
    assert_eq!((&piqa.test.columns[0].expression, piqa.test.columns[0].cast), (&labels, Some(Cast::Int)));
    assert_eq!(piqa.test_range, RangeSpec::Slices("[:100]".into()));
    assert_eq!((piqa.infer.clone(), piqa.eval.evaluator.clone()), (InferSpec::Ppl, EvaluatorSpec::Acc));
    let Some(Template::Labels(labels)) = &piqa.prompt.prompt_template else { panic!("{:?}", piqa.prompt) };
    assert_eq!(labels[1].1, "The following makes sense: \nQ: {goal}\nA: {sol2}\n");
    assert_eq!(facts.input_columns, ["question"]);

    assert_eq!(
        (config.infer.partitioner, config.eval.partitioner),
        (PartitionerKind::Balanced, PartitionerKind::Naive)
    );
    assert_eq!((config.infer.runner.kind, config.infer.runner.max_num_workers), (RunnerKind::Local, Some(32)));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 150, failure_persistence: None, ..Default::default() })]

    /// Whatever is typed into the example, reading ends in a configuration or in errors that can be shown.
    #[test]
    fn no_text_breaks_the_reader(at in 0usize..EXAMPLE.len(), cut in 0usize..20, typed in "[\\[\\]{}=\"'a-e0-9\n\t é中]{0,12}") {
        let fixture = with_files();
        let mut text = EXAMPLE.to_owned();
        text.replace_range(at..(at + cut).min(EXAMPLE.len()), &typed);
        if let Err(errors) = fixture.load(&text) {
            let shown = errors.to_string();
            proptest::prop_assert!(errors.count() > 0 && shown.ends_with("nothing was started"), "{}", shown);
        }
    }
}
