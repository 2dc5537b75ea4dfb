//! `[[dataset]]`, `reader_cfg` and `infer_cfg`.

use super::key::Kind::{self, Anything, ArrayOf, Boolean, Choice, Either, MapOf, Named, Number, Table, Text, Texts};
use super::key::{TableKeys, ignored, key, later};
use super::vocabulary::LABEL_TYPES;

/// A text, or `{ jinja = "..." }`.
const TEXT_OR_JINJA: Kind = Either(&[Text, MapOf(&Text)]);
/// A text, rounds, messages, Jinja, or a table from label to one of these.
const TEMPLATE: Kind = Either(&[Text, Table(&super::ROUNDS), Table(&super::MESSAGES), MapOf(&Anything)]);
const RANGE: Kind = Either(&[Text, Number]);
const SPLITS_HELP: &str = "name each split's file in [dataset.test] and [dataset.train]";

pub(crate) static DATASET: TableKeys = TableKeys {
    name: "dataset",
    title: "[[dataset]]",
    keys: &[
        key("abbr", Text, "name in the table and in paths").required(),
        key("reader_cfg", Table(&READER_CFG), "columns and ranges").required(),
        key("test", Table(&super::SPLIT), "the rows that are asked ([data sets](datasets.md))").required(),
        key("train", Table(&super::SPLIT), "the rows from which shots are drawn").default("none"),
        key("infer_cfg", Table(&INFER_CFG), "retriever, inferencer, templates").required(),
        key("eval_cfg", Table(&super::EVAL_CFG), "evaluator, postprocessors, filters").required(),
        key(
            "preset",
            Text,
            "takes every key of a preset (`siqa_gen`, or `mmlu_ppl/lukaemon_mmlu_virology` for one of its data sets), then \
             overrides; of a preset with several data sets, `abbr` holds `${abbr}`, which is each one's own",
        )
        .takes("preset's name")
        .default("none"),
        key("inferencer", Named(&super::INFERENCER), "beside `preset`: that of `infer_cfg`, over the preset's")
            .default("the preset's"),
        key("version", Text, "what the column of that name shows")
            .default("the digest in a preset's name while its `infer_cfg` is the preset's own, else that of the prompts"),
        key("limit", Kind::from(1), "at most so many of its samples, the first ones of its range; `--limit` overrides")
            .default("none"),
        key("n", Kind::from(1), "OpenCompass's: so many runs of a generation, averaged").default("none"),
        key(
            "k",
            Either(&[Kind::from(1), ArrayOf(&Kind::from(1))]),
            "beside `n`: the k of pass@k and G-Pass@k, none above `n`",
        )
        .takes("number or array")
        .default("1"),
        key(
            "for_each",
            MapOf(&Texts),
            "one data set written once for many: `${name}` is replaced in every string, position by position",
        )
        .takes("table from name to list")
        .default("none"),
    ],
    types: &[],
};

pub(crate) static READER_CFG: TableKeys = TableKeys {
    name: "reader_cfg",
    title: "`reader_cfg`",
    keys: &[
        key("input_columns", Either(&[Text, Texts]), "columns that the templates use")
            .takes("array, or string with spaces")
            .required(),
        key("output_column", Text, "the column with the right answer; required unless `gold` or `target` says it")
            .default("none"),
        key("test_range", RANGE, "rows of `test`: `\"[:100]\"`, `\"[:50][0:8]\"`, `100`, `0.1`")
            .takes("slice, number or share")
            .default("all rows"),
        key("train_range", RANGE, "rows of `train`").takes("slice, number or share").default("all rows"),
        later("test_split", SPLITS_HELP),
        later("train_split", SPLITS_HELP),
    ],
    types: &[],
};

pub(crate) static INFER_CFG: TableKeys = TableKeys {
    name: "infer_cfg",
    title: "`infer_cfg`",
    keys: &[
        key("retriever", Named(&super::RETRIEVER), "which rows are shown as shots").default("`zero`"),
        key("inferencer", Named(&super::INFERENCER), "what is computed").required(),
        key("prompt_template", TEMPLATE, "how a row is asked").takes("template").default("the shot's"),
        key("ice_template", TEMPLATE, "how a shot is written").takes("template").default("the prompt's"),
        key(
            "options",
            Either(&[Text, Texts, MapOf(&TEXT_OR_JINJA)]),
            "the answers to compare, for `loglikelihood`, `ll` and `clp`",
        )
        .takes("`\"{column}\"`, array, table or Jinja")
        .default("none"),
        key(
            "gold",
            TEXT_OR_JINJA,
            "the right answer: a position, the answer itself, or a list where several are right",
        )
        .takes("text or Jinja")
        .default("the output column"),
        key(
            "target",
            TEXT_OR_JINJA,
            "the one continuation of a log-likelihood, or what the shots of a generation show (lm-eval's `doc_to_target`)",
        )
        .takes("text or Jinja")
        .default("none"),
        key("target_within", Boolean, "whether the labels' texts end with the `target` themselves").default("`false`"),
        key("label_type", Choice(|| LABEL_TYPES.words()), "the type of labels in predictions, as a template in Python has it")
            .default("the gold answers'"),
        key("description", TEXT_OR_JINJA, "before everything").takes("text or Jinja").default("none"),
        ignored("max_out_len", Anything, "OpenCompass ignores it here as well; it is a key of `inferencer`"),
        key("gen_prefix", TEXT_OR_JINJA, "what every answer begins with").takes("text or Jinja").default("none"),
        key("dialogue", Text, "column that holds a conversation, for `chat`").default("none"),
        key("ice_token", Text, "where shots go in the prompt template").default("`</E>`"),
        key("ice_separator", Text, "between two shots").default("`\"\\n\"`"),
        key("ice_eos_token", Text, "after the last shot").default("`\"\\n\"`"),
        key("target_delimiter", Text, "between context and answer when `options` or `target` is used").default("`\" \"`"),
        key("fewshot_delimiter", Text, "after each shot that has no ice token to go to").default("`\"\\n\\n\"`"),
        key("sep_token", Text, "where `normalizing_str` parts prompts").default("none"),
    ],
    types: &[],
};
