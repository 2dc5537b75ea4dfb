//! Scored prompts that the first parity tests left out, among them dialogues per label: as OpenCompass 0.5.4 wrote them.

use super::opencompass_gen::arc_easy;
use super::shared;
use super::written::{dataset, printed, rendered};
use compass_data::Row;
use compass_plan::Body;
use compass_plan::prompt::render_shots;
use compass_pyfmt::python_str;
use serde_json::{Value, json};

fn row(columns: Value) -> Row {
    columns.as_object().unwrap().clone()
}

/// Every prompt of every label, the shots and the gold answer. Where a prompt was too long for the model, OpenCompass
/// dropped shots from the end, for each label at least as many as for the one before.
fn assert_ppl(golden: &str, output: &str, infer_cfg: &str, test: Vec<Row>, train: &[Row]) {
    let Some(predictions) = shared::predictions(&format!("golden/opencompass/{golden}.json")) else { return };
    let dataset = dataset(output, infer_cfg);
    let test: Vec<Row> = test.into_iter().take(predictions.len()).collect();
    let rendered = rendered(&dataset, &test, train);
    for (sample, expected) in rendered.samples.iter().zip(&predictions) {
        let Body::Ppl { options } = &sample.body else { panic!("ppl, not {:?}", sample.body) };
        let shots = shared::shots(&rendered, sample);
        assert_eq!(render_shots(&shots, &rendered.format, None).printed(), expected["in-context examples"]);
        assert_eq!(python_str(&sample.gold), python_str(&expected["gold"]));
        let said = expected.as_object().unwrap().keys().filter(|key| key.starts_with("label: ")).count();
        assert_eq!(options.len(), said);
        let mut kept = shots.len();
        for option in options {
            let key = format!("label: {}", python_str(&option.label));
            let shown = |kept: usize| printed(&rendered, &option.prompt, &shots[..kept], &dataset);
            while kept > 0 && shown(kept) != expected[&key]["prompt"] {
                kept -= 1;
            }
            assert_eq!(shown(kept), expected[&key]["prompt"], "{golden} {key}");
        }
    }
}

#[test]
fn arc_easy_with_a_dialogue_per_label() {
    let Some(rows) = arc_easy() else { return };
    let label = |letter: char| {
        format!(
            "[dataset.infer_cfg.prompt_template.{letter}]\n\
             round = [{{ role = \"HUMAN\", prompt = \"Question: {{question}}\\nAnswer: \" }}, \
             {{ role = \"BOT\", prompt = \"{{text{letter}}}\" }}]\n"
        )
    };
    let labels: String = ['A', 'B', 'C', 'D'].map(label).concat();
    assert_ppl(
        "ARC_e_ppl_a450bd/predictions/ARC-e",
        "answerKey",
        &format!("inferencer = \"ppl\"\n{labels}"),
        rows,
        &[],
    );
}

#[test]
fn boolq_with_a_dialogue_per_label() {
    let Some(rows) = shared::rows("data/boolq/validation_first1000.jsonl") else { return };
    let rows = rows.into_iter().map(|mut row| {
        let label = if row["answer"] == true { "A" } else { "B" };
        row.insert("label".into(), label.into());
        row
    });
    let label = |letter: char, answer: &str| {
        format!(
            "{letter} = {{ round = [{{ role = \"HUMAN\", prompt = \"{{passage}}\\nQuestion: {{question}}?\" }}, \
             {{ role = \"BOT\", prompt = \"{answer}\" }}] }}\n"
        )
    };
    let (yes, no) = (label('A', "Yes"), label('B', "No"));
    let infer = format!("inferencer = \"ppl\"\n[dataset.infer_cfg.prompt_template]\n{yes}{no}");
    assert_ppl("SuperGLUE_BoolQ_ppl_16b1d9/predictions/BoolQ", "label", &infer, rows.collect(), &[]);
}

/// As OpenCompass's loader reads the file; `label` is a letter or a position.
fn hellaswag(letters: bool) -> Option<Vec<Row>> {
    let rows = shared::rows("data/hellaswag/olmo_sample1000.jsonl")?.into_iter().map(|entry| {
        let query = entry["query"].as_str().unwrap();
        // Two of its loaders, which cut at one colon and at two.
        let context = query.splitn(if letters { 2 } else { 3 }, ": ").last().unwrap();
        let mut made = row(json!({"ctx": context}));
        for (at, letter) in ["A", "B", "C", "D"].iter().enumerate() {
            made.insert((*letter).into(), entry["choices"][at].clone());
        }
        let gold = entry["gold"].as_u64().unwrap();
        let letter = ["A", "B", "C", "D"][gold as usize];
        made.insert("label".into(), if letters { json!(letter) } else { json!(gold) });
        made
    });
    Some(rows.collect())
}

