//! Flags over the file.

use super::fixture::{DATASET, Fixture, MODEL};
use crate::{CustomDataset, HfKind, HfModel, Overrides};
use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::partition::{PartitionStrategy, PartitionerKind};
use compass_settings::RunnerKind;
use compass_settings::digest;
use std::path::PathBuf;

#[test]
fn flags_override_the_file() {
    let mut fixture = Fixture::new();
    let other = MODEL.replace("abbr = \"m\"", "abbr = \"n\"");
    fixture.flags = Overrides {
        models: Some(vec!["n".into()]),
        work_dir: Some(PathBuf::from("/tmp/w")),
        data_dir: Some(PathBuf::from("/tmp/d")),
        max_num_workers: Some(4),
        max_workers_per_gpu: Some(2),
        retry: Some(0),
        ..fixture.flags
    };
    let text = format!(
        "work_dir = \"w\"\nmodels = [\"m\"]\n{MODEL}{other}{DATASET}[infer.runner]\ntype = \"none\"\nmax_num_workers = 9\nretry = 7\n"
    );
    let config = fixture.good(&text);
    assert_eq!(config.models.iter().map(|model| model.abbr.as_str()).collect::<Vec<_>>(), ["n"]);
    assert_eq!((config.work_dir, config.data_dir), (PathBuf::from("/tmp/w"), Some(PathBuf::from("/tmp/d"))));
    for runner in [&config.infer.runner, &config.eval.runner] {
        assert_eq!((runner.max_num_workers, runner.max_workers_per_gpu, runner.retry), (Some(4), 2, 0));
    }
    assert_eq!((config.infer.runner.kind, config.eval.runner.kind), (RunnerKind::None, RunnerKind::Local));
}

#[test]
fn partition_flags_choose_the_size_partitioner() {
    let mut fixture = Fixture::new();
    let size =
        |max_task_size, gen_task_coef, strategy| PartitionerKind::Size { max_task_size, gen_task_coef, strategy };
    let text = format!("{MODEL}{DATASET}");
    fixture.flags.max_partition_size = Some(2000);
    assert_eq!(fixture.good(&text).infer.partitioner, size(2000, 20, PartitionStrategy::Heuristic));
    let text = text
        + "[infer]\npartitioner = { type = \"size\", max_task_size = 5, gen_task_coef = 6, strategy = \"split\" }\n";
    assert_eq!(fixture.good(&text).infer.partitioner, size(2000, 6, PartitionStrategy::Split));
    fixture.flags.max_partition_size = None;
    fixture.flags.gen_task_coef = Some(1);
    assert_eq!(fixture.good(&text).infer.partitioner, size(5, 1, PartitionStrategy::Split));
}

#[test]
fn num_worker_follows_the_workers() {
    let mut fixture = Fixture::new();
    let workers =
        |fixture: &Fixture, infer: &str| match fixture.good(&format!("{MODEL}{DATASET}{infer}")).infer.partitioner {
            PartitionerKind::NumWorker { num_worker, min_task_size, .. } => (num_worker, min_task_size),
            other => panic!("{other:?}"),
        };
    let plain = "[infer]\npartitioner = \"num_worker\"\n";
    let counted = format!("{plain}runner = {{ max_num_workers = 5 }}\n");
    let explicit = "[infer]\npartitioner = { type = \"NumWorkerPartitioner\", num_worker = 3 }\n";
    assert_eq!(workers(&fixture, plain), (8, 16));
    assert_eq!(workers(&fixture, &counted), (5, 16));
    fixture.flags.max_num_workers = Some(32);
    assert_eq!(workers(&fixture, &counted), (32, 16));
    assert_eq!(workers(&fixture, explicit), (3, 16));
}

#[test]
fn flags_are_checked_too() {
    let mut fixture = Fixture::new();
    fixture.flags.models = Some(vec!["mn".into()]);
    fixture.flags.max_num_workers = Some(0);
    fixture.flags.home = None;
    let expected = "\
error: `--max-num-workers` is out of range: 0
  = help: give a whole number of 1 or more
error: no home directory is known for the state of the master
  = help: set HOME, or give `state_dir` in [master] an absolute path on a disk on this host
error: nothing defines the model `mn` (given by --models)
  = help: did you mean `m`? Or define a [[model]] table
3 errors; nothing was started";
    assert_eq!(fixture.bad(&format!("{MODEL}{DATASET}")), expected);
}

#[test]
fn the_digest_is_over_what_can_change_a_number() {
    let fixture = Fixture::new();
    let text = format!("{MODEL}{DATASET}");
    let base = digest(&fixture.good(&text));
    let same = [
        format!("# a comment moves every line\n\n{text}"),
        format!("work_dir = \"elsewhere\"\n[master]\nlisten = \"127.0.0.1:7\"\nstate_dir = \"/s\"\n{text}"),
        format!("{text}[infer]\npartitioner = \"naive\"\nrunner = {{ max_num_workers = 2, retry = 0 }}\n"),
    ];
    for text in same {
        assert_eq!(digest(&fixture.good(&text)), base, "{text}");
    }
    let other = [
        text.replace("\"{q}\"", "\"{q} \""),
        text.replace("\"em\"", "\"acc\""),
        text.replace("test.jsonl", "train.jsonl"),
        text.replace("output_column = \"a\"", "output_column = \"a\", test_range = \"[:5]\""),
        text.replace("models/tiny\"\n", "models/tiny\"\nmax_seq_len = 5\n"),
        text.replace("abbr = \"m\"", "abbr = \"n\""),
    ];
    for text in other {
        assert_ne!(digest(&fixture.good(&text)), base, "{text}");
    }
}

