//! Options by likeness, MMLU-Pro, BIG-Bench Extra Hard, TyDi QA, RULER, NeedleBench.

use crate::golden::{closely, exactly, text, texts};
use compass_metrics::option::*;
use compass_metrics::overlap::*;
use compass_postprocess::{FirstOption, Letters};
use serde_json::Value;

#[test]
fn options_by_likeness() {
    let first = FirstOption::new(Letters::new("ABCD").unwrap(), false);
    exactly("option_similarity", 150, |args| {
        let options: Vec<Option<&str>> = args[1].as_array().unwrap().iter().map(Value::as_str).collect();
        option_meant(&first, text(&args[0]), &options).map(String::from).unwrap_or_default()
    });
}

#[test]
fn short_answers_of_hard_sets() {
    exactly("bbeh_freeform", 300, |args| bbeh_freeform_equal(text(&args[0]), text(&args[1])));
    exactly("bbeh_choice", 300, |args| bbeh_choice_equal(text(&args[0]), text(&args[1])));
    exactly("mmlu_pro", 150, |args| mmlu_pro_equal(text(&args[0]), text(&args[1])));
}

#[test]
fn tydi() {
    closely("tydi_qa", 100, |args| {
        let (exact, f1) = tydi_qa(text(&args[0]), &texts(&args[1]));
        vec![100.0 * exact, 100.0 * f1]
    });
}

#[test]
fn long_contexts() {
    // The peer rounds to two decimals.
    let rounded = |score: Option<f64>| (score.unwrap() * 10_000.0).round() / 100.0;
    closely("ruler", 100, |args| {
        let (prediction, answers) = (text(&args[0]), texts(&args[1]));
        vec![rounded(ruler_share(prediction, &answers)), rounded(ruler_any(prediction, &answers))]
    });
    exactly("needle", 100, |args| needle_found(text(&args[0]), text(&args[1])));
}
