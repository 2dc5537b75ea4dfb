//! `model_kwargs` and `tokenizer_kwargs`: what the seeds write for transformers. Obeyed, or noted where nothing obeys it
//! and that is no loss.

use super::check::Check;
use super::fields::Fields;
use super::tree::{Node, Value};
use compass_diagnostic::spelling;
use serde_json::{Map, Value as Json};

/// A key that may stand here, and what is done with it.
struct Known {
    key: &'static str,
    takes: Takes,
    /// Why nothing obeys it and that is no loss; empty for what is obeyed.
    why: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Takes {
    Anything,
    /// `"left"` or `"right"`.
    Side,
    /// A side, OpenCompass's old way, or whether to truncate at all.
    SideOrFlag,
    Flag,
}

const MODEL: [Known; 3] = [
    ignored("device_map", "`device` and `run_cfg.num_gpus` decide where the model runs"),
    ignored("torch_dtype", "`dtype` decides the number format"),
    ignored("trust_remote_code", "no code of the model's directory is ever run"),
];
const TOKENIZER: [Known; 5] = [
    Known { key: "padding_side", takes: Takes::Side, why: "sequences are not padded to each other" },
    Known { key: "truncation", takes: Takes::SideOrFlag, why: "" },
    Known { key: "truncation_side", takes: Takes::Side, why: "" },
    Known { key: "use_fast", takes: Takes::Flag, why: "there is one tokenizer, which gives the fast class's tokens" },
    Known { key: "trust_remote_code", takes: Takes::Flag, why: "no code of the model's directory is ever run" },
];

const fn ignored(key: &'static str, why: &'static str) -> Known {
    Known { key, takes: Takes::Anything, why }
}

/// Reads both tables of a model; returns `tokenizer_kwargs` for the engine.
pub(super) fn read(check: &mut Check, model: &mut Fields<'_>) -> Map<String, Json> {
    one(check, model, "model_kwargs", &MODEL);
    one(check, model, "tokenizer_kwargs", &TOKENIZER)
}

fn one(check: &mut Check, model: &mut Fields<'_>, name: &'static str, known: &[Known]) -> Map<String, Json> {
    let mut taken = Map::new();
    let Some(fields) = model.table(check, name, format!("`{name}`")) else { return taken };
    for entry in &fields.table.entries {
        let full = format!("{name}.{}", entry.key);
        let Some(key) = known.iter().find(|known| known.key == entry.key) else {
            let near = spelling::nearest(&entry.key, known.iter().map(|known| known.key));
            let help = near.map_or_else(|| "remove it".into(), |near| format!("did you mean `{near}`?"));
            check.not_yet(entry.key_span, &format!("`{full}`"), &help);
            continue;
        };
        if let Some(value) = key.value(check, &full, &entry.node) {
            taken.insert(entry.key.clone(), value);
        }
        if !key.why.is_empty() {
            check.note(entry.key_span, format!("`{full}` is ignored"), key.why);
        }
    }
    taken
}

impl Known {
    /// The value for the engine; `None` when it needs none, or when it is wrong, which is reported.
    fn value(&self, check: &mut Check, full: &str, node: &Node) -> Option<Json> {
        let side = node.text().filter(|text| ["left", "right"].contains(text));
        match (self.takes, &node.value) {
            (Takes::Anything, _) => None,
            (Takes::Side | Takes::SideOrFlag, _) if side.is_some() => side.map(Into::into),
            // What is too long is always truncated, and said.
            (Takes::SideOrFlag, Value::Boolean(true)) => None,
            (Takes::SideOrFlag, Value::Boolean(false)) => {
                check.value_not_yet(full, node, "remove it: what is too long is always truncated, and said");
                None
            }
            (Takes::Flag, Value::Boolean(flag)) => Some((*flag).into()),
            (Takes::Flag, _) => {
                check.wrong_type(full, node, "a boolean", "true");
                None
            }
            (Takes::Side | Takes::SideOrFlag, _) => {
                check.wrong_type(full, node, "\"left\" or \"right\"", "\"left\"");
                None
            }
        }
    }
}
