//! Evaluators and documents against what the peers themselves wrote: OpenCompass's and lm-eval's golden results.
//!
//! The golden files stand beside the repository in `shared/golden` (or `$COMPASS_SHARED/golden`); without them the tests
//! say loudly that they are skipped.

#[cfg(test)]
mod golden {
    use compass_common::evaluator::{ACC_NORM, Accumulator, EvaluatorKind, judge};
    use compass_common::plan::{
        Body, DatasetPlan, EvalSpec, GenSpec, InferSpec, OptionPrompt, OptionText, Part, Sample,
    };
    use compass_common::postprocess::Postprocessor;
    use compass_common::prompt::{Prompt, Segment, ShotFormat};
    use compass_common::report::{Findings, prediction_record, results_document, write_records};
    use compass_common::result::{Finish, Generation, LoglikelihoodScore, Outcome, PplScore, PromptFit, SampleResult};
    use serde_json::{Map, Value, json};
    use std::path::PathBuf;

    /// A golden file's text; `None`, loudly, when the golden files are not here.
    fn read(path: &str) -> Option<String> {
        let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
        let shared = std::env::var_os("COMPASS_SHARED").map_or(beside, PathBuf::from);
        let golden = shared.join("golden");
        if !golden.is_dir() {
            eprintln!(
                "skipped: no golden results at {}; set COMPASS_SHARED to the folder that holds them",
                golden.display()
            );
            return None;
        }
        Some(std::fs::read_to_string(golden.join(path)).unwrap())
    }

    fn golden_json(path: &str) -> Option<Map<String, Value>> {
        read(path).map(|text| serde_json::from_str(&text).unwrap())
    }

    fn acc() -> EvalSpec {
        EvalSpec { evaluator: EvaluatorKind::Acc, pred_postprocessors: Vec::new(), dataset_postprocessors: Vec::new() }
    }

    fn dataset(infer: InferSpec, eval: EvalSpec, samples: usize) -> DatasetPlan {
        DatasetPlan {
            abbr: "golden".into(),
            version: "000000".into(),
            infer,
            shot_format: ShotFormat::default(),
            eval,
            samples: samples as u32,
            characters: 0,
            labels: None,
            parts: Vec::new(),
        }
    }

    fn result(index: u32, outcome: Outcome) -> SampleResult {
        SampleResult { index, fit: PromptFit { shots_kept: u32::MAX, tokens: 1, truncated_from: 0 }, outcome }
    }

    fn text(value: &Value) -> &str {
        value.as_str().unwrap()
    }

