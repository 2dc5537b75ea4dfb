//! `retriever`.

use super::key::Kind::{self, ArrayOf, Boolean, Choice, Texts, Whole};
use super::key::{Key, TableKeys, TypeKeys, key};
use super::vocabulary::RETRIEVERS;

const K: &[Key] = &[key("k", Kind::from(1), "number of shots").or(&["ice_num"]).required()];
const LEAVE_OUT: Key = key("leave_out", Boolean, "leaves rows out that equal the question").or(&["exclude_question"]);
const KEEP: &[Key] = &[LEAVE_OUT.default("`false`, as OpenCompass")];
const EXCLUDE: &[Key] = &[LEAVE_OUT.default("`true` where both splits have the same rows, as lm-eval")];

pub(crate) static RETRIEVER: TableKeys = TableKeys {
    name: "retriever",
    title: "`retriever`",
    keys: &[key("type", Choice(|| RETRIEVERS.words()), "")],
    types: &[
        TypeKeys { name: "zero", meaning: "no shots", keys: &[] },
        TypeKeys {
            name: "fix_k",
            meaning: "the rows `ids` of the training split, in this order",
            keys: &[
                &[key("ids", ArrayOf(&Kind::from(0)), "row numbers from 0")
                    .or(&["fix_id_list"])
                    .takes("array of whole numbers")
                    .required()],
                KEEP,
            ],
        },
        TypeKeys {
            name: "random",
            meaning: "as OpenCompass draws them with numpy",
            keys: &[K, &[key("seed", Kind::from(0), "of the draws").default("43")], KEEP],
        },
        TypeKeys {
            name: "bm25",
            meaning: "the rows most like the question by Okapi BM25, best first",
            keys: &[K, &[key("columns", Texts, "what is compared").default("the input columns")], KEEP],
        },
        TypeKeys { name: "sliding_window", meaning: "the rows before the question's own position", keys: &[K] },
        TypeKeys { name: "first_n", meaning: "the first rows of the training split", keys: &[K, EXCLUDE] },
        TypeKeys {
            name: "sampled",
            meaning: "as lm-eval's default sampler draws them",
            keys: &[K, &[key("seed", Whole(0, i64::MAX), "of the draws").default("1234")], EXCLUDE],
        },
    ],
};
