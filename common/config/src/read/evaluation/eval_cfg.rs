//! `eval_cfg`: how outputs become metrics.

use super::evaluator::{self, NUMBERS};
use super::parameters::several_k;
use super::{filter, postprocessor};
use crate::keys::{Kind, TableKeys, ignored, key, later};
use crate::read::evaluation::evaluator::EVALUATOR;
use crate::read::evaluation::filter::PIPELINE;
use crate::read::evaluation::postprocessor::POSTPROCESSOR;
use crate::read::fields::Fields;
use crate::report::check::Check;
use compass_plan::EvalSpec;
use compass_plan::evaluation::EvaluatorSpec;

pub(crate) static EVAL_CFG: TableKeys = TableKeys {
    name: "eval_cfg",
    title: "`eval_cfg`",
    keys: &[
        key("evaluator", Kind::Named(&EVALUATOR), "[evaluators](evaluators.md)").required(),
        key(
            "pred_postprocessor",
            POSTPROCESSOR,
            "from answer to prediction: a [postprocessor](evaluators.md#postprocessors), such as [`answer`](answers.md)",
        )
        .takes("name, table or array of them")
        .default("none"),
        key("dataset_postprocessor", POSTPROCESSOR, "from gold answer to what is compared")
            .takes("name, table or array of them")
            .default("none"),
        key(
            "filters",
            Kind::Either(&[Kind::Table(&PIPELINE), Kind::ArrayOf(&Kind::Table(&PIPELINE))]),
            "lm-eval's pipelines, each with metrics of its own",
        )
        .takes("array of pipelines")
        .default("none"),
        key("k", NUMBERS, "with several answers to each prompt: the k of pass@k, G-Pass@k and mG-Pass@k")
            .takes("number or array")
            .default("none"),
        key("sc_size", Kind::from(1), "the majority of the answers is the prediction").default("none"),
        ignored("pred_role", Kind::Anything, "OpenCompass ignores it as well"),
        ignored("ds_split", Kind::Anything, "OpenCompass ignores it as well"),
        ignored("ds_column", Kind::Anything, "OpenCompass ignores it as well"),
        later("num_gpus", "remove it: evaluation runs in the master"),
    ],
    types: &[],
};

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
        unfinished: Default::default(),
        reading: Default::default(),
    })
}