#[test]
fn a_model_and_a_data_set_by_flags() {
    let mut fixture = Fixture::new();
    let data = fixture.path("data/test.jsonl").display().to_string();
    let custom = |data_type: Option<&str>, method: Option<&str>, columns: &[&str]| CustomDataset {
        path: data.clone(),
        data_type: data_type.map(str::to_owned),
        infer_method: method.map(str::to_owned),
        columns: Some(columns.iter().map(|&name| name.to_owned()).collect()),
        meta: None,
    };
    let choices = custom(None, None, &["question", "A", "B", "answer"]);
    let by_ppl = custom(None, Some("ppl"), &["question", "A", "B", "answer"]);
    let qa = custom(None, None, &["question", "answer"]);
    let wrong = custom(Some("mcq"), None, &["question", "answer"]);
    fixture.flags.hf = Some(HfModel { path: fixture.path("models/tiny").display().to_string(), kind: HfKind::Chat });
    fixture.flags.model.max_seq_len = Some(77);
    fixture.flags.model.generation_kwargs = vec![("temperature".into(), "0.5".into())];
    let mut load = |custom: CustomDataset| {
        fixture.flags.custom_dataset = Some(custom);
        fixture.flags.limit = Some(9);
        crate::load(None, &fixture.flags)
    };
    let config = load(choices).unwrap_or_else(|errors| panic!("{errors}")).config;
    let model = &config.models[0];
    assert_eq!((model.abbr.as_str(), model.chat, model.max_seq_len), ("tiny_hf", true, Some(77)));
    assert_eq!(model.decoding.temperature, Some(0.5));
    let dataset = &config.datasets[0];
    assert_eq!((dataset.abbr.as_str(), dataset.infer.mode(), dataset.limit), ("test", "gen", Some(9)));
    assert!(matches!(&dataset.eval.evaluator, EvaluatorSpec::OptionSimAcc { options } if options.letters() == "AB"));
    assert_eq!(dataset.output_column.as_deref(), Some("row"));
    let written = format!("{:?}", dataset.prompt.prompt_template);
    assert!(written.contains("Answer: ") && !written.contains("{answer}"), "the answer is hidden: {written}");
    let config = load(by_ppl).unwrap_or_else(|errors| panic!("{errors}")).config;
    assert_eq!((config.datasets[0].abbr.as_str(), config.datasets[0].infer.mode()), ("test", "ppl"));
    let config = load(qa).unwrap_or_else(|errors| panic!("{errors}")).config;
    assert_eq!((config.datasets[0].abbr.as_str(), config.datasets[0].infer.mode()), ("test", "gen"));
    let meta = r#"{"infer_method": "ppl", "abbr": "mine", "bot_prompt": "So {answer}", "options": ["A", "B"]}"#;
    let told = CustomDataset {
        meta: Some(("test.jsonl.meta.json".into(), Ok(serde_json::from_str(meta).unwrap()))),
        ..custom(None, None, &["question", "A", "B", "C", "answer"])
    };
    let config = load(told.clone()).unwrap_or_else(|errors| panic!("{errors}")).config;
    assert_eq!((config.datasets[0].abbr.as_str(), config.datasets[0].infer.mode()), ("mine", "ppl"));
    let written = format!("{:?}", config.datasets[0].prompt.prompt_template);
    assert!(written.contains("So B") && !written.contains("So C"), "{written}");
    for (json, expected) in
        [("[1]", "holds no object"), ("{\"x\": 1}", "`x` is not read"), ("{\"abbr\": 1}", "not a text")]
    {
        let meta = Some(("m.json".to_owned(), Ok(serde_json::from_str(json).unwrap())));
        let errors = load(CustomDataset { meta, ..told.clone() }).unwrap_err().to_string();
        assert!(errors.contains(expected), "{errors}");
    }
    let errors = load(wrong).unwrap_err().to_string();
    assert!(errors.contains("has no options: no column is named A, B"), "{errors}");
}

#[test]
fn self_consistency_draws_its_answers() {
    let text = format!("{MODEL}{DATASET}").replace(
        "inferencer = \"gen\"",
        "inferencer = { type = \"SCInferencer\", infer_type = \"SC\", sc_size = 5, generation_kwargs = { temperature = 0.7 } }",
    );
    let config = Fixture::new().good(&text);
    let decoding = &config.datasets[0].infer.generation().unwrap().decoding;
    assert_eq!((decoding.sequences(), decoding.samples(), decoding.temperature), (5, true, Some(0.7)));
}
