//! `evaluator`: by name or OpenCompass's class, with parameters.

use super::names::EVALUATORS;
use crate::keys::vocabulary::{ORDERS, bare_class};
use crate::keys::{Key, Kind, TableKeys, TypeKeys, key};
use crate::read::evaluation::parameters;
use crate::report::check::Check;
use crate::syntax::tree::Node;
use compass_plan::evaluation::EvaluatorSpec;

/// A number, or several.
pub(crate) const NUMBERS: Kind = Kind::Either(&[Kind::from(1), Kind::ArrayOf(&Kind::from(1))]);

const LANGUAGE: &[Key] =
    &[key("language", Kind::Choice(|| parameters::LANGUAGES.words()), "how texts are split into words")
        .default("`en`")];

const PASS_AT: &[Key] = &[key("k", NUMBERS, "the k of pass@k").takes("number or array").default("`[1, 10, 100]`")];

/// Evaluators without parameters are not among the types.
pub(crate) static EVALUATOR: TableKeys = TableKeys {
    name: "evaluator",
    title: "`evaluator`",
    keys: &[key("type", Kind::Choice(|| EVALUATORS.words()), "")],
    types: &[
        TypeKeys {
            name: "exact_match",
            meaning: "",
            keys: &[&[
                key("ignore_case", Kind::Boolean, "upper and lower case are the same").default("`false`"),
                key("ignore_punctuation", Kind::Boolean, "punctuation is removed").default("`false`"),
                key("ignore_numbers", Kind::Boolean, "digits are removed").default("`false`"),
                key("regexes_to_ignore", Kind::Texts, "what they match is removed").default("none"),
            ]],
        },
        TypeKeys {
            name: "multiple_choice",
            meaning: "",
            keys: &[&[key(
                "metrics",
                Kind::Either(&[
                    Kind::Choice(|| parameters::CHOICE_METRICS.words()),
                    Kind::ArrayOf(&Kind::Choice(|| parameters::CHOICE_METRICS.words())),
                ]),
                "lm-eval's metrics, the first of which the table shows",
            )
            .takes("name or array of names")
            .default("`[\"acc\", \"acc_norm\"]`")]],
        },
        TypeKeys {
            name: "f1",
            meaning: "",
            keys: &[&[key(
                "average",
                Kind::Choice(|| parameters::AVERAGES.words()),
                "scikit-learn's average over labels",
            )
            .default("`macro`")]],
        },
        TypeKeys {
            name: "math",
            meaning: "",
            keys: &[&[key("version", Kind::Choice(|| parameters::VERSIONS.words()), "OpenCompass's normaliser")
                .default("`v1`")]],
        },
        TypeKeys {
            name: "rouge",
            meaning: "",
            keys: &[&[key("stemming", Kind::Choice(|| parameters::STEMMERS.words()), "how words are stemmed")
                .default("not at all")]],
        },
        TypeKeys {
            name: "bleu",
            meaning: "",
            keys: &[&[key("tokenize", Kind::Choice(|| parameters::TOKENIZERS.words()), "sacrebleu's tokenizer")
                .default("`13a`")]],
        },
        TypeKeys {
            name: "chrf",
            meaning: "",
            keys: &[&[key("word_order", Kind::from(0), "0 is chrF, 2 chrF++").default("0")]],
        },
        TypeKeys { name: "long_bench_f1", meaning: "", keys: &[LANGUAGE] },
        TypeKeys { name: "long_bench_rouge", meaning: "", keys: &[LANGUAGE] },
        TypeKeys { name: "long_bench_retrieval", meaning: "", keys: &[LANGUAGE] },
        TypeKeys {
            name: "gaokao",
            meaning: "",
            keys: &[&[key("question", Kind::Choice(|| parameters::QUESTIONS.words()), "kind of question").required()]],
        },
        TypeKeys {
            name: "option_sim_acc",
            meaning: "",
            keys: &[&[key("options", Kind::Either(&[Kind::Text, Kind::Texts]), "letters of the options")
                .takes("string or array of letters")
                .required()]],
        },
        TypeKeys {
            name: "circular_eval",
            meaning: "",
            keys: &[&[key("circular_pattern", Kind::Choice(|| ORDERS.words()), "which orders the rows have")
                .default("`circular`")]],
        },
        TypeKeys { name: "human_eval", meaning: "", keys: &[PASS_AT] },
        TypeKeys {
            name: "mbpp",
            meaning: "",
            keys: &[&[
                key("metric", Kind::Choice(|| parameters::MBPP_METRICS.words()), "which tests").default("`MBPP`")
            ]],
        },
        TypeKeys { name: "mbpp_pass_k", meaning: "", keys: &[PASS_AT] },
    ],
};

/// Reads the evaluator in `node`.
pub(crate) fn read(check: &mut Check, node: &Node) -> Option<EvaluatorSpec> {
    let name = node.text().or_else(|| node.table()?.text("type")).unwrap_or_default();
    // OpenCompass has some 240 classes of this kind; one that is not listed is not a misspelling.
    let class = bare_class(name);
    if class.len() > "Evaluator".len() && class.contains("Evaluator") && !EVALUATORS.serves(name) {
        check.not_yet(node.span, &format!("evaluator `{class}`"), EVALUATORS.meanwhile);
        return None;
    }
    let (read, mut fields) = EVALUATORS.tagged(check, "evaluator", node, &EVALUATOR)?;
    let spec = read(check, &mut fields);
    fields.finish(check);
    spec
}
