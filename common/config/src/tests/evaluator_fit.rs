//! An evaluator that cannot judge what the inferencer brings is found before anything starts.

use super::fixture::{Fixture, MODEL};

fn config(inferencer: &str, template: &str, eval: &str) -> String {
    let dataset = format!(
        "[[dataset]]\nabbr = \"d\"\ntest = {{ path = \"data/test.jsonl\" }}\n\
         reader_cfg = {{ input_columns = [\"q\"], output_column = \"a\" }}\n\
         infer_cfg = {{ inferencer = \"{inferencer}\", prompt_template = {template} }}\neval_cfg = {{ {eval} }}\n"
    );
    format!("{MODEL}{dataset}")
}

fn places(inferencer: &str, template: &str, eval: &str) -> Vec<String> {
    Fixture::new().places(&config(inferencer, template, eval))
}

const ONE: &str = "\"{q}\"";
const LABELS: &str = "{ x = \"{q} x\", y = \"{q} y\" }";

#[test]
fn an_answer_is_needed_to_be_right() {
    assert_eq!(
        places("rolling", ONE, "evaluator = \"acc\""),
        [
            "eval.toml:10:26: this evaluator cannot judge what `rolling` brings: the log-likelihood of whole texts, no answers"
        ]
    );
    assert_eq!(
        places("inference_ppl_only", ONE, "evaluator = \"average_ppl\""),
        [
            "eval.toml:10:26: this evaluator cannot judge what `inference_ppl_only` brings: the NLL of marked tokens, no answers"
        ]
    );
    let marked = config("InferencePPLOnlyInferencer", ONE, "evaluator = { type = \"AverageInferencePPLEvaluator\" }");
    assert_eq!(Fixture::new().good(&marked).datasets[0].infer.mode(), "inference_ppl_only");
    for evaluator in ["acc", "perplexity"] {
        assert_eq!(
            places("swce_loss", ONE, &format!("evaluator = \"{evaluator}\"")),
            [
                "eval.toml:10:26: this evaluator cannot judge what `swce_loss` brings: the log-likelihood of all texts as one, no answers"
            ]
        );
    }
    assert_eq!(
        places("ppl_only", ONE, "evaluator = { type = \"EMEvaluator\" }"),
        [
            "eval.toml:10:26: this evaluator cannot judge what `ppl_only` brings: the mean NLL of whole texts, no answers"
        ]
    );
}

#[test]
fn a_likelihood_is_needed_to_be_averaged() {
    for evaluator in
        ["perplexity", "average_ppl", "average_inference_ppl", "bpc", "multiple_choice", "auc_roc", "sentence_pair"]
    {
        assert_eq!(
            places("gen", ONE, &format!("evaluator = \"{evaluator}\"")),
            ["eval.toml:10:26: this evaluator cannot judge what `gen` brings: texts"],
            "{evaluator}"
        );
    }
    let mutual = "evaluator = { type = \"multiple_choice\", metrics = [\"acc\", \"acc_mutual_info\"] }";
    assert_eq!(
        places("ppl", LABELS, mutual),
        ["eval.toml:10:26: this evaluator cannot judge what `ppl` brings: choices among options"]
    );
    let dataset = Fixture::new().good(&config("loglikelihood", LABELS, mutual)).datasets.remove(0);
    assert!(dataset.prompt.unconditional);
    assert_eq!(
        places("loglikelihood", LABELS, "evaluator = \"perplexity\""),
        ["eval.toml:10:26: `perplexity` is of one continuation, and there are several options"]
    );
}

#[test]
fn texts_are_needed_to_be_compared() {
    assert_eq!(
        places("ppl", LABELS, "evaluator = \"bleu\""),
        ["eval.toml:10:26: this evaluator cannot judge what `ppl` brings: choices among options"]
    );
    assert_eq!(
        places("ppl", LABELS, "evaluator = \"acc\", filters = [{ name = \"n\", steps = [\"take_first\"] }]"),
        ["eval.toml:10:43: `filters` read texts, and `ppl` brings none"]
    );
    for (inferencer, template, evaluator) in [
        ("gen", ONE, "rouge"),
        ("gen", ONE, "acc"),
        ("ppl", LABELS, "agi_eval_mcq"),
        ("rolling", ONE, "perplexity"),
        ("rolling", ONE, "bpc"),
        ("ppl_only", ONE, "average_ppl"),
    ] {
        let dataset = Fixture::new().good(&config(inferencer, template, &format!("evaluator = \"{evaluator}\"")));
        assert!(!dataset.datasets[0].prompt.unconditional, "{evaluator}");
    }
}
