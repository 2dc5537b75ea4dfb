//! `[[summary_group]]`.

use super::key::Kind::{ArrayOf, Boolean, Either, MapOf, Number, Text, Texts};
use super::key::{TableKeys, key};

pub(crate) static SUMMARY_GROUP: TableKeys = TableKeys {
    name: "summary_group",
    title: "[[summary_group]]",
    keys: &[
        key(
            "name",
            Text,
            "row of the table; the groups of the presets (mmlu, ceval, bbh ...) are there without being written",
        )
        .required(),
        key("subsets", ArrayOf(&Either(&[Text, Texts])), "what is averaged")
            .takes("array of names, or of `[\"name\", \"metric\"]`")
            .default("required for a new name"),
        key("metric", Text, "what the group's number is called").default("by its kind: `naive_average`, `weighted_average` ..."),
        key("weights", Either(&[ArrayOf(&Number), MapOf(&Number)]), "weighted mean")
            .takes("table or array of numbers")
            .default("none"),
        key(
            "weight_by_size",
            Boolean,
            "lm-eval's mean of a group, over data sets, those of groups within the group too: each weighs as many samples as it has, or, with `false`, as much as any other",
        )
        .default("none: the mean of the subsets, groups among them, as in OpenCompass"),
        key("sum", Boolean, "the sum; at most one of `weights`, `weight_by_size`, `sum`, `harmonic` and `std`").default("`false`"),
        key("harmonic", Boolean, "the harmonic mean").or(&["harmonic_mean"]).default("`false`"),
        key("std", Boolean, "the standard deviation").default("`false`"),
        key(
            "transforms",
            MapOf(&Text),
            "Python expressions of `x`, a subset's number, by subset: what is taken in its place",
        )
        .default("none"),
    ],
    types: &[],
};
