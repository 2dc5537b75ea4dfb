//! `eval_cfg`: how outputs become metrics.

use super::parameters::several_k;
use super::{evaluator, filter, postprocessor};
use crate::read::fields::Fields;
use crate::report::check::Check;
use compass_plan::EvalSpec;
use compass_plan::evaluation::EvaluatorSpec;

/// Reads `eval_cfg`; `None` when something is wrong, which is reported.
pub(crate) fn read(check: &mut Check, mut fields: Fields<'_>) -> Option<EvalSpec> {
    let evaluator = fields.require(check, "evaluator", "\"acc\"").and_then(|node| evaluator::read(check, node));
    let mut chain = |key| match fields.get(key) {
        Some(node) => postprocessor::read(check, key, node),
        None => Some(Vec::new()),
    };
    let (pred, gold) = (chain("pred_postprocessor"), chain("dataset_postprocessor"));
    let k = fields.get("k").map_or(Some(Vec::new()), |node| several_k(check, node));
    let filters = fields.get("filters").map_or(Some(Vec::new()), |node| filter::read(check, node));
    // OpenCompass writes the number of answers here; how many there are is the inferencer's to say.
    let votes = fields.get("sc_size").is_some();
    fields.u32(check, "sc_size");
    // OpenCompass accepts `pred_role` and, by a slip in its guard, never applies it; the whole output is the prediction there
    // too. The others are those of its earlier versions.
    for key in ["pred_role", "ds_split", "ds_column"] {
        if let Some(node) = fields.get(key) {
            let help = "OpenCompass ignores it as well; it may be removed";
            check.unneeded(node.span, &format!("`{key}`"), format!("`{key}` changes nothing"), help);
        }
    }
    fields.finish(check);
    let (mut evaluator, mut k) = (evaluator?, k?);
    // OpenCompass's configurations write it here "only for humaneval", whose evaluator it is meant for.
    if let EvaluatorSpec::HumanEval { k: own } | EvaluatorSpec::MbppPassK { k: own } = &mut evaluator
        && !k.is_empty()
    {
        *own = std::mem::take(&mut k);
    }
    Some(EvalSpec {
        evaluator,
        pred_postprocessors: pred?,
        dataset_postprocessors: gold?,
        filters: filters?,
        majority_vote: votes,
        k,
        accuracy_alone: false,
    })
}
