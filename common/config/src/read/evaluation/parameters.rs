//! Parameters that evaluators take beside their name.

use crate::keys::vocabulary::{Choices, ORDERS, plain};
use crate::read::fields::{Fields, one_or_several, whole};
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_plan::evaluation::{
    BleuTokenizer, ChoiceMetric, EvaluatorSpec, ExactMatchSpec, F1Average, GaokaoQuestion, Language, MbppAnswer,
    Stemming, TextCheck, TextScore,
};
use compass_postprocess::{FirstOption, Letters};
use regex::Regex;

pub(crate) const CHOICE_METRICS: Choices<'_, ChoiceMetric> = plain(&[
    ("acc", ChoiceMetric::Acc),
    ("acc_norm", ChoiceMetric::AccNorm),
    ("acc_bytes", ChoiceMetric::AccBytes),
    ("exact_match", ChoiceMetric::ExactMatch),
    ("brier_score", ChoiceMetric::BrierScore),
    ("mc2", ChoiceMetric::Mc2),
    ("mcc", ChoiceMetric::Mcc),
    ("f1", ChoiceMetric::F1),
    ("acc_mutual_info", ChoiceMetric::AccMutualInfo),
]);
pub(crate) const LANGUAGES: Choices<'_, Language> = plain(&[("en", Language::En), ("zh", Language::Zh)]);
pub(crate) const VERSIONS: Choices<'_, TextCheck> = plain(&[("v1", TextCheck::MathV1), ("v2", TextCheck::MathV2)]);
pub(crate) const AVERAGES: Choices<'_, F1Average> =
    plain(&[("macro", F1Average::Macro), ("micro", F1Average::Micro), ("weighted", F1Average::Weighted)]);
pub(crate) const TOKENIZERS: Choices<'_, BleuTokenizer> = Choices {
    later: &["flores200", "flores101", "ja-mecab", "ko-mecab", "spm"],
    meanwhile: "use `13a`, `intl`, `zh`, `char` or `none`",
    ..plain(&[
        ("13a", BleuTokenizer::V13a),
        ("intl", BleuTokenizer::Intl),
        ("zh", BleuTokenizer::Zh),
        ("char", BleuTokenizer::Char),
        ("none", BleuTokenizer::None),
    ])
};
pub(crate) const QUESTIONS: Choices<'_, GaokaoQuestion> = Choices {
    later: &["cloze", "subjective", "correction"],
    meanwhile: "leave it out: a person must mark it, and OpenCompass gives 0",
    ..plain(&[
        ("single_choice", GaokaoQuestion::SingleChoice),
        ("multi_choice", GaokaoQuestion::MultiChoice),
        ("multi_question_choice", GaokaoQuestion::MultiQuestionChoice),
        ("five_out_of_seven", GaokaoQuestion::FiveOutOfSeven),
    ])
};
pub(crate) const STEMMERS: Choices<'_, Stemming> = plain(&[("porter", Stemming::Porter)]);
pub(crate) const MBPP_METRICS: Choices<'_, ()> = Choices {
    later: &["MBPPPlus"],
    meanwhile: "use `MBPP`: EvalPlus makes its tests by running reference solutions",
    ..plain(&[("MBPP", ())])
};

pub(crate) fn exact_match(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("exact_match");
    let patterns = fields.get("regexes_to_ignore");
    let written = patterns.map_or(Some(Vec::new()), |node| check.texts("regexes_to_ignore", node));
    let mut flag = |key| match fields.get(key).map(|node| (&node.value, node)) {
        None => Some(false),
        Some((Value::Boolean(flag), _)) => Some(*flag),
        Some((_, node)) => {
            check.wrong_type(key, node, "a boolean", "true");
            None
        }
    };
    let (ignore_case, ignore_punctuation) = (flag("ignore_case"), flag("ignore_punctuation"));
    let ignore_numbers = flag("ignore_numbers");
    let mut regexes_to_ignore = Vec::new();
    for (pattern, span) in written? {
        match Regex::new(&pattern) {
            Ok(_) => regexes_to_ignore.push(pattern),
            Err(error) => {
                let help = error.to_string().lines().last().map(str::to_owned);
                check.error(span, format!("`{pattern}` is no pattern"), help);
            }
        }
    }
    Some(EvaluatorSpec::ExactMatch(ExactMatchSpec {
        regexes_to_ignore,
        ignore_case: ignore_case?,
        ignore_punctuation: ignore_punctuation?,
        ignore_numbers: ignore_numbers?,
    }))
}

pub(crate) fn multiple_choice(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("multiple_choice");
    let Some(node) = fields.get("metrics") else {
        return Some(EvaluatorSpec::MultipleChoice { metrics: vec![ChoiceMetric::Acc, ChoiceMetric::AccNorm] });
    };
    let nodes = one_or_several(node);
    let metrics: Vec<_> = nodes.iter().map(|node| CHOICE_METRICS.pick(check, "metrics", node)).collect();
    let metrics: Option<Vec<_>> = metrics.into_iter().collect();
    if nodes.is_empty() {
        check.error(node.span, "`metrics` names none".into(), Some("write `metrics = [\"acc\"]`".into()));
        return None;
    }
    metrics.map(|metrics| EvaluatorSpec::MultipleChoice { metrics })
}

