//! Scores and texts of one model, compared with OpenCompass's and lm-eval's.

use crate::engine::support::{
    loglikelihood_sample, plan, ppl_sample, read_json, read_jsonl, rolling_sample, run_all, shared, text,
};
use compass_engine::DeviceChoice;
use compass_plan::engine::Engine;
use compass_plan::prompt::Prompt;
use compass_plan::{Body, BosPolicy, InferSpec, ModelPlan, NumericProfile, Sample};
use compass_types::result::Outcome;
use serde_json::Value;

/// The peers' limit: longer than any prompt here, and than the model's training context.
const MAX_SEQ_LEN: u32 = 4096;

/// Loads the reference model under a profile.
pub(crate) fn engine_for(profile: NumericProfile) -> Option<Box<dyn Engine>> {
    let model = shared("models/stories260K-hf")?;
    let plan = ModelPlan { profile, ..plan(&model, BosPolicy::Auto, Some(MAX_SEQ_LEN)) };
    let engine = compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap();
    assert!(engine.facts().notes.iter().any(|note| note.contains("512 positions")), "{:?}", engine.facts());
    Some(engine)
}

fn engine() -> Option<Box<dyn Engine>> {
    engine_for(NumericProfile::Canonical)
}

/// Compares every label's PPL with a predictions file, whose prompts are whole texts.
fn compare_ppl(file: &str) {
    let (Some(mut engine), Some(path)) = (engine(), shared(&format!("golden/opencompass/{file}"))) else { return };
    let predictions = read_json(&path);
    let labelled = |row: &Value| {
        let fields = row.as_object().unwrap().iter().filter(|(key, _)| key.starts_with("label: "));
        fields
            .map(|(_, field)| (field["prompt"].as_str().unwrap().to_owned(), field["PPL"].as_f64().unwrap()))
            .collect::<Vec<_>>()
    };
    let rows: Vec<_> = predictions.as_object().unwrap().values().map(labelled).collect();
    let sample = |(index, row): (usize, &Vec<(String, f64)>)| {
        ppl_sample(index, &row.iter().map(|(prompt, _)| prompt.as_str()).collect::<Vec<_>>())
    };
    let samples: Vec<Sample> = rows.iter().enumerate().map(sample).collect();
    let (results, _) = run_all(engine.as_mut(), &InferSpec::Ppl, &samples);
    let mut worst = 0f64;
    for (row, result) in rows.iter().zip(&results) {
        let Outcome::Ppl(scores) = &result.outcome else { panic!("{result:?}") };
        assert_eq!(scores.len(), row.len());
        assert!(!row.is_empty());
        worst = scores.iter().zip(row).fold(worst, |worst, (score, (_, ppl))| worst.max((score.mean() - ppl).abs()));
    }
    eprintln!("{file}: {} samples, worst difference of a PPL {worst:.2e}", rows.len());
    assert!(worst < 1e-4, "{worst}");
}

#[test]
fn opencompass_ppl_piqa() {
    compare_ppl("piqa_ppl_1cf9f0/predictions/piqa.json");
}

#[test]
fn opencompass_ppl_of_whole_sentences_and_passages() {
    compare_ppl("winogrande_ppl_55a66e/predictions/winogrande.json");
    compare_ppl("ARC_e_ppl_a450bd/predictions/ARC-e.json");
    compare_ppl("SuperGLUE_BoolQ_ppl_16b1d9/predictions/BoolQ.json");
}

#[test]
fn opencompass_ppl_hellaswag_and_five_shot_mmlu() {
    compare_ppl("hellaswag_ppl_47bff9/predictions/hellaswag.json");
    compare_ppl("mmlu_ppl_ac766d/predictions/lukaemon_mmlu_virology.json");
}

/// Compares log-likelihoods and greediness with a samples file.
fn compare_loglikelihood(file: &str) {
    let (Some(mut engine), Some(path)) = (engine(), shared(&format!("golden/lm-eval/{file}"))) else { return };
    let rows = read_jsonl(&path);
    let arguments = |row: &Value| {
        let of = |argument: &Value, key: &str| argument[key].as_str().unwrap().to_owned();
        let arguments = row["arguments"].as_object().unwrap().values();
        arguments.map(|argument| (of(argument, "arg_0"), of(argument, "arg_1"))).collect::<Vec<_>>()
    };
    let samples: Vec<Sample> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| {
            let arguments = arguments(row);
            assert!(arguments.iter().all(|(context, _)| *context == arguments[0].0));
            let continuations: Vec<&str> = arguments.iter().map(|(_, continuation)| continuation.as_str()).collect();
            loglikelihood_sample(index, &arguments[0].0, &continuations)
        })
        .collect();
    let (results, _) = run_all(engine.as_mut(), &InferSpec::Loglikelihood, &samples);
    let (mut worst, mut greedy) = (0f64, 0);
    for (row, result) in rows.iter().zip(&results) {
        let Outcome::Loglikelihood(scores) = &result.outcome else { panic!("{result:?}") };
        let expected = row["resps"].as_array().unwrap();
        assert_eq!(scores.len(), expected.len());
        for (score, expected) in scores.iter().zip(expected) {
            let sum: f64 = expected[0][0].as_str().unwrap().parse().unwrap();
            worst = worst.max((score.sum - sum).abs() / f64::from(score.tokens));
            assert_eq!(score.is_greedy, expected[0][1] == "True", "{row}");
            greedy += usize::from(score.is_greedy);
        }
    }
    eprintln!("{file}: {} samples, {greedy} greedy options, worst difference per token {worst:.2e}", rows.len());
    assert!(worst < 1e-4, "{worst}");
}

