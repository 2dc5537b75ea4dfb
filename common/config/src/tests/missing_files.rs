//! Data that is not there: one error for what is missed together, and where the data cache is.

use super::fixture::{DATASET, Fixture, MODEL, Messages};

fn asked(presets: &[&str]) -> String {
    let names: Vec<String> = presets.iter().map(|name| format!("\"{name}\"")).collect();
    format!("datasets = [{}]\n{MODEL}", names.join(", "))
}

#[test]
fn a_missing_data_folder_is_one_error() {
    let mut fixture = Fixture::new();
    fixture.flags.data_dir = Some(fixture.path("nothing"));
    let places = fixture.places(&asked(&["mmlu_ppl", "piqa_ppl"]));
    assert_eq!(places.len(), 1, "{places:#?}");
    let mut messages = Messages::default();
    messages.add("two presets", &places.join("\n"));
    messages.add("one preset", &fixture.bad(&asked(&["mmlu_ppl"])));
    insta::assert_snapshot!(messages);
}

#[test]
fn files_of_one_preset_are_one_error() {
    let mut fixture = Fixture::new();
    fixture.flags.data_dir = Some(fixture.path("cache"));
    fixture.write("cache/piqa/dev.jsonl", "{}");
    let places = fixture.places(&asked(&["mmlu_ppl", "piqa_ppl"]));
    assert_eq!(places.len(), 2, "{places:#?}");
    let mut messages = Messages::default();
    messages.add("many files of one preset, a few of another", &places.join("\n"));
    messages.add("a few", &fixture.bad(&asked(&["piqa_ppl"])));
    for name in ["abstract_algebra", "anatomy"] {
        fixture.write(&format!("cache/mmlu/dev/{name}_dev.csv"), "q,a,b,c,d,A\n");
    }
    messages.add("most of them", &fixture.bad(&asked(&["mmlu_ppl"])));
    insta::assert_snapshot!(messages);
}

#[test]
fn files_of_one_folder_are_one_error() {
    let tables = DATASET.replace("abbr = \"d\"", "abbr = \"${n}\"").replace("data/test.jsonl", "rows/${n}.jsonl");
    let text = format!("{MODEL}{tables}for_each = {{ n = [\"a\", \"b\", \"c\", \"d\", \"e\"] }}\n");
    let fixture = Fixture::new();
    let places = fixture.places(&text);
    assert_eq!(places.len(), 1, "{places:#?}");
    insta::assert_snapshot!(places.join("\n"));
    for name in ["a", "b", "c"] {
        fixture.write(&format!("rows/{name}.jsonl"), "{}");
    }
    assert_eq!(fixture.places(&text).len(), 2, "few are named each");
}

#[test]
fn the_data_cache_is_the_folder_above_data() {
    let mut fixture = Fixture::new();
    fixture.flags.data_cache = Some(fixture.path("cache"));
    for file in ["piqa/dev.jsonl", "piqa/dev-labels.lst"] {
        fixture.write(&format!("cache/data/{file}"), "0");
    }
    assert_eq!(fixture.notes(&asked(&["piqa_ppl"])), [""; 0]);
    let config = fixture.good(&asked(&["piqa_ppl"]));
    assert_eq!(config.data_dir, Some(fixture.path("cache/data")));
    // As releases before had it.
    fixture.flags.data_cache = Some(fixture.path("cache/data"));
    let notes = fixture.notes(&asked(&["piqa_ppl"]));
    assert!(notes.len() == 1 && notes[0].contains("holds no folder `data`, where OpenCompass looks"), "{notes:?}");
    assert_eq!(fixture.good(&asked(&["piqa_ppl"])).data_dir, Some(fixture.path("cache/data")));
    // A flag says more.
    fixture.flags.data_cache = Some(fixture.path("nowhere"));
    fixture.flags.data_dir = Some(fixture.path("cache/data"));
    assert_eq!(fixture.notes(&asked(&["piqa_ppl"])), [""; 0]);
}

#[test]
fn data_of_a_preset_that_a_script_imports_is_missed_at_the_import() {
    let mut fixture = Fixture::new();
    fixture.flags.data_dir = Some(fixture.path("cache"));
    fixture.write("cache/other", "");
    let missed = |file: &str, list: &str| {
        let script = format!(
            "from mmengine.config import read_base\nwith read_base():\n    from .datasets.{file} import {list}\n\
             datasets = {list}\nmodels = [dict(type='echo', abbr='m', path='m')]\n"
        );
        fixture.write("eval.py", &script);
        crate::load(Some(&fixture.path("eval.py")), &fixture.flags).unwrap_err()
    };
    let all = missed("ceval.ceval_gen", "ceval_datasets");
    assert_eq!(all.count(), 1, "{all}");
    let first = all.iter().next().unwrap();
    assert_eq!(first.origin().map(|origin| (origin.line, origin.column)), Some((3, 5)), "{all}");
    let mut messages = Messages::default();
    messages.add("many files", &fixture.strip(&all.to_string()));
    messages.add("one", &fixture.strip(&missed("hellaswag.hellaswag_ppl", "hellaswag_datasets").to_string()));
    insta::assert_snapshot!(messages);
}

#[test]
fn what_a_flag_says_is_told_without_a_file_that_no_user_has() {
    let mut fixture = Fixture::new();
    fixture.flags.hf = Some(crate::HfModel { path: "/none/model".into(), ..crate::HfModel::default() });
    insta::assert_snapshot!(fixture.bad(DATASET));
}
