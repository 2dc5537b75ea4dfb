//! Prompts in rounds, as OpenCompass 0.5.4 wrote them into its predictions: every generation config of the golden folder.

use super::shared;
use super::written::{dataset, printed, quoted, rendered};
use compass_data::Row;
use compass_plan::Body;
use compass_settings::Expression;
use serde_json::{Value, json};

/// Every prompt and, where the record has one, the gold answer.
fn assert_gen(golden: &str, output: &str, infer_cfg: &str, test: Vec<Row>, train: &[Row]) {
    let Some(predictions) = shared::predictions(&format!("golden/opencompass/{golden}.json")) else { return };
    let dataset = dataset(output, infer_cfg);
    let test: Vec<Row> = test.into_iter().take(predictions.len()).collect();
    let rendered = rendered(&dataset, &test, train);
    assert_eq!(rendered.samples.len(), predictions.len());
    for (sample, expected) in rendered.samples.iter().zip(&predictions) {
        let Body::Gen { prompt } = &sample.body else { panic!("gen, not {:?}", sample.body) };
        let shots = shared::shots(&rendered, sample);
        assert_eq!(printed(&rendered, prompt, &shots, &dataset), expected["origin_prompt"], "{golden}");
        if let Some(gold) = expected.get("gold") {
            assert_eq!(&sample.gold, gold, "{golden}");
        }
    }
}

fn one_turn(prompt: &str) -> String {
    format!(
        "inferencer = \"gen\"\nprompt_template = {{ round = [{{ role = \"HUMAN\", prompt = {} }}] }}\n",
        quoted(prompt)
    )
}

fn text<'a>(row: &'a Row, column: &str) -> &'a str {
    row.get(column).and_then(Value::as_str).unwrap_or_default()
}

fn row(columns: Value) -> Row {
    columns.as_object().unwrap().clone()
}

/// The list at `key` of a document that is one JSON object.
fn list(file: &str, key: &str) -> Option<Vec<Row>> {
    let text = std::fs::read_to_string(shared::path(file)?).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    Some(document[key].as_array().unwrap().iter().map(|entry| row(entry.clone())).collect())
}

fn first_prompt(golden: &str) -> Option<String> {
    let predictions = shared::predictions(&format!("golden/opencompass/{golden}.json"))?;
    Some(predictions[0]["origin_prompt"].as_str().unwrap().to_owned())
}

#[test]
fn piqa() {
    let Some(file) = shared::path("data/piqa/valid-labels.lst") else { return };
    let label = shared::column("label", Expression::LinesOf { file });
    let letter = shared::column("answer", Expression::LetterOf { of: "label".into(), base: 0 });
    let Some(rows) = shared::with_columns("data/piqa/valid.jsonl", vec![label, letter]) else { return };
    let infer = one_turn("{goal}\nA. {sol1}\nB. {sol2}\nAnswer:");
    assert_gen("piqa_gen_1194eb/predictions/piqa", "answer", &infer, rows, &[]);
}

/// OpenCompass's own columns from the file that was rewritten for it.
pub(super) fn arc_easy() -> Option<Vec<Row>> {
    let rows = shared::rows("data/arc_easy/test.jsonl")?.into_iter().map(|entry| {
        let question = text(&entry, "query").strip_prefix("Question: ").unwrap().strip_suffix("\nAnswer:").unwrap();
        let mut made = row(json!({"question": question}));
        let choices = entry["choices"].as_array().unwrap();
        for (at, letter) in ["A", "B", "C", "D"].iter().enumerate() {
            made.insert(format!("text{letter}"), choices.get(at).cloned().unwrap_or_default());
        }
        let gold = entry["gold"].as_u64().unwrap() as usize;
        made.insert("answerKey".into(), ["A", "B", "C", "D", "E"][gold].into());
        made.insert("choices".into(), choices.len().into());
        made
    });
    Some(rows.filter(|row| row["choices"] == 4).collect())
}

#[test]
fn arc_easy_gen() {
    let Some(rows) = arc_easy() else { return };
    let infer = one_turn("Question: {question}\nA. {textA}\nB. {textB}\nC. {textC}\nD. {textD}\nAnswer:");
    assert_gen("ARC_e_gen_1e0de5/predictions/ARC-e", "answerKey", &infer, rows, &[]);
}

#[test]
fn gaokao_with_a_shot_template_that_asks() {
    for (kind, file) in [
        ("2010-2013_English_MCQs", "2010-2013_English_MCQs"),
        ("2010-2022_History_MCQs", "2010-2022_History_MCQs"),
        ("2010-2022_Math_I_MCQs", "2010-2022_Math_I_MCQs"),
    ] {
        let golden = format!("GaokaoBench_no_subjective_gen_4c31db/predictions/GaokaoBench_{kind}");
        let Some(rows) = list(&format!("data/gaokao_bench/{file}.json"), "example") else { return };
        // The instruction is what stands before the first question; it must be the same before all others.
        let Some(first) = first_prompt(&golden) else { return };
        let instruction = first.strip_suffix(text(&rows[0], "question")).unwrap().to_owned();
        let prompt = quoted(&(instruction + "{question}"));
        let infer = format!(
            "inferencer = {{ type = \"gen\", max_out_len = 1024 }}\n\
             ice_template = {{ round = [{{ role = \"HUMAN\", prompt = {prompt} }}] }}\n"
        );
        assert_gen(&golden, "answer", &infer, rows, &[]);
    }
}

