//! The readers on real files in the shapes that the wild has: row counts as published.
//!
//! Without the shared folder (`COMPASS_SHARED`, or `shared` beside the workspace) every test says that it was skipped.

use compass_data::{SplitRows, read_split};
use compass_settings::{ReadOptions, SourceConfig, SourceFile};
use compass_types::range::RangeSpec;
use std::path::{Path, PathBuf};

fn data() -> Option<PathBuf> {
    compass_needs::shared("data")
}

fn split(files: Vec<PathBuf>, read: ReadOptions) -> SplitRows {
    let files = files.into_iter().map(|path| SourceFile { path, name: String::new() }).collect();
    let source = SourceConfig { files, read, ..SourceConfig::default() };
    read_split(&source, "test_range", &RangeSpec::All).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// The files of a folder whose names end so.
fn ending(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(end)).collect();
    files.sort();
    files
}

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn single_files() {
    let Some(data) = data() else { return };
    for (file, rows, columns) in [
        ("piqa/valid.jsonl", 1838, "goal,sol1,sol2"),
        ("winogrande/dev.jsonl", 1267, "sentence,option1,option2,answer"),
        ("gsm8k/test.jsonl", 1319, "question,answer"),
        ("gsm8k/train_first512.jsonl", 512, "question,answer"),
        ("humaneval/HumanEval.jsonl", 164, "task_id,prompt,entry_point,canonical_solution,test"),
        ("humaneval/HumanEval.jsonl.gz", 164, "task_id,prompt,entry_point,canonical_solution,test"),
        (
            "hellaswag/hellaswag_val_subset.jsonl",
            1000,
            "ind,activity_label,ctx_a,ctx_b,ctx,split,split_type,label,endings,source_id",
        ),
        ("hellaswag/olmo_sample1000.jsonl", 1000, "ind,query,choices,gold"),
        ("arc_easy/test.jsonl", 2376, "id,query,choices,gold"),
        // CRLF.
        ("xcopa_zh/test.zh.jsonl", 500, "premise,choice1,choice2,question,label,idx,changed"),
        ("xcopa_zh/val.zh.jsonl", 100, "premise,choice1,choice2,question,label,idx,changed"),
        // An object a line despite the extension.
        ("aqua/test.json", 254, "question,options,rationale,correct"),
        // A list.
        (
            "theoremqa/theoremqa_test.json",
            800,
            "Question,Answer,Answer_type,Picture,source,id,explanation,theorem,subfield,field",
        ),
        ("lambada/lambada_test.jsonl", 5153, "text"),
        ("boolq/validation_first1000.jsonl", 1000, "question,answer,passage"),
        (
            "bbq/Religion.jsonl",
            1200,
            "example_id,question_index,question_polarity,context_condition,category,answer_info,additional_metadata,\
         context,question,ans0,ans1,ans2,label",
        ),
        ("ifeval/input_data.jsonl", 541, "key,prompt,instruction_id_list,kwargs"),
        ("cruxeval/cruxeval.jsonl", 800, "code,input,output,id"),
        ("gsm_hard/gsmhardv2.jsonl", 1319, "input,code,target"),
        ("mt_bench/question.jsonl", 80, "question_id,category,turns"),
        ("mt_bench/reference_answer_gpt-4.jsonl", 30, "question_id,answer_id,model_id,choices,tstamp"),
        // Its index has no name, and a field several lines.
        (
            "crows_pairs/crows_pairs_anonymized.csv",
            1508,
            "Unnamed: 0,sent_more,sent_less,stereo_antistereo,bias_type,annotations,anon_writer,anon_annotators",
        ),
        ("wikitext2/valid.txt", 3760, "text"),
        ("tinyshakespeare/input.txt", 40_000, "text"),
    ] {
        let read = split(vec![data.join(file)], ReadOptions::default());
        assert_eq!(read.rows().count(), rows, "{file}");
        let names: Vec<String> = read.rows().next().unwrap().keys().cloned().collect();
        assert_eq!(names.join(","), columns, "{file}");
    }
}

#[test]
fn mmlu_without_header_and_with_line_breaks_in_fields() {
    let Some(data) = data() else { return };
    let names = texts(&["input", "A", "B", "C", "D", "target"]);
    let options = ReadOptions { header: false, names, ..ReadOptions::default() };
    let read = |folder: &str| split(ending(&data.join("mmlu").join(folder), ".csv"), options.clone());
    let test = read("test");
    let letters = ["A", "B", "C", "D"];
    assert!(test.rows().all(|row| letters.contains(&row["target"].as_str().unwrap())));
    assert_eq!((test.rows().count(), read("dev").rows().count()), (12_302, 225));
}

#[test]
fn mgsm_is_not_quoted() {
    let Some(data) = data() else { return };
    for language in ["zh", "en", "de", "ja"] {
        let options = ReadOptions { header: false, names: texts(&["question", "answer"]), ..ReadOptions::default() };
        let read = split(vec![data.join(format!("mgsm/mgsm_{language}.tsv"))], options);
        assert_eq!(read.rows().count(), 250);
        let is_number = |answer: &str| answer.replace(',', "").parse::<f64>().is_ok();
        assert!(read.rows().all(|row| is_number(row["answer"].as_str().unwrap())), "{language}");
    }
}

#[test]
fn folders_of_documents() {
    let Some(data) = data() else { return };
    let inside = |rows: &str| ReadOptions { rows: texts(&[rows]), ..ReadOptions::default() };
    let bbh = split(ending(&data.join("bbh"), ".json"), inside("examples"));
    assert_eq!(bbh.rows().count(), 5261);
    let gaokao = split(ending(&data.join("gaokao_bench"), ".json"), inside("example"));
    assert_eq!(gaokao.rows().count(), 1781);
    let agieval = split(ending(&data.join("agieval"), ".jsonl"), ReadOptions::default());
    assert_eq!(agieval.rows().count(), 3967);

    let first = ending(&data.join("bbh"), ".json").remove(0);
    let error = compass_data::read(&first).unwrap_err().remove(0).to_string();
    assert!(error.contains("write `rows = \"examples\"`"), "{error}");
}
