//! Data sets by the name of a preset, and one table for many subjects.

use super::fixture::{DATASET, Fixture, MODEL};
use super::validate::faults;
use crate::presets::data_sets::{presets, tables};
use crate::report::check::Check;
use crate::syntax::tree::json;
use compass_plan::InferSpec;
use serde_json::Value as Json;

fn with_data() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.write("cache/piqa/dev.jsonl", "{}");
    fixture.write("cache/piqa/dev-labels.lst", "0");
    fixture.flags.data_dir = Some(fixture.path("cache"));
    fixture
}

#[test]
fn a_preset_is_found_by_its_names_and_reads_from_the_data_folder() {
    let fixture = with_data();
    for name in ["piqa_ppl", "piqa_ppl_1cf9f0"] {
        let config = fixture.good(&format!("datasets = [\"{name}\"]\n{MODEL}"));
        let piqa = &config.datasets[0];
        assert_eq!((piqa.abbr.as_str(), config.datasets.len(), &piqa.infer), ("piqa", 1, &InferSpec::Ppl));
        assert!(serde_json::to_string(&piqa.test).unwrap().contains("cache/piqa/dev.jsonl"));
    }
    // One data set of a preset that has many.
    let mut fixture = with_data();
    for file in ["dev/anatomy_dev.csv", "test/anatomy_test.csv"] {
        fixture.write(&format!("cache/mmlu/{file}"), "q,a,b,c,d,A\n");
    }
    fixture.flags.datasets = Some(vec!["mmlu_ppl/lukaemon_mmlu_anatomy".into()]);
    let one = fixture.good(MODEL).datasets;
    assert_eq!(one.iter().map(|dataset| dataset.abbr.as_str()).collect::<Vec<_>>(), ["lukaemon_mmlu_anatomy"]);
    fixture.flags.datasets = Some(vec!["mmlu_ppl/lukaemon_mmlu_anatomi".into()]);
    assert!(fixture.bad(MODEL).contains("nothing defines the data set `mmlu_ppl/lukaemon_mmlu_anatomi`"));
    // By flag, in place of what the file defines.
    let mut fixture = with_data();
    fixture.flags.datasets = Some(vec!["piqa_ppl".into(), "d".into()]);
    let abbrs: Vec<String> = fixture.good(&format!("{MODEL}{DATASET}")).datasets.into_iter().map(|d| d.abbr).collect();
    assert_eq!(abbrs, ["piqa", "d"]);
}

#[test]
fn a_table_of_the_same_abbr_overrides_the_preset() {
    let text = format!(
        "datasets = [\"piqa_ppl\"]\n{MODEL}[[dataset]]\nabbr = \"piqa\"\nreader_cfg = {{ test_range = \"[:10]\" }}\n"
    );
    let config = with_data().good(&text);
    assert_ne!(config.datasets[0].test_range, compass_types::range::RangeSpec::All);
}

#[test]
fn what_is_missing_is_named() {
    let shown = Fixture::new().bad(&format!("datasets = [\"piqa_pl\"]\n{MODEL}"));
    assert!(shown.contains("did you mean `piqa_ppl`?") && shown.contains("compass-master datasets"), "{shown}");
    let mut fixture = Fixture::new();
    fixture.flags.data_dir = Some(fixture.path("elsewhere"));
    let shown = fixture.bad(&format!("datasets = [\"piqa_ppl\"]\n{MODEL}"));
    assert!(shown.contains("elsewhere/piqa/dev.jsonl"), "{shown}");
    assert!(shown.contains("presets/piqa.toml") && shown.contains("[piqa_ppl_1cf9f0]"), "{shown}");
}

#[test]
fn every_preset_is_right_but_for_its_files() {
    let all = presets();
    assert!(!all.is_empty());
    for preset in all {
        assert!(!preset.about.is_empty() && !preset.source.is_empty(), "{preset:?}");
        let mut fixture = Fixture::new();
        fixture.flags.data_dir = Some(fixture.path("nothing"));
        let places = fixture.places(&format!("datasets = [\"{}\"]\n{MODEL}", preset.name));
        let wrong: Vec<&String> =
            places.iter().filter(|place| !place.contains(": no file `") && !place.contains(": no folder `")).collect();
        assert!(wrong.is_empty(), "{}: {wrong:#?}", preset.name);
    }
}

#[test]
fn the_schema_accepts_every_preset() {
    let schema = crate::schema();
    let all = presets();
    assert!(all.len() > 300, "{} presets", all.len());
    for preset in all {
        let datasets: Vec<Json> = tables(&mut Check::default(), &preset.name).iter().map(json).collect();
        assert!(!datasets.is_empty(), "{}", preset.name);
        let faults = faults(&schema, &serde_json::json!({ "dataset": datasets }));
        assert!(faults.is_empty(), "{}: {faults:#?}", preset.name);
    }
}

