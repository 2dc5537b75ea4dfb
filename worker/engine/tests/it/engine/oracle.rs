//! Log-likelihoods and generation of a real trained Llama against an independent float64 implementation.

use crate::engine::support::{
    gen_spec, generated, loglikelihood_sample, plan, ppl_sample, prompt_sample, read_json, read_jsonl, run_all, shared,
    text, texts,
};
use compass_engine::DeviceChoice;
use compass_plan::engine::Engine;
use compass_plan::{BosPolicy, InferSpec, Sample};
use compass_types::result::{Finish, Outcome};
use serde_json::Value;
use std::path::Path;

fn engine(directory: &Path) -> Box<dyn Engine> {
    compass_engine::load(&plan(directory, BosPolicy::Always, None), &DeviceChoice::Cpu, 1).unwrap()
}

/// Compares the first rows of a data set with the oracle's entry of that name; `read` returns context and options of a
/// row.
fn compare(entry: &str, file: &str, read: impl Fn(&Value) -> (String, Vec<String>)) {
    let (Some(model), Some(data)) = (shared("models/stories260K"), shared(&format!("data/{file}"))) else {
        return;
    };
    let oracle = read_json(&model.join("oracle_dev.json"))[entry].clone();
    let items = oracle["items"].as_array().unwrap_or_else(|| panic!("no entry {entry}"));
    let rows = read_jsonl(&data);
    let samples: Vec<Sample> = items
        .iter()
        .zip(&rows)
        .enumerate()
        .map(|(index, (_, row))| {
            let (context, options) = read(row);
            let continuations: Vec<String> = options.iter().map(|option| format!(" {option}")).collect();
            loglikelihood_sample(index, &context, &continuations.iter().map(String::as_str).collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(samples.len(), items.len());
    let mut engine = engine(&model);
    let (results, counters) = run_all(engine.as_mut(), &InferSpec::Loglikelihood, &samples);
    let (mut compared, mut worst) = (0, 0f64);
    for (item, result) in items.iter().zip(&results) {
        let Outcome::Loglikelihood(scores) = &result.outcome else { panic!("{item}: {result:?}") };
        if item.get("skipped").is_some() {
            assert!(result.fit.truncated_from > 512, "{item}: {:?}", result.fit);
            continue;
        }
        assert_eq!(result.fit.truncated_from, 0, "{item}");
        for (score, sum) in scores.iter().zip(item["sums"].as_array().unwrap()) {
            worst = worst.max((score.sum - sum.as_f64().unwrap()).abs());
        }
        assert_eq!(scores.len(), item["sums"].as_array().unwrap().len());
        compared += 1;
    }
    eprintln!("{entry}: {compared} samples, worst difference of a sum {worst:.2e}, {counters:?}");
    assert_eq!(compared, oracle["n"].as_u64().unwrap());
    assert!(worst < 1e-3, "{worst}");
}

#[test]
fn piqa() {
    compare("piqa_valid_first200 ctx=\"Question: {goal}\\nAnswer:\"", "piqa/valid.jsonl", |row| {
        let context = format!("Question: {}\nAnswer:", text(row, "goal"));
        (context, vec![text(row, "sol1").into(), text(row, "sol2").into()])
    });
}

#[test]
fn hellaswag() {
    compare("hellaswag_subset_first100 ctx={ctx}", "hellaswag/hellaswag_val_subset.jsonl", |row| {
        (text(row, "ctx").into(), texts(row, "endings").into_iter().map(Into::into).collect())
    });
}

#[test]
fn arc_easy() {
    compare("arc_easy_first150 ctx=doc.query", "arc_easy/test.jsonl", |row| {
        (text(row, "query").into(), texts(row, "choices").into_iter().map(Into::into).collect())
    });
}

#[test]
fn xcopa_zh() {
    compare("xcopa_zh_val_all ctx=\"{premise}\"", "xcopa_zh/val.zh.jsonl", |row| {
        (text(row, "premise").into(), vec![text(row, "choice1").into(), text(row, "choice2").into()])
    });
}

#[test]
fn scores_of_single_texts() {
    let Some(model) = shared("models/stories260K") else { return };
    let golden = read_json(&model.join("golden.json"));
    let mut engine = engine(&model);
    for vector in golden["loglik"].as_array().unwrap() {
        let sample = loglikelihood_sample(0, text(vector, "context"), &[text(vector, "continuation")]);
        let (results, _) = run_all(engine.as_mut(), &InferSpec::Loglikelihood, &[sample]);
        let Outcome::Loglikelihood(scores) = &results[0].outcome else { panic!("{results:?}") };
        assert!((scores[0].sum - vector["sum_continuation"].as_f64().unwrap()).abs() < 1e-4, "{vector}: {scores:?}");
        let tokens = vector["ids"].as_array().unwrap().len() as u64 - vector["context_len"].as_u64().unwrap();
        assert_eq!(u64::from(scores[0].tokens), tokens);
    }
    let example = &golden["ppl_example"];
    let (results, _) = run_all(engine.as_mut(), &InferSpec::Ppl, &[ppl_sample(0, &[text(example, "text")])]);
    let Outcome::Ppl(scores) = &results[0].outcome else { panic!("{results:?}") };
    let n = example["ids"].as_array().unwrap().len();
    assert_eq!(scores[0].tokens as usize, n);
    assert!((scores[0].nll_sum / (n - 1) as f64 - example["mean_nll"].as_f64().unwrap()).abs() < 1e-5, "{scores:?}");
}

#[test]
fn two_hundred_greedy_tokens_without_a_prompt() {
    let Some(model) = shared("models/stories260K") else { return };
    let golden = read_json(&model.join("golden.json"));
    let mut engine = engine(&model);
    let (results, counters) = run_all(engine.as_mut(), &gen_spec(200, &[]), &[prompt_sample(0, "")]);
    let generation = generated(&results[0]);
    assert_eq!(generation.text, text(&golden, "greedy_text"));
    assert_eq!((generation.tokens, generation.finish), (200, Finish::Length));
    assert_eq!((counters.generated, counters.computed, counters.padded), (200, 200, 200 * 15));
    let before = "She wanted to play with it, but it was too";
    let (stopped, _) = run_all(engine.as_mut(), &gen_spec(200, &[" high.\nLily's"]), &[prompt_sample(0, "")]);
    let generation = generated(&stopped[0]);
    assert!(generation.text.ends_with(before), "{generation:?}");
    assert_eq!(generation.finish, Finish::Stop);
    assert!(generation.tokens < 100, "stopped when the string was complete: {generation:?}");
}