#[test]
fn lm_eval_multiple_choice() {
    compare_loglikelihood("samples_g_piqa.jsonl");
    compare_loglikelihood("samples_g_arc_easy.jsonl");
    // Its contexts end in a space, which moves to the continuation.
    compare_loglikelihood("samples_g_winogrande.jsonl");
}

#[test]
fn lm_eval_five_shots() {
    compare_loglikelihood("samples_g_hellaswag5.jsonl");
    compare_loglikelihood("samples_g_mmlu_virology.jsonl");
    compare_loglikelihood("samples_g_mmlu_marketing.jsonl");
}

#[test]
fn lm_eval_lambada() {
    compare_loglikelihood("samples_g_lambada.jsonl");
}

#[test]
fn lm_eval_rolling() {
    let (Some(mut engine), Some(path)) = (engine(), shared("golden/lm-eval/samples_g_wikitext.jsonl")) else { return };
    let rows = read_jsonl(&path);
    let of = |row: &Value| row["arguments"]["gen_args_0"]["arg_0"].as_str().unwrap().to_owned();
    let samples: Vec<Sample> = rows.iter().enumerate().map(|(index, row)| rolling_sample(index, &of(row))).collect();
    let (results, _) = run_all(engine.as_mut(), &InferSpec::Rolling, &samples);
    let mut worst = 0f64;
    for (row, result) in rows.iter().zip(&results) {
        let Outcome::Rolling(score) = &result.outcome else { panic!("{result:?}") };
        let sum: f64 = row["resps"][0][0].as_str().unwrap().parse().unwrap();
        worst = worst.max((score.sum - sum).abs() / f64::from(score.tokens));
        assert!(score.tokens > 100 && result.fit.truncated_from == 0, "{result:?}");
    }
    eprintln!("wikitext: {} documents, worst difference per token {worst:.2e}", rows.len());
    assert!(worst < 1e-4 && rows.len() == 5, "{worst}");
}

/// Winogrande in OpenCompass's `ll`: a context per option, one ending, and its base class's own formula.
#[test]
fn opencompass_loglikelihood_winogrande() {
    let Some(mut engine) = engine_for(NumericProfile::Opencompass) else { return };
    let golden = shared("golden/opencompass/winogrande_ll_c5cf57/predictions/winogrande.json");
    let (Some(golden), Some(data)) = (golden, shared("golden/lm-eval/winogrande.jsonl")) else { return };
    let (predictions, data) = (read_json(&golden), read_jsonl(&data));
    let rows: Vec<(&Value, &Value)> = predictions.as_object().unwrap().values().zip(&data).collect();
    let sample = |(index, (prediction, row)): (usize, &(&Value, &Value))| {
        let (before, ending) = text(row, "sentence").split_once('_').unwrap();
        let mut sample = loglikelihood_sample(index, "", &[ending, ending]);
        let Body::Loglikelihood { options, .. } = &mut sample.body else { panic!("{sample:?}") };
        for (option, key) in options.iter_mut().zip(["1", "2"]) {
            let context = format!("{before}{}", text(row, &format!("option{key}")));
            assert_eq!(format!("{context}{ending}"), prediction[format!("label: {key}")]["prompt"].as_str().unwrap());
            option.context = Some(Prompt::question(context));
        }
        sample
    };
    let samples: Vec<Sample> = rows.iter().enumerate().map(sample).collect();
    let (results, _) = run_all(engine.as_mut(), &InferSpec::Loglikelihood, &samples);
    let mut worst = 0f64;
    for ((prediction, _), result) in rows.iter().zip(&results) {
        let Outcome::Loglikelihood(scores) = &result.outcome else { panic!("{result:?}") };
        for (score, key) in scores.iter().zip(["label: 1", "label: 2"]) {
            worst = worst.max((score.sum - prediction[key]["Loglikelihood"].as_f64().unwrap()).abs());
        }
    }
    eprintln!("winogrande ll: {} samples, worst difference {worst:.2e}", rows.len());
    assert!(worst < 1e-4 && rows.len() == 40, "{worst}");
}