#[test]
fn names_of_presets_are_names_of_one() {
    let mut seen = std::collections::BTreeSet::new();
    for preset in presets() {
        for name in std::iter::once(preset.name).chain(preset.aliases) {
            assert!(seen.insert(name.clone()), "`{name}` names two presets");
        }
    }
}

#[test]
fn one_table_for_many_subjects() {
    let text = format!("{MODEL}{DATASET}for_each = {{ of = [\"x\", \"y\"], title = [\"X\", \"Y\"] }}\n");
    let text = text.replace("abbr = \"d\"", "abbr = \"d_${of}\"").replace("\"{q}\"", "\"${title}${of}: {q}\"");
    let datasets = Fixture::new().good(&text).datasets;
    assert_eq!(datasets.iter().map(|d| d.abbr.as_str()).collect::<Vec<_>>(), ["d_x", "d_y"]);
    let prompt = serde_json::to_string(&datasets[1].prompt).unwrap();
    assert!(prompt.contains("Yy: {q}") && !prompt.contains("${"), "{prompt}");
    for (lists, said) in [
        ("{ of = [\"x\"], title = [] }", "not of one length"),
        ("{}", "takes a table from name to list"),
        ("[\"x\"]", "takes a table from name to list"),
        ("{ of = [1] }", "takes a string"),
    ] {
        let shown = Fixture::new().bad(&format!("{MODEL}{DATASET}for_each = {lists}\n"));
        assert!(shown.contains(said), "{lists}: {shown}");
    }
}

#[test]
fn names_that_stand_for_one_data_set_ask_it_once() {
    let mut fixture = with_data();
    let mut load = |names: &[&str]| {
        fixture.flags.datasets = Some(names.iter().map(|name| (*name).to_owned()).collect());
        fixture.write("eval.toml", MODEL);
        crate::load(Some(&fixture.path("eval.toml")), &fixture.flags)
    };
    let loaded = load(&["piqa_ppl", "piqa_ppl_1cf9f0"]).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(loaded.config.datasets.len(), 1);
    let said = "`piqa_ppl` and `piqa_ppl_1cf9f0` both stand for the data set `piqa`";
    assert!(loaded.notes.iter().any(|note| note.message == said), "{:?}", loaded.notes);
    let different = load(&["piqa_ppl", "piqa_gen"]).unwrap_err().to_string();
    assert!(different.contains("`piqa_ppl` and `piqa_gen` define two data sets of the `abbr` `piqa`"), "{different}");
    assert!(different.contains("1 error"), "{different}");
    assert!(load(&["piqa_ppl", "piqa_ppl"]).unwrap_err().to_string().contains("data set `piqa` is named twice"));
}

#[test]
fn a_collection_of_a_tree_that_sums_its_lists_asks_each_data_set_once() {
    let mut fixture = Fixture::new();
    let own = |abbr: &str, prompt: &str| {
        format!(
            "dict(abbr='{abbr}', test=dict(path='/dev/null', format='jsonl'), reader_cfg=dict(input_columns=['q'], output_column='a'), \
             infer_cfg=dict(prompt_template='{prompt}', inferencer='gen'), eval_cfg=dict(evaluator='acc'))"
        )
    };
    let configs = "opencompass/configs/datasets/long";
    fixture.write(&format!("{configs}/one_gen.py"), &format!("one_datasets = [{}]\n", own("one", "{q}")));
    fixture.write(&format!("{configs}/other_gen.py"), &format!("other_datasets = [{}]\n", own("one", "Q: {q}")));
    let sum = "with read_base():\n    from .one_gen import one_datasets\nlong_datasets = sum((v for k, v in locals().items() \
               if k.endswith('_datasets')), [])\n";
    fixture.write(&format!("{configs}/long.py"), sum);
    fixture.flags.python.opencompass = Some(fixture.path(""));
    let mut load = |names: &[&str]| {
        fixture.flags.datasets = Some(names.iter().map(|name| (*name).to_owned()).collect());
        fixture.write("eval.toml", MODEL);
        crate::load(Some(&fixture.path("eval.toml")), &fixture.flags)
    };
    let noted = |names: &[&str], load: &mut dyn FnMut(&[&str]) -> Result<crate::Loaded, crate::Diagnostics>| {
        let loaded = load(names).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(loaded.config.datasets.len(), 1);
        loaded.notes.iter().map(|note| note.message.clone()).collect::<Vec<_>>().join("\n")
    };
    let said = noted(&["long"], &mut load);
    assert!(said.contains("the data set `one` stands in `long` more than once"), "{said}");
    let said = noted(&["long", "one_gen"], &mut load);
    assert!(said.contains("`long` and `one_gen` both stand for the data set `one`"), "{said}");
    let different = load(&["one_gen", "other_gen"]).unwrap_err().to_string();
    assert!(different.contains("`one_gen` and `other_gen` define two data sets of the `abbr` `one`"), "{different}");
}
