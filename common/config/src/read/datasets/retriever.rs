//! `retriever`: which training rows are shown as shots.

use crate::keys::vocabulary::{RETRIEVERS, RetrieverName};
use crate::keys::{Key, Kind, TableKeys, TypeKeys, key};
use crate::read::fields::{Fields, flag, whole};
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_plan::retriever::RetrieverKind;

const K: &[Key] = &[key("k", Kind::from(1), "number of shots").or(&["ice_num"]).required()];

const LEAVE_OUT: Key =
    key("leave_out", Kind::Boolean, "leaves rows out that equal the question").or(&["exclude_question"]);

const KEEP: &[Key] = &[LEAVE_OUT.default("`false`, as OpenCompass")];

const EXCLUDE: &[Key] = &[LEAVE_OUT.default("`true` where both splits have the same rows, as lm-eval")];

pub(crate) static RETRIEVER: TableKeys = TableKeys {
    name: "retriever",
    title: "`retriever`",
    keys: &[key("type", Kind::Choice(|| RETRIEVERS.words()), "")],
    types: &[
        TypeKeys { name: "zero", meaning: "no shots", keys: &[] },
        TypeKeys {
            name: "fix_k",
            meaning: "the rows `ids` of the training split, in this order",
            keys: &[
                &[key("ids", Kind::ArrayOf(&Kind::from(0)), "row numbers from 0")
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
            keys: &[K, &[key("columns", Kind::Texts, "what is compared").default("the input columns")], KEEP],
        },
        TypeKeys { name: "sliding_window", meaning: "the rows before the question's own position", keys: &[K] },
        TypeKeys { name: "first_n", meaning: "the first rows of the training split", keys: &[K, EXCLUDE] },
        TypeKeys {
            name: "sampled",
            meaning: "as lm-eval's default sampler draws them",
            keys: &[K, &[key("seed", Kind::Whole(0, i64::MAX), "of the draws").default("1234")], EXCLUDE],
        },
    ],
};

/// lm-eval's default seed for few-shot draws.
const SEED: u64 = 1234;
/// OpenCompass's for its `RandomRetriever`.
const RANDOM_SEED: u32 = 43;

/// Reads the retriever in `node`. `same_rows` says that the pool is the split that is asked: lm-eval then leaves the
/// question itself out.
pub(crate) fn read(check: &mut Check, node: &Node, same_rows: bool) -> Option<RetrieverKind> {
    let (name, mut fields) = RETRIEVERS.tagged(check, "retriever", node, &RETRIEVER)?;
    fields.of_type(RETRIEVERS.name_of(&name));
    let kind = match name {
        RetrieverName::Zero => Some(RetrieverKind::Zero),
        RetrieverName::FixK => {
            let exclude_question = leave_out(check, &mut fields).unwrap_or(false);
            ids(check, &mut fields).map(|ids| RetrieverKind::FixK { ids, exclude_question })
        }
        RetrieverName::Random => {
            let k = shots(check, &mut fields);
            let seed = fields.u32(check, "seed").unwrap_or(RANDOM_SEED);
            let exclude_question = leave_out(check, &mut fields).unwrap_or(false);
            k.map(|k| RetrieverKind::Random { k, seed, exclude_question })
        }
        RetrieverName::Bm25 => {
            let columns = fields.texts(check, "columns").unwrap_or_default();
            let columns = columns.into_iter().map(|(column, _)| column).collect();
            let exclude_question = leave_out(check, &mut fields).unwrap_or(false);
            shots(check, &mut fields).map(|k| RetrieverKind::Bm25 { k, columns, exclude_question })
        }
        RetrieverName::SlidingWindow => shots(check, &mut fields).map(|k| RetrieverKind::SlidingWindow { k }),
        RetrieverName::FirstN => {
            let exclude_question = leave_out(check, &mut fields).unwrap_or(same_rows);
            shots(check, &mut fields).map(|k| RetrieverKind::FirstN { k, exclude_question })
        }
        RetrieverName::Sampled => {
            let k = shots(check, &mut fields);
            let seed = fields.u64(check, "seed").unwrap_or(SEED);
            let exclude_question = leave_out(check, &mut fields).unwrap_or(same_rows);
            k.map(|k| RetrieverKind::Sampled { k, seed, exclude_question })
        }
    };
    fields.finish(check);
    kind
}

/// The number of shots; OpenCompass calls it `ice_num`.
fn shots(check: &mut Check, fields: &mut Fields<'_>) -> Option<u32> {
    if let Some((key @ "ice_num", node)) = fields.either(check, "k") {
        return whole(check, key, node, 1..=i64::from(u32::MAX)).and_then(|shots| shots.try_into().ok());
    }
    fields.require(check, "k", "5")?;
    fields.u32(check, "k")
}

/// Returns whether rows that equal the question are left out; `None` if nothing says so.
fn leave_out(check: &mut Check, fields: &mut Fields<'_>) -> Option<bool> {
    let (key, node) = fields.either(check, "leave_out")?;
    flag(check, key, node)
}

fn ids(check: &mut Check, fields: &mut Fields<'_>) -> Option<Vec<u32>> {
    let Some((key, node)) = fields.either(check, "ids") else {
        if fields.table.get("ids").is_none() {
            let help = "write `{ type = \"fix_k\", ids = [0, 1, 2] }`";
            check.error(fields.span, "missing key `ids` in `retriever`".into(), Some(help.into()));
        }
        return None;
    };
    let Value::Array(items) = &node.value else {
        check.wrong_type(key, node, "an array of row numbers", "[0, 1, 2]");
        return None;
    };
    if items.is_empty() {
        check.error(node.span, format!("`{key}` names no row"), Some("write `retriever = \"zero\"`".into()));
        return None;
    }
    let read: Vec<Option<u32>> = items
        .iter()
        .enumerate()
        .map(|(at, item)| {
            let row = whole(check, &format!("{key}[{at}]"), item, 0..=i64::from(u32::MAX))?;
            u32::try_from(row).ok()
        })
        .collect();
    read.into_iter().collect()
}
