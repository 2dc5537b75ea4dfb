//! The readers on real files in the shapes that the wild has: row counts as published.
//!
//! Without the shared folder (`COMPASS_SHARED`, or `shared` beside the workspace) the test says that it was skipped.

use std::path::{Path, PathBuf};

#[test]
fn real_files_have_their_rows() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let data = std::env::var_os("COMPASS_SHARED").map_or(beside, PathBuf::from).join("data");
    if !data.exists() {
        eprintln!("skipped: no data in the shared folder (set COMPASS_SHARED)");
        return;
    }
    for (file, rows, columns) in [
        ("piqa/valid.jsonl", 1838, "goal,sol1,sol2"),
        ("winogrande/dev.jsonl", 1267, "sentence,option1,option2,answer"),
        ("gsm8k/test.jsonl", 1319, "question,answer"),
        ("humaneval/HumanEval.jsonl", 164, "task_id,prompt,entry_point,canonical_solution,test"),
        // CRLF.
        ("xcopa_zh/test.zh.jsonl", 500, "premise,choice1,choice2,question,label,idx,changed"),
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
    ] {
        let read = compass_data::read(&data.join(file)).unwrap();
        assert_eq!(read.len(), rows, "{file}");
        let names: Vec<&str> = read[0].keys().map(String::as_str).collect();
        assert_eq!(names.join(","), columns, "{file}");
    }
    let bbh = std::fs::read_dir(data.join("bbh")).unwrap().map(|entry| entry.unwrap().path());
    let bbh = bbh.filter(|path| path.extension().is_some_and(|extension| extension == "json")).min().unwrap();
    let errors = compass_data::read(&bbh).unwrap_err();
    assert!(errors[0].to_string().contains("write the list under `examples` alone"), "{}", errors[0]);
}