    /// Feeds the golden prompts and scores of a `ppl` config; predictions, records, bytes and accuracy come out as written.
    fn check_ppl(config: &str, name: &str) {
        let Some(records) = golden_json(&format!("opencompass/{config}/predictions/{name}.json")) else { return };
        let bytes = read(&format!("opencompass/{config}/predictions/{name}.json")).unwrap();
        let results = golden_json(&format!("opencompass/{config}/results/{name}.json")).unwrap();
        let dataset = dataset(InferSpec::Ppl, acc(), records.len());
        let (mut accumulator, mut findings, mut ours) = (Accumulator::new(&acc()), Findings::default(), Vec::new());
        for (index, record) in records.values().enumerate() {
            let index = index as u32;
            let shots = text(&record["in-context examples"]);
            let (mut options, mut scores) = (Vec::new(), Vec::new());
            for (key, entry) in record.as_object().unwrap() {
                let Some(label) = key.strip_prefix("label: ") else { continue };
                let prompt = text(&entry["prompt"]);
                let segments = match prompt.split_once(shots).filter(|_| !shots.is_empty()) {
                    Some((header, question)) => {
                        vec![Segment::Header(header.into()), Segment::Shots, Segment::Question(question.into())]
                    }
                    None => vec![Segment::Question(prompt.into())],
                };
                // Labels are written as text; the type of the prediction tells what they were.
                let label =
                    if record["prediction"].is_i64() { json!(label.parse::<i64>().unwrap()) } else { json!(label) };
                options.push(OptionPrompt { label, prompt: Prompt(segments), answer: None });
                // PPL and BPB give the number of tokens, and so the sum.
                let (ppl, bpb) = (entry["PPL"].as_f64().unwrap(), entry["BPB"].as_f64().unwrap());
                let tokens = (bpb * text(&entry["testing input"]).len() as f64 / ppl).round();
                scores.push(PplScore { nll_sum: ppl * tokens, tokens: tokens as u32, normalizer: None });
            }
            let with_shots = !shots.is_empty();
            let sample = Sample {
                index,
                gold: record["gold"].clone(),
                shots: if with_shots { vec![0] } else { Vec::new() },
                body: Body::Ppl { options },
            };
            let part = Part { shots: vec![shots.into()], samples: vec![sample.clone()] };
            let result = result(index, Outcome::Ppl(scores));
            assert_eq!(judge(&sample, &result, &acc()).unwrap().prediction, record["prediction"], "{config} {index}");
            accumulator.observe(&sample, &result);
            findings.observe(&sample, &result, &acc());
            ours.push((index, prediction_record(&dataset, None, &part, &sample, &result)));
        }
        let metrics = accumulator.finish();
        assert_eq!(json!(metrics.values[0].value), results["accuracy"], "{config}");
        let document = results_document(&dataset, &metrics, &findings);
        assert_eq!(document.as_object().unwrap().iter().next(), results.iter().next());
        assert_eq!(metrics.counts.ties, 0);

        let mut out = Vec::new();
        write_records::<_, std::io::Error>(&mut out, ours.into_iter().map(Ok)).unwrap();
        let out = String::from_utf8(out).unwrap();
        let (theirs, ours): (Vec<_>, Vec<_>) = (bytes.lines().collect(), out.lines().collect());
        assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let number = |line: &str| {
                let (key, value) = line.trim().trim_end_matches(',').split_once("\": ")?;
                Some(value.parse::<f64>().ok()?).filter(|_| key == "\"PPL" || key == "\"BPB")
            };
            match (number(ours), number(theirs)) {
                // The sum was recovered by a multiplication, so the last bit may differ.
                (Some(ours), Some(theirs)) => assert!((ours - theirs).abs() <= 4.0 * f64::EPSILON * theirs.abs()),
                _ => assert_eq!(ours, theirs),
            }
        }
    }

    #[test]
    fn opencompass_ppl() {
        check_ppl("piqa_ppl_1cf9f0", "piqa");
        check_ppl("hellaswag_ppl_47bff9", "hellaswag");
        check_ppl("winogrande_ppl_55a66e", "winogrande");
        check_ppl("ARC_e_ppl_a450bd", "ARC-e");
    }

    #[test]
    fn opencompass_ppl_with_shots() {
        check_ppl("mmlu_ppl_ac766d", "lukaemon_mmlu_virology");
    }

    #[test]
    fn opencompass_gsm8k() {
        let Some(records) = golden_json("opencompass/gsm8k_gen_1d7fe4/predictions/gsm8k.json") else { return };
        let bytes = read("opencompass/gsm8k_gen_1d7fe4/predictions/gsm8k.json").unwrap();
        let results = golden_json("opencompass/gsm8k_gen_1d7fe4/results/gsm8k.json").unwrap();
        let spec = EvalSpec {
            evaluator: EvaluatorKind::Gsm8k,
            pred_postprocessors: vec![Postprocessor::Gsm8k],
            dataset_postprocessors: vec![Postprocessor::Gsm8kDataset],
        };
        let infer = InferSpec::Gen(GenSpec { max_out_len: Some(512), stop: Vec::new(), ..GenSpec::default() });
        let dataset = dataset(infer, spec.clone(), records.len());
        let details = results["details"].as_array().unwrap();
        assert_eq!((details.len(), records.len()), (40, 40));
        let (mut accumulator, mut ours) = (Accumulator::new(&spec), Vec::new());
        for (index, (record, detail)) in records.values().zip(details).enumerate() {
            let index = index as u32;
            let prompt = Prompt::question(text(&record["origin_prompt"]));
            let sample = Sample { index, gold: record["gold"].clone(), shots: Vec::new(), body: Body::Gen { prompt } };
            let generation = Generation { text: text(&record["prediction"]).into(), tokens: 1, finish: Finish::Length };
            let result = result(index, Outcome::Generated(vec![generation]));
            let verdict = judge(&sample, &result, &spec).unwrap();
            let line = json!({
                "example_abbr": format!("gsm8k_test_{index}"),
                "pred": [verdict.processed], "answer": verdict.answers, "correct": [verdict.correct],
            });
            assert_eq!(&line, detail);
            accumulator.observe(&sample, &result);
            let part = Part { shots: Vec::new(), samples: vec![sample.clone()] };
            ours.push((index, prediction_record(&dataset, None, &part, &sample, &result)));
        }
        assert_eq!(json!(accumulator.finish().values[0].value), results["accuracy"]);
        let mut out = Vec::new();
        write_records::<_, std::io::Error>(&mut out, ours.into_iter().map(Ok)).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), bytes);
    }

    #[test]
    fn opencompass_loglikelihood_records() {
        // OpenCompass's averages stand in for sums here; what is compared are keys, their order and the prediction.
        let Some(records) = golden_json("opencompass/winogrande_ll_c5cf57/predictions/winogrande.json") else { return };
        let results = golden_json("opencompass/winogrande_ll_c5cf57/results/winogrande.json").unwrap();
        let dataset = dataset(InferSpec::Loglikelihood, acc(), records.len());
        let mut accumulator = Accumulator::new(&acc());
        for (index, record) in records.values().enumerate() {
            let index = index as u32;
            let (mut options, mut scores) = (Vec::new(), Vec::new());
            for label in [1, 2] {
                let entry = &record[&format!("label: {label}")];
                let continuation = text(&entry["prompt"]).to_string();
                options.push(OptionText {
                    context: None,
                    label: json!(label),
                    length: continuation.chars().count() as u32,
                    continuation,
                });
                let sum = entry["Loglikelihood"].as_f64().unwrap();
                scores.push(LoglikelihoodScore { sum, tokens: 1, is_greedy: false });
            }
            let body = Body::Loglikelihood { context: Prompt::question(""), options };
            let sample = Sample { index, gold: record["gold"].clone(), shots: Vec::new(), body };
            let result = result(index, Outcome::Loglikelihood(scores));
            accumulator.observe(&sample, &result);
            let part = Part { shots: Vec::new(), samples: vec![sample.clone()] };
            let mut ours = prediction_record(&dataset, None, &part, &sample, &result);
            for label in ["label: 1", "label: 2"] {
                let entry = ours[label].as_object_mut().unwrap();
                assert_eq!(
                    (entry.shift_remove("is_greedy"), entry.shift_remove("tokens")),
                    (Some(json!(false)), Some(json!(1)))
                );
            }
            assert_eq!(ours.to_string(), record.to_string());
        }
        assert_eq!(json!(accumulator.finish().values[0].value), results["accuracy"]);
    }

    /// Feeds lm-eval's logged log-likelihoods; the verdict of each sample and the aggregates are lm-eval's.
    fn check_lm_eval(task: &str) {
        let Some(samples) = read(&format!("lm-eval/samples_{task}.jsonl")) else { return };
        let aggregates = &golden_json("lm-eval/results.json").unwrap()["results"][task];
        let has_norm = aggregates.get("acc_norm,none").is_some();
        let mut accumulator = Accumulator::new(&acc());
        for (index, line) in samples.lines().enumerate() {
            let index = index as u32;
            let logged: Value = serde_json::from_str(line).unwrap();
            let (mut options, mut scores) = (Vec::new(), Vec::new());
            for (at, response) in logged["filtered_resps"].as_array().unwrap().iter().enumerate() {
                let continuation = text(&logged["arguments"][format!("gen_args_{at}")]["arg_1"]).to_string();
                let length = continuation.strip_prefix(' ').unwrap().chars().count() as u32;
                options.push(OptionText { label: json!(at), continuation, context: None, length });
                let sum = text(&response[0]).parse().unwrap();
                scores.push(LoglikelihoodScore { sum, tokens: 1, is_greedy: text(&response[1]) == "True" });
            }
            let body = Body::Loglikelihood { context: Prompt::question("context"), options };
            let sample = Sample { index, gold: logged["target"].clone(), shots: Vec::new(), body };
            let result = result(index, Outcome::Loglikelihood(scores));
            let verdict = judge(&sample, &result, &acc()).unwrap();
            let as_number = |correct: bool| json!(f64::from(u8::from(correct)));
            assert_eq!(as_number(verdict.correct), logged["acc"], "{task} {index}");
            if has_norm {
                assert_eq!(as_number(verdict.correct_normalised.unwrap()), logged["acc_norm"], "{task} {index}");
            }
            accumulator.observe(&sample, &result);
        }
        let metrics = accumulator.finish();
        assert_eq!(json!(metrics.counts.scored), aggregates["sample_len"]);
        for (ours, theirs) in [("accuracy", "acc"), (ACC_NORM, "acc_norm")].into_iter().take(1 + usize::from(has_norm))
        {
            let metric = metrics.get(ours).unwrap();
            let close = |ours: f64, key: String| {
                let theirs = aggregates[&key].as_f64().unwrap();
                assert!((ours / 100.0 - theirs).abs() < 1e-14, "{task} {key}: {ours} {theirs}");
            };
            close(metric.value, format!("{theirs},none"));
            close(metric.stderr.unwrap(), format!("{theirs}_stderr,none"));
        }
    }

    #[test]
    fn lm_eval_multiple_choice() {
        for task in ["g_piqa", "g_arc_easy", "g_hellaswag5", "g_mmlu_virology", "g_mmlu_marketing"] {
            check_lm_eval(task);
        }
    }
}
