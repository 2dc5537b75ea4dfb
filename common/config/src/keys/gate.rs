//! The policy of a gate: a file of its own, beside the configurations of jobs.

use super::key::Kind::{Boolean, Number, Tables, Text, Whole};
use super::key::{TableKeys, key};

pub(crate) static GATE: TableKeys = TableKeys {
    name: "gate",
    title: "the policy",
    keys: &[
        key("default", super::Kind::Table(&GATE_DEFAULT), "what holds for rules that do not say it"),
        key("rule", Tables(&GATE_RULE), "what is judged").required(),
    ],
    types: &[],
};

pub(crate) static GATE_DEFAULT: TableKeys = TableKeys {
    name: "gate_default",
    title: "[default]",
    keys: &[
        key("margin", Number, "by how much a number may be worse, in its unit").default("none"),
        key("relative", Number, "by how many percent of the baseline's number it may be worse").default("none"),
        key("min_samples", Whole(1, i64::MAX), "fewest pairs that are judged").default("`1`"),
        key("confidence", Number, "of the intervals").default("`0.95`"),
        key("correction", Text, "of several no-gos: `holm`, `bh` or `none`").default("`holm`"),
    ],
    types: &[],
};

pub(crate) static GATE_RULE: TableKeys = TableKeys {
    name: "gate_rule",
    title: "[[rule]]",
    keys: &[
        key("dataset", Text, "data sets and groups: a name, or a pattern with `*`").required(),
        key("metric", Text, "which metric").default("the first of each data set"),
        key("tier", Text, "`critical`, `supporting` or `advisory`").default("`critical`"),
        key("margin", Number, "see [default]").default("that of [default]"),
        key("relative", Number, "see [default]; with both, both have to hold").default("that of [default]"),
        key("min_samples", Whole(1, i64::MAX), "see [default]").default("that of [default]"),
        key("required", Boolean, "whether the candidate has to have what the baseline has").default("`true`"),
    ],
    types: &[],
};
