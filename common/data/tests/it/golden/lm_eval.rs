//! Contexts and continuations as lm-eval 0.4.13 logged them (`arguments` of `--log_samples`).

use super::shared;
use compass_plan::prompt::{Options, PromptConfig, RenderedDataset, Template, render};
use compass_plan::retriever::RetrieverKind;
use compass_plan::{Body, InferSpec};
use serde_json::Value;

fn config(context: &str, options: Options) -> PromptConfig {
    let prompt_template = Some(Template::Text(context.into()));
    PromptConfig { prompt_template, options: Some(options), ..PromptConfig::default() }
}

/// Every context, every continuation and every gold answer.
fn assert_requests(rendered: &RenderedDataset, task: &str) {
    let samples = shared::rows(&format!("golden/lm-eval/samples_{task}.jsonl")).unwrap();
    assert_eq!(rendered.samples.len(), samples.len());
    for (sample, expected) in rendered.samples.iter().zip(&samples) {
        assert_eq!(expected["doc_id"], sample.index);
        let Body::Loglikelihood { context, options } = &sample.body else { panic!("not {:?}", sample.body) };
        let context = context.render(&shared::shots(rendered, sample), &rendered.format);
        let arguments = expected["arguments"].as_object().unwrap();
        assert_eq!(options.len(), arguments.len());
        for (at, option) in options.iter().enumerate() {
            let argument = &arguments[&format!("gen_args_{at}")];
            assert_eq!(argument["arg_0"], context.as_str());
            assert_eq!(argument["arg_1"], option.continuation.as_str());
            assert_eq!(option.label, at);
            let answer = option.continuation.strip_prefix(' ').unwrap();
            assert_eq!(option.length as usize, answer.chars().count(), "blanks of the answer itself count");
        }
        assert_eq!(expected["target"], sample.gold.to_string().as_str());
    }
}

#[test]
fn piqa_with_a_label_map_of_options() {
    let Some(test) = shared::rows("golden/lm-eval/piqa.jsonl") else { return };
    let options = Options::Labels(vec![("0".into(), "{sol1}".into()), ("1".into(), "{sol2}".into())]);
    let config = config("Question: {goal}\nAnswer:", options);
    let rendered =
        render(&config, &InferSpec::Loglikelihood, Some("label"), &RetrieverKind::Zero, &test, &Vec::new()).unwrap();
    assert_requests(&rendered, "g_piqa");
}

#[test]
fn piqa_with_a_label_map_of_whole_prompts() {
    let Some(test) = shared::rows("golden/lm-eval/piqa.jsonl") else { return };
    let map = ["{sol1}", "{sol2}"].iter().enumerate();
    let map = map.map(|(at, sol)| (at.to_string(), format!("Question: {{goal}}\nAnswer: {sol}"))).collect();
    let config = PromptConfig { prompt_template: Some(Template::Labels(map)), ..PromptConfig::default() };
    let rendered =
        render(&config, &InferSpec::Loglikelihood, Some("label"), &RetrieverKind::Zero, &test, &Vec::new()).unwrap();
    // The same texts as lm-eval's, only the blank between them belongs to the context.
    let samples = shared::rows("golden/lm-eval/samples_g_piqa.jsonl").unwrap();
    for (sample, expected) in rendered.samples.iter().zip(&samples) {
        let Body::Loglikelihood { context, options } = &sample.body else { panic!("not {:?}", sample.body) };
        for (at, option) in options.iter().enumerate() {
            let argument = &expected["arguments"][&format!("gen_args_{at}")];
            let whole = |key: &str| argument[key].as_str().unwrap();
            assert_eq!(
                context.render(&[], &rendered.format) + &option.continuation,
                format!("{}{}", whole("arg_0"), whole("arg_1"))
            );
        }
    }
}

#[test]
fn arc_easy_with_a_list_of_any_length() {
    let Some(test) = shared::rows("golden/lm-eval/arc_easy.jsonl") else { return };
    let config = config("{query}", Options::Column("{choices}".into()));
    let rendered =
        render(&config, &InferSpec::Loglikelihood, Some("gold"), &RetrieverKind::Zero, &test, &Vec::new()).unwrap();
    assert_requests(&rendered, "g_arc_easy");
}

#[test]
fn hellaswag_with_five_sampled_shots() {
    let Some(test) = shared::rows("golden/lm-eval/hellaswag.jsonl") else { return };
    let Some(train) = shared::rows("golden/lm-eval/hellaswag_dev.jsonl") else { return };
    let config = config("{query}", Options::Column("choices".into()));
    let retriever = RetrieverKind::Sampled { k: 5, seed: 1234, exclude_question: false };
    let rendered = render(&config, &InferSpec::Loglikelihood, Some("gold"), &retriever, &test, &train).unwrap();
    assert_requests(&rendered, "g_hellaswag5");
    assert!(rendered.shots.len() <= train.len(), "each distinct shot once");
}

#[test]
fn mmlu_with_a_description_and_the_first_shots() {
    for subject in ["marketing", "virology"] {
        let flat = |file: String| -> Option<Vec<_>> {
            // The template names choices by position; a column each does the same.
            let rows = shared::rows(&file)?.into_iter().map(|mut row| {
                let choices: Vec<Value> = row["choices"].as_array().unwrap().clone();
                for (letter, choice) in ["A", "B", "C", "D"].iter().zip(choices) {
                    row.insert((*letter).into(), choice);
                }
                let question = row["question"].as_str().unwrap().trim().to_owned();
                row.insert("question".into(), question.into());
                row
            });
            Some(rows.collect())
        };
        let Some(test) = flat(format!("golden/lm-eval/mmlu_{subject}_test.jsonl")) else { return };
        let Some(train) = flat(format!("golden/lm-eval/mmlu_{subject}_dev.jsonl")) else { return };
        let letters = ["A", "B", "C", "D"].iter().enumerate();
        let options = Options::Labels(letters.map(|(at, letter)| (at.to_string(), (*letter).into())).collect());
        let hint = format!("The following are multiple choice questions (with answers) about {subject}.\n\n");
        let config = PromptConfig {
            ice_separator: "\n\n".into(),
            ice_eos_token: "\n\n".into(),
            ..config(&format!("{hint}</E>{{question}}\nA. {{A}}\nB. {{B}}\nC. {{C}}\nD. {{D}}\nAnswer:"), options)
        };
        let rendered = render(
            &config,
            &InferSpec::Loglikelihood,
            Some("answer"),
            &RetrieverKind::FirstN { k: 5, exclude_question: false },
            &test,
            &train,
        )
        .unwrap();
        assert_requests(&rendered, &format!("g_mmlu_{subject}"));
    }
}
