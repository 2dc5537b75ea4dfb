//! `model_kwargs` and `tokenizer_kwargs`: what the seeds write for transformers. Obeyed, or noted where nothing obeys it
//! and that is no loss.

use crate::keys::vocabulary::{SIDES, TRUNCATION_SIDES};
use crate::keys::{Key, Kind, Standing, TableKeys, ignored, key};
use crate::read::fields::Fields;
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_diagnostic::spelling;
use serde_json::{Map, Value as Json};

/// `"left"` or `"right"`.
pub(crate) const SIDE: Kind = Kind::Choice(|| SIDES.words());

pub(crate) static TOKENIZER_KWARGS: TableKeys = TableKeys {
    name: "tokenizer_kwargs",
    title: "`tokenizer_kwargs`",
    keys: &[
        ignored("padding_side", SIDE, "sequences are not padded to each other"),
        key("truncation", Kind::Either(&[SIDE, Kind::Boolean]), "OpenCompass's old name of `truncation_side`; `false` is refused")
            .takes("`left`, `right`, `true`")
            .default("`true`"),
        key(
            "truncation_side",
            Kind::Choice(|| TRUNCATION_SIDES.words()),
            "which end of a text that is too long goes; `own`: what tokenizer_config.json says, else `right`, as for OpenCompass's \
             `HuggingFaceCausalLM`",
        )
        .default("`left`"),
        ignored("use_fast", Kind::Boolean, "there is one tokenizer, which gives the fast class's tokens"),
        ignored("trust_remote_code", Kind::Boolean, "no code of the model's directory is ever run"),
    ],
    types: &[],
};

pub(crate) static MODEL_KWARGS: TableKeys = TableKeys {
    name: "model_kwargs",
    title: "`model_kwargs`",
    keys: &[
        ignored("device_map", Kind::Anything, "`device` and `run_cfg.num_gpus` decide where the model runs"),
        ignored("torch_dtype", Kind::Anything, "`dtype` decides the number format"),
        ignored("trust_remote_code", Kind::Anything, "no code of the model's directory is ever run"),
    ],
    types: &[],
};

/// Reads both tables of a model; returns `tokenizer_kwargs` for the engine.
pub(crate) fn read(check: &mut Check, model: &mut Fields<'_>) -> Map<String, Json> {
    one(check, model, "model_kwargs", &MODEL_KWARGS);
    one(check, model, "tokenizer_kwargs", &TOKENIZER_KWARGS)
}

fn one(check: &mut Check, model: &mut Fields<'_>, name: &'static str, known: &'static TableKeys) -> Map<String, Json> {
    let mut taken = Map::new();
    let Some(fields) = model.table(check, name, known) else { return taken };
    for entry in &fields.table.entries {
        let full = format!("{name}.{}", entry.key);
        let Some(key) = known.keys.iter().find(|known| known.name == entry.key) else {
            let near = spelling::nearest(&entry.key, known.keys.iter().map(|known| known.name));
            let help = near.map_or_else(|| "remove it".into(), |near| format!("did you mean `{near}`?"));
            check.not_yet(entry.key_span, &format!("`{full}`"), &help);
            continue;
        };
        if let Some(value) = value(check, key, &full, &entry.node) {
            taken.insert(entry.key.clone(), value);
        }
        if key.standing == Standing::Ignored {
            check.note(entry.key_span, format!("`{full}` is ignored"), key.meaning);
        }
    }
    taken
}

/// The value for the engine; `None` when it needs none, or when it is wrong, which is reported.
fn value(check: &mut Check, key: &Key, full: &str, node: &Node) -> Option<Json> {
    let sides = if key.name == "truncation_side" { TRUNCATION_SIDES } else { SIDES };
    let side = node.text().filter(|text| sides.now.iter().any(|(name, ())| name == text));
    match (key.kind, &node.value) {
        (Kind::Anything, _) => None,
        (Kind::Choice(_) | Kind::Either(_), _) if side.is_some() => side.map(Into::into),
        // A side, OpenCompass's old way, or whether to truncate at all. What is too long is always truncated, and said.
        (Kind::Either(_), Value::Boolean(true)) => None,
        (Kind::Either(_), Value::Boolean(false)) => {
            check.value_not_yet(full, node, "remove it: what is too long is always truncated, and said");
            None
        }
        (Kind::Boolean, Value::Boolean(flag)) => Some((*flag).into()),
        (Kind::Boolean, _) => {
            check.wrong_type(full, node, "a boolean", "true");
            None
        }
        _ => {
            check.wrong_type(full, node, "\"left\" or \"right\"", "\"left\"");
            None
        }
    }
}
