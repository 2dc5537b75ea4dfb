//! The tasks of lm-eval's golden folder with their own Jinja, from the TOML: every context, continuation and gold answer.

use super::shared;
use super::written::{dataset, rendered};
use compass_data::Row;
use compass_plan::prompt::RenderedDataset;
use compass_plan::{Body, Sample};
use serde_json::Value;

/// Returns the requests that lm-eval sent for each sample: pairs of context and continuation, or the one text.
fn requests(rendered: &RenderedDataset, sample: &Sample) -> Vec<(String, Option<String>)> {
    let shots = shared::shots(rendered, sample);
    let text = |prompt: &compass_plan::prompt::Prompt| prompt.render(&shots, &rendered.format);
    match &sample.body {
        Body::Gen { prompt } | Body::Rolling { text: prompt, .. } => vec![(text(prompt), None)],
        Body::Loglikelihood { context, options } => options
            .iter()
            .map(|option| (text(option.context.as_ref().unwrap_or(context)), Some(option.continuation.clone())))
            .collect(),
        other => panic!("{other:?}"),
    }
}

fn assert_task(task: &str, output: &str, infer_cfg: &str, train: &[Row]) {
    let file = task.trim_start_matches("g_").trim_end_matches('5');
    let file = if file.starts_with("mmlu") { format!("{file}_test") } else { file.to_owned() };
    let Some(test) = shared::rows(&format!("golden/lm-eval/{file}.jsonl")) else { return };
    let samples = shared::rows(&format!("golden/lm-eval/samples_{task}.jsonl")).unwrap();
    let dataset = dataset(output, infer_cfg);
    let rendered = rendered(&dataset, &test[..samples.len().min(test.len())], train);
    assert_eq!(rendered.samples.len(), samples.len(), "{task}");
    for (sample, expected) in rendered.samples.iter().zip(&samples) {
        let arguments = expected["arguments"].as_object().unwrap();
        let requests = requests(&rendered, sample);
        assert_eq!(requests.len(), arguments.len(), "{task}");
        for (at, (context, continuation)) in requests.iter().enumerate() {
            let argument = &arguments[&format!("gen_args_{at}")];
            assert_eq!(argument["arg_0"], context.as_str(), "{task}");
            if let Some(continuation) = continuation {
                assert_eq!(argument["arg_1"], continuation.as_str(), "{task}");
            }
        }
        let gold = match &sample.gold {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if !matches!(&sample.body, Body::Rolling { .. }) && requests.len() != 1 {
            assert_eq!(expected["target"], gold.as_str(), "{task}");
        }
    }
}

#[test]
fn multiple_choice() {
    assert_task(
        "g_arc_easy",
        "gold",
        "inferencer = \"loglikelihood\"\nprompt_template = { jinja = \"{{query}}\" }\n\
         options = { jinja = \"{{choices}}\" }\n",
        &[],
    );
    assert_task(
        "g_piqa",
        "label",
        "inferencer = \"loglikelihood\"\nprompt_template = { jinja = \"Question: {{goal}}\\nAnswer:\" }\n\
         options = { jinja = \"{{[sol1, sol2]}}\" }\n",
        &[],
    );
}

#[test]
fn a_gold_answer_by_template() {
    assert_task(
        "g_winogrande",
        "answer",
        "inferencer = \"loglikelihood\"\nprompt_template = { jinja = \"{{sentence.split('_')[0]}}\" }\n\
         options = { jinja = \"{{[option1 + sentence.split('_')[1], option2 + sentence.split('_')[1]]}}\" }\n\
         gold = { jinja = \"{{answer|int - 1}}\" }\n",
        &[],
    );
}

#[test]
fn one_thing_to_be_said() {
    assert_task(
        "g_lambada",
        "text",
        "inferencer = \"loglikelihood\"\nprompt_template = { jinja = \"{{text.split(' ')[:-1]|join(' ')}}\" }\n\
         target = { jinja = \"{{' '+text.split(' ')[-1]}}\" }\n",
        &[],
    );
}

#[test]
fn whole_texts() {
    assert_task("g_wikitext", "page", "inferencer = \"rolling\"\nprompt_template = { jinja = \"{{page}}\" }\n", &[]);
}

#[test]
fn generation_with_sampled_shots() {
    let Some(train) = shared::rows("golden/lm-eval/gsm8k_train.jsonl") else { return };
    assert_task(
        "g_gsm8k",
        "answer",
        "inferencer = { type = \"gen\", stop = [\"Question:\"] }\n\
         prompt_template = { jinja = \"Question: {{question}}\\nAnswer:\" }\n\
         target = { jinja = \"{{answer}}\" }\n\
         retriever = { type = \"sampled\", k = 3, exclude_question = false }\n",
        &train,
    );
}

#[test]
fn choices_with_sampled_shots() {
    let Some(train) = shared::rows("golden/lm-eval/hellaswag_dev.jsonl") else { return };
    assert_task(
        "g_hellaswag5",
        "gold",
        "inferencer = \"loglikelihood\"\nprompt_template = { jinja = \"{{query}}\" }\n\
         options = \"{choices}\"\nretriever = { type = \"sampled\", k = 5, exclude_question = false }\n",
        &train,
    );
}

#[test]
fn a_description_and_the_first_shots() {
    for subject in ["marketing", "virology"] {
        let Some(train) = shared::rows(&format!("golden/lm-eval/mmlu_{subject}_dev.jsonl")) else { return };
        let infer = format!(
            "inferencer = \"loglikelihood\"\n\
             description = \"The following are multiple choice questions (with answers) about {subject}.\\n\\n\"\n\
             prompt_template = {{ jinja = \"{{{{question.strip()}}}}\\nA. {{{{choices[0]}}}}\\nB. {{{{choices[1]}}}}\\n\
             C. {{{{choices[2]}}}}\\nD. {{{{choices[3]}}}}\\nAnswer:\" }}\n\
             options = {{ 0 = \"A\", 1 = \"B\", 2 = \"C\", 3 = \"D\" }}\n\
             retriever = {{ type = \"first_n\", k = 5, exclude_question = false }}\n"
        );
        assert_task(&format!("g_mmlu_{subject}"), "answer", &infer, &train);
    }
}
