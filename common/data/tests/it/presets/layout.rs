//! OpenCompass's data folder, rebuilt from the shared files: by links where the files agree, rewritten where they do not.

use compass_config::preset_datasets;
use compass_data::{DataError, Row, SplitRows, read_split};
use compass_plan::prompt::{RenderedDataset, render};
use compass_settings::DatasetConfig;
use compass_types::range::RangeSpec;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder and what was put into it.
pub(super) struct Layout {
    folder: tempfile::TempDir,
    /// Files that only stand for data which is not there.
    missing: std::sync::Mutex<BTreeSet<PathBuf>>,
}

pub(super) use compass_needs::shared;

/// The data folder, built once; `None` without the shared folder.
pub(super) fn layout() -> Option<&'static Layout> {
    static LAYOUT: OnceLock<Option<Layout>> = OnceLock::new();
    LAYOUT.get_or_init(|| shared("data").map(|data| Layout::new(&data))).as_ref()
}

impl Layout {
    fn new(data: &Path) -> Self {
        let layout = Self { folder: tempfile::tempdir().unwrap(), missing: Default::default() };
        for (from, to) in [
            ("agieval", "AGIEval/data/v1"),
            ("bbh", "BBH/data"),
            ("bbh/cot-prompts", "BBH/lib_prompt"),
            ("crows_pairs", "crows_pairs"),
            ("gaokao_bench", "GAOKAO-BENCH/data/Multiple-choice_Questions"),
            ("ifeval", "ifeval"),
            ("mgsm", "mgsm"),
            ("mmlu/dev", "mmlu/dev"),
            ("mmlu/test", "mmlu/test"),
            ("theoremqa", "TheoremQA"),
        ] {
            for entry in std::fs::read_dir(data.join(from)).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_file() {
                    layout.link(&entry, &format!("{to}/{}", entry.file_name().unwrap().to_str().unwrap()));
                }
            }
        }
        for (from, to) in [
            ("bbq/Religion.jsonl", "bbq/Religion.jsonl"),
            ("gsm8k/test.jsonl", "gsm8k/test.jsonl"),
            ("hellaswag/olmo_sample1000.jsonl", "hellaswag/hellaswag.jsonl"),
            ("humaneval/HumanEval.jsonl", "humaneval/human-eval-v2-20210705.jsonl"),
            ("lambada/lambada_test.jsonl", "lambada/lambada_test.jsonl"),
            ("piqa/valid.jsonl", "piqa/dev.jsonl"),
            ("piqa/valid-labels.lst", "piqa/dev-labels.lst"),
            ("winogrande/dev.jsonl", "winogrande/dev.jsonl"),
            ("winogrande/dev.jsonl", "winogrande/train_xs.jsonl"),
        ] {
            layout.link(&data.join(from), to);
        }
        let rows = |file: &str| compass_data::read(&data.join(file)).unwrap();
        layout.write("hellaswag/hellaswag_train_sampled25.jsonl", &rows("hellaswag/olmo_sample1000.jsonl")[900..925]);
        let arc: Vec<Row> = rows("arc_easy/test.jsonl").iter().map(arc).collect();
        layout.write("ARC/ARC-e/ARC-Easy-Dev.jsonl", &arc);
        let boolq = rows("boolq/validation_first1000.jsonl").into_iter().map(|mut row| {
            let answer = row["answer"].to_string();
            row.insert("label".into(), answer.into());
            row
        });
        layout.write("SuperGLUE/BoolQ/val.jsonl", &boolq.collect::<Vec<_>>());
        let lambada = rows("lambada/lambada_test.jsonl").into_iter().map(|row| {
            let (prompt, label) = row["text"].as_str().unwrap().rsplit_once(' ').unwrap();
            json!({"prompt": prompt, "label": label}).as_object().unwrap().clone()
        });
        layout.write("lambada/test.jsonl", &lambada.collect::<Vec<_>>());
        layout
    }

    fn place(&self, to: &str) -> PathBuf {
        let path = self.folder.path().join(to);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn link(&self, from: &Path, to: &str) {
        std::os::unix::fs::symlink(from, self.place(to)).unwrap();
    }

    fn write(&self, to: &str, rows: &[Row]) {
        let lines: String = rows.iter().map(|row| format!("{}\n", Value::Object(row.clone()))).collect();
        std::fs::write(self.place(to), lines).unwrap();
    }

    /// Returns the folder that presets take for the data folder.
    pub(super) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// The data sets of a preset. Files that the shared folder lacks are stood in for by empty ones, so that the others
    /// of the preset can be had; [`Self::has_data`] tells them apart.
    pub(super) fn preset(&self, name: &str) -> Vec<DatasetConfig> {
        let load = || preset_datasets(name, Some(self.root())).unwrap_or_else(|| panic!("no preset `{name}`"));
        let errors = match load() {
            Ok(datasets) => return datasets,
            Err(errors) => errors,
        };
        for error in errors.iter() {
            let file = error.message.split_once("no file `").and_then(|(_, rest)| rest.split_once('`'));
            let Some((file, _)) = file else { panic!("{name}: {errors}") };
            let path = self.root().join(file);
            assert!(path.starts_with(self.root()), "{file}");
            if !path.exists() {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, "").unwrap();
            }
            self.missing.lock().unwrap().insert(path);
        }
        load().unwrap_or_else(|errors| panic!("{name}: {errors}"))
    }

    /// Returns whether every file of the data set is a real one.
    pub(super) fn has_data(&self, dataset: &DatasetConfig) -> bool {
        let missing = self.missing.lock().unwrap();
        let written = format!("{:?}", (&dataset.test, &dataset.train));
        missing.iter().all(|path| !written.contains(&format!("{path:?}")))
    }
}

/// As the data set's own files have it, from what an evaluation harness made of it.
fn arc(entry: &Row) -> Row {
    let stem = entry["query"].as_str().unwrap();
    let stem = stem.strip_prefix("Question: ").unwrap().strip_suffix("\nAnswer:").unwrap();
    let letters = ["A", "B", "C", "D", "E"];
    let choices = entry["choices"].as_array().unwrap().iter().zip(letters);
    let choices: Vec<Value> = choices.map(|(text, label)| json!({"text": text, "label": label})).collect();
    let gold = usize::try_from(entry["gold"].as_u64().unwrap()).unwrap();
    let row = json!({"id": entry["id"], "question": {"stem": stem, "choices": choices}, "answerKey": letters[gold]});
    row.as_object().unwrap().clone()
}

/// Reads the first `limit` rows of a data set, and all that its shots are drawn from, and renders them.
pub(super) fn rendered(dataset: &DatasetConfig, limit: usize) -> Result<RenderedDataset, Vec<String>> {
    let texts = |faults: Vec<DataError>| faults.iter().map(ToString::to_string).collect::<Vec<_>>();
    let range = RangeSpec::Slices(format!("[:{limit}]"));
    let mut test = read_split(&dataset.test, "test_range", &range).map_err(texts)?;
    let train = match &dataset.train {
        Some(train) => {
            let mut train = read_split(train, "train_range", &dataset.train_range).map_err(texts)?;
            train.number(&dataset.abbr);
            train
        }
        None => SplitRows::default(),
    };
    test.number(&dataset.abbr);
    let gold = dataset.output_column.as_deref();
    let columns = dataset.input_columns.iter().map(String::as_str).chain(gold);
    let unknown: Vec<String> = columns
        .filter(|column| !test.rows().any(|row| row.contains_key(*column)))
        .map(|column| format!("no row has `{column}`"))
        .collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    render(&dataset.prompt, &dataset.infer, gold, &dataset.retriever, &test, &train)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect())
}
