//! Prompts, labels and gold answers as OpenCompass 0.5.4 wrote them into its predictions.

use super::shared;
use compass_data::{Row, apply_range};
use compass_plan::prompt::{PromptConfig, RenderedDataset, Template, render, render_shots};
use compass_plan::retriever::RetrieverKind;
use compass_plan::{Body, InferSpec};
use compass_pyfmt::python_str;
use compass_settings::{Cast, ColumnConfig, Expression, Pattern, Piece};
use compass_types::range::RangeSpec;
use serde_json::Value;

fn labels(map: &[(&str, &str)]) -> Option<Template> {
    Some(Template::Labels(map.iter().map(|(label, text)| ((*label).into(), (*text).into())).collect()))
}

fn first_40(rows: Vec<Row>) -> Vec<Row> {
    let taken = apply_range(&RangeSpec::Slices("[:40]".into()), rows.len()).unwrap();
    taken.into_iter().map(|at| rows[at].clone()).collect()
}

/// Every prompt of every label, the shots and the gold answer; labels compare as OpenCompass's `AccEvaluator` does.
fn assert_ppl(rendered: &RenderedDataset, predictions: &[Value]) {
    assert_eq!(rendered.samples.len(), predictions.len());
    for (sample, expected) in rendered.samples.iter().zip(predictions) {
        let Body::Ppl { options } = &sample.body else { panic!("ppl, not {:?}", sample.body) };
        let shots = shared::shots(rendered, sample);
        let examples = render_shots(&shots, &rendered.format, None).printed();
        assert_eq!(expected["in-context examples"], examples);
        assert_eq!(python_str(&sample.gold), python_str(&expected["gold"]));
        let said = expected.as_object().unwrap().keys().filter(|key| key.starts_with("label: ")).count();
        assert_eq!(options.len(), said);
        for option in options {
            let key = format!("label: {}", python_str(&option.label));
            assert_eq!(expected[&key]["prompt"], option.prompt.render(&shots, &rendered.format).as_str(), "{key}");
            assert_eq!(expected[&key]["testing input"], option.prompt.render(&[], &Default::default()).as_str());
        }
    }
}

#[test]
fn piqa_ppl() {
    let Some(predictions) = shared::predictions("golden/opencompass/piqa_ppl_1cf9f0/predictions/piqa.json") else {
        return;
    };
    let Some(file) = shared::path("data/piqa/valid-labels.lst") else { return };
    let labels_of = ColumnConfig { cast: Some(Cast::Int), ..shared::column("label", Expression::LinesOf { file }) };
    let Some(test) = shared::with_columns("data/piqa/valid.jsonl", vec![labels_of]) else { return };
    let config = PromptConfig {
        prompt_template: labels(&[
            ("0", "The following makes sense: \nQ: {goal}\nA: {sol1}\n"),
            ("1", "The following makes sense: \nQ: {goal}\nA: {sol2}\n"),
        ]),
        ..PromptConfig::default()
    };
    let rendered = render(&config, &InferSpec::Ppl, Some("label"), &RetrieverKind::Zero, &test, &Vec::new()).unwrap();
    assert_ppl(&rendered, &predictions);
    assert_eq!(rendered.samples[0].gold, 0);
}

#[test]
fn mmlu_ppl_with_five_shots() {
    for subject in ["college_biology", "virology"] {
        let golden = format!("golden/opencompass/mmlu_ppl_ac766d/predictions/lukaemon_mmlu_{subject}.json");
        let Some(predictions) = shared::predictions(&golden) else { return };
        let Some(test) = shared::mmlu(&format!("data/mmlu/test/{subject}_test.csv")) else { return };
        let Some(train) = shared::mmlu(&format!("data/mmlu/dev/{subject}_dev.csv")) else { return };
        let question = "{input}\nA. {A}\nB. {B}\nC. {C}\nD. {D}";
        let hint = format!(
            "The following are multiple choice questions (with answers) about  {}.\n\n",
            subject.replace('_', " ")
        );
        let map = |text: &dyn Fn(&str) -> String| {
            Some(Template::Labels(["A", "B", "C", "D"].map(|label| (label.to_owned(), text(label))).to_vec()))
        };
        let config = PromptConfig {
            ice_template: map(&|label| format!("{question}\nAnswer: {label}\n")),
            prompt_template: map(&|label| format!("{hint}</E>{question}\nAnswer: {label}")),
            ..PromptConfig::default()
        };
        let retriever = RetrieverKind::FixK { ids: vec![0, 1, 2, 3, 4], exclude_question: false };
        let rendered = render(&config, &InferSpec::Ppl, Some("target"), &retriever, &first_40(test), &train).unwrap();
        assert_ppl(&rendered, &predictions);
        assert_eq!(rendered.shots.len(), 5, "each distinct shot once");
    }
}

#[test]
fn winogrande_ppl() {
    let golden = "golden/opencompass/winogrande_ppl_55a66e/predictions/winogrande.json";
    let Some(predictions) = shared::predictions(golden) else { return };
    // OpenCompass's loader fills the gap of the sentence with either option.
    let filled = |name: &str, option: &str| {
        let (find, by) = (Pattern::Literal("_".into()), vec![Piece::Path(option.into())]);
        shared::column(name, Expression::Replace { of: "sentence".into(), find, by })
    };
    let columns = vec![filled("opt1", "option1"), filled("opt2", "option2")];
    let Some(test) = shared::with_columns("data/winogrande/dev.jsonl", columns) else { return };
    let config = PromptConfig {
        prompt_template: labels(&[("1", "Good sentence: {opt1}"), ("2", "Good sentence: {opt2}")]),
        ..PromptConfig::default()
    };
    let rendered = render(&config, &InferSpec::Ppl, Some("answer"), &RetrieverKind::Zero, &test, &Vec::new()).unwrap();
    assert_ppl(&rendered, &predictions);
    assert!(rendered.samples[0].gold.is_string(), "winogrande's golds are texts, and so are its labels");
}