pub(crate) fn f1(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("f1");
    let average = or_default(check, fields, "average", &AVERAGES)?;
    Some(EvaluatorSpec::F1 { average: average.unwrap_or_default() })
}

pub(crate) fn math(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("math");
    let version = or_default(check, fields, "version", &VERSIONS)?;
    Some(EvaluatorSpec::Check { check: version.unwrap_or(TextCheck::MathV1) })
}

pub(crate) fn rouge(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("rouge");
    let stemming = or_default(check, fields, "stemming", &STEMMERS)?;
    Some(EvaluatorSpec::Rouge { stemming: stemming.unwrap_or_default() })
}

pub(crate) fn bleu(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("bleu");
    let tokenizer = or_default(check, fields, "tokenize", &TOKENIZERS)?;
    Some(EvaluatorSpec::Bleu { tokenizer: tokenizer.unwrap_or_default() })
}

pub(crate) fn chrf(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("chrf");
    let word_order = fields.u32(check, "word_order").unwrap_or(0) as usize;
    Some(EvaluatorSpec::Chrf { word_order })
}

pub(crate) fn longbench_f1(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("long_bench_f1");
    in_language(check, fields, TextScore::LongbenchF1)
}

pub(crate) fn longbench_rouge(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("long_bench_rouge");
    in_language(check, fields, TextScore::LongbenchRouge)
}

pub(crate) fn longbench_retrieval(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("long_bench_retrieval");
    in_language(check, fields, TextScore::LongbenchRetrieval)
}

pub(crate) fn human_eval(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("human_eval");
    Some(EvaluatorSpec::HumanEval { k: pass_at(check, fields)? })
}

pub(crate) fn mbpp_pass_k(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("mbpp_pass_k");
    Some(EvaluatorSpec::MbppPassK { k: pass_at(check, fields)? })
}

pub(crate) fn mbpp(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("mbpp");
    or_default(check, fields, "metric", &MBPP_METRICS)?;
    Some(EvaluatorSpec::Mbpp { answer: MbppAnswer::Marked })
}

/// The k of pass@k; OpenCompass's and human_eval's are 1, 10 and 100.
fn pass_at(check: &mut Check, fields: &mut Fields<'_>) -> Option<Vec<u32>> {
    fields.get("k").map_or(Some(vec![1, 10, 100]), |node| several_k(check, node))
}

pub(crate) fn gaokao(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("gaokao");
    let node = fields.require(check, "question", "\"single_choice\"")?;
    QUESTIONS.pick(check, "question", node).map(|question| EvaluatorSpec::Gaokao { question })
}

pub(crate) fn circular_eval(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("circular_eval");
    let pattern = or_default(check, fields, "circular_pattern", &ORDERS)?;
    Some(EvaluatorSpec::CircularEval { pattern: pattern.unwrap_or_default() })
}

/// `options`: the letters, as a list like OpenCompass's or as one text.
pub(crate) fn option_sim_acc(check: &mut Check, fields: &mut Fields<'_>) -> Option<EvaluatorSpec> {
    fields.of_type("option_sim_acc");
    let node = fields.require(check, "options", "[\"A\", \"B\", \"C\", \"D\"]")?;
    let letters = match node.text() {
        Some(letters) => letters.to_owned(),
        None => check.texts("options", node)?.into_iter().map(|(letter, _)| letter).collect(),
    };
    match Letters::new(letters) {
        Ok(letters) => Some(EvaluatorSpec::OptionSimAcc { options: FirstOption::new(letters, false) }),
        Err(error) => {
            check.error(node.span, error.to_string(), None);
            None
        }
    }
}

fn in_language(check: &mut Check, fields: &mut Fields<'_>, score: fn(Language) -> TextScore) -> Option<EvaluatorSpec> {
    let language = or_default(check, fields, "language", &LANGUAGES)?;
    Some(EvaluatorSpec::Score { score: score(language.unwrap_or(Language::En)) })
}

/// Picks what `key` names; `Some(None)` if it is not there, `None` if it is wrong.
fn or_default<T: Clone>(
    check: &mut Check,
    fields: &mut Fields<'_>,
    key: &'static str,
    choices: &Choices<'_, T>,
) -> Option<Option<T>> {
    match fields.get(key) {
        None => Some(None),
        Some(node) => choices.pick(check, key, node).map(Some),
    }
}

/// The k of pass@k: a number or several.
pub(crate) fn several_k(check: &mut Check, node: &Node) -> Option<Vec<u32>> {
    let one = |node| whole(check, "k", node, 1..=i64::from(u32::MAX)).and_then(|k| u32::try_from(k).ok());
    let read: Vec<Option<u32>> = one_or_several(node).iter().map(one).collect();
    read.into_iter().collect()
}
