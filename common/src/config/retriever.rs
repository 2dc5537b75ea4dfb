//! `retriever`: which training rows are shown as shots.

use super::check::Check;
use super::choice::Choices;
use super::fields::{Fields, whole};
use super::tree::{Node, Value};
use crate::retriever::RetrieverKind;

#[derive(Clone, Copy)]
enum Name {
    Zero,
    FixK,
    FirstN,
    Sampled,
}

const RETRIEVERS: Choices<'_, Name> = Choices {
    now: &[("zero", Name::Zero), ("fix_k", Name::FixK), ("first_n", Name::FirstN), ("sampled", Name::Sampled)],
    aliases: &[],
    later: &["random", "bm25", "topk", "votek", "dpp", "mdl", "sliding_window"],
    meanwhile: "use `zero`, `fix_k`, `first_n` or `sampled`",
    suffix: Some("Retriever"),
};
/// lm-eval's default seed for few-shot draws.
const SEED: u64 = 1234;

/// Reads the retriever in `node`.
pub(super) fn read(check: &mut Check, node: &Node) -> Option<RetrieverKind> {
    let (name, mut fields) = RETRIEVERS.tagged(check, "retriever", node)?;
    let kind = match name {
        Name::Zero => Some(RetrieverKind::Zero),
        Name::FixK => ids(check, &mut fields).map(|ids| RetrieverKind::FixK { ids }),
        Name::FirstN => shots(check, &mut fields).map(|k| RetrieverKind::FirstN { k }),
        Name::Sampled => {
            let k = shots(check, &mut fields);
            let seed = fields.u64(check, "seed", 0).unwrap_or(SEED);
            k.map(|k| RetrieverKind::Sampled { k, seed })
        }
    };
    fields.finish(check);
    kind
}

fn shots(check: &mut Check, fields: &mut Fields<'_>) -> Option<u32> {
    fields.require(check, "k", "5")?;
    fields.u32(check, "k", 1)
}

fn ids(check: &mut Check, fields: &mut Fields<'_>) -> Option<Vec<u32>> {
    let Some((key, node)) = fields.either(check, "ids", "fix_id_list") else {
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
