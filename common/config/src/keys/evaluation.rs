//! `eval_cfg`, its filters and its evaluators.

use super::key::Kind::{self, Anything, ArrayOf, Boolean, Choice, Either, MapOf, Named, Table, Text, Texts};
use super::key::{Key, TableKeys, TypeKeys, ignored, key, later};
use super::model::POSTPROCESSOR;
use super::vocabulary::ORDERS;
use crate::read::evaluation::names::EVALUATORS;
use crate::read::evaluation::parameters;

/// A number, or several.
const NUMBERS: Kind = Either(&[Kind::from(1), ArrayOf(&Kind::from(1))]);

pub(crate) static EVAL_CFG: TableKeys = TableKeys {
    name: "eval_cfg",
    title: "`eval_cfg`",
    keys: &[
        key("evaluator", Named(&EVALUATOR), "[evaluators](evaluators.md)").required(),
        key("pred_postprocessor", POSTPROCESSOR, "from answer to prediction")
            .takes("name, table or array of them")
            .default("none"),
        key("dataset_postprocessor", POSTPROCESSOR, "from gold answer to what is compared")
            .takes("name, table or array of them")
            .default("none"),
        key(
            "filters",
            Either(&[Table(&PIPELINE), ArrayOf(&Table(&PIPELINE))]),
            "lm-eval's pipelines, each with metrics of its own",
        )
        .takes("array of pipelines")
        .default("none"),
        key("k", NUMBERS, "with several answers to each prompt: the k of pass@k, G-Pass@k and mG-Pass@k")
            .takes("number or array")
            .default("none"),
        key("sc_size", Kind::from(1), "the majority of the answers is the prediction").default("none"),
        ignored("pred_role", Anything, "OpenCompass ignores it as well"),
        ignored("ds_split", Anything, "OpenCompass ignores it as well"),
        ignored("ds_column", Anything, "OpenCompass ignores it as well"),
        later("num_gpus", "remove it: evaluation runs in the master"),
    ],
    types: &[],
};

pub(crate) static PIPELINE: TableKeys = TableKeys {
    name: "filters",
    title: "`filters`",
    keys: &[
        key("name", Text, "stands in the names of the metrics").required(),
        key(
            "steps",
            Either(&[Text, MapOf(&Anything), ArrayOf(&Either(&[Text, MapOf(&Anything)]))]),
            "lm-eval's filters in order, each a name or a table with `type` (or `function`) and its parameters",
        )
        .or(&["filter"])
        .takes("array of filters")
        .required(),
    ],
    types: &[],
};

const LANGUAGE: &[Key] =
    &[key("language", Choice(|| parameters::LANGUAGES.words()), "how texts are split into words").default("`en`")];
const PASS_AT: &[Key] = &[key("k", NUMBERS, "the k of pass@k").takes("number or array").default("`[1, 10, 100]`")];

/// Evaluators without parameters are not among the types.
pub(crate) static EVALUATOR: TableKeys = TableKeys {
    name: "evaluator",
    title: "`evaluator`",
    keys: &[key("type", Choice(|| EVALUATORS.words()), "")],
    types: &[
        TypeKeys {
            name: "exact_match",
            meaning: "",
            keys: &[&[
                key("ignore_case", Boolean, "upper and lower case are the same").default("`false`"),
                key("ignore_punctuation", Boolean, "punctuation is removed").default("`false`"),
                key("ignore_numbers", Boolean, "digits are removed").default("`false`"),
                key("regexes_to_ignore", Texts, "what they match is removed").default("none"),
            ]],
        },
        TypeKeys {
            name: "multiple_choice",
            meaning: "",
            keys: &[&[key(
                "metrics",
                Either(&[
                    Choice(|| parameters::CHOICE_METRICS.words()),
                    ArrayOf(&Choice(|| parameters::CHOICE_METRICS.words())),
                ]),
                "lm-eval's metrics, the first of which the table shows",
            )
            .takes("name or array of names")
            .default("`[\"acc\", \"acc_norm\"]`")]],
        },
        TypeKeys {
            name: "f1",
            meaning: "",
            keys: &[&[key("average", Choice(|| parameters::AVERAGES.words()), "scikit-learn's average over labels")
                .default("`macro`")]],
        },
        TypeKeys {
            name: "math",
            meaning: "",
            keys: &[&[
                key("version", Choice(|| parameters::VERSIONS.words()), "OpenCompass's normaliser").default("`v1`")
            ]],
        },
        TypeKeys {
            name: "rouge",
            meaning: "",
            keys: &[&[
                key("stemming", Choice(|| parameters::STEMMERS.words()), "how words are stemmed").default("not at all")
            ]],
        },
        TypeKeys {
            name: "bleu",
            meaning: "",
            keys: &[&[
                key("tokenize", Choice(|| parameters::TOKENIZERS.words()), "sacrebleu's tokenizer").default("`13a`")
            ]],
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
            keys: &[&[key("question", Choice(|| parameters::QUESTIONS.words()), "kind of question").required()]],
        },
        TypeKeys {
            name: "option_sim_acc",
            meaning: "",
            keys: &[&[key("options", Either(&[Text, Texts]), "letters of the options")
                .takes("string or array of letters")
                .required()]],
        },
        TypeKeys {
            name: "circular_eval",
            meaning: "",
            keys: &[&[
                key("circular_pattern", Choice(|| ORDERS.words()), "which orders the rows have").default("`circular`")
            ]],
        },
        TypeKeys { name: "human_eval", meaning: "", keys: &[PASS_AT] },
        TypeKeys {
            name: "mbpp",
            meaning: "",
            keys: &[&[key("metric", Choice(|| parameters::MBPP_METRICS.words()), "which tests").default("`MBPP`")]],
        },
        TypeKeys { name: "mbpp_pass_k", meaning: "", keys: &[PASS_AT] },
    ],
};
