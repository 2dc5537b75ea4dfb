//! `generation_kwargs`: how tokens are chosen, in transformers' words.

use super::fields::{self, Fields, flag, whole};
use crate::keys::vocabulary::card;
use crate::keys::{Key, Kind, TableKeys, key};
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, Value};
use compass_plan::Decoding;

/// Tokens of an answer are given in three places.
pub(super) const KWARGS: Key =
    key("generation_kwargs", Kind::Table(&GENERATION_KWARGS), "how tokens are chosen").default("none");

pub(crate) static GENERATION_KWARGS: TableKeys = TableKeys {
    name: "generation_kwargs",
    title: "`generation_kwargs`",
    keys: &[
        key(
            "do_sample",
            Kind::Either(&[Kind::Boolean, Kind::Choice(card)]),
            "whether tokens are drawn; a temperature alone draws nothing. `card`, of a model: drawn as generation_config.json has it, which \
             is read once and pinned; what is written beside it counts first",
        )
        .takes("boolean or `\"card\"`")
        .default("`false`"),
        key("temperature", Kind::Number, "divides the logits").takes("number above 0").default("generation_config.json, else 1"),
        key("top_k", Kind::from(0), "only the k most probable tokens; 0 lets all")
            .default("generation_config.json, else 50 when drawing"),
        key("top_p", Kind::Number, "nucleus").takes("number in (0, 1]").default("generation_config.json, else 1"),
        key("repetition_penalty", Kind::Number, "also changes greedy answers")
            .takes("number above 0")
            .default("generation_config.json, else 1"),
        key("num_return_sequences", Kind::from(1), "answers to each prompt; above 1 it needs `do_sample`").default("1"),
        key(
            "seed",
            Kind::Whole(0, i64::MAX),
            "every draw follows from the seed, the sample and the sequence alone, so that neighbours and workers do not change it",
        )
        .default("0"),
        key("eos_token_id", Kind::Either(&[Kind::from(0), Kind::ArrayOf(&Kind::from(0))]), "further token ids that end a generation")
            .takes("id or array")
            .default("none"),
        key("max_new_tokens", Kind::from(1), "as `max_out_len`, which overrides it"),
        key("min_new_tokens", Kind::from(0), "as `min_out_len`, which overrides it"),
        key("num_beams", Kind::Whole(1, 1), "other values are refused: there is no beam search").takes("1").default("1"),
    ],
    types: &[],
};

/// Contents of `generation_kwargs`.
#[derive(Debug, Default)]
pub(crate) struct GenerationKwargs {
    pub(crate) decoding: Decoding,
    pub(crate) max_new_tokens: Option<u32>,
    pub(crate) min_new_tokens: Option<u32>,
    /// Place of `do_sample = "card"`: the draws are still to be read.
    pub(crate) card: Option<Span>,
}

/// Returns whether a value of `do_sample` is the word for draws of the model's own file.
pub(crate) fn is_card(node: &Node) -> bool {
    node.text() == Some("card")
}

/// Reads `generation_kwargs` of `owner`, a model or an inferencer.
pub(crate) fn read(check: &mut Check, owner: &mut Fields<'_>) -> GenerationKwargs {
    let Some(mut fields) = owner.table(check, "generation_kwargs", &GENERATION_KWARGS) else {
        return GenerationKwargs::default();
    };
    let mut positive = |check: &mut Check, key, most: f64| {
        let node = fields.get(key)?;
        number(check, key, node, most)
    };
    let temperature = positive(check, "temperature", f64::INFINITY);
    let top_p = positive(check, "top_p", 1.0);
    let repetition_penalty = positive(check, "repetition_penalty", f64::INFINITY);
    let do_sample = fields.get("do_sample");
    let card = do_sample.filter(|node| is_card(node)).map(|node| node.span);
    let do_sample = do_sample.and_then(|node| draws(check, node));
    let decoding = Decoding {
        do_sample,
        temperature,
        top_k: fields.u32(check, "top_k"),
        top_p,
        repetition_penalty,
        num_return_sequences: fields.u32(check, "num_return_sequences"),
        seed: fields.u64(check, "seed"),
        stop_ids: fields.get("eos_token_id").map_or(Vec::new(), |node| ids(check, node)),
        card: card.is_some(),
    };
    if let Some(node) = fields.table.get("num_return_sequences")
        && decoding.sequences() > 1
        && !decoding.samples()
    {
        let help = "add `do_sample = true`, or leave it out: without draws all answers are the same";
        check.error(
            node.span,
            "several answers to a prompt are wanted, but nothing is drawn".into(),
            Some(help.into()),
        );
    }
    if let Some(node) = fields.get("num_beams")
        && !matches!(node.value, Value::Integer(1))
    {
        check.value_not_yet("num_beams", node, "remove it: there is no beam search");
    }
    let kwargs = GenerationKwargs {
        decoding,
        max_new_tokens: fields.u32(check, "max_new_tokens"),
        min_new_tokens: fields.u32(check, "min_new_tokens"),
        card,
    };
    fields.finish(check);
    kwargs
}

/// The value of `do_sample`.
fn draws(check: &mut Check, node: &Node) -> Option<bool> {
    if is_card(node) {
        return Some(true);
    }
    if node.text().is_some() {
        check.wrong_type("do_sample", node, "a boolean or \"card\"", "\"card\"");
        return None;
    }
    flag(check, "do_sample", node)
}

/// The value of an inferencer's `temperature`; 0 is what takes the likeliest token, as is done without it.
pub(crate) fn temperature(check: &mut Check, node: &Node) -> Option<f64> {
    if matches!(node.value, Value::Integer(0)) || matches!(node.value, Value::Float(0.0)) {
        return None;
    }
    number(check, "temperature", node, f64::INFINITY)
}

/// A number above 0 and at most `most`.
fn number(check: &mut Check, key: &str, node: &Node, most: f64) -> Option<f64> {
    let number = fields::number(check, key, node, "1.0")?;
    if number > 0.0 && number <= most && number.is_finite() {
        return Some(number);
    }
    let bounds = if most.is_finite() { format!("above 0 and at most {most}") } else { "above 0".to_owned() };
    check.error(node.span, format!("`{key}` is out of range: {number}"), Some(format!("write a number {bounds}")));
    None
}

/// One token id or several.
fn ids(check: &mut Check, node: &Node) -> Vec<u32> {
    let items = match &node.value {
        Value::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let read = items.iter().filter_map(|item| whole(check, "eos_token_id", item, 0..=i64::from(u32::MAX)));
    read.filter_map(|id| u32::try_from(id).ok()).collect()
}
