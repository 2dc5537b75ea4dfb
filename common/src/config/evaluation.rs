//! `eval_cfg`: how outputs become metrics.

use super::check::Check;
use super::choice::Choices;
use super::evaluator;
use super::fields::{Fields, whole};
use super::tree::{Node, Value};
use crate::plan::EvalSpec;
use crate::postprocess::Postprocessor;

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
    let evaluator = fields.require(check, "evaluator", "\"acc\"").and_then(|node| evaluator::read(check, node));
    let mut chain = |key| match fields.get(key) {
        Some(node) => postprocessors(check, key, node),
        None => Some(Vec::new()),
    };
    let (pred, gold) = (chain("pred_postprocessor"), chain("dataset_postprocessor"));
    let k = fields.get("k").map_or(Some(Vec::new()), |node| k(check, node));
    fields.not_yet(check, "filters", "use `pred_postprocessor`");
    // OpenCompass accepts it and, by a slip in its guard, never applies it; the whole output is the prediction there too.
    if let Some(node) = fields.get("pred_role") {
        check.note(
            node.span,
            "`pred_role` changes nothing".into(),
            "OpenCompass ignores it as well; it may be removed",
        );
    }
    fields.not_yet(check, "num_gpus", "remove it: evaluation runs in the master");
    fields.finish(check);
    Some(EvalSpec { evaluator: evaluator?, pred_postprocessors: pred?, dataset_postprocessors: gold?, k: k? })
}

/// The k of pass@k: a number or several.
fn k(check: &mut Check, node: &Node) -> Option<Vec<u32>> {
    let one = |node| whole(check, "k", node, 1..=i64::from(u32::MAX)).and_then(|k| u32::try_from(k).ok());
    let read: Vec<Option<u32>> = one_or_several(node).iter().map(one).collect();
    read.into_iter().collect()
}

/// The items of an array, or the value itself.
pub(super) fn one_or_several(node: &Node) -> &[Node] {
    match &node.value {
        Value::Array(items) => items,
        _ => std::slice::from_ref(node),
    }
}

/// One postprocessor, or a list of them applied in order.
fn postprocessors(check: &mut Check, key: &str, node: &Node) -> Option<Vec<Postprocessor>> {
    let nodes = if node.is_empty() { &[] } else { one_or_several(node) };
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
