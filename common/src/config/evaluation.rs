//! `eval_cfg`: how outputs become metrics.

use super::check::Check;
use super::choice::Choices;
use super::fields::Fields;
use super::tree::{Node, Value};
use crate::evaluator::EvaluatorKind;
use crate::plan::EvalSpec;
use crate::postprocess::Postprocessor;

const EVALUATORS: Choices<'_, EvaluatorKind> = Choices {
    now: &[("acc", EvaluatorKind::Acc), ("em", EvaluatorKind::Em), ("gsm8k", EvaluatorKind::Gsm8k)],
    aliases: &[],
    later: &[
        "acc_norm",
        "acc_with_details",
        "accwith_details",
        "acc_contamination",
        "rouge",
        "jieba_rouge",
        "bleu",
        "bleu_flores",
        "mcc",
        "f1",
        "squad",
        "squad20",
        "ed_acc",
        "edacc",
        "circular",
        "auc_roc",
        "aucroc",
        "bpc",
        "average_ppl",
        "average_min_k",
        "average_inference_ppl",
        "min_k",
        "perplexity",
        "toxic",
        "lm",
        "judge",
        "generic_llm",
        "cascade",
        "math_verify",
        "code",
        "human_eval",
        "humaneval",
        "human_eval_plus",
        "mbpp",
        "live_code_bench",
        "big_code_bench",
        "pass_at_k",
        "trivia_qa",
        "triviaqa",
        "nq",
        "drop",
        "math",
        "bbh",
        "bbh_mcq",
        "agi_eval",
        "ifeval",
        "if_eval",
        "long_bench_f1",
        "long_bench_rouge",
        "theorem_qa",
        "t_eval",
    ],
    meanwhile: "use `acc`, `em` or `gsm8k`",
    suffix: Some("Evaluator"),
};
const POSTPROCESSORS: Choices<'_, Postprocessor> = Choices {
    now: &[
        ("general", Postprocessor::General),
        ("gsm8k", Postprocessor::Gsm8k),
        ("gsm8k_dataset", Postprocessor::Gsm8kDataset),
    ],
    aliases: &[],
    later: &[
        "first_option",
        "first_capital",
        "first_capital_multi",
        "last_option",
        "last_capital",
        "first_number",
        "general_cn",
        "general_eval",
        "multiple_select",
        "xml_tag",
        "match_answer_pattern",
        "text",
        "humaneval",
        "humaneval_v2",
        "mbpp",
        "math",
        "math_v2",
        "bbh_mcq",
        "bbh_freeform",
        "triviaqa",
        "flores",
        "strategyqa",
        "drop",
        "nq",
        "mathbench",
        "think_pred",
        "rm_<think>_before_eval",
    ],
    meanwhile: "use `general`, `gsm8k` or `gsm8k_dataset`",
    suffix: Some("_postprocess"),
};

/// Reads `eval_cfg`; `None` when something is wrong, which is reported.
pub(super) fn read(check: &mut Check, mut fields: Fields<'_>) -> Option<EvalSpec> {
    let evaluator = fields.require(check, "evaluator", "\"acc\"").and_then(|node| evaluator(check, node));
    let mut chain = |key| match fields.get(key) {
        Some(node) => postprocessors(check, key, node),
        None => Some(Vec::new()),
    };
    let (pred, gold) = (chain("pred_postprocessor"), chain("dataset_postprocessor"));
    fields.not_yet(check, "pred_role", "remove it: the whole output is the prediction");
    fields.not_yet(check, "num_gpus", "remove it: evaluation runs in the master");
    fields.finish(check);
    Some(EvalSpec { evaluator: evaluator?, pred_postprocessors: pred?, dataset_postprocessors: gold? })
}

fn evaluator(check: &mut Check, node: &Node) -> Option<EvaluatorKind> {
    let name = node.text().or_else(|| node.table()?.text("type")).unwrap_or_default();
    // OpenCompass has some 240 classes of this kind; one that is not listed is no misspelling.
    let class = name.rsplit('.').next().unwrap_or_default();
    let served = ["AccEvaluator", "EMEvaluator", "Gsm8kEvaluator"];
    if class.len() > "Evaluator".len() && class.ends_with("Evaluator") && !served.contains(&class) {
        check.not_yet(node.span, &format!("evaluator `{class}`"), EVALUATORS.meanwhile);
        return None;
    }
    let (kind, fields) = EVALUATORS.tagged(check, "evaluator", node)?;
    fields.finish(check);
    Some(kind)
}

/// One postprocessor, or a list of them applied in order.
fn postprocessors(check: &mut Check, key: &str, node: &Node) -> Option<Vec<Postprocessor>> {
    let nodes = match &node.value {
        Value::Array(items) => items.as_slice(),
        _ if node.is_empty() => return Some(Vec::new()),
        _ => std::slice::from_ref(node),
    };
    let read: Vec<Option<Postprocessor>> = nodes
        .iter()
        .map(|node| {
            let (kind, fields) = POSTPROCESSORS.tagged(check, key, node)?;
            fields.finish(check);
            Some(kind)
        })
        .collect();
    read.into_iter().collect()
}
