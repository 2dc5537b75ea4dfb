//! `[summarizer]`.

use super::key::Kind::{Anything, ArrayOf, Either, Tables, Text, Texts};
use super::key::{TableKeys, ignored, key};

pub(crate) static SUMMARIZER: TableKeys = TableKeys {
    name: "summarizer",
    title: "[summarizer]",
    keys: &[
        key(
            "dataset_abbrs",
            ArrayOf(&Either(&[Text, Texts])),
            "the rows that the table shows, in this order: data sets and groups, by their first metric or by the one named; any \
             other text is a heading, and `\"\"` a blank row",
        )
        .takes("array of names, or of `[\"name\", \"metric\"]`")
        .default("every data set, then every group"),
        key(
            "groups",
            Texts,
            "OpenCompass's groups by the names of its files (`mmlu`, `ceval`, `cmmlu`, `bbh`, `mathbench` ...)",
        )
        .takes("array of names")
        .default("none"),
        key(
            "summary_groups",
            Tables(&super::SUMMARY_GROUP),
            "as [[summary_group]], but shown only where every subset is in the job, or where `dataset_abbrs` names it",
        )
        .default("none"),
        ignored("type", Anything, "there is one table, that of OpenCompass's `DefaultSummarizer`"),
        ignored("prompt_db", Anything, "a key of OpenCompass's"),
    ],
    types: &[],
};
