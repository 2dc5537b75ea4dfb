//! SQuAD, TriviaQA, NQ, DROP, LongBench, exact match, edit distances.

use crate::golden::{closely, exactly, text, texts};
use compass_metrics::Language;
use compass_metrics::overlap::*;
use compass_metrics::rouge::longbench_rouge;
use regex::Regex;
use serde_json::Value;

#[test]
fn squad() {
    closely("squad", 130, |args| {
        let (prediction, references) = (text(&args[0]), texts(&args[1]));
        vec![squad_exact_match(prediction, &references), 100.0 * squad_f1(prediction, &references)]
    });
}

#[test]
fn open_questions() {
    for (name, metric) in [
        ("trivia_qa", trivia_qa as fn(&str, &[&str]) -> bool),
        ("natural_questions", natural_questions),
        ("squad20", squad20),
        ("general_em", general_exact_match),
    ] {
        exactly(name, 150, |args| metric(text(&args[0]), &texts(&args[1])));
    }
}

#[test]
fn drop() {
    exactly("drop_fuzzy", 150, |args| drop_fuzzy(text(&args[0]), text(&args[1])));
    closely("drop_bags", 150, |args| {
        let answers: Vec<Vec<&str>> = args[1].as_array().unwrap().iter().map(texts).collect();
        let score = drop_bags(text(&args[0]), &answers);
        vec![score.em, score.f1]
    });
}

#[test]
fn longbench() {
    for (language, suffix) in [(Language::En, "en"), (Language::Zh, "zh")] {
        let percent = |metric: fn(&str, &[&str], Language) -> f64| {
            move |args: &[Value]| vec![100.0 * metric(text(&args[0]), &texts(&args[1]), language)]
        };
        closely(&format!("longbench_f1_{suffix}"), 130, percent(longbench_f1));
        closely(&format!("longbench_rouge_{suffix}"), 120, percent(longbench_rouge));
        closely(&format!("longbench_retrieval_{suffix}"), 150, percent(longbench_retrieval));
    }
    closely("longbench_count", 150, |args| vec![100.0 * longbench_count(text(&args[0]), &texts(&args[1]))]);
    closely("longbench_code", 150, |args| vec![100.0 * longbench_code_similarity(text(&args[0]), &texts(&args[1]))]);
    closely("longbench_classification", 100, |args| {
        vec![100.0 * longbench_classification(text(&args[0]), &texts(&args[1]), &texts(&args[2]))]
    });
}

#[test]
fn distances() {
    exactly("edit_distance", 150, |args| {
        let (left, right) = (text(&args[0]), text(&args[1]));
        vec![Value::from(levenshtein(left, right)), Value::from(edit_ratio_percent(left, right))]
    });
    closely("sequence_ratio", 150, |args| vec![sequence_ratio(text(&args[0]), text(&args[1]))]);
    exactly("nearest_candidate", 80, |args| {
        let candidates: Vec<Vec<&str>> = args[1].as_array().unwrap().iter().map(texts).collect();
        nearest_candidate(text(&args[0]), &candidates)
    });
}

#[test]
fn exact_match_with_options() {
    exactly("exact_match", 150, |args| {
        let options: Vec<bool> = args[3].as_array().unwrap().iter().map(|option| option.as_bool().unwrap()).collect();
        let metric = ExactMatch {
            regexes_to_ignore: texts(&args[2]).into_iter().map(|pattern| Regex::new(pattern).unwrap()).collect(),
            ignore_case: options[0],
            ignore_punctuation: options[1],
            ignore_numbers: options[2],
        };
        metric.matches(text(&args[0]), text(&args[1]))
    });
}
