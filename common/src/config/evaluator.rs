//! `evaluator`: by name or OpenCompass's class, with parameters.

use super::check::Check;
use super::choice::{Choices, class};
use super::evaluation::one_or_several;
use super::fields::Fields;
use super::tree::Node;
use crate::evaluator::{ChoiceMetric, EvaluatorSpec};

type Read = fn(&mut Check, &mut Fields<'_>) -> Option<EvaluatorSpec>;

const EVALUATORS: Choices<'_, Read> = Choices {
    now: &[
        ("acc", |_, _| Some(EvaluatorSpec::Acc)),
        ("acc_with_details", |_, _| Some(EvaluatorSpec::AccWithDetails)),
        ("em", |_, _| Some(EvaluatorSpec::Em)),
        ("gsm8k", |_, _| Some(EvaluatorSpec::Gsm8k)),
        ("mgsm", |_, _| Some(EvaluatorSpec::Mgsm)),
        ("circular", |_, _| Some(EvaluatorSpec::Circular)),
        ("multiple_choice", multiple_choice),
        ("perplexity", |_, _| Some(EvaluatorSpec::Perplexity)),
        ("average_ppl", |_, _| Some(EvaluatorSpec::AveragePpl)),
        ("bpc", |_, _| Some(EvaluatorSpec::Bpc)),
    ],
    aliases: &[
        ("accwith_details", |_, _| Some(EvaluatorSpec::AccWithDetails)),
        ("MGSM_Evaluator", |_, _| Some(EvaluatorSpec::Mgsm)),
    ],
    later: &[
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
        "auc_roc",
        "aucroc",
        "average_min_k",
        "average_inference_ppl",
        "min_k",
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
const CHOICE_METRICS: Choices<'_, ChoiceMetric> = Choices {
    now: &[
        ("acc", ChoiceMetric::Acc),
        ("acc_norm", ChoiceMetric::AccNorm),
        ("acc_bytes", ChoiceMetric::AccBytes),
        ("exact_match", ChoiceMetric::ExactMatch),
        ("brier_score", ChoiceMetric::BrierScore),
    ],
    aliases: &[],
    later: &["acc_mutual_info"],
    meanwhile: "use `acc` or `acc_norm`: a mutual information needs the answers' unconditional scores",
    suffix: None,
};

/// Reads the evaluator in `node`.
pub(super) fn read(check: &mut Check, node: &Node) -> Option<EvaluatorSpec> {
    let name = node.text().or_else(|| node.table()?.text("type")).unwrap_or_default();
    // OpenCompass has some 240 classes of this kind; one that is not listed is no misspelling.
    let class = class(name);
    if class.len() > "Evaluator".len() && class.contains("Evaluator") && !EVALUATORS.serves(name) {
        check.not_yet(node.span, &format!("evaluator `{class}`"), EVALUATORS.meanwhile);
        return None;
    }
    let (read, mut fields) = EVALUATORS.tagged(check, "evaluator", node)?;
    let spec = read(check, &mut fields);
    fields.finish(check);
    spec
}

fn multiple_choice(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    let Some(node) = fields.get("metrics") else {
        return Some(EvaluatorSpec::MultipleChoice { metrics: vec![ChoiceMetric::Acc, ChoiceMetric::AccNorm] });
    };
    let nodes = one_or_several(node);
    let metrics: Vec<_> = nodes.iter().map(|node| CHOICE_METRICS.pick(check, "metrics", node)).collect();
    let metrics: Option<Vec<_>> = metrics.into_iter().collect();
    metrics.map(|metrics| EvaluatorSpec::MultipleChoice { metrics })
}
