//! A preset under several names, with other values, and the version that the table shows of it.

use super::fixture::{Fixture, MODEL};
use compass_plan::InferSpec;

fn with_data() -> Fixture {
    let mut fixture = Fixture::new();
    for file in ["siqa/dev.jsonl", "siqa/dev-labels.lst", "piqa/dev.jsonl", "piqa/dev-labels.lst"] {
        fixture.write(&format!("cache/{file}"), "");
    }
    fixture.flags.data_dir = Some(fixture.path("cache"));
    fixture
}

fn max_out_len(infer: &InferSpec) -> Option<u32> {
    infer.generation().and_then(|spec| spec.max_out_len)
}

#[test]
fn a_preset_is_used_twice() {
    let text = format!(
        "{MODEL}[[dataset]]\npreset = \"siqa_gen\"\n[[dataset]]\npreset = \"siqa_gen\"\nabbr = \"siqa-short\"\n\
         reader_cfg = {{ test_range = \"[:8]\" }}\ninfer_cfg = {{ inferencer = {{ max_out_len = 5 }} }}\n"
    );
    let datasets = with_data().good(&text).datasets;
    let abbrs: Vec<&str> = datasets.iter().map(|dataset| dataset.abbr.as_str()).collect();
    assert_eq!(abbrs, ["siqa", "siqa-short"]);
    assert_eq!((max_out_len(&datasets[0].infer), max_out_len(&datasets[1].infer)), (None, Some(5)));
    assert_ne!(datasets[1].test_range, compass_types::range::RangeSpec::All);
    assert_eq!(datasets[0].prompt, datasets[1].prompt);
    // Chosen by their names as any data set is.
    let mut fixture = with_data();
    fixture.flags.datasets = Some(vec!["siqa-short".into()]);
    assert_eq!(fixture.good(&text).datasets.len(), 1);
}

#[test]
fn a_preset_of_many_takes_a_pattern_or_one_of_them() {
    let mut fixture = with_data();
    for subject in ["anatomy", "astronomy"] {
        for split in ["dev", "test"] {
            fixture.write(&format!("cache/mmlu/{split}/{subject}_{split}.csv"), "q,a,b,c,d,A\n");
        }
    }
    fixture.flags.datasets = Some(vec!["lukaemon_mmlu_anatomy-again".into(), "mine".into()]);
    let text = |abbr: &str| {
        format!(
            "{MODEL}[[dataset]]\npreset = \"mmlu_ppl\"\nabbr = \"{abbr}\"\n[[dataset]]\n\
             preset = \"mmlu_ppl/lukaemon_mmlu_astronomy\"\nabbr = \"mine\"\n"
        )
    };
    let datasets = fixture.good(&text("${abbr}-again")).datasets;
    let abbrs: Vec<&str> = datasets.iter().map(|dataset| dataset.abbr.as_str()).collect();
    assert_eq!(abbrs, ["lukaemon_mmlu_anatomy-again", "mine"]);
    let shown = fixture.bad(&text("again"));
    assert!(shown.contains("`mmlu_ppl` is 57 data sets, and this is one name"), "{shown}");
    assert!(shown.contains("write `abbr = \"${abbr}-again\"`"), "{shown}");
}

#[test]
fn presets_that_are_not_there_are_named() {
    for (name, said) in [
        ("siqa_gn", "no preset is called `siqa_gn`"),
        ("siqa_gn", "did you mean `siqa_gen`?"),
        ("mmlu_ppl/nothing", "no preset is called `mmlu_ppl/nothing`"),
        ("aime2024_llmjudge_gen", "`aime2024_llmjudge_gen` is not yet supported: another model judges its answers"),
    ] {
        let shown = with_data().bad(&format!("{MODEL}[[dataset]]\npreset = \"{name}\"\n"));
        assert!(shown.contains(said), "{shown}");
    }
}

#[test]
fn an_inferencer_is_overridden_whatever_form_it_has() {
    for (preset, abbr) in [("siqa_gen", "siqa"), ("piqa_gen", "piqa")] {
        let text = format!(
            "datasets = [\"{preset}\"]\n{MODEL}[[dataset]]\nabbr = \"{abbr}\"\n\
             infer_cfg = {{ inferencer = {{ max_out_len = 7 }} }}\n"
        );
        assert_eq!(max_out_len(&with_data().good(&text).datasets[0].infer), Some(7), "{preset}");
    }
    // A table that is there keeps its other keys.
    let mut fixture = with_data();
    fixture.write("cache/aime.jsonl", "{}");
    fixture.flags.datasets = Some(vec!["aime2024".into()]);
    let text = format!(
        "{MODEL}[[dataset]]\npreset = \"aime2024_gen_6e39a4\"\ninfer_cfg = {{ inferencer = {{ min_out_len = 1 }} }}\n"
    );
    assert_eq!(max_out_len(&fixture.good(&text).datasets[0].infer), Some(2048));
}

#[test]
fn the_version_is_the_digest_in_the_name_while_the_prompts_are_the_presets() {
    let version = |text: &str| with_data().good(text).datasets[0].version.clone();
    let named = |name: &str| format!("datasets = [\"{name}\"]\n{MODEL}");
    let own = |more: &str| format!("{}[[dataset]]\nabbr = \"siqa\"\n{more}\n", named("siqa_gen"));
    assert_eq!(version(&named("siqa_gen_e78df3")).as_deref(), Some("e78df3"));
    assert_eq!(version(&named("siqa_gen")).as_deref(), Some("18632c"), "an alias is the preset that it stands for");
    assert_eq!(version(&own("reader_cfg = { test_range = \"[:8]\" }")).as_deref(), Some("18632c"));
    assert_eq!(
        version(&own("infer_cfg = { inferencer = { max_out_len = 5 } }")),
        None,
        "other prompts, another digest"
    );
    assert_eq!(version(&own("version = \"v2\"")).as_deref(), Some("v2"));
}

#[test]
fn an_inferencer_beside_a_preset_is_that_of_infer_cfg() {
    let text = |more: &str| format!("{MODEL}[[dataset]]\npreset = \"siqa_gen\"\n{more}\n");
    for more in [
        "inferencer = { max_out_len = 7 }",
        "inferencer = { type = \"gen\", max_out_len = 7 }",
        "inferencer = { max_out_len = 7 }\ninfer_cfg = { retriever = \"zero\" }",
    ] {
        let mut datasets = with_data().good(&text(more)).datasets;
        assert_eq!(max_out_len(&datasets.remove(0).infer), Some(7), "{more}");
    }
    let shown =
        with_data().bad(&text("inferencer = { max_out_len = 7 }\ninfer_cfg = { inferencer = { max_out_len = 5 } }"));
    assert!(shown.contains("`inferencer` stands beside `preset` and in `infer_cfg`"), "{shown}");
    let shown = with_data().bad(&format!(
        "datasets = [\"siqa_gen\"]\n{MODEL}[[dataset]]\nabbr = \"siqa\"\ninferencer = {{ max_out_len = 7 }}\n"
    ));
    assert!(shown.contains("`inferencer` of a data set without `preset`") && shown.contains("`infer_cfg`"), "{shown}");
}