#[test]
fn agieval_in_two_languages() {
    for (name, english) in [("sat-math", true), ("lsat-ar", true), ("gaokao-history", false)] {
        let Some(rows) = shared::rows(&format!("data/agieval/{name}.jsonl")) else { return };
        // OpenCompass's loader writes the question out.
        let rows = rows.into_iter().map(|entry| {
            let options: Vec<&str> = entry["options"].as_array().unwrap().iter().map(|o| o.as_str().unwrap()).collect();
            let (passage, question, last) =
                (text(&entry, "passage"), text(&entry, "question"), &"ABCDEFG"[options.len() - 1..options.len()]);
            let options = options.join(" ");
            let input = match english {
                true => format!(
                    "{passage}Q: {question} Answer Choices: {options}\nA: Among A through {last}, the answer is"
                ),
                false => format!("{passage}问题：{question} 选项：{options}\n答案：从A到{last}, 我们应选择"),
            };
            row(json!({"problem_input": input, "label": entry["label"]}))
        });
        let golden = format!("agieval_gen_a0c741/predictions/agieval-{name}");
        assert_gen(&golden, "label", &one_turn("{problem_input}"), rows.collect(), &[]);
    }
}

#[test]
fn bbh_with_a_hint_of_many_lines() {
    for name in ["boolean_expressions", "causal_judgement", "object_counting"] {
        let Some(rows) = list(&format!("data/bbh/{name}.json"), "examples") else { return };
        let Some(hint) = shared::path(&format!("data/bbh/cot-prompts/{name}.txt")) else { return };
        let hint = std::fs::read_to_string(hint).unwrap();
        // The file opens with a canary of its authors, which OpenCompass's copy lacks.
        let hint = hint.split_once("-----\n").map_or(hint.as_str(), |(_, hint)| hint);
        let infer = one_turn(&format!(
            "Follow the given examples and answer the question.\n{hint}\n\nQ: {{input}}\nA: Let's think step by step."
        ));
        assert_gen(&format!("bbh_gen_5b92b0/predictions/bbh-{name}"), "target", &infer, rows, &[]);
    }
}

#[test]
fn gsm8k_with_shots_written_as_rounds() {
    let golden = "gsm8k_gen_1d7fe4/predictions/gsm8k";
    let (Some(rows), Some(first)) = (shared::rows("data/gsm8k/test.jsonl"), first_prompt(golden)) else { return };
    // The shots are what stands before the first question; they must be the same before all others.
    let ask = |question: &str| format!("Question: {question}\nLet's think step by step\nAnswer:");
    let shots = first.strip_suffix(&ask(text(&rows[0], "question"))).unwrap();
    let mut round = String::new();
    for shot in
        shots.strip_suffix('\n').unwrap().split("\nQuestion: ").map(|shot| shot.trim_start_matches("Question: "))
    {
        let (question, answer) = shot.split_once("\nAnswer:\n").unwrap();
        let human = quoted(&format!("Question: {question}\nAnswer:"));
        let bot = quoted(answer);
        round += &format!("{{ role = \"HUMAN\", prompt = {human} }}, {{ role = \"BOT\", prompt = {bot} }}, ");
    }
    assert_eq!(round.matches("HUMAN").count(), 4);
    let human = quoted(&ask("{question}"));
    let infer = format!(
        "inferencer = {{ type = \"gen\", max_out_len = 512 }}\n\
         prompt_template = {{ round = [{round}{{ role = \"HUMAN\", prompt = {human} }}] }}\n"
    );
    assert_gen(golden, "answer", &infer, rows, &[]);
}

#[test]
fn humaneval() {
    let Some(rows) = shared::rows("data/humaneval/HumanEval.jsonl") else { return };
    let infer = one_turn("Complete the following python code:\n{prompt}");
    assert_gen("humaneval_gen_8e312c/predictions/openai_humaneval", "task_id", &infer, rows, &[]);
}

#[test]
fn mgsm_in_two_languages() {
    for language in ["de", "zh"] {
        let golden = format!("mgsm_gen_d967bc/predictions/mgsm_{language}");
        let Some(file) = shared::path(&format!("data/mgsm/mgsm_{language}.tsv")) else { return };
        let lines = std::fs::read_to_string(file).unwrap();
        let rows: Vec<Row> = lines
            .lines()
            .filter_map(|line| line.trim().split_once('\t'))
            .map(|(question, answer)| row(json!({"question": question, "answer": answer})))
            .collect();
        let Some(first) = first_prompt(&golden) else { return };
        let instruction = first.strip_suffix(text(&rows[0], "question")).unwrap();
        assert_gen(&golden, "answer", &one_turn(&format!("{instruction}{{question}}")), rows, &[]);
    }
}

#[test]
fn mmlu_with_five_shots_in_rounds() {
    let (Some(test), Some(train)) =
        (shared::mmlu("data/mmlu/test/marketing_test.csv"), shared::mmlu("data/mmlu/dev/marketing_dev.csv"))
    else {
        return;
    };
    let ask = quoted(
        "There is a single choice question about marketing. Answer the question by replying A, B, C or D.\n\
         Question: {input}\nA. {A}\nB. {B}\nC. {C}\nD. {D}\nAnswer: ",
    );
    let infer = format!(
        "inferencer = \"gen\"\nretriever = {{ type = \"fix_k\", ids = [0, 1, 2, 3, 4] }}\n\
         ice_template = {{ round = [{{ role = \"HUMAN\", prompt = {ask} }}, \
         {{ role = \"BOT\", prompt = \"{{target}}\\n\" }}] }}\n\
         prompt_template = {{ begin = \"</E>\", round = [{{ role = \"HUMAN\", prompt = {ask} }}] }}\n"
    );
    assert_gen("mmlu_gen_4d595a/predictions/lukaemon_mmlu_marketing", "target", &infer, test, &train);
}
