//! One file over another, one model over another.

use super::fixture::{DATASET, Fixture, MODEL};
use compass_plan::prompt::Template;
use compass_plan::retriever::RetrieverKind;

#[test]
fn this_file_overrides_and_tables_merge() {
    let fixture = Fixture::new();
    fixture.write(
        "team/base.toml",
        "work_dir = \"runs\"\n[infer.runner]\ntype = \"local\"\nmax_num_workers = 8\nretry = 5\n
         [[model]]\nabbr = \"m\"\ntype = \"hf\"\npath = \"../models/tiny\"\nstop_words = [\"a\", \"b\"]\nmax_out_len = 7\n
         [[model]]\nabbr = \"other\"\ntype = \"echo\"\n",
    );
    let text = format!(
        "include = [\"team/base.toml\"]\n[infer.runner]\nmax_num_workers = 3\n
         [[model]]\nabbr = \"m\"\nstop_words = [\"c\"]\n{DATASET}"
    );
    let config = fixture.good(&text);
    assert_eq!(config.work_dir, fixture.path("team/runs"), "a path is relative to the file that names it");
    assert_eq!((config.infer.runner.max_num_workers, config.infer.runner.retry), (Some(3), 5));
    let names: Vec<&str> = config.models.iter().map(|model| model.abbr.as_str()).collect();
    assert_eq!(names, ["m", "other"]);
    assert_eq!(config.models[0].path, fixture.path("team/../models/tiny"));
    assert_eq!(
        (config.models[0].stop_words.as_slice(), config.models[0].max_out_len),
        (["c".to_owned()].as_slice(), 7)
    );
}

#[test]
fn a_later_include_overrides_an_earlier_one_and_includes_nest() {
    let fixture = Fixture::new();
    fixture.write("a.toml", &format!("include = [\"deep/c.toml\"]\nwork_dir = \"a\"\n{MODEL}"));
    fixture
        .write("b.toml", "include = [\"deep/c.toml\"]\nwork_dir = \"b\"\n[[model]]\nabbr = \"m\"\nmax_out_len = 2\n");
    fixture.write("deep/c.toml", "[[model]]\nabbr = \"m\"\nmax_out_len = 1\nmax_seq_len = 9\n");
    let config = fixture.good(&format!("include = [\"a.toml\", \"b.toml\"]\n{DATASET}"));
    assert_eq!(config.work_dir, fixture.path("b"));
    // b includes c again, above a: the last word on max_seq_len is c's, on max_out_len b's own.
    assert_eq!((config.models[0].max_out_len, config.models[0].max_seq_len), (2, Some(9)));
}

#[test]
fn another_type_replaces_the_whole_table() {
    let fixture = Fixture::new();
    let base = DATASET
        .replace("inferencer = \"gen\"", "inferencer = \"gen\", retriever = { type = \"fix_k\", ids = [1] }")
        + "train = { path = \"data/train.jsonl\" }\n";
    fixture.write("base.toml", &format!("{MODEL}{base}"));
    let over = "include = [\"base.toml\"]\n[[dataset]]\nabbr = \"d\"\ninfer_cfg = { retriever = ";
    let retriever = |value: &str| fixture.good(&format!("{over}{value} }}\n")).datasets[0].retriever.clone();
    assert_eq!(retriever("{ type = \"zero\" }"), RetrieverKind::Zero);
    assert_eq!(retriever("\"zero\""), RetrieverKind::Zero);
    assert_eq!(retriever("{ ids = [2, 3] }"), RetrieverKind::FixK { ids: vec![2, 3], exclude_question: false });
}

#[test]
fn label_maps_merge_in_the_order_first_written() {
    let fixture = Fixture::new();
    let ppl = DATASET.replace("inferencer = \"gen\"", "inferencer = \"ppl\"");
    let base = ppl.replace("prompt_template = \"{q}\"", "prompt_template = { B = \"b\", A = \"a\" }");
    fixture.write("base.toml", &format!("{MODEL}{base}"));
    let over = "[[dataset]]\nabbr = \"d\"\ninfer_cfg = { prompt_template = { A = \"new\", C = \"c\" } }\n";
    let config = fixture.good(&format!("include = [\"base.toml\"]\n{over}"));
    let pairs = [("B", "b"), ("A", "new"), ("C", "c")].map(|(label, text)| (label.to_owned(), text.to_owned()));
    assert_eq!(config.datasets[0].prompt.prompt_template, Some(Template::Labels(pairs.to_vec())));
}

#[test]
fn include_circles_are_errors() {
    let fixture = Fixture::new();
    fixture.write("a.toml", "include = [\"b.toml\"]\n");
    fixture.write("b.toml", "\ninclude = [\"eval.toml\"]\n");
    assert_eq!(
        fixture.places("include = [\"a.toml\"]\n"),
        ["b.toml:2:12: `eval.toml` includes itself, directly or through others"]
    );
}

#[test]
fn a_name_stands_once_in_a_file() {
    let second = MODEL.replace("models/tiny", "models/elsewhere");
    let shown = Fixture::new().bad(&format!("{MODEL}{second}{DATASET}"));
    assert!(shown.contains("error: a second [[model]] with `abbr` `m`\n --> eval.toml:6:8\n"), "{shown}");
    assert!(shown.contains("the first is in line 2"), "{shown}");
}

#[test]
fn a_model_inherits_and_overrides() {
    let fixture = Fixture::new();
    let text = format!(
        "models = [\"c\", \"m\"]\n{MODEL}max_out_len = 5\nrun_cfg = {{ num_gpus = 1 }}\n
         [[model]]\nabbr = \"b\"\ninherit = \"m\"\nmax_seq_len = 9\n
         [[model]]\nabbr = \"c\"\ninherit = \"b\"\nmax_out_len = 6\n{DATASET}"
    );
    let config = fixture.good(&text);
    let names: Vec<&str> = config.models.iter().map(|model| model.abbr.as_str()).collect();
    assert_eq!(names, ["c", "m"], "in the order asked for");
    let [c, m] = [&config.models[0], &config.models[1]];
    assert_eq!((c.max_out_len, c.max_seq_len, c.num_gpus, &c.path), (6, Some(9), 1, &m.path));
    assert_eq!((m.max_out_len, m.max_seq_len), (5, None));
}

#[test]
fn inherit_reports_circles_and_strangers() {
    let text = format!(
        "{MODEL}inherit = \"b\"\n[[model]]\nabbr = \"b\"\ninherit = \"m\"\n[[model]]\nabbr = \"x\"\ninherit = \"mm\"\ntype = \"echo\"\n
         [[model]]\nabbr = \"self\"\ninherit = \"self\"\ntype = \"echo\"\n{DATASET}"
    );
    let places = Fixture::new().places(&text);
    assert_eq!(
        places,
        [
            "eval.toml:8:11: `inherit = \"m\"` leads back to this model",
            "eval.toml:11:11: no [[model]] has the abbr `mm`",
            "eval.toml:16:11: `inherit = \"self\"` leads back to this model",
        ]
    );
}

#[test]
fn an_inherited_value_is_reported_once_where_it_stands() {
    let text = format!("{MODEL}max_out_len = 0\n[[model]]\nabbr = \"b\"\ninherit = \"m\"\n{DATASET}");
    assert_eq!(Fixture::new().places(&text), ["eval.toml:5:15: `max_out_len` is out of range: 0"]);
}