#[test]
fn hellaswag_with_a_dialogue_per_position() {
    let Some(rows) = hellaswag(false) else { return };
    let label = |(at, letter): (usize, &str)| {
        format!(
            "{at} = {{ round = [{{ role = \"HUMAN\", prompt = \"{{ctx}}\" }}, {{ role = \"BOT\", prompt = \"{{{letter}}}\" }}] }}\n"
        )
    };
    let labels: String = ["A", "B", "C", "D"].into_iter().enumerate().map(label).collect();
    let infer = format!("inferencer = \"ppl\"\n[dataset.infer_cfg.prompt_template]\n{labels}");
    assert_ppl("hellaswag_ppl_47bff9/predictions/hellaswag", "label", &infer, rows, &[]);
}

#[test]
fn hellaswag_with_ten_shots() {
    let Some(rows) = hellaswag(true) else { return };
    let train = rows[900..925].to_vec();
    let ask = "{ctx}\\nA) {A}\\nB) {B}\\nC) {C}\\nD) {D}\\nWhat is the right option?";
    let hint = "Continue the following text without adding any additional information or formatting:";
    let labels = |text: &dyn Fn(char) -> String| -> String {
        ['A', 'B', 'C', 'D'].map(|letter| format!("{letter} = \"{}\"\n", text(letter))).concat()
    };
    let shots = labels(&|letter| format!("{ask}\\n{letter}\\n"));
    let prompts = labels(&|letter| format!("{hint}\\n</E>{ask}\\n{letter}"));
    let infer = format!(
        "inferencer = \"ppl\"\nretriever = {{ type = \"fix_k\", ids = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] }}\n\
         [dataset.infer_cfg.ice_template]\n{shots}[dataset.infer_cfg.prompt_template]\n{prompts}"
    );
    assert_ppl("hellaswag_10shot_ppl_59c85e/predictions/hellaswag", "label", &infer, rows, &train);
}

/// OpenCompass's `LLInferencer`: the column `cont` is scored after what stands before it in each label's text.
#[test]
fn winogrande_with_a_context_per_label() {
    let golden = "golden/opencompass/winogrande_ll_c5cf57/predictions/winogrande.json";
    let (Some(rows), Some(predictions)) = (shared::rows("data/winogrande/dev.jsonl"), shared::predictions(golden))
    else {
        return;
    };
    let rows = rows.into_iter().take(predictions.len()).map(|entry| {
        let text = |column: &str| entry[column].as_str().unwrap().to_owned();
        let (sentence, first, second) = (text("sentence"), text("option1"), text("option2"));
        let (before, after) = sentence.split_once('_').unwrap();
        row(json!({
            "ctx1": format!("{before}{first}"), "ctx2": format!("{before}{second}"), "cont": after,
            "opt1": sentence.replace('_', &first), "opt2": sentence.replace('_', &second), "answer": entry["answer"],
        }))
    });
    let rows: Vec<_> = rows.collect();
    // Contexts as columns, and OpenCompass's own way: whole texts, which end with the column.
    for labels in [
        "prompt_template = { 1 = \"{ctx1}\", 2 = \"{ctx2}\" }\n",
        "prompt_template = { 1 = \"{opt1}\", 2 = \"{opt2}\" }\ntarget_within = true\n",
    ] {
        let infer = format!("inferencer = \"ll\"\ntarget = \"{{cont}}\"\ntarget_delimiter = \"\"\n{labels}");
        let dataset = dataset("answer", &infer);
        let rendered = rendered(&dataset, &rows, &[]);
        for (sample, expected) in rendered.samples.iter().zip(&predictions) {
            let Body::Loglikelihood { options, .. } = &sample.body else { panic!("{:?}", sample.body) };
            assert_eq!(sample.gold, expected["gold"]);
            for option in options {
                let context = option.context.as_ref().unwrap().render(&[], &rendered.format);
                let prompt = format!("{context}{}", option.continuation);
                assert!(context.len() < prompt.len(), "something is scored");
                assert_eq!(expected[&format!("label: {}", python_str(&option.label))]["prompt"], prompt.as_str());
            }
        }
    }
}
